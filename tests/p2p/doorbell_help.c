// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm
// A sender that sleeps at its doorbell is woken when the receiver of a large message has said where it goes, and copies
// all of it while the receiver is away from MPI.
#define _GNU_SOURCE
#include "../check.h"

#include <mpi_ext.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BIG = 64 << 20, LIMIT = 600 };    // bytes; seconds
enum { ARMED = 1, SENT };

// Waits outside MPI.
static bool reaches(const _Atomic int *state, int value)
{
    time_t end = time(NULL) + LIMIT;
    while (atomic_load(state) != value && time(NULL) < end) sched_yield();
    return atomic_load(state) == value;
}

static void send_asleep(char *buf, _Atomic int *state)
{
    MPI_Request r;
    int bell, ready, sent = 0;
    CHECK(MPIX_Doorbell_fd(&bell) == MPI_SUCCESS);
    memset(buf, 7, BIG);
    MPI_Isend(buf, BIG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r);
    while (!sent) {
        CHECK(MPIX_Doorbell_arm(1, &r, &ready) == MPI_SUCCESS);
        struct pollfd p = {.fd = bell, .events = POLLIN};
        if (!ready) {
            atomic_store(state, ARMED);
            CHECK(poll(&p, 1, LIMIT * 1000) == 1);
        }
        CHECK(MPI_Test(&r, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPIX_Doorbell_disarm() == MPI_SUCCESS);
    atomic_store(state, SENT);
}

// An emulator need not know the calls that copy between processes.
static bool may_copy(void)
{
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 && to == from;
}

int main(int argc, char **argv)
{
    int rank, unit;
    MPI_Aint bytes;
    MPI_Request r;
    MPI_Win w;
    _Atomic int *state;
    MPI_Init(&argc, &argv);
    if (!may_copy()) skip("the kernel does not let ranks copy each other's memory");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate_shared(rank == 0 ? sizeof *state : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &state, &w);
    MPI_Win_shared_query(w, 0, &bytes, &unit, &state);
    char *buf = malloc(BIG);
    CHECK(buf != NULL);
    if (rank == 0) {
        send_asleep(buf, state);
    } else {
        memset(buf, 0, BIG);
        MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(reaches(state, ARMED));
        MPI_Irecv(buf, BIG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &r);
        CHECK(reaches(state, SENT));    // without a call of MPI in between
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(buf[0] == 7 && memcmp(buf, buf + 1, BIG - 1) == 0);
    }
    MPI_Win_free(&w);
    free(buf);
    MPI_Finalize();
    return 0;
}
