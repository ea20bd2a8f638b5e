// SPDX-License-Identifier: BSD-3-Clause
// The contract of a set of collective algorithms (docs/components.md). An algorithm is a function that writes down, for
// one call on one rank, the messages, copies and reductions of that rank as steps; the library runs them, for blocking,
// nonblocking and persistent calls alike.
//
// Which one is taken: that of a set whose priority is above UNO_COLLECTIVE_OWN, from its least ranks and bytes on; any
// where the parameters coll_table and coll_force name it (bcast=ring). All ranks must come to the same choice: it
// depends on the collective, the ranks and the bytes alone.
#pragma once
#include <mpi.h>
#include <stddef.h>

#include "component.h"

#define UNO_COLLECTIVE_MAJOR 1
#define UNO_COLLECTIVE_MINOR 0
#define UNO_COMPONENT_IS_COLLECTIVE                                                                                    \
    UNO_COMPONENT_HEAD(UNO_COMPONENT_COLLECTIVE, UNO_COLLECTIVE_MAJOR, UNO_COLLECTIVE_MINOR)
#define UNO_COLLECTIVE_OWN 50    // priority of the library's own set

struct uno_sched;

// A call on an intracommunicator, its arguments checked. MPI_Bcast uses receive, receive_count, receive_type;
// reductions these and send, and all ranks have the same counts in them. Counts are per rank in the others, as the
// standard has them; what a rank does not use (the send buffer at all but the root of a scatter) is unspecified.
struct uno_algorithm_call {
    int rank, size, root;
    const void *send;    // may be MPI_IN_PLACE
    void *receive;       // of a scatter: may be MPI_IN_PLACE
    MPI_Count send_count, receive_count;
    MPI_Datatype send_type, receive_type;
    MPI_Op op;
};

struct uno_algorithm {
    const char *collective;    // barrier, bcast, reduce, allreduce, gather, scatter, allgather or alltoall
    const char *name;          // letters, digits and _; unlike all others of that collective
    int least_ranks;
    size_t least_bytes;    // of the whole vector (bcast and reductions), else of a rank's block
    // Reductions of operations that do not commute ask for it only if this is set: partial results are then combined
    // in the order of the ranks.
    int ordered;
    void (*build)(struct uno_sched *s, const struct uno_algorithm_call *c);
};

// The table of a component.
struct uno_algorithm_set {
    const struct uno_algorithm *algorithm;
    size_t count;
};

// What the library does for an algorithm, inside `build`: struct uno_component_host.services. Steps between two fences
// start in the order in which they were written down; copies and reductions happen at once, messages are waited for at
// the fence. A failure inside is kept and ends the call: build goes on.
struct uno_collective_host {
    void (*send)(struct uno_sched *s, int peer, const void *at, MPI_Count count, MPI_Datatype type);
    void (*receive)(struct uno_sched *s, int peer, void *at, MPI_Count count, MPI_Datatype type);
    // A message of no bytes to a rank, and one from a rank; -1: none.
    void (*signal)(struct uno_sched *s, int to, int from);
    void (*copy)(struct uno_sched *s, const void *from, void *to, MPI_Count count, MPI_Datatype type);
    void (*combine)(struct uno_sched *s, const void *a, const void *b, void *out, MPI_Count count,
                    MPI_Datatype type);    // out = a op b; out may be b, not a
    void (*fence)(struct uno_sched *s);
    // Memory for elements of a type, that lives as long as the steps; NULL (the call fails then) where there is none.
    void *(*scratch)(struct uno_sched *s, MPI_Count count, MPI_Datatype type);
    MPI_Count (*extent)(MPI_Datatype type);    // bytes from one element to the next
    MPI_Count (*bytes)(MPI_Datatype type);     // of the data of one element
};
