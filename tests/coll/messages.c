// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,5 args=barrier,0 set=coll_shm=0 says="messages"
// run: np=3 args=scatterv,64 says="scatterv: 0 messages"
// run: np=3 args=scatterv,64 set=coll_force=scatter=messages says="scatterv: 2 messages"
//      the root tells in its line that the blocks come by messages
//
// How many messages a collective takes over the ranks' channel, by the library's own counters. Suite 37-tune compares
// that with the simulation. Arguments: the collective, and elements of 4 bytes.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { CALLS = 10, MOST = 4096 };

static float in[64 * MOST], out[64 * MOST];

static void call(const char *name, int count, int size)
{
    if (strcmp(name, "barrier") == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(name, "bcast") == 0) MPI_Bcast(in, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (strcmp(name, "reduce") == 0) MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (strcmp(name, "allreduce") == 0) MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(name, "iallreduce") == 0) {
        MPI_Request request;
        MPI_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(name, "gather") == 0) MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (strcmp(name, "scatter") == 0) MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (strcmp(name, "scatterv") == 0) {
        int counts[64], displs[64];
        for (int r = 0; r < size; r++) counts[r] = count, displs[r] = r * count;
        MPI_Scatterv(in, counts, displs, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
    if (strcmp(name, "allgather") == 0) MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
    if (strcmp(name, "alltoall") == 0) MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
    if (strcmp(name, "reduce_scatter") == 0)
        MPI_Reduce_scatter_block(in, out, (count + size - 1) / size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(name, "scan") == 0) MPI_Scan(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

// Begins to count one variable in this process.
static MPI_T_pvar_handle count_on(MPI_T_pvar_session session, const char *name)
{
    MPI_T_pvar_handle handle;
    int index, count;
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    return handle;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"shm_eager_messages", "shm_direct_messages", "shm_stream_messages"};
    const char *name = argc > 1 ? argv[1] : "barrier";
    int count = argc > 2 ? atoi(argv[2]) : 1, rank, size, provided;
    unsigned long long own = 0, part = 0, all = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle[3];
    CHECK(count >= 0 && count <= MOST);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= 64);
    MPI_Barrier(MPI_COMM_WORLD);    // the first blocking call finds out about the communicator
    call(name, count, size);
    for (int i = 0; i < 3; i++) handle[i] = count_on(session, names[i]);
    for (int i = 0; i < CALLS; i++) call(name, count, size);
    for (int i = 0; i < 3; i++, own += part) CHECK(MPI_T_pvar_read(session, handle[i], &part) == MPI_SUCCESS);
    MPI_Reduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(rank || all % CALLS == 0);
    if (rank == 0) printf("%s: %llu messages\n", name, all / CALLS);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
}
