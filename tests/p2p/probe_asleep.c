// SPDX-License-Identifier: BSD-3-Clause
// run: np=1 threads
// run: np=2 chan=shm,tcp threads
// A thread that sleeps in a probe wakes when another thread of its own process sends it the message, or takes it from
// the channel while it looks for one of its own.
#include "../check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 20, LOOKS = 5 };
static int rank, size;
static pid_t prober;

// Whether the main thread is asleep, as far as so many looks in a row tell; nothing fails if it is not.
static void await_sleep(void)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)prober);
    for (int seen = 0; seen < LOOKS; sched_yield()) {
        int fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        CHECK(n > 0);
        text[n] = '\0';
        const char *name_end = strrchr(text, ')');
        CHECK(name_end != NULL);
        seen = name_end[2] == 'S' ? seen + 1 : 0;
    }
}

static void *send_late(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        await_sleep();
        CHECK(MPI_Send(&i, 1, MPI_INT, rank, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return arg;
}

// Takes what rank 1 sends: first a message for the probe, then its own.
static void *receive_other(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        int in = -1;
        await_sleep();
        MPI_Send(&i, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
    return arg;
}

static void probe_all(int source, void *(*other)(void *))
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, other, NULL) == 0);
    for (int i = 0; i < TURNS; i++) {
        MPI_Status s;
        MPI_Message m;
        int in = -1;
        if (i % 2 == 0) {
            MPI_Probe(source, 1, MPI_COMM_WORLD, &s);
            MPI_Recv(&in, 1, MPI_INT, source, 1, MPI_COMM_WORLD, &s);
        } else {
            MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &m, &s);
            MPI_Mrecv(&in, 1, MPI_INT, &m, &s);
        }
        CHECK(in == i && s.MPI_SOURCE == source);
    }
    pthread_join(t, NULL);
}

static void answer(void)
{
    for (int i = 0; i < TURNS; i++) {
        int in = -1;
        MPI_Recv(&in, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == i);
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prober = getpid();    // the main thread's number
    probe_all(rank, send_late);
    if (size == 2 && rank == 0) probe_all(1, receive_other);
    if (size == 2 && rank == 1) answer();
    MPI_Finalize();
    return 0;
}
