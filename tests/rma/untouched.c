// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,32
// A window costs no memory that nobody touches, however large it is and however many ranks map it: what a rank has
// resident grows by less than 256 KiB while it makes a window of 64 MiB per rank and locks it all.
#include <unistd.h>

#include "../check.h"
#include "../resident.h"

#ifdef __SANITIZE_ADDRESS__
#define MOST_KIB 1024    // its shadow memory counts too
#else
#define MOST_KIB 256
#endif

static void make(MPI_Aint bytes, MPI_Win *win)
{
    char *mem;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, win);
    MPI_Win_lock_all(0, *win);
    MPI_Win_flush_all(*win);
    MPI_Win_unlock_all(*win);
    MPI_Win_fence(0, *win);
}

int main(int argc, char **argv)
{
    MPI_Win first, win;
    MPI_Init(&argc, &argv);
    if (getenv("TEST_EMULATOR")) skip("an emulator's own memory counts, too");
    make(4096, &first);    // brings in code and the memory of messages
    long before = resident_kib((int)getpid(), "Rss:");
    if (before < 0) skip("the kernel has no /proc/self/smaps_rollup");
    make((MPI_Aint)64 << 20, &win);
    long more = resident_kib((int)getpid(), "Rss:") - before;
    printf("%ld KiB\n", more);
    CHECK(more < MOST_KIB);
    MPI_Win_free(&win);
    MPI_Win_free(&first);
    MPI_Finalize();
    return 0;
}
