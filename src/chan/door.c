// SPDX-License-Identifier: BSD-3-Clause
// Arming, sleeping at and ringing doors. The futex lies in the job segment; the descriptor is a datagram socket with an
// abstract name, so that a crash leaves no file. Called by core/progress.c (own door) and by everything that leaves
// something for another process of the host (shm channel, collectives' segments).
// Always holds: the name is random, so that no other process can have taken it, and the kernel drops what does not
// carry the key beside it in the segment: other users see the name in /proc, and can neither wake nor fill the socket.
#define _GNU_SOURCE
#include "chan/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <mpi.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/fail.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/self.h"

#define NAP_WITHOUT_MEMBARRIER 2    // ms: a ring may be missed then, so look again that often

static struct {
    bool membarrier;
    int own_fd;    // -1 until needed
} door = {.own_fd = -1};

static _Atomic uint64_t ranks_woken;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("wait_rings", &ranks_woken, "ranks of this host that slept and were woken"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

// The kernel drops datagrams that are not this door's key.
static bool lock_with_key(int fd, const struct uno_door *d)
{
    uint32_t half[2];
    memcpy(half, d->key, sizeof half);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[0]), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
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
    // Seq_cst: pairs with the exchange in uno_bell_news, whose process takes no part in the membarrier. What is looked
    // at next is loaded after the mode is there: acquires alone overtake a store.
    atomic_thread_fence(memory_order_seq_cst);
    if (door.membarrier) uno_membarrier_global();
    return ticket;
}

void uno_door_sleep(uint32_t ticket)
{
    uno_futex_wait(&uno_chan_self.door->bell, ticket, door.membarrier ? 0 : NAP_WITHOUT_MEMBARRIER * 1000000u, true);
}

int uno_door_limit(void)
{
    return door.membarrier ? -1 : NAP_WITHOUT_MEMBARRIER;
}

void uno_door_disarm(void)
{
    atomic_store_explicit(&uno_chan_self.door->mode, UNO_DOOR_AWAKE, memory_order_relaxed);
}

void uno_door_ring_slow(struct uno_door *d)
{
    // Acq_rel: one of several ringers takes the mode; pairs with the store in uno_door_arm.
    uint32_t mode = atomic_exchange_explicit(&d->mode, UNO_DOOR_AWAKE, memory_order_acq_rel);
    if (mode == UNO_DOOR_AWAKE) return;
    uno_count_add(&ranks_woken, 1);
    uno_patience_meets();    // a rank that slept because this process seemed to run beside it hears where it runs
    uno_bell_sound(d, mode);
}

int uno_door_fd(void)
{
    if (door.own_fd >= 0) return door.own_fd;
    struct uno_door *d = uno_chan_self.door;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un a;
    bool drawn =
        getrandom(d->name, sizeof d->name, 0) == sizeof d->name && getrandom(d->key, sizeof d->key, 0) == sizeof d->key;
    socklen_t len = uno_bell_name(d, &a);
    if (!drawn || fd < 0 || !lock_with_key(fd, d) || bind(fd, (struct sockaddr *)&a, len) != 0) {
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
    door.own_fd = -1;
    uno_bell_close();
}
