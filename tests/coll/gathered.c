// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 set=huge_after=1
//
// Collectives of buffers that have left the caches and come to lie in huge pages: from some call on they go another
// way (pvar coll_shm_gathered), on all ranks at the same call, whatever buffers each of them uses next, and what
// arrives is right before, at and after that.
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define HUGE_PAGE ((size_t)2 << 20)
#define BLOCK ((size_t)9 << 20)
#define SIZES 3       // of blocks: all, two thirds and a third; which may change their way depends on the caches
#define CALLS 5000    // of them huge pages come within some tens

static int me, n;
static size_t all;    // bytes of a buffer
static MPI_T_pvar_handle taken;
static MPI_T_pvar_session session;

static char *buffer(size_t offset)
{
    char *at = aligned_alloc(HUGE_PAGE, all + HUGE_PAGE);
    CHECK(at != NULL);
    memset(at, 1, all + HUGE_PAGE);
    return at + offset;
}

// Whether this system gathers pages at all.
static bool gathers(void)
{
    char *at = aligned_alloc(HUGE_PAGE, HUGE_PAGE);
    memset(at, 1, HUGE_PAGE);
    bool does = madvise(at, HUGE_PAGE, MADV_COLLAPSE) == 0;
    free(at);
    return does;
}

static unsigned long long count(void)
{
    unsigned long long value = 0, least, most;
    CHECK(MPI_T_pvar_read(session, taken, &value) == MPI_SUCCESS);
    MPI_Allreduce(&value, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most);
    return value;
}

static int word(int turn, int from, int to)
{
    return turn * 1000 + from * 10 + to;
}

// Marks a block at both ends and in the middle.
static void mark(char *block, size_t bytes, int value)
{
    memcpy(block, &value, sizeof value);
    memcpy(block + bytes / 2, &value, sizeof value);
    memcpy(block + bytes - sizeof value, &value, sizeof value);
}

static void look(const char *block, size_t bytes, int wanted)
{
    int got[3];
    memcpy(&got[0], block, sizeof *got);
    memcpy(&got[1], block + bytes / 2, sizeof *got);
    memcpy(&got[2], block + bytes - sizeof *got, sizeof *got);
    for (int i = 0; i < 3; i++) CHECK(got[i] == wanted);
}

static void rooted(int turn, int root, char *in, char *out, size_t bytes)
{
    mark(in, bytes, word(turn, me, root));
    CHECK(MPI_Gather_c(in, (MPI_Count)bytes, MPI_BYTE, out, (MPI_Count)bytes, MPI_BYTE, root, MPI_COMM_WORLD) == 0);
    for (int r = 0; r < n && me == root; r++) look(out + (size_t)r * bytes, bytes, word(turn, r, root));
    for (int r = 0; r < n && me == root; r++) mark(in + (size_t)r * bytes, bytes, word(turn, root, r));
    CHECK(MPI_Scatter_c(in, (MPI_Count)bytes, MPI_BYTE, out, (MPI_Count)bytes, MPI_BYTE, root, MPI_COMM_WORLD) == 0);
    look(out, bytes, word(turn, root, me));
    if (me == root) mark(in, bytes, word(turn, root, 9));
    CHECK(MPI_Bcast_c(in, (MPI_Count)bytes, MPI_BYTE, root, MPI_COMM_WORLD) == 0);
    look(in, bytes, word(turn, root, 9));
}

static void by_all(int turn, char *in, char *out, size_t bytes)
{
    mark(in, bytes, word(turn, me, 0));
    CHECK(MPI_Allgather_c(in, (MPI_Count)bytes, MPI_BYTE, out, (MPI_Count)bytes, MPI_BYTE, MPI_COMM_WORLD) == 0);
    for (int r = 0; r < n; r++) look(out + (size_t)r * bytes, bytes, word(turn, r, 0));
    for (int r = 0; r < n; r++) mark(in + (size_t)r * bytes, bytes, word(turn, me, r));
    CHECK(MPI_Alltoall_c(in, (MPI_Count)bytes, MPI_BYTE, out, (MPI_Count)bytes, MPI_BYTE, MPI_COMM_WORLD) == 0);
    for (int r = 0; r < n; r++) look(out + (size_t)r * bytes, bytes, word(turn, r, me));
    mark(in, bytes, turn);
    MPI_Count ints = (MPI_Count)(bytes / sizeof(int));
    CHECK(MPI_Allreduce_c(in, out, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == 0);
    look(out, bytes, n * turn);
}

int main(int argc, char **argv)
{
    int provided, index, counted, turn = 0;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(MPI_T_pvar_get_index("coll_shm_gathered", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &taken, &counted) == MPI_SUCCESS && counted == 1);
    CHECK(MPI_T_pvar_start(session, taken) == MPI_SUCCESS);
    all = (size_t)n * BLOCK;
    char *in = buffer(0), *out = buffer(0), *odd_in = buffer(me % 2 ? 65537 : 0), *odd_out = buffer(4096);
    for (; turn < 6; turn++) {
        rooted(turn, turn % n, in, out, BLOCK);
        by_all(turn, in, out, BLOCK / 9 * 4);
        count();
    }
    // Where ranks outnumber cores a broadcast changes its way, also with the costs of suite 31-machine.
    bool sure = gathers() && sysconf(_SC_NPROCESSORS_ONLN) < n;
    MPI_Allreduce(MPI_IN_PLACE, &sure, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    unsigned long long before = count();
    for (; sure && turn < CALLS && count() == before; turn++) {
        size_t bytes = BLOCK / SIZES * (size_t)(turn % SIZES + 1);
        if (me == 0) mark(in, bytes, turn);
        MPI_Bcast_c(in, (MPI_Count)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        look(in, bytes, turn);
    }
    CHECK(turn < CALLS);
    for (int last = turn + 8; turn < last; turn++) {    // one rank's buffers change, then all ranks', and back
        bool odd = turn % 4 == 3 || (turn % 2 && me == 1);
        rooted(turn, turn % n, odd ? odd_in : in, odd ? odd_out : out, BLOCK);
        by_all(turn, odd ? odd_in : in, odd ? odd_out : out, BLOCK);
    }
    count();
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
}
