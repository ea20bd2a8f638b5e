// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3 chan=shm,tcp
// run: np=2 set=check_types=1 says="MPI_SUM on MPI_CHAR is not defined by the standard"
// run: np=2 set=check_collectives=1 says="MPI_SUM on MPI_CHAR is not defined by the standard"
// Reductions of characters and bytes, which the standard leaves open: every operation is that on the integer type of
// the same width, in every call that reduces.
#include <limits.h>
#include <string.h>
#include <wchar.h>

#include "coll.h"

#define COUNT 37
#define BYTES (COUNT * sizeof(wchar_t))

static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                             MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
static int me, n;

// The result of each call, all in one block, for one type.
struct results {
    char local[BYTES], all[BYTES], one[BYTES], scan[BYTES], before[BYTES], block[BYTES], later[BYTES], again[BYTES];
};

static void reduce_all(MPI_Datatype type, MPI_Op op, struct results *out)
{
    MPI_Request r[2];
    unsigned char in[BYTES], blocks[64 * 3 * sizeof(wchar_t)];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + (size_t)me * 101);
    for (size_t i = 0; i < sizeof blocks; i++) blocks[i] = (unsigned char)(i * 11 + (size_t)me * 53);
    memset(out, 0, sizeof *out);
    memcpy(out->local, blocks, sizeof out->local);
    CHECK(MPI_Reduce_local(in, out->local, COUNT, type, op) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(in, out->all, COUNT, type, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Reduce(in, out->one, COUNT, type, op, n - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Scan(in, out->scan, COUNT, type, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Exscan(in, out->before, COUNT, type, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me == 0) memset(out->before, 0, sizeof out->before);    // undefined there
    CHECK(MPI_Reduce_scatter_block(blocks, out->block, 3, type, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(in, out->later, COUNT, type, op, MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Allreduce_init(in, out->again, COUNT, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]) == MPI_SUCCESS);
    CHECK(MPI_Start(&r[1]) == MPI_SUCCESS && MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&r[1]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static struct results have, want;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    const struct {
        MPI_Datatype type, number;
    } pair[] = {{MPI_CHAR, CHAR_MIN < 0 ? MPI_INT8_T : MPI_UINT8_T},
                {MPI_CHARACTER, CHAR_MIN < 0 ? MPI_INT8_T : MPI_UINT8_T},
                {MPI_WCHAR, WCHAR_MIN < 0 ? MPI_INT32_T : MPI_UINT32_T},
                {MPI_BYTE, MPI_UINT8_T}};
    for (size_t t = 0; t < sizeof pair / sizeof *pair; t++) {
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            reduce_all(pair[t].type, ops[o], &have);
            reduce_all(pair[t].number, ops[o], &want);
            CHECK(memcmp(&have, &want, sizeof have) == 0);
        }
    }
    MPI_Finalize();
    return 0;
}
