// SPDX-License-Identifier: BSD-3-Clause
// Arming, sleeping at and ringing doors. The futex lies in the job segment; the descriptor is a datagram socket with an
// abstract name made of the job's id and the local index, so that a crash leaves no file. Called by core/progress.c
// (own door) and by whoever leaves something for another process of the host (shm channel, collectives' segments).
#define _GNU_SOURCE
#include "chan/door.h"

#include <errno.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/wait.h"
#include "chan/self.h"

#define NAP_WITHOUT_MEMBARRIER 2000000    // ns: a ring may be missed then, so look again that often

static struct {
    bool membarrier;
    int own_fd, ring_fd;    // -1 until needed
} door = {.own_fd = -1, .ring_fd = -1};

static socklen_t name_of(uint32_t local, struct sockaddr_un *a)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "unisono-%016llx-%u-%u",
                     (unsigned long long)uno_chan_self.job->job_id, uno_chan_self.job->host, local);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int uno_door_open(void)
{
    door.membarrier = uno_membarrier_open();
    return MPI_SUCCESS;
}

uint32_t uno_door_arm(enum uno_door_mode mode)
{
    struct uno_door *d = uno_chan_self.door;
    // Acquire: pairs with the release in uno_door_ring_slow; the ticket is older than any ring to come.
    uint32_t ticket = atomic_load_explicit(&d->bell, memory_order_acquire);
    atomic_store_explicit(&d->mode, mode, memory_order_seq_cst);
    if (door.membarrier) uno_membarrier_global();
    return ticket;
}

void uno_door_sleep(uint32_t ticket)
{
    uno_futex_wait(&uno_chan_self.door->bell, ticket, door.membarrier ? 0 : NAP_WITHOUT_MEMBARRIER, true);
}

void uno_door_disarm(void)
{
    atomic_store_explicit(&uno_chan_self.door->mode, UNO_DOOR_AWAKE, memory_order_relaxed);
}

void uno_door_ring_slow(uint32_t local)
{
    struct uno_door *d = uno_job_door(uno_chan_self.job, local);
    // Acq_rel: one of several ringers takes the mode; pairs with the store in uno_door_arm.
    uint32_t mode = atomic_exchange_explicit(&d->mode, UNO_DOOR_AWAKE, memory_order_acq_rel);
    if (mode == UNO_DOOR_AWAKE) return;
    // Release: pairs with the acquire in uno_door_arm.
    atomic_fetch_add_explicit(&d->bell, 1, memory_order_release);
    if (mode == UNO_DOOR_FUTEX) {
        uno_futex_wake(&d->bell, 1, true);
        return;
    }
    struct sockaddr_un a;
    socklen_t len = name_of(local, &a);
    if (door.ring_fd < 0) door.ring_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sendto(door.ring_fd, "", 1, MSG_NOSIGNAL, (struct sockaddr *)&a, len);    // a full queue is already readable
}

int uno_door_fd(void)
{
    if (door.own_fd >= 0) return door.own_fd;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un a;
    socklen_t len = name_of(uno_chan_self.local, &a);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0) {
        uno_fail_errno(MPI_ERR_OTHER, "open the doorbell's socket");
        if (fd >= 0) close(fd);
        return -1;
    }
    return door.own_fd = fd;
}

void uno_door_drain(void)
{
    char rings[64];
    while (door.own_fd >= 0 && recv(door.own_fd, rings, sizeof rings, MSG_DONTWAIT) >= 0) continue;
}

void uno_door_close(void)
{
    if (door.own_fd >= 0) close(door.own_fd);
    if (door.ring_fd >= 0) close(door.ring_fd);
    door.own_fd = door.ring_fd = -1;
}
