// SPDX-License-Identifier: BSD-3-Clause
// Copies between this process and another of the host (peer_memory.h), many runs per system call. The kernel may copy
// less than it was asked for: at its limit per call, or where memory ends; the next call then says why.
#define _GNU_SOURCE
#include "chan/peer_memory.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/machine.h"
#include "base/param.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/proc.h"

static struct uno_param cma_on =
    UNO_PARAM_BOOL("shm_cma", 1, "copy large messages across process memory (process_vm_readv)");
UNO_PARAM_DECLARE(cma_on);

#define RUNS_PER_CALL 256    // a call then moves half a megabyte at least, and its lists stay in the first cache

// ---- whether it may be ----

static const uint64_t probe_word = UNO_PROBE;

static ssize_t ask_kernel(int pid, const struct iovec *mine, int nmine, const struct iovec *theirs, int ntheirs,
                          bool reading)
{
    return reading ? process_vm_readv(pid, mine, (unsigned long)nmine, theirs, (unsigned long)ntheirs, 0)
                   : process_vm_writev(pid, mine, (unsigned long)nmine, theirs, (unsigned long)ntheirs, 0);
}

static bool can_read(int pid, uint64_t addr)
{
    uint64_t got = 0;
    struct iovec here = {&got, sizeof got}, there = {(void *)(uintptr_t)addr, sizeof got};
    return ask_kernel(pid, &here, 1, &there, 1, true) == (ssize_t)sizeof got && got == UNO_PROBE;
}

static bool can_write(void)
{
    uint64_t got = 0;
    struct iovec here = {(void *)(uintptr_t)&probe_word, sizeof got}, there = {&got, sizeof got};
    return ask_kernel(getpid(), &here, 1, &there, 1, false) == (ssize_t)sizeof got && got == UNO_PROBE;
}

// valgrind does not see what another process writes here, and would call it uninitialised: its tools preload a library
// of this name.
static bool is_watched(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "/vgpreload_");
}

// A filter on system calls shows within this process; whether ranks may reach each other shows between two of them.
void uno_peer_memory_open(void)
{
    struct uno_board *b = uno_chan_self.board;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);    // where Yama restricts attaching; fails harmlessly elsewhere
    b->probe = (uint64_t)(uintptr_t)&probe_word;
    bool ok = cma_on.num && !is_watched() && can_read(getpid(), b->probe) && can_write();
    // Release: pairs with the acquire in is_willing(); pid and probe are there.
    atomic_store_explicit(&b->cma, ok ? 1 : 2, memory_order_release);
}

static bool is_willing(const struct uno_board *b)
{
    // Acquire: pairs with the release in uno_peer_memory_open.
    return atomic_load_explicit(&b->cma, memory_order_acquire) == 1;
}

bool uno_peer_memory_try(uint32_t local)
{
    return uno_peer_memory_reaches(uno_job_board(uno_chan_self.job, local));
}

bool uno_peer_memory_reaches(const struct uno_board *peer)
{
    return is_willing(peer) && is_willing(uno_chan_self.board) && can_read(peer->pid, peer->probe);
}

int uno_peer_memory_pid(int local)
{
    struct uno_job_head *job = uno_chan_self.job;
    if (local < 0 || (uint32_t)local == uno_chan_self.local) return 0;
    const struct uno_board *peer = uno_job_board(job, (uint32_t)local);
    if (!is_willing(peer) || !is_willing(uno_chan_self.board)) return 0;
    // Relaxed: a lone flag.
    uint32_t known = atomic_load_explicit(&job->cma, memory_order_relaxed);
    if (known == 0) {
        known = uno_peer_memory_try((uint32_t)local) ? 1 : 2;
        atomic_store_explicit(&job->cma, known, memory_order_relaxed);
        if (known == 2) uno_log(1, "no permission to copy across processes: large messages go through the ring");
    }
    return known == 1 ? peer->pid : 0;
}

int uno_peer_memory_pid_of(int proc)
{
    if (!uno_proc_is_guest(proc)) return uno_peer_memory_pid(uno_local_of(proc));
    const struct uno_board *peer = uno_proc_is_near(proc) ? uno_proc_board(proc) : NULL;
    return peer && uno_peer_memory_reaches(peer) ? peer->pid : 0;
}

// ---- copies ----

static int world_rank_of(int pid)
{
    struct uno_job_head *job = uno_chan_self.job;
    for (uint32_t i = 0; job && i < job->nlocal; i++)
        if (uno_job_board(job, i)->pid == pid) return uno_job_board(job, i)->world_rank;
    return -1;
}

