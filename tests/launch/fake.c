// SPDX-License-Identifier: BSD-3-Clause
// A rank without a library: maps the job segment and writes on its board what an MPI library would, as its arguments tell.
// Used by the tests of the launcher. Built against src/base/job.[ch] alone, so that it tests the contract and not the library.
// Actions: init | fini | abort CODE WHY | wait CALL COMM PEER TAG (sleeps for good; PEER +K counts from the own rank)
//          nap CALL TIMES MS (sleeps and wakes) | work (not in MPI, sleeps) | thread futex|timer|read | spin SECONDS
//          call NAME (as last entered)
//          only RANK (the other ranks skip the next action) | exit CODE | kill SIGNAL
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/job.h"

static struct uno_board *board;
static int rank, size;

static void die(const char *what)
{
    fprintf(stderr, "fake: %s\n", what);
    exit(99);
}

static void set_state(uint32_t state)
{
    // Release: pairs with the launcher's acquire of the state; what else is on the board was written before.
    atomic_store_explicit(&board->state, state, memory_order_release);
}

static void sleep_for_good(void)
{
    static _Atomic uint32_t word;
    for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void fall_asleep(const char *call, const char *comm, int peer, int tag)
{
    snprintf(board->wait_call, sizeof board->wait_call, "%s", call);
    snprintf(board->last_call, sizeof board->last_call, "%s", call);
    snprintf(board->wait_comm, sizeof board->wait_comm, "%s", comm);
    board->wait_peer = peer;
    board->wait_tag = tag;
    // Relaxed but for the last, which pairs with the launcher's acquire of `asleep`.
    atomic_fetch_add_explicit(&board->waiting, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->naps, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->asleep, 1, memory_order_release);
}

static void wake(void)
{
    // Relaxed: the launcher looks at all three twice, a while apart.
    atomic_fetch_sub_explicit(&board->asleep, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->naps, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&board->waiting, 1, memory_order_relaxed);
}

static void *run_thread(void *kind)
{
    char c;
    int fd[2];
    if (strcmp(kind, "futex") == 0) sleep_for_good();
    if (strcmp(kind, "read") == 0 && pipe(fd) == 0 && read(fd[0], &c, 1) != 1) die("read");
    for (;;) pause_ms(60000);
    return NULL;
}

static void do_init(char **a) { (void)a; set_state(UNO_RANK_RUNNING); }
static void do_fini(char **a) { (void)a; set_state(UNO_RANK_FINALIZED); }
static void do_work(char **a) { (void)a; for (;;) pause_ms(60000); }
static void do_call(char **a) { snprintf(board->last_call, sizeof board->last_call, "%s", a[0]); }
static void do_exit(char **a) { exit(atoi(a[0])); }
static void do_kill(char **a) { kill(getpid(), atoi(a[0])); }

static void do_abort(char **a)
{
    board->exit_code = atoi(a[0]);
    snprintf(board->why, sizeof board->why, "%s", a[1]);
    set_state(UNO_RANK_ABORTED);
    exit(atoi(a[0]));
}

static void do_wait(char **a)
{
    int peer = a[2][0] == '+' ? (rank + atoi(a[2])) % size : atoi(a[2]);
    fall_asleep(a[0], a[1], peer, atoi(a[3]));
    sleep_for_good();
}

static void do_nap(char **a)
{
    for (int i = 0; i < atoi(a[1]); i++) {
        fall_asleep(a[0], "MPI_COMM_WORLD", -1, -1);
        pause_ms(atoi(a[2]));
        wake();
    }
}

static void do_spin(char **a)
{
    atomic_fetch_add_explicit(&board->waiting, 1, memory_order_relaxed);
    for (time_t end = time(NULL) + atoi(a[0]); time(NULL) < end;) continue;
    atomic_fetch_sub_explicit(&board->waiting, 1, memory_order_relaxed);
}

static void do_thread(char **a)
{
    pthread_t t;
    if (pthread_create(&t, NULL, run_thread, a[0]) != 0) die("no thread");
}

static const struct action { const char *name; int args; void (*run)(char **); } actions[] = {
    {"init", 0, do_init}, {"call", 1, do_call}, {"fini", 0, do_fini}, {"work", 0, do_work}, {"exit", 1, do_exit}, {"kill", 1, do_kill},
    {"abort", 2, do_abort}, {"wait", 4, do_wait}, {"nap", 3, do_nap}, {"spin", 1, do_spin}, {"thread", 1, do_thread},
};

static char **act(char **a)
{
    bool mine = true;
    if (strcmp(*a, "only") == 0) {
        mine = atoi(a[1]) == rank;
        a += 2;
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(*a, actions[i].name) != 0) continue;
        if (mine) actions[i].run(a + 1);
        return a + 1 + actions[i].args;
    }
    die(*a);
    return a;
}

int main(int argc, char **argv)
{
    struct uno_job_head *head;
    int fd, local;
    const char *job = getenv(UNO_JOB_ENV);
    (void)argc;
    if (job == NULL || sscanf(job, "%d:%d", &fd, &local) != 2 || uno_job_map(fd, &head) != 0) die("no job segment");
    board = uno_job_board(head, (uint32_t)local);
    rank = board->world_rank;
    size = (int)head->nworld;
    board->pid = getpid();
    for (char **a = argv + 1; *a != NULL;) a = act(a);
    return 0;
}
