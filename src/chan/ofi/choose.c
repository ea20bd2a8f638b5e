// SPDX-License-Identifier: BSD-3-Clause
// Which provider of libfabric, and which of its domains (network interfaces). Called by endpoint.c when the channel
// opens.
#include <inttypes.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/param.h"
#include "chan/net.h"
#include "chan/ofi/ofi.h"
#include "chan/self.h"

#define REMOTE (FI_RMA | FI_WRITE | FI_REMOTE_WRITE)
#define WINDOWS (REMOTE | FI_READ | FI_REMOTE_READ)

static struct uno_param provider = UNO_PARAM_TEXT(
    "ofi_provider", "",
    "libfabric's provider for the channel ofi, as fi_info names it (tcp;ofi_rxm, verbs;ofi_rxm, efa, cxi); empty: the "
    "first that libfabric offers");
UNO_PARAM_DECLARE(provider);

static struct uno_param domain = UNO_PARAM_TEXT(
    "ofi_domain", "",
    "domains of libfabric's provider (network interfaces; fi_info names them) that the channel ofi may use, separated "
    "by commas; ^ in front: all but those; empty: all");
UNO_PARAM_DECLARE(domain);

static struct uno_param most = UNO_PARAM_INT("ofi_domains", OFI_PORTS, 1, OFI_PORTS,
                                             "domains that carry large messages at once, if the host has so many");
UNO_PARAM_DECLARE(most);

static struct uno_param remote = UNO_PARAM_BOOL(
    "ofi_remote", 1, "large messages are written into the receiver's memory where libfabric's provider can do that");
UNO_PARAM_DECLARE(remote);

static struct uno_param check = UNO_PARAM_CHOICE(
    "ofi_check", "auto", "auto|yes|no",
    "whether what libfabric carries has checksums of ours (CRC32C); auto: where its provider sends by the kernel's "
    "sockets");
UNO_PARAM_DECLARE(check);

static bool is_far(void)
{
    return uno_chan_self.job->nhosts > 1;
}

void ofi_prepare(void)
{
    // The provider shm believes that every rank may read the memory of the others where its own process may; between
    // ranks of which one may not (a container's filter), connections break.
    if (strcmp(provider.text, "shm") == 0) setenv("FI_SHM_DISABLE_CMA", "1", 0);
}

// What any provider must offer. NULL: memory is out.
static struct fi_info *requirements(uint64_t caps, const char *named)
{
    struct fi_info *h = ofi_library.dupinfo(NULL);
    if (!h) return NULL;
    h->caps = FI_MSG | FI_SEND | FI_RECV | caps | (is_far() ? FI_REMOTE_COMM : 0);
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->ep_attr->type = FI_EP_RDM;
    h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
    h->domain_attr->threading = FI_THREAD_DOMAIN;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
    h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
    if (*named) h->fabric_attr->prov_name = strdup(named);
    return h;
}

// Whether its own address is one that the parameters of tcp leave: inside one host, of the loopback.
static bool is_wanted(const struct fi_info *i, const struct uno_net *net)
{
    const struct sockaddr *a = i->src_addr;
    if (i->addr_format != FI_SOCKADDR && i->addr_format != FI_SOCKADDR_IN && i->addr_format != FI_SOCKADDR_IN6)
        return true;
    if (!a || (a->sa_family != AF_INET && a->sa_family != AF_INET6)) return false;
    bool four = a->sa_family == AF_INET;
    const void *bytes = four ? (const void *)&((const struct sockaddr_in *)i->src_addr)->sin_addr
                             : (const void *)&((const struct sockaddr_in6 *)i->src_addr)->sin6_addr;
    for (uint32_t k = 0; k < net->count; k++)
        if (net->addr[k].family == (four ? 4 : 6) && memcmp(net->addr[k].bytes, bytes, four ? 4 : 16) == 0) return true;
    return false;
}

// Whether the parameter leaves a domain of that name.
static bool is_left(const char *name)
{
    bool but = domain.text[0] == '^';
    const char *p = domain.text + but;
    if (!*p) return true;
    for (size_t n; *p; p += n + (p[n] == ',')) {
        n = strcspn(p, ",");
        if (strlen(name) == n && strncmp(name, p, n) == 0) return !but;
    }
    return but;
}

static bool has_domain(const char *name)
{
    for (uint32_t k = 0; k < uno_ofi_state.ports; k++)
        if (strcmp(uno_ofi_state.port[k].info->domain_attr->name, name) == 0) return true;
    return false;
}

// Domains that could be used, if it were not for ofi_domain; and those by whose addresses they may not.
static char unnamed[256], unwanted[256];

static void add_name(char *names, size_t room, const char *name)
{
    size_t n = strlen(name), end = strlen(names);
    for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0')) return;
    if (end + n + 3 < room) snprintf(names + end, room - end, "%s%s", end ? ", " : "", name);
}

