// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing the library: finds the job segment that mpiexec made (or makes one for a program started by
// itself), takes its place in it, opens the channels and the predefined communicators. Called by MPI_Init and
// MPI_Session_init in src/api.
#define _GNU_SOURCE
#include "core/world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cosched.h"
#include "base/fail.h"
#include "base/machine.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/pm.h"
#include "base/stats.h"
#include "base/streams.h"
#include "base/thresholds.h"
#include "chan/chan.h"
#include "chan/self.h"
#include "core/comm.h"
#include "core/helper.h"
#include "core/managed.h"
#include "core/progress.h"
#include "core/type_make.h"

struct uno_world uno_world = {.checks = true};

static struct uno_param checks = UNO_PARAM_BOOL("checks", 1, "check the arguments of every MPI call");
UNO_PARAM_DECLARE(checks);

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// The launcher says in which call a rank died: the name must be where it can read it.
static void on_fatal(int sig)
{
    const char *call = uno_world.call;
    if (uno_world.board && call) strncpy(uno_world.board->last_call, call, sizeof uno_world.board->last_call - 1);
    uno_stats_leave();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void watch_signals(void)
{
    for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++) {
        struct sigaction old;
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            struct sigaction mine = {.sa_handler = on_fatal, .sa_flags = SA_NODEFER | SA_ONSTACK};
            sigaction(fatal_signals[i], &mine, NULL);
        }
    }
}

static int make_own_job(int *fd)
{
    int zero = 0, one = 1;
    unsigned char secret[32];
    struct uno_job_spec spec = {.nlocal = 1,
                                .nworld = 1,
                                .universe_size = 1,
                                .nhosts = 1,
                                .world_rank = &zero,
                                .appnum = &zero,
                                .sharers = &one,
                                .secret = secret};
    if (getrandom(secret, sizeof secret, 0) != sizeof secret ||
        getrandom(&spec.job_id, sizeof spec.job_id, 0) != sizeof spec.job_id)
        return uno_fail_errno(MPI_ERR_OTHER, "draw the job's secret");
    int e = uno_job_create(&spec, fd);
    if (e) {
        errno = e;
        return uno_fail_errno(MPI_ERR_NO_MEM, "make the job segment");
    }
    return MPI_SUCCESS;
}

// The segment stays mapped when the library closes: a later session finds its place again, and peers may still read
// from it. Its descriptor stays open too: processes of other jobs find the segment by it.
static int map_job(int fd)
{
    int e = uno_job_map(fd, &uno_world.job);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    uno_chan_self.job_fd = fd;
    if (e == EPROTO) return uno_fail(MPI_ERR_OTHER, "mpiexec and libmpi_abi.so are of different versions");
    errno = e;
    if (e) return uno_fail_errno(MPI_ERR_NO_MEM, "map the job segment");
    uno_dump_keep(uno_world.job, uno_world.job->pair_off);    // boards and doors
    return MPI_SUCCESS;
}

// A program that a rank starts may inherit the rank's environment (Python hands on what it had at its own start): it is
// not that rank, whose process is on the board already, but a job of its own.
static int take_rank(int local, bool *taken)
{
    struct uno_job_head *job = uno_world.job;
    if ((uint32_t)local >= job->nlocal)
        return uno_fail(MPI_ERR_OTHER, "%s names rank %d of %u", UNO_JOB_ENV, local, job->nlocal);
    struct uno_board *b = uno_job_board(job, (uint32_t)local);
    // Acquire: pairs with the release in uno_world_open of the process that took the rank.
    uint32_t state = atomic_load_explicit(&b->state, memory_order_acquire);
    *taken = state != UNO_RANK_STARTING && b->pid != getpid();
    if (*taken && state != UNO_RANK_RUNNING)
        return uno_fail(MPI_ERR_OTHER, "rank %d has run an MPI program already; a rank of a job is one program",
                        b->world_rank);
    uno_world.local = (uint32_t)local;
    return MPI_SUCCESS;
}

