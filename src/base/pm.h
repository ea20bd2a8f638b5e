// SPDX-License-Identifier: BSD-3-Clause
// Wire-up: a rank tells the others how it can be reached, through the launcher. A value is fetched when first asked
// for.
//
// The ranks' side of launch/pm.c, and of launch/request.c for what only mpiexec itself can do. One stream of requests
// per process, over the socket that UNISONO_PM_FD names; the caller serialises (the library's lock). All functions
// return 0 or an errno value; ENOTCONN when there is no launcher.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define UNO_PM_ENV "UNISONO_PM_FD"
#define UNO_PARENT_ENV "UNISONO_PARENT"    // of a spawned process: the port that its parents wait at
#define UNO_PM_KEY_MAX 128                 // with its final zero
#define UNO_PM_VALUE_MAX (32 * 1024)

// Used by launch/pm.c too: a request is this head, the key with its zero, the value. The answer is a head and a value.
enum uno_pm_op {
    UNO_PM_NONE,
    UNO_PM_PUT,
    UNO_PM_ASK,
    UNO_PM_MEET,
    UNO_PM_REQUEST,
    UNO_PM_ENDED,
    UNO_PM_VOTE,
    UNO_PM_NEWS
};
struct uno_pm_head {
    int op, rank, key_bytes, value_bytes;
    int more;      // of UNO_PM_REQUEST: bytes that follow in further pieces; of its answer: the MPI error class
    int ticket;    // of UNO_PM_REQUEST, its answer, and UNO_PM_ENDED, which says that the job it spawned is gone
};

// A request to mpiexec: words, each with its zero, the first of which says what is wanted.
#define UNO_PM_REQUEST_MAX (32 << 20)
#define UNO_PM_TEXT_MAX 2048    // of an answer, cut to fit

bool uno_pm_there(void);
void uno_pm_forget(void);    // the environment is another process's: there is no launcher for this one

// Publishes a value of this rank's; putting a key again replaces the value for ranks that have not asked yet.
int uno_pm_put(const char *key, const void *value, size_t bytes) UNO_MUST_USE;

// Fetches what world rank `rank` has put; waits until it has. *bytes: room at value, then the length. EMSGSIZE: no
// room. ESRCH: the rank, or its host, has ended without.
int uno_pm_get(int rank, const char *key, void *value, size_t *bytes) UNO_MUST_USE;

// Returns when all ranks of the job have called it.
int uno_pm_fence(void) UNO_MUST_USE;

// ---- process failure (ft/). A rank's message to mpiexec has no answer; what mpiexec tells comes by itself, and the
// rank's word of news (struct uno_door) is raised for it. ----

enum uno_ballot_kind {
    UNO_BALLOT_VOTE,        // to mpiexec: one member's part in an agreement
    UNO_BALLOT_DECISION,    // to the members: its outcome
    UNO_BALLOT_REVOKE,      // to mpiexec, and from it to all ranks: the communicator `context` is revoked
    UNO_BALLOT_SUSPECT      // to mpiexec: world rank `flag` cannot be reached: it is to be dead for all
};

// Agreement number `turn` on a communicator. Two sets of world ranks follow, of one bit per rank, in words: the
// members; those whose failure the voter has acknowledged, or (decision) that have failed. Others have no sets.
struct uno_ballot {
    int32_t kind, flag;         // flag: the bits that all agree on
    uint64_t context, offer;    // offer: contexts that a communicator made of the members may have: a voter's own
    uint32_t turn, uneasy;      // uneasy, of a decision: a failed member was not acknowledged by all
};

#define UNO_BALLOT_SETS 2

int uno_pm_tell(const struct uno_ballot *b, size_t bytes) UNO_MUST_USE;

// The next message of mpiexec's, if one has come: malloced, the caller frees. NULL: none.
struct uno_ballot *uno_pm_news(size_t *bytes);

// A process without a launcher has started an mpiexec of its own, which answers requests over fd, and nothing else:
// uno_pm_there() stays false. Takes fd over.
void uno_pm_adopt(int fd);

// One request to mpiexec itself. Several may be under way, and other questions be asked meanwhile.
struct uno_pm_call {
    struct uno_pm_call *next;
    int ticket;
    bool answered, ended;    // ended: the job that it spawned has ended, and mpiexec says so once
    int mpi_class;           // the answer: 0, done
    char text[UNO_PM_TEXT_MAX];
};
int uno_pm_begin(struct uno_pm_call *c, const char *words, size_t bytes) UNO_MUST_USE;
int uno_pm_hear(bool wait) UNO_MUST_USE;    // takes what has come for any of them; wait: until something has
int uno_pm_descriptor(void);                // is readable then; -1 none
void uno_pm_finish(struct uno_pm_call *c);

// The three in one; c needs no more then.
int uno_pm_command(struct uno_pm_call *c, const char *words, size_t bytes) UNO_MUST_USE;