static bool is_usable(const struct fi_info *i, const struct uno_net *net)
{
    const char *name = i->domain_attr->name;
    bool near = is_wanted(i, net), left = is_left(name);
    if (!near) add_name(unwanted, sizeof unwanted, name);
    if (near && !left) add_name(unnamed, sizeof unnamed, name);
    return near && left;
}

// The provider shm names its memory by the number of its process; one of that number that was killed has left memory of
// that name, and the endpoint would not open ("Device or resource busy"). So its name is one of ours, used once. On
// failure that of the process stays.
static void name_for_once(struct fi_info *i)
{
    static const char start[] = "fi_shm://";
    char name[OFI_NAME];
    uint64_t once = 0;
    if (i->addr_format != FI_ADDR_STR || !i->src_addr || strncmp(i->src_addr, start, sizeof start - 1) != 0) return;
    if (getrandom(&once, sizeof once, 0) != (ssize_t)sizeof once) return;
    int n = snprintf(name, sizeof name, "%sunisono-%d-%" PRIx64, start, (int)getpid(), once);
    char *copy = strdup(name);
    if (!copy) return;
    free(i->src_addr);
    i->src_addr = copy;
    i->src_addrlen = (size_t)n + 1;
}

// Takes those of the first provider that can be used, one per interface.
static void take_ports(const struct fi_info *all, const struct uno_net *net)
{
    struct ofi_chan *s = &uno_ofi_state;
    for (const struct fi_info *i = all; i && s->ports < (uint32_t)most.num; i = i->next) {
        const char *name = i->fabric_attr->prov_name;
        if (i->ep_attr->max_msg_size < OFI_FRAME || strlen(name) >= OFI_PROVIDER) continue;
        if (s->ports && strcmp(name, s->port[0].info->fabric_attr->prov_name) != 0) continue;
        if (has_domain(i->domain_attr->name) || !is_usable(i, net)) continue;
        s->port[s->ports].info = ofi_library.dupinfo(i);
        if (s->port[s->ports].info) name_for_once(s->port[s->ports++].info);
    }
}

// The errno value that libfabric gave, or 0.
static int ask(uint64_t caps, const struct uno_net *net)
{
    struct fi_info *hints = requirements(caps, provider.text), *all = NULL;
    if (!hints) return FI_ENOMEM;
    int e = ofi_library.getinfo(OFI_VERSION, NULL, NULL, 0, hints, &all);
    if (!e) take_ports(all, net);
    ofi_library.freeinfo(hints);
    if (all) ofi_library.freeinfo(all);
    return -e;
}

// Why there is none, and what there is.
static int tell_none(int e)
{
    char names[512] = "";
    const char *where = is_far() ? "between hosts" : "inside a host";
    if (*unnamed)
        return uno_fail(MPI_ERR_OTHER, "ofi_domain is \"%s\": it leaves none of libfabric's domains, %s", domain.text,
                        unnamed);
    if (*unwanted)
        return uno_fail(MPI_ERR_OTHER,
                        "none of libfabric's domains, %s, has an address that is used %s (tcp_interface, tcp_exclude)",
                        unwanted, where);
    struct fi_info *hints = requirements(0, ""), *all = NULL;
    if (hints && ofi_library.getinfo(OFI_VERSION, NULL, NULL, 0, hints, &all) == 0)
        for (const struct fi_info *i = all; i; i = i->next) add_name(names, sizeof names, i->fabric_attr->prov_name);
    if (hints) ofi_library.freeinfo(hints);
    if (all) ofi_library.freeinfo(all);
    return uno_fail(MPI_ERR_OTHER,
                    "ofi_provider is \"%s\": libfabric has no such provider that carries ordered messages %s (%s); "
                    "there are %s",
                    provider.text, where, ofi_library.strerror(e), *names ? names : "none");
}

static bool goes_by_sockets(const struct fi_info *i)
{
    uint32_t p = i->ep_attr->protocol;
    return p == FI_PROTO_SOCK_TCP || p == FI_PROTO_RXM_TCP || p == FI_PROTO_UDP ||
           strstr(i->fabric_attr->prov_name, "udp") || strstr(i->fabric_attr->prov_name, "tcp");
}

int ofi_choose(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    struct uno_net net;
    int err = uno_net_own(&net, is_far());
    if (err) return err;
    int e = 0;
    if (remote.num) ask(WINDOWS, &net);
    s->windows = s->ports > 0;
    if (remote.num && !s->ports) ask(REMOTE, &net);
    s->remote = s->ports > 0;
    if (!s->ports) e = ask(0, &net);
    if (s->ports) {
        s->checks = check.num == 0 ? goes_by_sockets(s->port[0].info) : check.num == 1;
        // What nobody takes is not checked; and a member of a window that frees it alone, because another one has
        // failed, would have those that still access it lose it for dead.
        s->windows &= !s->checks && !uno_chan_self.job->survive;
        return MPI_SUCCESS;
    }
    return tell_none(e);
}
