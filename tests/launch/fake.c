// SPDX-License-Identifier: BSD-3-Clause
// A rank without a library: maps the job segment and writes on its board what an MPI library would, as its arguments
// tell. Used by the tests of the launcher. Built against src/base/{job,pm}.[ch] alone, so that it tests the contract
// and not the library. Actions: init | fini | abort CODE WHY | wait CALL COMM PEER TAG (sleeps for good; PEER +K counts
// from the own rank)
//          nap CALL TIMES MS (sleeps and wakes) | work (not in MPI, sleeps) | thread futex|timer|read | spin SECONDS
//          call NAME (as last entered)
//          socket (holds unread bytes) | put KEY VALUE | get RANK KEY (prints) | exchange | fence | say TEXT | pause MS
//          request WORDS (to mpiexec; their first character separates them; prints class and text)
//          only RANK (the other ranks skip the next action) | exit CODE | kill SIGNAL
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/job.h"
#include "base/pm.h"

static struct uno_board *board;
static struct uno_door *door;
static int rank, size;

static _Noreturn void die(const char *what)
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
    atomic_store_explicit(&board->sleeper, gettid(), memory_order_relaxed);
    atomic_store_explicit(&door->mode, UNO_DOOR_FUTEX, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->naps, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->asleep, 1, memory_order_release);
}

static void wake(void)
{
    // Relaxed: the launcher looks at all of them twice, a while apart.
    atomic_fetch_sub_explicit(&board->asleep, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&board->naps, 1, memory_order_relaxed);
    atomic_store_explicit(&door->mode, UNO_DOOR_AWAKE, memory_order_relaxed);
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

static void do_init(char **a)
{
    (void)a;
    set_state(UNO_RANK_RUNNING);
}
static void do_fini(char **a)
{
    (void)a;
    set_state(UNO_RANK_FINALIZED);
}
static void do_work(char **a)
{
    (void)a;
    for (;;) pause_ms(60000);
}
static void do_call(char **a)
{
    snprintf(board->last_call, sizeof board->last_call, "%s", a[0]);
}
static void do_exit(char **a)
{
    exit(atoi(a[0]));
}
static void do_kill(char **a)
{
    kill(getpid(), atoi(a[0]));
}

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
    for (time_t end = time(NULL) + atoi(a[0]); time(NULL) < end;) continue;
}

static void do_thread(char **a)
{
    pthread_t t;
    if (pthread_create(&t, NULL, run_thread, a[0]) != 0) die("no thread");
}

// Two ends of a loopback connection in this process, with bytes sent that nobody reads.
static void do_socket(char **a)
{
    (void)a;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&where, len) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (void *)&where, &len) != 0 || connect(out, (void *)&where, len) != 0 ||
        accept(listener, NULL, NULL) < 0 || write(out, "x", 1) != 1)
        die("no connection");
}

static void do_put(char **a)
{
    if (uno_pm_put(a[0], a[1], strlen(a[1]))) die("put");
}

static void do_get(char **a)
{
    char value[UNO_PM_VALUE_MAX];
    size_t bytes = sizeof value;
    int peer = a[0][0] == '+' ? (rank + atoi(a[0])) % size : atoi(a[0]);
    int err = uno_pm_get(peer, a[1], value, &bytes);
    if (err != 0 && err != ESRCH) die("get");
    if (err == 0)
        printf("%d got %.*s of %d\n", rank, (int)bytes, value, peer);
    else
        printf("%d: %d is gone\n", rank, peer);
    fflush(stdout);
}

// All ranks put a large value, fetch everybody's, and check them.
static void do_exchange(char **a)
{
    static char mine[UNO_PM_VALUE_MAX], got[UNO_PM_VALUE_MAX];
    (void)a;
    memset(mine, 'a' + rank % 26, sizeof mine);
    if (uno_pm_put("block", mine, sizeof mine)) die("put");
    for (int r = 0; r < size; r++) {
        size_t bytes = sizeof got;
        if (uno_pm_get(r, "block", got, &bytes) || bytes != sizeof got) die("get");
        for (size_t i = 0; i < bytes; i++) {
            if (got[i] != 'a' + r % 26) die("wrong value");
        }
    }
    size_t little = 10;
    if (uno_pm_get(0, "block", got, &little) != EMSGSIZE) die("a value longer than its room");
}

static void do_fence(char **a)
{
    (void)a;
    if (uno_pm_fence()) die("fence");
}

static void do_request(char **a)
{
    static char words[1 << 22];
    struct uno_pm_call call = {.mpi_class = -1};
    size_t bytes = strlen(a[0] + 1) + 1;
    if (bytes > sizeof words) die("a request that long");
    memcpy(words, a[0] + 1, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (words[i] == a[0][0]) words[i] = '\0';
    }
    int err = uno_pm_command(&call, words, bytes);
    printf("class %d error %d: %s\n", call.mpi_class, err, call.text);
    fflush(stdout);
}

static void do_say(char **a)
{
    printf("%s\n", a[0]);
    fflush(stdout);
}

static void do_pause(char **a)
{
    pause_ms(atoi(a[0]));
}

static const struct action {
    const char *name;
    int args;
    void (*run)(char **);
} actions[] = {
    {"init", 0, do_init}, {"call", 1, do_call},   {"fini", 0, do_fini},         {"work", 0, do_work},
    {"exit", 1, do_exit}, {"kill", 1, do_kill},   {"abort", 2, do_abort},       {"wait", 4, do_wait},
    {"nap", 3, do_nap},   {"spin", 1, do_spin},   {"thread", 1, do_thread},     {"socket", 0, do_socket},
    {"put", 2, do_put},   {"get", 2, do_get},     {"exchange", 0, do_exchange}, {"fence", 0, do_fence},
    {"say", 1, do_say},   {"pause", 1, do_pause}, {"request", 1, do_request},
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
    if (job == NULL || uno_job_find(job, &fd, &local) != 0 || uno_job_map(fd, &head) != 0) die("no job segment");
    board = uno_job_board(head, (uint32_t)local);
    door = uno_job_door(head, (uint32_t)local);
    rank = board->world_rank;
    size = (int)head->nworld;
    board->pid = getpid();
    for (char **a = argv + 1; *a != NULL;) a = act(a);
    return 0;
}