static int join_job(const char *env, bool *taken)
{
    int fd, local, e = uno_job_find(env, &fd, &local);
    if (local < 0)
        return uno_fail(MPI_ERR_OTHER, "%s=%s is not FD:LOCAL:KEEPER (it is set by mpiexec alone)", UNO_JOB_ENV, env);
    unsetenv(UNO_JOB_ENV);    // a program that this one starts is not this rank
    errno = e;
    if (e) return uno_fail_errno(MPI_ERR_OTHER, "open the job segment that mpiexec made");
    int err = map_job(fd);
    return err ? err : take_rank(local, taken);
}

static int find_job(void)
{
    if (uno_world.job) return MPI_SUCCESS;
    const char *env = getenv(UNO_JOB_ENV);
    bool taken = false, managed = false;
    int fd, err = env ? join_job(env, &taken) : uno_managed_join(&managed, &fd, &uno_world.local);
    if (!err && managed) return map_job(fd);
    uno_world.singleton = !env || taken;
    if (err || !uno_world.singleton) return err;
    uno_pm_forget();
    if (taken) {
        munmap(uno_world.job, uno_world.job->bytes);
        close(uno_chan_self.job_fd);
    }
    uno_world.job = NULL;
    err = make_own_job(&fd);
    return err ? err : map_job(fd);
}

static int find_locals(void)
{
    struct uno_job_head *job = uno_world.job;
    if (job->ordered || uno_world.local_of) return MPI_SUCCESS;
    int *of = malloc(sizeof *of * job->nworld);
    if (!of) return uno_fail(MPI_ERR_NO_MEM, "no memory for a table of %u ranks", job->nworld);
    for (uint32_t i = 0; i < job->nworld; i++) of[i] = -1;
    for (uint32_t i = 0; i < job->nlocal; i++) of[uno_job_board(job, i)->world_rank] = (int)i;
    uno_world.local_of = of;
    return MPI_SUCCESS;
}

// This process's own processors are asked now: a wrapper may have bound it anew since mpiexec did. What the other ranks
// have is known from mpiexec alone.
static void decide_patience(void)
{
    struct uno_job_head *job = uno_world.job;
    uint32_t all = job->processors, own = all, sharers = (uint32_t)uno_world.board->sharers;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) own = (uint32_t)CPU_COUNT(&set);
    bool together = all != 0 && job->nlocal > all;
    uno_world.processors = own;
    uno_patience_decide(together ? job->nlocal : sharers, together ? all : own);
    if (together && own == all) uno_cosched_home(uno_world.local, job->nlocal);
    bool apart = sharers <= 1 && own < all;
    if (apart)
        uno_patience_neighbours(uno_job_door(job, uno_world.local), 1, 0);
    else
        uno_patience_neighbours(uno_job_door(job, 0), job->nlocal, uno_world.local);
    uno_log(2, "waits: %u of %u ranks share %u of %u processors%s", sharers, job->nlocal, own, all,
            uno_patience.crowded ? ", so none spins" : "");
}

static void take_place(void)
{
    struct uno_job_head *job = uno_world.job;
    uno_world.board = uno_job_board(job, uno_world.local);
    uno_world.door = uno_job_door(job, uno_world.local);
    uno_world.rank = uno_world.board->world_rank;
    uno_world.size = (int)job->nworld;
    uno_log_rank(uno_world.rank);
    uno_world.nlocal = job->nlocal;
    uno_world.appnum = uno_world.board->appnum;
    uno_world.universe = (int)job->universe_size;
    decide_patience();
    uno_world.board->pid = getpid();
    gethostname(uno_world.host, sizeof uno_world.host - 1);
    uno_chan_self = (struct uno_chan_self){.job = job,
                                           .board = uno_world.board,
                                           .door = uno_world.door,
                                           .local = uno_world.local,
                                           .nlocal = job->nlocal,
                                           .proc = uno_world.rank,
                                           .nprocs = uno_world.size,
                                           .job_fd = uno_chan_self.job_fd,
                                           .local_of = uno_world.local_of};
}

