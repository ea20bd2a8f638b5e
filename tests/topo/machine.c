// SPDX-License-Identifier: BSD-3-Clause
// run: np=8 chan=shm,tcp set="hw_synthetic=pack:2 numa:2 l3:1 core:2 pu:1"
// Splitting by hardware and reordering on an imagined machine of 2 sockets with 2 NUMA nodes each, one rank per core.
#include "machine.h"

#include <string.h>

static int rank, size;

// How many ranks share this one's part of a kind; 0 when there is no such kind.
static int guided(int type, const char *kind, int *part)
{
    MPI_Comm c;
    MPI_Info info;
    int n = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", kind);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &c) == MPI_SUCCESS);
    MPI_Info_free(&info);
    if (c == MPI_COMM_NULL) return 0;
    MPI_Comm_size(c, &n);
    *part = rank;
    MPI_Bcast(part, 1, MPI_INT, 0, c);
    MPI_Comm_free(&c);
    return n;
}

// Each unguided split goes one level down, and says which.
static void unguided(void)
{
    static const struct {
        const char *kind;
        int ranks;
    } step[] = {{"Package", 4}, {"NUMANode", 2}, {"Core", 1}};
    MPI_Comm c = MPI_COMM_WORLD, d;
    for (int i = 0; i < 3; i++) {
        MPI_Info info;
        char value[32] = "";
        int n = sizeof value, flag, ranks;
        MPI_Info_create(&info);
        CHECK(MPI_Comm_split_type(c, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &d) == MPI_SUCCESS);
        MPI_Info_get_string(info, "mpi_hw_resource_type", &n, value, &flag);
        MPI_Info_free(&info);
        if (i > 0) MPI_Comm_free(&c);
        CHECK(d != MPI_COMM_NULL && flag && strcmp(value, step[i].kind) == 0);
        MPI_Comm_size(d, &ranks);
        CHECK(ranks == step[i].ranks);
        c = d;
    }
    MPI_Comm_free(&c);
}

// A grid of 2 x 4: each socket takes a square of it, which cuts 2 links instead of 4.
static void grid(int socket)
{
    MPI_Comm c, part;
    int at[2], low[2], high[2], me;
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 4}, (int[]){0, 0}, 1, &c);
    MPI_Comm_rank(c, &me);
    MPI_Cart_coords(c, me, 2, at);
    MPI_Comm_split(c, socket, 0, &part);
    MPI_Allreduce(at, low, 2, MPI_INT, MPI_MIN, part);
    MPI_Allreduce(at, high, 2, MPI_INT, MPI_MAX, part);
    CHECK(low[0] == 0 && high[0] == 1 && low[1] % 2 == 0 && high[1] == low[1] + 1);
    MPI_Comm_free(&part);
    MPI_Comm_free(&c);
}

int main(void)
{
    int socket = -1, node = -1, core = -1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info hw;
    MPI_Get_hw_resource_info(&hw);
    char value[8] = "";
    int n = sizeof value, flag;
    MPI_Info_get_string(hw, "hwloc://NUMANode", &n, value, &flag);
    MPI_Info_free(&hw);
    CHECK(flag);
    if (strcmp(value, "true") != 0) skip("hwloc is not installed (package libhwloc15)");
    CHECK(guided(MPI_COMM_TYPE_HW_GUIDED, "Package", &socket) == 4 && socket == rank / 4 * 4);
    CHECK(guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "hwloc://NUMANode", &node) == 2 && node == rank / 2 * 2);
    CHECK(guided(MPI_COMM_TYPE_HW_GUIDED, "L3Cache", &core) == 2);
    CHECK(guided(MPI_COMM_TYPE_HW_GUIDED, "Core", &core) == 1);
    unguided();
    grid(socket);
    check_pairs(node);
    MPI_Finalize();
    return 0;
}
