// SPDX-License-Identifier: BSD-3-Clause
// Ringing (bell.h): a futex in the segment, or a datagram to a socket with an abstract name, so that a crash leaves no
// file. Always holds: the datagram carries the door's key, without which the kernel drops it (chan/door.c).
#define _GNU_SOURCE
#include "base/bell.h"

#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/wait.h"

static int ring_fd = -1;    // -1 until needed

socklen_t uno_bell_name(const struct uno_door *d, struct sockaddr_un *a)
{
    static const char prefix[] = "unisono-";
    char *to = a->sun_path + sizeof prefix;    // behind the zero byte that makes the name abstract
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    memcpy(a->sun_path + 1, prefix, sizeof prefix - 1);
    return (socklen_t)(uno_hex_put(to, d->name, sizeof d->name) - (char *)a);
}

void uno_bell_sound(struct uno_door *d, uint32_t mode)
{
    // Release: pairs with the acquire in uno_door_arm.
    atomic_fetch_add_explicit(&d->bell, 1, memory_order_release);
    if (mode == UNO_DOOR_FUTEX) {
        uno_futex_wake(&d->bell, 1, true);
        return;
    }
    struct sockaddr_un a;
    socklen_t len = uno_bell_name(d, &a);
    if (ring_fd < 0) ring_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // A full queue is already readable.
    sendto(ring_fd, d->key, sizeof d->key, MSG_NOSIGNAL, (struct sockaddr *)&a, len);
}

void uno_bell_close(void)
{
    if (ring_fd >= 0) close(ring_fd);
    ring_fd = -1;
}

void uno_bell_news(struct uno_door *d)
{
    // Seq_cst, both: pairs with the arming of the door, whose owner looks at the news once more after it. One of the
    // two sees the other.
    atomic_fetch_add(&d->news, 1);
    uint32_t mode = atomic_exchange(&d->mode, UNO_DOOR_AWAKE);
    if (mode != UNO_DOOR_AWAKE) uno_bell_sound(d, mode);
}

void uno_bell_death(struct uno_door *d)
{
    // Seq_cst, both: as in uno_bell_news.
    atomic_fetch_add(&d->news, 1);
    atomic_store(&d->mode, UNO_DOOR_AWAKE);
    uno_bell_sound(d, UNO_DOOR_FUTEX);
    uno_bell_sound(d, UNO_DOOR_FD);
}
