// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5,8 set=coll_force=gather=windows set=coll_window=4096
// run: np=2,4 set=coll_force=gather=windows
// run: np=3 set=coll_force=gather=windows set=coll_window=4096 set=coll_wide=67108864
//      no room for windows, so by copies
// run: np=3 set=coll_force=gather=windows set=shm_cma=0
//      by messages, since none may be copied across
// run: np=2,4
//      as the machine likes best
// Large gathers whose blocks are handed in in windows: less than one, several, more than lie side by side; each root,
// in place or not, early or late; blocks of different lengths and none; and whoever has handed in its block may write
// to it at once. Of a root in place nothing is copied across but what is less than a line.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../check.h"

#define MOST ((5 << 20) + 77)
#define ROUNDS 5    // windows past the caches and others, in turn

static int me, n;
static unsigned char *in, *out;
static long moved;
static volatile long busy;

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long nhere, const struct iovec *there,
                          unsigned long nthere, unsigned long flags)
{
    long got = syscall(SYS_process_vm_writev, pid, here, nhere, there, nthere, flags);
    if (got > 0) moved += got;
    return got;
}

static unsigned char byte_of(int rank, int turn, size_t i)
{
    return (unsigned char)((uint32_t)i * 2654435761u >> 24 ^ (unsigned)(rank * 37 + turn * 11));
}

static void fill(unsigned char *at, int rank, int turn, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) at[i] = byte_of(rank, turn, i);
}

static bool same(const unsigned char *at, int rank, int turn, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(rank, turn, i)) return false;
    return true;
}

// Long enough for others to hand in all that there is room for.
static void dawdle(int turn, int bytes)
{
    for (long i = 0; i < (turn * 7 + me) % 4 * (40000L + bytes / 4); i++) busy += i;
}

static void gather(int turn, int root, int bytes, bool in_place)
{
    const void *from = in_place && me == root ? MPI_IN_PLACE : in;
    fill(in, me, turn, (size_t)bytes);
    if (me == root) memset(out, 0x77, (size_t)n * (size_t)bytes + 1);
    if (from == MPI_IN_PLACE) fill(out + (size_t)me * (size_t)bytes, me, turn, (size_t)bytes);
    dawdle(turn, bytes);
    CHECK(MPI_Gather(from, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    memset(in, 0x55, (size_t)bytes);
    for (int r = 0; r < n && me == root; r++) CHECK(same(out + (size_t)r * (size_t)bytes, r, turn, (size_t)bytes));
    if (me == root) CHECK(out[(size_t)n * (size_t)bytes] == 0x77);
}

// Ranks give nothing, some bytes, half and all of what there is, from the last to the first, with gaps of a byte.
static int count_of(int rank, int turn, int bytes)
{
    static const int part[] = {0, 1000, 2, 1};
    int k = part[(rank + turn) % 4];
    return k > 0 ? bytes / k : 0;
}

static void gatherv(int turn, int root, int bytes, bool in_place)
{
    const void *from = in_place && me == root ? MPI_IN_PLACE : in;
    int counts[8], displs[8], mine = count_of(me, turn, bytes), all = 0;
    for (int r = n - 1; r >= 0; r--) {
        counts[r] = count_of(r, turn, bytes);
        displs[r] = all;
        all += counts[r] + 1;
    }
    fill(in, me, turn, (size_t)mine);
    if (me == root) memset(out, 0x77, (size_t)all);
    if (from == MPI_IN_PLACE) fill(out + displs[me], me, turn, (size_t)mine);
    dawdle(turn + 1, bytes);
    CHECK(MPI_Gatherv(from, mine, MPI_BYTE, out, counts, displs, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    memset(in, 0x55, (size_t)mine);
    for (int r = 0; r < n && me == root; r++)
        CHECK(same(out + displs[r], r, turn, (size_t)counts[r]) && out[displs[r] + counts[r]] == 0x77);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 4095, 4096, 70000, 600001, MOST};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    in = malloc(MOST);
    out = malloc((size_t)n * (MOST + 1));
    CHECK(in && out);
    for (int turn = 0; turn < ROUNDS * 6; turn++) {
        int bytes = sizes[turn % 6], root = turn % n;
        gather(turn, root, bytes, false);
        gatherv(turn, root, bytes, false);
        gatherv(turn, root, bytes, true);
        moved = 0;
        gather(turn, root, bytes, true);
        const char *force = getenv("UNISONO_COLL_FORCE"), *wide = getenv("UNISONO_COLL_WIDE");
        if (force && !wide) CHECK(moved < 64);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
