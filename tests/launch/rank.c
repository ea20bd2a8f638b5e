// SPDX-License-Identifier: BSD-3-Clause
// A real MPI program whose first argument says how it misbehaves. Built by suite 35-launch with mpicc of the stage.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void receive(int from, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int to, int tag)
{
    MPI_Send(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

// Every rank receives first.
static void ring(void)
{
    receive((rank + size - 1) % size, 7);
    send((rank + 1) % size, 7);
}

static void crash_in_call(void)
{
    if (rank == size - 1) {
        raise(SIGSEGV);
    }
    receive(size - 1, 1);
}

static void be_killed(void)
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

static void abort_job(void)
{
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
    receive(1, 1);
}

static void wrong_argument(void)
{
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
    receive(1, 1);
}

static void forget_finalize(void)
{
    exit(0);
}

// Rank 0 computes for three seconds outside MPI while the others wait for it.
static void slow_partner(void)
{
    if (rank == 0) {
        sleep(3);
        for (int r = 1; r < size; r++) send(r, 1);
    } else {
        receive(0, 1);
    }
}

static void *send_later(void *unused)
{
    (void)unused;
    sleep(3);
    send((rank + 1) % size, 7);
    return NULL;
}

// All ranks wait in MPI, but each has another thread that will send.
static void thread_partner(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, send_later, NULL) != 0) exit(9);
    receive((rank + size - 1) % size, 7);
    pthread_join(t, NULL);
}

static void *receive_too(void *unused)
{
    (void)unused;
    receive((rank + 1) % size, 8);
    return NULL;
}

// Two threads of each rank wait for messages that nobody sends.
static void thread_ring(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, receive_too, NULL) != 0) exit(9);
    ring();
    pthread_join(t, NULL);
}

// Ranks 0 and 1 exchange messages for seven seconds, whatever happens to the line between them.
static void exchange(void)
{
    int go = 1, rounds = 0;
    for (double end = MPI_Wtime() + 7; go; rounds++) {
        if (rank == 0) go = MPI_Wtime() < end;
        if (rank == 0) MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Recv(&go, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        if (rounds == 0) puts("up");
        fflush(stdout);
    }
}

static const char *self, *job;    // as main() found them

// Starts a program in the environment that this rank was given.
static void start_child(void)
{
    char command[4096];
    snprintf(command, sizeof command, "UNISONO_JOB=%s %s hello", job ? job : "", self);
    if (system(command) != 0) exit(9);
}

// What the library opened has no number of a standard stream's: those are files or devices, or nothing of ours.
static void check_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        char path[32], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) < 0) exit(10 + fd);
        if (strncmp(target, "/memfd:", 7) == 0 || strncmp(target, "socket:", 7) == 0) exit(20 + fd);
    }
}

static void tell_universe(void)
{
    int *universe, there;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &there);
    printf("universe %d\n", there ? *universe : -1);
}

static void do_nothing(void)
{
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"hello", do_nothing},       {"ring", ring},
    {"crash", crash_in_call},    {"killed", be_killed},
    {"abort", abort_job},        {"wrong", wrong_argument},
    {"forget", forget_finalize}, {"slow", slow_partner},
    {"threads", thread_partner}, {"thread-ring", thread_ring},
    {"exchange", exchange},      {"child", start_child},
    {"streams", check_streams},  {"universe", tell_universe},
};

int main(int argc, char **argv)
{
    int level;
    char *env = getenv("UNISONO_JOB");
    self = argv[0];
    job = env != NULL ? strdup(env) : NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) modes[i].run();
    }
    printf("rank %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