static int class_of(int err)
{
    switch (err) {
    case EFAULT: return MPI_ERR_BUFFER;
    case ESRCH: return uno_chan_self.job && uno_chan_self.job->survive ? UNO_ERR_PROC_FAILED : MPI_ERR_PROC_ABORTED;
    case ENOMEM: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_OTHER;
    }
}

// errno says what the kernel had against the copy that begins at `mine` and `theirs`.
static int copy_failed(const struct uno_crossing *c, size_t n, const void *mine, const void *theirs)
{
    return uno_fail_errno(class_of(errno), "copying %zu bytes %s %p %s %p of process %d (rank %d)", n,
                          c->reading ? "to" : "from", mine, c->reading ? "from" : "to", theirs, c->pid,
                          world_rank_of(c->pid));
}

// A place in a list of runs: byte `at` of the list, `in` of the run.
struct cursor {
    const struct uno_run *run;
    size_t at, in;
};

static struct cursor cursor_at(const struct uno_mem *m, size_t at)
{
    size_t low = 0, high = m->runs - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->run[middle].end > at)
            high = middle;
        else
            low = middle + 1;
    }
    return (struct cursor){m->run + low, at, at - (low ? m->run[low - 1].end : 0)};
}

// How many bytes lie together from the cursor on; moves it past runs that are over or empty. Bytes are left.
static size_t bytes_together(struct cursor *c)
{
    // Bytes are left, so a run holds them. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    for (; c->at == c->run->end; c->run++) c->in = 0;
    return c->run->end - c->at;
}

// n bytes from the cursor on, inside its run, go to the end of the list v.
static void take_bytes(struct cursor *c, size_t n, struct iovec *v, int *count)
{
    char *at = c->run->at + c->in;
    struct iovec *last = *count ? &v[*count - 1] : NULL;
    if (last && (char *)last->iov_base + last->iov_len == at)
        last->iov_len += n;
    else
        v[(*count)++] = (struct iovec){at, n};
    c->at += n;
    c->in += n;
}

int uno_peer_memory_copy(struct uno_crossing *c, size_t n)
{
    struct iovec mine[RUNS_PER_CALL], theirs[RUNS_PER_CALL];
    uno_assert(c->pid > 0);
    uno_assert(c->mine_at + n <= uno_mem_bytes(c->mine) && c->theirs_at + n <= uno_mem_bytes(c->theirs));
    struct cursor m = cursor_at(c->mine, c->mine_at), t = cursor_at(c->theirs, c->theirs_at);
    for (ssize_t got; n > 0; n -= (size_t)got) {
        int nm = 0, nt = 0;
        size_t bytes = 0;
        while (bytes < n && nm < RUNS_PER_CALL && nt < RUNS_PER_CALL) {
            size_t k = n - bytes, here = bytes_together(&m), there = bytes_together(&t);
            if (k > here) k = here;
            if (k > there) k = there;
            take_bytes(&m, k, mine, &nm);
            take_bytes(&t, k, theirs, &nt);
            bytes += k;
        }
        got = ask_kernel(c->pid, mine, nm, theirs, nt, c->reading);
        if (got <= 0) return copy_failed(c, bytes, mine->iov_base, theirs->iov_base);
        c->mine_at += (size_t)got;
        c->theirs_at += (size_t)got;
        if ((size_t)got == bytes) continue;
        m = cursor_at(c->mine, c->mine_at);
        t = cursor_at(c->theirs, c->theirs_at);
    }
    return MPI_SUCCESS;
}

int uno_peer_memory_move(int pid, void *mine, uint64_t theirs, size_t n, bool reading)
{
    struct uno_run here = {mine, n}, there = {(char *)(uintptr_t)theirs, n};
    struct uno_crossing c = {
        .pid = pid, .reading = reading, .mine = &(struct uno_mem){&here, 1}, .theirs = &(struct uno_mem){&there, 1}};
    return uno_peer_memory_copy(&c, n);
}

uint32_t uno_peer_memory_took(uint64_t ticks, size_t n)
{
    const struct uno_costs *c = &uno_job_machine(uno_chan_self.job)->cost;
    uint64_t usual = (c->call + (uint64_t)c->cross * n / 1000) * uno_ticks_per_us() / 1000,
             took = UNO_PEER_MEMORY_USUAL * ticks;
    if (usual) took /= usual;
    return took < 1 ? 1 : took < UNO_PEER_MEMORY_MOST ? (uint32_t)took : UNO_PEER_MEMORY_MOST;
}
