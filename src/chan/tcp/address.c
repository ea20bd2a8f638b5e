// SPDX-License-Identifier: BSD-3-Clause
// The addresses at which this rank and other ranks are reached. Ranks of the host find them in the boards of the
// job segment, ranks of other hosts ask the process manager. Called when the channel opens and before each dial.
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "base/pm.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define KEY "tcp"    // of the card, with the launcher

static struct uno_param interfaces = UNO_PARAM_TEXT(
    "tcp_interface", "",
    "network interfaces (names or addresses, separated by commas) that the tcp channel uses; empty: all but the "
    "loopback when the job spans hosts, else the loopback");
UNO_PARAM_DECLARE(interfaces);

_Static_assert(sizeof(struct tcp_card) <= UNO_CARD_BYTES, "a card fits the board");

static void add_address(struct tcp_card *card, const struct sockaddr *a)
{
    if (card->count == TCP_ADDRESSES) return;
    unsigned char *to = card->addr[card->count].bytes;
    if (a->sa_family == AF_INET) {
        memcpy(to, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
        card->addr[card->count].family = 4;
    } else {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(six)) return;    // good only together with an interface
        memcpy(to, six, 16);
        card->addr[card->count].family = 6;
    }
    card->count++;
}

// Whether `word` is one of the parameter's words.
static bool is_listed(const char *word)
{
    size_t n = strlen(word);
    for (const char *at = interfaces.text; *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        if (len == n && strncmp(at, word, n) == 0) return true;
        at += len;
    }
    return false;
}

static bool is_wanted(const struct ifaddrs *i, bool remote)
{
    if (!(i->ifa_flags & IFF_UP)) return false;
    if (!*interfaces.text) return remote == !(i->ifa_flags & IFF_LOOPBACK);
    char text[INET6_ADDRSTRLEN] = "";
    const void *bytes = i->ifa_addr->sa_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
    inet_ntop(i->ifa_addr->sa_family, bytes, text, sizeof text);
    return is_listed(i->ifa_name) || is_listed(text);
}

int tcp_own_card(struct tcp_card *card)
{
    memset(card, 0, sizeof *card);
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return uno_fail_errno(MPI_ERR_OTHER, "list the network interfaces");
    bool remote = uno_chan_self.job->nhosts > 1;
    const int order[] = {AF_INET, AF_INET6};
    for (int k = 0; k < 2; k++)
        for (struct ifaddrs *i = all; i; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_addr->sa_family == order[k] && is_wanted(i, remote))
                add_address(card, i->ifa_addr);
    // Inside one host one address of the loopback is enough, and no other host can reach it.
    if (!remote && !*interfaces.text && card->count > 1) card->count = 1;
    freeifaddrs(all);
    if (card->count > 0) return MPI_SUCCESS;
    if (*interfaces.text)
        return uno_fail(MPI_ERR_OTHER, "tcp_interface is \"%s\": no interface that is up has that name or address",
                        interfaces.text);
    return uno_fail(MPI_ERR_OTHER, "no network interface is up (parameter tcp_interface)");
}

static bool is_same_network(const unsigned char *a, const unsigned char *b, const unsigned char *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((a[i] ^ b[i]) & mask[i]) return false;
    return true;
}

static const unsigned char *bytes_of(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) return (const unsigned char *)&((const struct sockaddr_in *)(const void *)a)->sin_addr;
    return (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
}

bool tcp_is_near(const struct sockaddr *peer)
{
    const unsigned char *bytes = bytes_of(peer);
    int family = peer->sa_family;
    bool mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes);
    if (mapped) {
        bytes += 12;
        family = AF_INET;
    }
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return false;
    bool near = false;
    for (struct ifaddrs *i = all; i && !near; i = i->ifa_next) {
        if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != family) continue;
        near = is_same_network(bytes, bytes_of(i->ifa_addr), bytes_of(i->ifa_netmask), family == AF_INET ? 4 : 16);
    }
    freeifaddrs(all);
    return near;
}

int tcp_publish(const struct tcp_card *card)
{
    struct uno_board *b = uno_chan_self.board;
    memcpy(b->card, card, sizeof *card);
    // Release: pairs with the acquire in tcp_find_card.
    atomic_store_explicit(&b->card_bytes, (uint32_t)sizeof *card, memory_order_release);
    if (uno_chan_self.job->nhosts < 2) return MPI_SUCCESS;
    int e = uno_pm_put(KEY, card, sizeof *card);
    if (e == 0) return MPI_SUCCESS;
    errno = e;
    return uno_fail_errno(MPI_ERR_OTHER, "tell the launcher how this rank is reached");
}

// Of a rank on another host: waits until that has opened its channel, which it does when it initialises MPI.
static bool ask_launcher(int proc, struct tcp_card *card)
{
    size_t bytes = sizeof *card;
    int e = uno_pm_get(proc, KEY, card, &bytes);
    if (e) uno_log(1, "the launcher does not tell how rank %d is reached: %s", proc, strerror(e));
    return e == 0 && bytes == sizeof *card && card->count > 0 && card->count <= TCP_ADDRESSES;
}

bool tcp_find_card(int proc, struct tcp_card *card)
{
    int local = uno_local_of(proc);
    if (uno_proc_is_guest(proc)) {
        memcpy(card, uno_proc_of(proc)->card.net, sizeof *card);
        return card->count > 0 && card->count <= TCP_ADDRESSES;
    }
    if (local < 0) return ask_launcher(proc, card);
    struct uno_board *b = uno_job_board(uno_chan_self.job, (uint32_t)local);
    // Acquire: pairs with the release in tcp_publish.
    if (atomic_load_explicit(&b->card_bytes, memory_order_acquire) != sizeof *card) return false;
    memcpy(card, b->card, sizeof *card);
    return card->count > 0 && card->count <= TCP_ADDRESSES;
}
