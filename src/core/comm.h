// SPDX-License-Identifier: BSD-3-Clause
// Communicators and groups: what the handles point to.
//
// A process is known by its proc number: its world rank for the processes of this job, further numbers for those of
// other jobs (chan/proc.h). A communicator finds the peer structure of a rank lazily: peer[r] is NULL until first
// used. On an intercommunicator peer[], npeers and the matching queues are those of the remote group.
#pragma once
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/pool.h"
#include "core/match.h"

#define UNO_COMM_MAGIC 0x55434f4du
#define UNO_GROUP_MAGIC 0x55475250u
#define UNO_COMM_FIRST 256
#define UNO_GROUP_FIRST 264
#define UNO_CTX_COLL (1ULL << 63)     // set in the context of messages that belong to a collective operation
#define UNO_CTX_MIXED (1ULL << 62)    // set in the context of communicators whose processes are of several jobs
#define UNO_CTX_TURNED                                                                                                 \
    (1ULL << 61)    // turned over in the context of messages to the side that is not `low`, where
                    // both sides of an intercommunicator have processes in common
#define UNO_CTX_WORLD 1ULL
#define UNO_CTX_SELF 2ULL
#define UNO_TAG_UB 2147483647    // the attribute MPI_TAG_UB

struct uno_peer;
struct uno_attrs;
struct uno_coll;    // what src/coll keeps per communicator: segment, cached schedules, choices
struct uno_topo;    // what src/topo keeps: cart, graph, dist graph
struct MPI_ABI_Errhandler;
struct MPI_ABI_Info;

struct MPI_ABI_Group {
    struct uno_head head;
    int size;
    int rank;       // of this process, MPI_UNDEFINED when not a member
    int handles;    // how many of refs the user holds: a handle freed once too often is noticed
    bool mixed;     // some are processes of other jobs, which the group holds (chan/proc.h)
    int *proc;      // [size] proc numbers
    MPI_Group handle;
    MPI_Session session;    // derived from a session: MPI_SESSION_NULL otherwise
};

struct MPI_ABI_Comm {
    struct uno_head head;
    int rank, size;    // in the local group
    int npeers;        // ranks that can be addressed: size, or the remote group's size
    bool inter;
    bool low;                                // intercommunicator: this group leads; differs between the sides
    bool freed;                              // no handle leads here: MPI_Comm_free was called, or the library is closed
    uint64_t context;                        // agreed over the members; collective messages use context | UNO_CTX_COLL
    uint64_t sends;                          // that of messages from here: the same, but for UNO_CTX_TURNED
    struct uno_peer **peer;                  // [npeers], filled on first use
    struct uno_match match[2];               // point-to-point, collective
    struct MPI_ABI_Group *group, *remote;    // remote is NULL on an intracommunicator
    struct MPI_ABI_Comm *local_comm;         // intercommunicator: its local group as an intracommunicator, else NULL
    MPI_Comm handle;                         // MPI_COMM_WORLD, MPI_COMM_SELF or this pointer
    struct MPI_ABI_Errhandler *errhandler;
    struct uno_attrs *attrs;
    struct MPI_ABI_Info *info;
    struct uno_topo *topo;    // one malloc block of topo_bytes, owned here
    size_t topo_bytes;
    struct uno_coll *coll;
    void (*coll_free)(struct MPI_ABI_Comm *c);    // set by src/coll together with coll: gives it back
    struct uno_bsend *bsend;                      // buffer attached to the communicator (src/p2p/buffered.c)
    int broken;             // class that its collective operations end with at once, 0: all members are well
    bool revoked;           // by MPIX_Comm_revoke: no operation of the user's either
    int failed;             // members, remote ones too, that have failed (p2p/fail.h)
    int acknowledged;       // of those, in the order of the failures: receives from any source go on without them
    uint32_t agreements;    // so far (src/ft): the number of the next one
    struct MPI_ABI_Comm *part_of;             // of one that the library made inside another: breaks with that
    bool has_parts;                           // there was one of which this is `part_of`
    void (*broke)(struct MPI_ABI_Comm *c);    // NULL, or called once when `broken` is set
    uint32_t coll_seq;    // number of collective operations started: gives nonblocking ones their tags
    MPI_Session session;
    signed char near;    // of one of several jobs: 1 all members share this host, -1 they do not, 0 not known
    void *owner;         // the file or window that made it for itself and whose handler its errors go to, else NULL
    char name[MPI_MAX_OBJECT_NAME];
    struct MPI_ABI_Comm *next, *prev;    // list of all communicators of this process
    struct MPI_ABI_Comm *chain;          // same bucket of the context table
    bool ready;    // has its context and is registered: false only while MPI_Comm_idup is under way
};

extern struct MPI_ABI_Comm uno_comm_world, uno_comm_self, uno_comm_invalid;
extern struct MPI_ABI_Comm *uno_comm_parent;    // of a spawned process: what MPI_Comm_get_parent gives; NULL otherwise
extern struct MPI_ABI_Comm *const uno_predefined_comm[4];    // null (invalid), world, self, invalid

static inline struct MPI_ABI_Comm *uno_comm(MPI_Comm c)
{
    uintptr_t v = (uintptr_t)c;
    return v < UNO_HANDLE_FIRST ? uno_predefined_comm[v - UNO_COMM_FIRST < 3 ? v - UNO_COMM_FIRST : 3] : c;
}

static inline bool uno_comm_is_live(const struct MPI_ABI_Comm *c)
{
    return c && c->head.magic == UNO_COMM_MAGIC && !c->freed;
}

// Of one rank, as MPI_COMM_SELF is.
static inline bool uno_comm_is_lone(const struct MPI_ABI_Comm *c)
{
    return c->size == 1 && !c->inter;
}

