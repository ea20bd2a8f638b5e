// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication (MPI-4.1, chapter 4) for the entry points in src/api/partitioned.c. The lock is held but in
// uno_part_ready and uno_part_arrived, which threads call at once and which take it themselves.
#pragma once
#include <stdbool.h>

#include "p2p/p2p.h"

// A partitioned operation as the user gives it: `partitions` times `count` elements of `type` at `buf`.
struct uno_part_spec {
    const void *buf;
    int partitions;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
};

int uno_psend_init(const struct uno_part_spec *spec, const struct uno_where *to, MPI_Request *req);
int uno_precv_init(const struct uno_part_spec *spec, const struct uno_where *from, MPI_Request *req);

// Partition i of an active send may leave. False: it was not marked, because something is wrong with the call (or it
// goes nowhere).
bool uno_part_ready(MPI_Request req, int i);

// Why not, for a request that is an active partitioned send: MPI_SUCCESS when it goes to MPI_PROC_NULL.
int uno_part_refusal(MPI_Request req, int i);

// Whether partition i of a receive is there (always, when it is not active).
int uno_part_arrived(MPI_Request req, int i, bool *arrived);

bool uno_part_is_send(MPI_Request req);

struct uno_link;
struct uno_hdr;
void uno_part_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload);    // from deliver.c