int uno_world_open(int thread_level)
{
    errno = uno_streams_hold();
    if (errno) return uno_fail_errno(MPI_ERR_OTHER, "open the standard streams, which were closed");
    int err = uno_params_load();
    if (!err) err = find_job();
    if (!err) err = find_locals();
    if (err) return err;
    const char *strange = uno_machine_join(uno_job_machine(uno_world.job));
    if (strange) return uno_fail(MPI_ERR_OTHER, "the first rank of this host: %s", strange);
    uno_types_open();
    uno_thresholds_set(uno_job_machine(uno_world.job), uno_world.local == 0);
    uno_world.checks = checks.num != 0;
    uno_world.thread_level = thread_level;
    uno_world.threads = thread_level == MPI_THREAD_MULTIPLE;
    take_place();
    uno_stats_open(uno_world.job, uno_world.board, uno_world.rank);
    err = uno_chan_open_all();
    if (uno_world.threads) uno_cosched_settle();
    if (!err) err = uno_managed_publish();
    if (!err) err = uno_comm_open();
    if (err) return err;
    if (!uno_world.singleton) watch_signals();
    // Release: mpiexec reads pid after the state.
    atomic_store_explicit(&uno_world.board->state, UNO_RANK_RUNNING, memory_order_release);
    atomic_store_explicit(&uno_world.phase, UNO_RUNNING, memory_order_release);
    return MPI_SUCCESS;
}

void uno_world_close(void)
{
    uno_comm_close();
    uno_comm_shut(true);
    uno_progress_close();
    // Relaxed: statistics.
    uno_log(2, "waits spun %llu times, yielded %llu times, slept %llu times",
            (unsigned long long)atomic_load_explicit(&uno_patience.spun, memory_order_relaxed),
            (unsigned long long)atomic_load_explicit(&uno_patience.yielded, memory_order_relaxed),
            (unsigned long long)atomic_load_explicit(&uno_patience.slept, memory_order_relaxed));
    uno_chan_close_all();
    uno_stats_leave();
    uno_managed_leave();
    // Release: all that this rank wrote to the segment is there when the launcher sees the state.
    atomic_store_explicit(&uno_world.board->state, UNO_RANK_FINALIZED, memory_order_release);
    atomic_store_explicit(&uno_world.phase, UNO_FINALIZED, memory_order_release);
    uno_world.threads = false;
}

void uno_world_rest(void)
{
    uno_stats_leave();
    uno_managed_leave();
    uno_comm_report();
    uno_comm_shut(true);
    // Release: as in uno_world_close.
    atomic_store_explicit(&uno_world.board->state, UNO_RANK_FINALIZED, memory_order_release);
    atomic_store_explicit(&uno_world.phase, UNO_FINALIZED, memory_order_release);
}

void uno_world_wake(int thread_level)
{
    uno_comm_shut(false);
    uno_world.thread_level = thread_level;
    uno_world.threads = thread_level == MPI_THREAD_MULTIPLE || uno_helper_on;
    if (uno_world.threads) uno_cosched_settle();
    // Release: as in uno_world_open.
    atomic_store_explicit(&uno_world.board->state, UNO_RANK_RUNNING, memory_order_release);
    atomic_store_explicit(&uno_world.phase, UNO_RUNNING, memory_order_release);
}

_Noreturn void uno_world_abort(int code, const char *why)
{
    fflush(stdout);
    uno_stats_leave();
    struct uno_board *b = uno_world.board;
    if (b && !uno_world.singleton && !uno_managed()) {
        b->exit_code = code;
        strncpy(b->why, why, sizeof b->why - 1);
        if (uno_world.call) strncpy(b->last_call, uno_world.call, sizeof b->last_call - 1);
        // Release: the launcher reads code and reason after the state.
        atomic_store_explicit(&b->state, UNO_RANK_ABORTED, memory_order_release);
    } else {
        fprintf(stderr, "%s\n", why);
    }
    fflush(stderr);
    uno_managed_abort(code & 0xff ? code & 0xff : 1, why);
    _exit(code & 0xff ? code & 0xff : 1);
}