// That mpiexec has told something, a death perhaps: a word at the door of this rank counts up. uno_progress looks at it
// when nothing moved; calls that poll nothing, and so would never hear of it, look themselves (progress.c).
extern const _Atomic uint32_t *uno_news;    // the word; set by src/ft with the next
extern void (*uno_news_taken)(void);        // looks at what was told
extern uint32_t uno_news_seen;              // of the word
static inline bool uno_news_waits(void)
{
    // Acquire: pairs with uno_bell_news; what was told is there.
    return atomic_load_explicit(uno_news, memory_order_acquire) != uno_news_seen;
}
void uno_news_take(void);

// Such calls poll once: a message of this process may still wait for its connection. No mpiexec tells of processes of
// other jobs: they look whether these live, too. `due`: the last look is some time ago, so that a call made over and
// over looks now and then.
void uno_guests_look(void);
bool uno_guests_due(void);

// proc number of rank r as addressed on c (remote group on an intercommunicator).
static inline int uno_comm_proc(const struct MPI_ABI_Comm *c, int r)
{
    return (c->remote ? c->remote : c->group)->proc[r];
}

// src/core/comm.c. Opens MPI_COMM_WORLD and MPI_COMM_SELF once rank and size are known; closes them, and says at
// verbosity 1 how many communicators, groups and error handlers were never freed.
int uno_comm_open(void) UNO_MUST_USE;
int uno_comm_delete_attrs(void)
    UNO_MUST_USE;    // callbacks of MPI_COMM_SELF, then MPI_COMM_WORLD: first in MPI_Finalize
void uno_comm_close(void);
void uno_comm_shut(bool shut);    // no call may use MPI_COMM_WORLD and MPI_COMM_SELF, or they may again
void uno_comm_report(void);       // what the user left behind, at verbosity 1

// Makes a communicator object around a group (takes a reference) with an agreed context, registered so that messages
// find it. remote is NULL for an intracommunicator. Context 0: not agreed yet, uno_comm_register follows. NULL when
// memory is out.
struct MPI_ABI_Comm *uno_comm_make(struct MPI_ABI_Group *group, struct MPI_ABI_Group *remote, uint64_t context);
void uno_comm_register(struct MPI_ABI_Comm *c, uint64_t context);

// The object of a new intercommunicator: three contexts from base on (between, low side's own, high side's own).
struct MPI_ABI_Comm *uno_intercomm_make(struct MPI_ABI_Group *local, struct MPI_ABI_Group *remote, bool low,
                                        uint64_t base);

// Takes over what a new communicator inherits: error handler and session.
void uno_comm_inherit(struct MPI_ABI_Comm *child, const struct MPI_ABI_Comm *parent);
void uno_comm_hold(struct MPI_ABI_Comm *c);
void uno_comm_drop(struct MPI_ABI_Comm *c);

// Defined by src/p2p/deliver.c: delivers the messages that came for c's context before c was registered.
void uno_p2p_replay(struct MPI_ABI_Comm *c);

// Likewise in flow.c: frees a message that was kept and is off the lists.
void uno_unexp_free(struct uno_unexp *u);

// Likewise in deliver.c: the messages that came for c already are kept until it is made again (the library closes with
// the last session and may be opened again, while peers that were faster send to the new one).
void uno_p2p_keep(struct MPI_ABI_Comm *c);

// The tag of the next collective operation (or construction) on c. All members take them in the same order, so
// operations that are under way at once never mix. The parts that run on local_comm of an intercommunicator carry its
// tag too: local_comm has no operations, and so no sequence, of its own. Not negative.
static inline int uno_coll_tag(struct MPI_ABI_Comm *c)
{
    return (int)(c->coll_seq++ & 0x3fffffff);
}

// The first of n consecutive context numbers never used before by this process as a leader. The leader of new
// communicators takes them and tells the other members. Unique in the job; over all jobs if `mixed`: for communicators
// whose processes are of several.
uint64_t uno_context_take(bool mixed, int n);
static inline uint64_t uno_context_new(bool mixed)
{
    return uno_context_take(mixed, 1);
}

static inline bool uno_comm_is_mixed(const struct MPI_ABI_Comm *c)
{
    return c->group->mixed || (c->remote && c->remote->mixed);
}

// The communicator of a context (without UNO_CTX_COLL), or NULL when it is not (or no longer) known here.
struct MPI_ABI_Comm *uno_context_find(uint64_t context);

// src/core/group.c. uno_group_make copies proc[]; NULL when memory is out (size 0 gives a new empty group).
extern struct MPI_ABI_Group uno_group_empty;
struct MPI_ABI_Group *uno_group(MPI_Group h);    // NULL when not a live handle (MPI_GROUP_NULL too)
struct MPI_ABI_Group *uno_group_make(int size, const int *proc);

// Of the processes with these cards, which need not have been met before.
struct uno_card;
int uno_group_meet(int size, const struct uno_card *cards, struct MPI_ABI_Group **out) UNO_MUST_USE;
void uno_group_hold(struct MPI_ABI_Group *g);
void uno_group_drop(struct MPI_ABI_Group *g);
int uno_group_find(const struct MPI_ABI_Group *g, int proc);    // its rank, MPI_UNDEFINED when not a member
bool uno_group_is_spread(const struct MPI_ABI_Group *g);        // some members are on other hosts than this process
bool uno_groups_meet(const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b);    // some process is in both

// A group with a reference of its own becomes a handle of the user; the user frees that handle.
MPI_Group uno_group_give(struct MPI_ABI_Group *g);
void uno_group_take_back(struct MPI_ABI_Group *g);
size_t uno_groups_live(void);    // handles the user has not freed
