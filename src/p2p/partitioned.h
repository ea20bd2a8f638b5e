// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication (MPI-4.1, chapter 4) for the entry points in src/api/partitioned.c. The lock is held except
// in uno_part_ready and uno_part_arrived, which threads call at once and which take it themselves where they need it.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "core/world.h"
#include "p2p/p2p.h"

// A partitioned operation as the user gives it: `partitions` times `count` elements of `type` at `buf`.
struct uno_part_spec {
    const void *buf;
    int partitions;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
};

// What a Pready touches, the first thing in a partitioned request's `extra`. One bit per partition, 2^shift partitions
// in a word; set: ready, or not there. Outside an active send all bits are set.
struct uno_marks {
    _Atomic uint64_t *word;
    unsigned n;        // partitions that may be marked; 0 in a receive
    unsigned alone;    // the same while no other thread calls MPI, else 0
    unsigned shift;
};

int uno_psend_init(const struct uno_part_spec *spec, const struct uno_where *to, MPI_Request *req) UNO_MUST_USE;
int uno_precv_init(const struct uno_part_spec *spec, const struct uno_where *from, MPI_Request *req) UNO_MUST_USE;

void uno_part_word_full(MPI_Request req, unsigned word);

// Partition i of an active send may leave. False: it was not marked, because something is wrong with the call or
// because other threads may call MPI: uno_part_ready then knows. Inline, because programs call it per partition.
static inline bool uno_part_ready_alone(MPI_Request req, int i)
{
    if (__builtin_expect((uintptr_t)req < UNO_HANDLE_FIRST || req->head.magic != UNO_REQUEST_MAGIC, 0)) return false;
    if (__builtin_expect(req->kind != UNO_REQ_PARTITIONED, 0)) return false;
    struct uno_marks *m = req->extra;
    if (__builtin_expect((unsigned)i >= m->alone, 0)) return false;
    _Atomic uint64_t *word = &m->word[(unsigned)i >> m->shift];
    uint64_t bit = 1ULL << (i & 63), old = atomic_load_explicit(word, memory_order_relaxed);    // relaxed: our own
    if (__builtin_expect((old & bit) != 0, 0)) return false;
    atomic_store_explicit(word, old | bit, memory_order_relaxed);
    if ((old | bit) == UINT64_MAX) uno_part_word_full(req, (unsigned)i >> m->shift);
    return true;
}

// The same from threads at once.
bool uno_part_ready(MPI_Request req, int i);

// Says why a partition may not be marked, for a request that is an active partitioned send.
int uno_part_refusal(MPI_Request req, int i) UNO_MUST_USE;

// Whether partition i of a receive is there (always, when it is not active).
int uno_part_arrived(MPI_Request req, int i, bool *arrived) UNO_MUST_USE;

// A process is gone: partitioned operations with it end, and fail when they are started again.
void uno_parts_fail(int proc, int error);

bool uno_part_is_send(MPI_Request req);
