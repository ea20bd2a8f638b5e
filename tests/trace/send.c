// SPDX-License-Identifier: BSD-3-Clause
// Lists the library's functions that one blocking 8-byte MPI_Send and one MPI_Recv enter, when the message is sent to a
// peer on the node and all is warm. Run at np 2 by tests/suites/42-trace against a library built with
// -finstrument-functions. Prints on rank 0 `send DEPTH ADDRESS`, on rank 1 `recv DEPTH ADDRESS`; addresses count from
// the library's base.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define MOST 4096

static int on, depth, count;
static struct {
    int depth;
    void *function;
} entered[MOST];

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

void __cyg_profile_func_enter(void *function, void *from)
{
    (void)from;
    if (!on) return;
    depth++;
    if (count == MOST) return;
    entered[count].depth = depth;
    entered[count].function = function;
    count++;
}

void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
    if (on) depth--;
}

static void print(const char *what)
{
    for (int i = 0; i < count; i++) {
        Dl_info info;
        CHECK(dladdr(entered[i].function, &info) != 0);
        uintptr_t offset = (uintptr_t)entered[i].function - (uintptr_t)info.dli_fbase;
        printf("%s %d %#lx\n", what, entered[i].depth, (unsigned long)offset);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank;
    char data[8] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 1000; i++) {
        if (rank == 0) MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    on = rank == 0;
    if (rank == 0) MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    on = rank == 1;
    if (rank == 1) MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    on = 0;
    CHECK(count > 0);
    print(rank == 0 ? "send" : "recv");
    MPI_Finalize();
    return 0;
}
