// SPDX-License-Identifier: BSD-3-Clause
// Resolves host names for the plan (names.h). A name that nobody knows is left to the agent: ssh has aliases of its
// own.
#include "names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESOLVE_MS 3000    // for all names together; what is not known by then counts as another machine

// IPv4 as IPv4-mapped IPv6, so that both compare alike.
struct addresses {
    struct in6_addr *item;
    int count;
};

static void add_address(struct addresses *l, const struct sockaddr *a)
{
    struct in6_addr to = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (a == NULL || (a->sa_family != AF_INET && a->sa_family != AF_INET6)) return;
    if (a->sa_family == AF_INET)
        memcpy(to.s6_addr + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    else
        to = ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    l->item = uno_xrealloc(l->item, ((size_t)l->count + 1) * sizeof *l->item);
    l->item[l->count++] = to;
}

static bool share(const struct addresses *a, const struct addresses *b)
{
    for (int i = 0; i < a->count; i++) {
        for (int k = 0; k < b->count; k++) {
            if (memcmp(&a->item[i], &b->item[k], sizeof a->item[i]) == 0) return true;
        }
    }
    return false;
}

static struct addresses own_addresses(void)
{
    struct addresses own = {0};
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) return own;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) add_address(&own, i->ifa_addr);
    freeifaddrs(all);
    return own;
}

// The whole loopback network, and the address that means "here", in both families.
static bool any_loopback(const struct addresses *l)
{
    for (int i = 0; i < l->count; i++) {
        const unsigned char *b = l->item[i].s6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&l->item[i]);
        if (mapped && (b[12] == 127 || (b[12] | b[13] | b[14] | b[15]) == 0)) return true;
        if (IN6_IS_ADDR_LOOPBACK(&l->item[i]) || IN6_IS_ADDR_UNSPECIFIED(&l->item[i])) return true;
    }
    return false;
}

// NULL, or why the name has no address.
static const char *resolve(const char *name, bool ask, struct addresses *to)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = ask ? 0 : AI_NUMERICHOST}, *list = NULL;
    int err = getaddrinfo(name, NULL, &hints, &list);
    if (err != 0) return gai_strerror(err);
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) add_address(to, a->ai_addr);
    freeaddrinfo(list);
    return NULL;
}

// This machine's name, whole or up to the first dot, and what always means it.
static bool is_own_name(const char *name)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    if (strcmp(name, "localhost") == 0) return true;
    size_t n = strcspn(own, ".");
    return strcasecmp(name, own) == 0 || (strlen(name) == n && strncasecmp(name, own, n) == 0);
}

static bool agent_resolves(const char *agent)
{
    size_t n = strcspn(agent, " ");
    return n >= 3 && (strncmp(agent + n - 3, "ssh", 3) == 0 || strncmp(agent + n - 3, "rsh", 3) == 0);
}

static void rename_in(struct uno_words *on, const char *from, const char *to)
{
    for (int i = 0; i < on->count; i++) {
        if (strcmp(on->item[i], from) != 0) continue;
        free(on->item[i]);
        on->item[i] = uno_xstrdup(to);
    }
}

// Host `gone` is host `stays`, which gets its slots.
static void merge(struct uno_plan *p, int stays, int gone)
{
    struct uno_host *to = &p->host[stays], *from = &p->host[gone];
    to->slots += from->slots;
    to->taken += from->taken;
    to->max_slots = to->max_slots && from->max_slots ? to->max_slots + from->max_slots : 0;
    for (int a = 0; a < p->napps; a++) rename_in(&p->app[a].on, from->name, to->name);
    free(from->name);
    memmove(from, from + 1, (size_t)(p->nhosts - gone - 1) * sizeof *from);
    p->nhosts--;
}

void uno_names_unite(struct uno_plan *p)
{
    struct addresses own = own_addresses(), *of = uno_xalloc((size_t)p->nhosts * sizeof *of);
    bool ask = agent_resolves(p->agent);
    int64_t end = uno_ms_now() + RESOLVE_MS;
    for (int h = 0; h < p->nhosts; h++) {
        struct uno_host *host = &p->host[h];
        host->local |= is_own_name(host->name);
        if (host->local || strchr(host->name, '@') != NULL) continue;
        const char *why = resolve(host->name, ask && uno_ms_now() < end, &of[h]);
        if (ask) host->unknown = why;
        host->local = any_loopback(&of[h]) || share(&of[h], &own);
    }
    for (int h = 0; h < p->nhosts; h++) {
        for (int other = p->nhosts - 1; other > h; other--) {
            bool same = (p->host[h].local && p->host[other].local) || share(&of[h], &of[other]);
            if (!same) continue;
            merge(p, h, other);
            free(of[other].item);
            memmove(&of[other], &of[other + 1], (size_t)(p->nhosts - other) * sizeof *of);
        }
    }
    for (int h = 0; h < p->nhosts; h++) free(of[h].item);
    free(of);
    free(own.item);
}
