// SPDX-License-Identifier: BSD-3-Clause
// --line: what a cache line takes from core to core before and after each figure, in the job that is measured. Virtual
// cores are moved now and then, within seconds; figures compare only where that time was the same. Rank 0 measures with
// two threads on the first and the last core that the ranks may use; the others sleep meanwhile, on a word that all of
// them map, for an MPI barrier would spin on these cores.
#include "bench.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gate {
    _Alignas(64) _Atomic uint32_t here;    // ranks that are about to sleep
    _Alignas(64) _Atomic uint32_t turn;    // measurements that have ended
};
static struct gate *gate;
static int first_core, last_core;

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    // Returns early for signals and when the word has changed meanwhile; callers look again.
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// Rank 0 makes the file, all map it. Collective; NULL on every rank if one of them could not.
static struct gate *shared_gate(MPI_Comm world, int rank)
{
    char path[64] = "";
    int fd = -1, bad = 0, worst;
    if (rank == 0) {
        snprintf(path, sizeof path, "/dev/shm/unisono-bench-XXXXXX");
        fd = mkstemp(path);
        bad = fd < 0 || ftruncate(fd, sizeof *gate);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, world);
    if (rank) fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *gate, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    bad |= at == MAP_FAILED;
    MPI_Allreduce(&bad, &worst, 1, MPI_INT, MPI_MAX, world);
    if (rank == 0 && fd >= 0) unlink(path);
    return worst ? NULL : at;
}

// The first and the last core of all that the ranks may use; collective. 0, or -1 where there is but one.
static int outer_cores(MPI_Comm world)
{
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, world);
    first_core = last_core = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all)) continue;
        if (first_core < 0) first_core = cpu;
        last_core = cpu;
    }
    return first_core < last_core ? 0 : -1;
}

int bench_line_begin(MPI_Comm world)
{
    int rank, cores = outer_cores(world);
    MPI_Comm_rank(world, &rank);
    gate = shared_gate(world, rank);
    if (gate && cores == 0) return 0;
    if (rank == 0)
        fprintf(stderr, "unisono-bench: --line: %s\n",
                gate ? "the ranks have one core" : "the ranks share no memory (several hosts?)");
    return -1;
}

// Microseconds on rank 0, 0 on the others; collective over `ranks` ranks that --line's begin has seen.
double bench_line(int rank, int ranks)
{
    if (rank) {
        // Acquire: pairs with the release on rank 0 below; what it counts next belongs to the next turn.
        uint32_t turn = atomic_load_explicit(&gate->turn, memory_order_acquire), now;
        // Release: pairs with rank 0's acquire below.
        atomic_fetch_add_explicit(&gate->here, 1, memory_order_release);
        wake_all(&gate->here);
        while ((now = atomic_load_explicit(&gate->turn, memory_order_acquire)) == turn) wait_while(&gate->turn, now);
        return 0;
    }
    uint32_t here;
    // Acquire: pairs with the release of the other ranks above.
    while ((here = atomic_load_explicit(&gate->here, memory_order_acquire)) + 1 < (uint32_t)ranks)
        wait_while(&gate->here, here);
    double seconds = bench_floor_line(first_core, last_core);
    // Relaxed: the others count again after they have seen the turn.
    atomic_store_explicit(&gate->here, 0, memory_order_relaxed);
    // Release: pairs with the acquire of the other ranks above.
    atomic_fetch_add_explicit(&gate->turn, 1, memory_order_release);
    wake_all(&gate->turn);
    return seconds * 1e6;
}
