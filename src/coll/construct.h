// SPDX-License-Identifier: BSD-3-Clause
// Construction of communicators: the parts that need the other members. Called by src/api/{comm,intercomm,session}.c
// and src/topo with the library lock held and arguments checked. Results: 0 or an MPI error class; *out is set on
// success, NULL where the caller is no member (MPI_COMM_NULL). New communicators inherit error handler and session from
// the one they come from.
#pragma once
#include <mpi.h>

#include "base/fail.h"
#include "core/comm.h"

// construct.c. Attributes are copied, topology too; hints are not (info: those of the new communicator, may be NULL).
int uno_comm_dup(struct MPI_ABI_Comm *c, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_comm_idup(struct MPI_ABI_Comm *c, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out,
                  MPI_Request *req) UNO_MUST_USE;

// Collective over c; for an intercommunicator intercomm.c does it.
int uno_comm_create(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_comm_split(struct MPI_ABI_Comm *c, int color, int key, struct MPI_ABI_Comm **out) UNO_MUST_USE;

// Collective over the members of g alone. c may be MPI_COMM_WORLD's object for groups that come from sessions.
int uno_comm_create_group(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, int tag,
                          struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_comm_from_group(struct MPI_ABI_Group *g, const char *stringtag, struct MPI_ABI_Comm **out) UNO_MUST_USE;

// A group of all processes of c in an order of our choice (order[i] = rank in c of the new rank i), known to all
// members alike.
int uno_comm_reorder(struct MPI_ABI_Comm *c, int n, const int *order, struct MPI_ABI_Comm **out) UNO_MUST_USE;

// out[i] = rank in `to` of rank ranks[i] of `from` (ranks NULL: of rank i), MPI_UNDEFINED when absent.
int uno_group_translate(const struct MPI_ABI_Group *from, int n, const int *ranks, const struct MPI_ABI_Group *to,
                        int *out) UNO_MUST_USE;

// intercomm.c. leader: rank in local; remote (at the leader alone): peer communicator, rank there and tag.
struct uno_where;
int uno_intercomm_create(struct MPI_ABI_Comm *local, int leader, const struct uno_where *remote,
                         struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_intercomm_merge(struct MPI_ABI_Comm *c, int high, struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_intercomm_group(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_intercomm_split(struct MPI_ABI_Comm *c, int color, int key, struct MPI_ABI_Comm **out) UNO_MUST_USE;
int uno_intercomm_from_groups(struct MPI_ABI_Group *local, int local_leader, struct MPI_ABI_Group *remote,
                              int remote_leader, const char *stringtag, struct MPI_ABI_Comm **out) UNO_MUST_USE;

// What a process gets from the tables {int color, int key} of both groups of an intercommunicator: the number of its
// color among the distinct ones (-1: none), and the groups of that color on both sides (one reference each, NULL when
// index is -1).
struct uno_color_split {
    int index;
    struct MPI_ABI_Group *local, *remote;
};
int uno_intercomm_colors(struct MPI_ABI_Comm *c, const void *mine, const void *theirs,
                         struct uno_color_split *out) UNO_MUST_USE;
