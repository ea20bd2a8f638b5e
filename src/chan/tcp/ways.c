// SPDX-License-Identifier: BSD-3-Clause
// Ways: pairs of an address of this process and one of a peer. Which of them the first connection tries, which are left
// for further ones (lanes.c), and which one each connection takes. Addresses of the same interface count as one: no two
// connections to a peer share an interface on either side if that can be helped.
#include <string.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "chan/tcp/tcp.h"

static bool same_address(const struct uno_net *a, uint32_t i, const struct uno_net *b, uint32_t k)
{
    size_t n = a->addr[i].family == 4 ? 4 : 16;
    return a->addr[i].family == b->addr[k].family && memcmp(a->addr[i].bytes, b->addr[k].bytes, n) == 0;
}

// How easily an address of the peer is reached: by a subnet of ours, by a router, or hardly, as it is our own, too.
static int distance(const struct uno_net *peer, uint32_t k)
{
    const struct uno_net *own = &uno_tcp_state.card;
    int far = 1;
    for (uint32_t i = 0; i < own->count; i++) {
        if (same_address(own, i, peer, k)) return 2;
        if (uno_net_shares(own, i, peer, k)) far = 0;
    }
    return far;
}

uint32_t tcp_address_at(const struct uno_net *peer, uint32_t turn)
{
    turn %= peer->count;
    for (int far = 0; far <= 2; far++)
        for (uint32_t k = 0; k < peer->count; k++)
            if (distance(peer, k) == far && turn-- == 0) return k;
    return 0;
}

// Whether another connection to the peer, there or under way, takes the interface of one of the two addresses.
static bool is_taken(const struct tcp_link *l, uint32_t own, uint32_t theirs)
{
    const struct tcp_link *m = l->main;
    for (const struct tcp_link *x = m; x; x = x->side) {
        if (x == l || (x->state != TCP_UP && x->state != TCP_DIALING)) continue;
        if (x->way.own < TCP_NOWHERE && uno_tcp_state.card.addr[x->way.own].nic == uno_tcp_state.card.addr[own].nic)
            return true;
        if (x->way.theirs < TCP_NOWHERE && m->peer.addr[x->way.theirs].nic == m->peer.addr[theirs].nic) return true;
    }
    return false;
}

// 0: both are of one subnet; 1: a router may join them; -1: they are not a way.
static int joined(const struct uno_net *peer, uint32_t own, uint32_t theirs)
{
    const struct uno_net *card = &uno_tcp_state.card;
    if (card->addr[own].family != peer->addr[theirs].family) return -1;
    int far = distance(peer, theirs);
    if (far == 2) return -1;
    if (uno_net_shares(card, own, peer, theirs)) return 0;
    return far == 1 ? 1 : -1;
}

// How many interfaces of one side have a way to the other.
static uint32_t count_joined(const struct uno_net *peer, bool own)
{
    const struct uno_net *card = &uno_tcp_state.card;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < card->count; i++)
        for (uint32_t k = 0; k < peer->count; k++)
            if (joined(peer, i, k) >= 0) seen |= 1u << (own ? card->addr[i].nic : peer->addr[k].nic) % 32;
    return (uint32_t)__builtin_popcount(seen);
}

static bool has_one_nic(const struct uno_net *net)
{
    for (uint32_t i = 1; i < net->count; i++)
        if (net->addr[i].nic != net->addr[0].nic) return false;
    return true;
}

void tcp_learn_ways(struct tcp_link *m)
{
    struct uno_net peer;
    m->ways = 1;
    if (has_one_nic(&uno_tcp_state.card) || !tcp_find_card(m->base.proc, &peer)) return;
    m->peer = peer;
    uint32_t own = count_joined(&peer, true), theirs = count_joined(&peer, false);
    m->ways = own < theirs ? own : theirs;
    if (m->ways < 2) return;
    uno_tcp_state.several = true;
    if (m->base.eager_max > TCP_MIXED_MAX) uno_link_eager(&m->base, TCP_MIXED_MAX);
}

bool tcp_free_way(const struct tcp_link *l, uint32_t turn, struct tcp_way *way)
{
    const struct tcp_link *m = l->main;
    uint32_t n = uno_tcp_state.card.count, count = 0;
    struct tcp_way found[UNO_ADDRESSES * UNO_ADDRESSES];
    for (int far = 0; far <= 1; far++)
        for (uint32_t k = 0; k < n * m->peer.count; k++) {
            struct tcp_way w = {(uint8_t)(k % n), (uint8_t)(k / n)};
            if (joined(&m->peer, w.own, w.theirs) == far && !is_taken(l, w.own, w.theirs)) found[count++] = w;
        }
    if (count > 0) *way = found[turn % count];
    return count > 0;
}

// The number of a card's address; TCP_NOWHERE: it has none like that.
static uint8_t find_address(const struct uno_net *net, const struct sockaddr *a)
{
    char wanted[UNO_NET_TEXT], text[UNO_NET_TEXT];
    uno_net_text(a, wanted);
    for (uint32_t i = 0; i < net->count; i++) {
        struct sockaddr_storage known;
        uno_net_sockaddr(net, i, &known);
        uno_net_text((const struct sockaddr *)&known, text);
        if (strcmp(text, wanted) == 0) return (uint8_t)i;
    }
    return TCP_NOWHERE;
}

void tcp_know_way(struct tcp_link *l)
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    l->way = (struct tcp_way){TCP_NOWHERE, TCP_NOWHERE};
    if (l->main->ways < 2) return;
    if (getsockname(l->sock.fd, (struct sockaddr *)&a, &len) == 0)
        l->way.own = find_address(&uno_tcp_state.card, (const struct sockaddr *)&a);
    len = sizeof a;
    if (getpeername(l->sock.fd, (struct sockaddr *)&a, &len) == 0)
        l->way.theirs = find_address(&l->main->peer, (const struct sockaddr *)&a);
}
