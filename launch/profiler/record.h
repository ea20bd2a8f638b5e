// SPDX-License-Identifier: BSD-3-Clause
// What the generated wrappers (tools/abi/profile.py) call: one record per MPI call. Private to the preloaded library.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define PROF_NONE (-1.0)    // the call has no size

// What a call was: its number, who called it, when it began, and what it moved.
struct prof_call {
    int call;
    const void *place;
    uint64_t start;
    double bytes;
    int peer;    // rank of comm that a message goes to, MPI_PROC_NULL: none
    MPI_Comm comm;
    bool inside;    // counted among the calls that this rank is in
};

struct prof_call prof_begin(int call, const void *place);
void prof_prepare(void);    // before MPI_Init or MPI_Session_init, which takes the job's name out of the environment
void prof_open(void);       // after it
void prof_close(struct prof_call *c);    // before MPI_Finalize, MPI_Abort, whose time is not counted
// Adds the call up. request: NULL, or what it started; persistent ones move their bytes when they are started.
void prof_end(struct prof_call *c, const MPI_Request *request, int persistent);
void prof_started(struct prof_call *c, int n, const MPI_Request *requests);
// Of Wait and Test: the handles before the call, and the array as the call left it.
#define PROF_WAITS 64
int prof_keep(MPI_Request kept[PROF_WAITS], int n, const MPI_Request *requests);
void prof_waited(struct prof_call *c, int n, const MPI_Request *kept, const MPI_Request *requests);
void prof_forget_comm(MPI_Comm comm);
void prof_forget_request(MPI_Request request);

double prof_size(MPI_Count count, MPI_Datatype type);
double prof_sum(const int counts[], MPI_Datatype type, MPI_Comm comm);
double prof_sum_c(const MPI_Count counts[], MPI_Datatype type, MPI_Comm comm);
