// SPDX-License-Identifier: BSD-3-Clause
// A connection is there: what a link does with it, before and after what it had to say still. Called by dial.c at the
// end of a handshake.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/tcp/tcp.h"

#define QUEUE (128 << 10)    // bytes that a kernel may hold unsent where there are several ways

// By which of its addresses the peer of a new connection is reached: the one that we dialled, or where it comes from.
static void prove_address(struct tcp_link *l, bool dialled)
{
    struct uno_net card;
    struct sockaddr_storage from = {0}, a;
    socklen_t len = sizeof from;
    char own[UNO_NET_TEXT], text[UNO_NET_TEXT];
    l->denied = 0;
    if (dialled) l->address = l->dialled;
    if (dialled) l->proven = true;
    if (dialled || !uno_proc_is_guest(l->base.proc) || !tcp_find_card(l->base.proc, &card)) return;
    if (getpeername(l->sock.fd, (struct sockaddr *)&from, &len) != 0) return;
    uno_net_text((struct sockaddr *)&from, own);
    for (uint32_t i = 0; i < card.count; i++) {
        uno_net_sockaddr(&card, i, &a);
        uno_net_text((struct sockaddr *)&a, text);
        if (strcmp(own, text) != 0) continue;
        l->address = i;
        l->proven = true;
    }
}

static void begin_main(struct tcp_link *l, bool dialled, uint64_t received)
{
    prove_address(l, dialled);
    uno_tcp_state.hot = l;
    l->compare_at = l->compared = 0;
    for (struct tcp_link *x = l->side; x; x = x->side) x->due = 0;    // lanes may find better places now
    if (l->ways == 0) tcp_learn_ways(l);
    tcp_rewind(l, received);
}

// What the kernel has taken and not yet sent cannot go by another way.
static void keep_queue_short(int fd)
{
    int bytes = QUEUE;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

static void say_connected(const struct tcp_link *l)
{
    const char *how = l->out_keys.on ? ", messages are authenticated" : l->checks ? ", messages are checked" : "";
    if (l->main == l)
        uno_log(2, "connected with rank %d, between %s%s", l->base.proc, l->ends, how);
    else
        uno_log(2, "a further way to rank %d is open, between %s%s", l->base.proc, l->ends, how);
}

void tcp_bring_up(struct tcp_link *l, int fd, bool dialled, uint64_t received)
{
    l->sock.fd = fd;
    l->base.met = true;
    l->state = TCP_UP;
    l->due = 0;
    l->tries = 0;
    l->fruitful = false;
    l->moving = l->planned = false;
    tcp_know_ends(l);
    tcp_forget_failures(l);
    uno_tcp_state.up++;
    uno_tcp_state.last_use = uno_ticks();
    tcp_forget_input(l);
    tcp_watch(&l->sock, EPOLLIN, false);
    if (l->main == l)
        begin_main(l, dialled, received);
    else
        tcp_lane_up(l);
    tcp_know_way(l);
    if (l->main->ways > 1) keep_queue_short(l->sock.fd);
    say_connected(l);
    tcp_reseal(l);
    if (l->again) tcp_restored(l);
    tcp_flush(l);
    tcp_pump(l->main);
}
