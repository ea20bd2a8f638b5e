// SPDX-License-Identifier: BSD-3-Clause
// What the one-sided rows share: a window made as --win says, and an epoch around a batch of accesses. rma.c implements
// it; k_rma.c and k_rma_sync.c use it.
#ifndef BENCH_RMA_H
#define BENCH_RMA_H
#include "bench.h"

#define RMA_SYNCS "flush,lock,lock_all,flush_local,pscw,fence"
enum rma_sync { RMA_FLUSH, RMA_LOCK, RMA_LOCK_ALL, RMA_FLUSH_LOCAL, RMA_PSCW, RMA_FENCE };

struct rma {
    MPI_Win win;
    char *base;    // this rank's window memory
    size_t size;
    MPI_Aint origin;    // displacement of the peer's memory: an address in dynamic windows
    MPI_Group peers;    // the other side of pscw
    int accesses;       // this rank is an origin
    int target;         // this rank is a target
    int held;           // lock_all is held from setup to teardown (flush kinds)
    int slot;           // of the access being made
};

int bench_rma_setup(struct run *r, size_t bytes, int accesses, int target);    // makes r->priv; 0 or -1
void bench_rma_end(struct run *r);
void bench_rma_begin(struct run *r);    // an epoch in r->variant as its kind
void bench_rma_close(struct run *r);
void bench_rma_read(struct run *r);    // makes what others wrote visible to this rank's loads; collective
#endif
