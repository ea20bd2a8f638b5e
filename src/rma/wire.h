// SPDX-License-Identifier: BSD-3-Clause
// What one-sided messages look like, for the origin (remote.c) and the target (target.c).
#pragma once
#include "rma/win.h"

#define PIECE_MAX ((size_t)65536)    // bytes of a message
#define RUNS_MAX ((size_t)1024)      // in a message

enum what { PUT, GET, ACCUMULATE, FETCH, SWAP, DATA, LOCK, GRANT, UNLOCK, FLUSH, ANSWER, POST, COMPLETE, REFUSED };

struct wire {
    uint8_t what, after;              // FLUSH, UNLOCK or COMPLETE comes with the operation before it, ANSWER with DATA
    bool exclusive : 1, holds : 1;    // of a lock that is asked for; its asker has others
    uint8_t op;                       // handle of the predefined operation
    uint16_t element;                 // handle of the predefined type (accumulates)
    uint16_t runs;                    // that follow
    uint64_t bytes;                   // of the layout (GET), else of the data behind the runs; REFUSED: the address
    uint64_t token;                   // whom the data that comes back is for, 0: none comes
};

struct wire_run {
    uint64_t at, bytes;    // relative to the window's base; of a dynamic window an address
};

// remote.c. send: a message put together in malloced memory, which goes with it.
int uno_wire_send(struct MPI_ABI_Win *w, int rank, char *all, size_t bytes) UNO_MUST_USE;
int uno_wire_tell(struct MPI_ABI_Win *w, int rank, const struct wire *h) UNO_MUST_USE;

// What comes back for a piece: n bytes of data, or that the target refused it. What is wrong with the message, or NULL.
const char *uno_wire_data(struct MPI_ABI_Win *w, int rank, const struct wire *h, const char *data, size_t n);
const char *uno_wire_refusal(struct MPI_ABI_Win *w, int rank, const struct wire *h, int proc);

// target.c. layout: what a message says of it, in addresses of this process, with room for its runs in list; what is
// wrong with it, or NULL. act: what a message asks for, on a layout of the part; the data that it brings, where what
// is fetched goes. 0 or the class.
struct uno_rma_layout;
struct uno_run;
const char *uno_wire_layout(const struct MPI_ABI_Win *w, const struct wire *h, const char *runs, size_t wanted,
                            struct uno_run *list, struct uno_rma_layout *l);
int uno_wire_act(struct uno_rma_part *p, struct uno_rma_layout *l, const struct wire *h, char *data, char *back);
void uno_wire_raise(_Atomic uint64_t *word);          // one of this process's, for which a thread may wait
void uno_wire_forget(const struct MPI_ABI_Win *w);    // locks that are asked for: the window goes
