// SPDX-License-Identifier: BSD-3-Clause
// Which addresses of this host tcp and ports use (net.h): those of interfaces that are up and that the parameters
// tcp_interface and tcp_exclude leave. A word of these that names nothing is told, with what there is.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "chan/net.h"
#include "chan/self.h"

#define FOUND_MAX 64    // addresses of this host that are looked at
#define WORD_MAX 64     // bytes of a word of the parameters

static struct uno_param included = UNO_PARAM_TEXT(
    "tcp_interface", "",
    "network interfaces (names, addresses or subnets, separated by commas) that tcp and ports use; empty: all but the "
    "loopback where other hosts take part, else the loopback");
UNO_PARAM_DECLARE(included);

static struct uno_param excluded =
    UNO_PARAM_TEXT("tcp_exclude", "",
                   "network interfaces (names, addresses or subnets, separated by commas) that tcp and ports do not "
                   "use, also if tcp_interface lists them");
UNO_PARAM_DECLARE(excluded);

// A word of a parameter: a name, or a subnet (of all its bits: an address).
struct word {
    char text[WORD_MAX];
    int family;    // 0: a name
    unsigned char bytes[16];
    unsigned bits;
};

struct found {
    const struct ifaddrs *from;
    uint32_t nic;      // number of its interface
    uint32_t place;    // among the addresses of that
};

static const unsigned char *bytes_of(const struct ifaddrs *i)
{
    if (i->ifa_addr->sa_family == AF_INET)
        return (const unsigned char *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    return (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
}

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned rest = bits % 8;
    if (memcmp(a, b, bits / 8) != 0) return false;
    return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

// The word that begins at *at, which moves behind it. 1, 0: there is none more, or -1: it is malformed (reason kept).
static int next_word(const struct uno_param *p, const char **at, struct word *w)
{
    *at += strspn(*at, ", ");
    size_t n = strcspn(*at, ", ");
    if (n == 0) return 0;
    *w = (struct word){.family = 0};
    if (n >= sizeof w->text) {
        uno_fail(MPI_ERR_ARG, "%s: \"%.*s\" is too long for an interface or a subnet", p->name, (int)n, *at);
        return -1;
    }
    memcpy(w->text, *at, n);
    *at += n;
    char address[WORD_MAX], *slash, *end;
    memcpy(address, w->text, sizeof address);
    slash = strchr(address, '/');
    if (slash) *slash = '\0';
    if (inet_pton(AF_INET, address, w->bytes) == 1) w->family = AF_INET;
    if (inet_pton(AF_INET6, address, w->bytes) == 1) w->family = AF_INET6;
    unsigned most = w->family == AF_INET ? 32 : 128;
    w->bits = most;
    if (!slash) return 1;
    unsigned long bits = strtoul(slash + 1, &end, 10);
    w->bits = (unsigned)bits;
    if (w->family && slash[1] >= '0' && slash[1] <= '9' && !*end && bits <= most) return 1;
    uno_fail(MPI_ERR_ARG, "%s: \"%s\" is no subnet; ADDRESS/BITS is expected, as 10.1.0.0/16 or fd00:7::/64", p->name,
             w->text);
    return -1;
}

static bool fits(const struct word *w, const struct ifaddrs *i)
{
    if (!w->family) return strcmp(w->text, i->ifa_name) == 0;
    return w->family == i->ifa_addr->sa_family && same_bits(w->bytes, bytes_of(i), w->bits);
}

static bool is_up(const struct ifaddrs *i)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)) return false;
    return i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6;
}

static bool is_link_local(const struct ifaddrs *i)
{
    if (i->ifa_addr->sa_family != AF_INET6) return false;
    return IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(const void *)bytes_of(i));
}

// What there is, for a message.
static const char *say_all(const struct ifaddrs *all)
{
    static char text[600];
    size_t n = 0;
    text[0] = '\0';
    for (const struct ifaddrs *i = all; i && n + 100 < sizeof text; i = i->ifa_next) {
        if (!is_up(i) || is_link_local(i)) continue;
        char address[INET6_ADDRSTRLEN] = "";
        inet_ntop(i->ifa_addr->sa_family, bytes_of(i), address, sizeof address);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.16s %s", n ? ", " : "", i->ifa_name, address);
    }
    return n ? text : "none";
}

// How many bits of an address are its subnet's.
static uint8_t subnet_bits(const struct ifaddrs *i)
{
    bool four = i->ifa_addr->sa_family == AF_INET;
    unsigned char mask[16] = {0};
    if (i->ifa_netmask && four)
        memcpy(mask, &((const struct sockaddr_in *)(const void *)i->ifa_netmask)->sin_addr, 4);
    else if (i->ifa_netmask)
        memcpy(mask, &((const struct sockaddr_in6 *)(const void *)i->ifa_netmask)->sin6_addr, 16);
    uint8_t bits = 0;
    while (bits < (four ? 32 : 128) && mask[bits / 8] >> (7 - bits % 8) & 1) bits++;
    return bits;
}

static bool listed(const struct uno_param *p, const struct ifaddrs *i)
{
    struct word w;
    for (const char *at = p->text; next_word(p, &at, &w) > 0;)
        if (fits(&w, i)) return true;
    return false;
}

static bool fits_any(const struct word *w, const struct ifaddrs *all)
{
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_up(i) && fits(w, i)) return true;
    return false;
}

// Whether all words make sense. One that names nothing here may name something on other hosts: it is told once, by one
// rank of the host, and at `level` alone.
static int check_words(const struct uno_param *p, const struct ifaddrs *all, int level)
{
    struct word w;
    int more;
    for (const char *at = p->text; (more = next_word(p, &at, &w)) > 0;) {
        if (fits_any(&w, all) || uno_chan_self.local > 0) continue;
        uno_log(level, "%s: no interface of this host that is up is called or in \"%s\"; there are %s", p->name, w.text,
                say_all(all));
    }
    return more < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}

static bool is_wanted(const struct ifaddrs *i, bool far)
{
    if (!is_up(i) || listed(&excluded, i)) return false;
    if (*included.text) return listed(&included, i);
    return far == !(i->ifa_flags & IFF_LOOPBACK);
}

// Those of one family that are wanted go behind the `count` that are known; returns how many there are then.
static uint32_t find(const struct ifaddrs *all, int family, bool far, struct found *f, uint32_t count, uint32_t *nics)
{
    for (const struct ifaddrs *i = all; i && count < FOUND_MAX; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || !is_wanted(i, far)) continue;
        if (is_link_local(i)) continue;    // good only together with an interface
        f[count] = (struct found){.from = i, .nic = *nics};
        for (uint32_t k = 0; k < count; k++) {
            if (strcmp(f[k].from->ifa_name, i->ifa_name) != 0) continue;
            f[count].nic = f[k].nic;
            f[count].place = f[k].place + 1;
        }
        if (f[count].nic == *nics) ++*nics;
        count++;
    }
    return count;
}

// As many as there is room for, the first address of each interface before the second of any.
static void take(struct uno_net *net, const struct found *f, uint32_t count)
{
    for (uint32_t place = 0; place < count; place++)
        for (uint32_t k = 0; k < count && net->count < UNO_ADDRESSES; k++) {
            if (f[k].place != place) continue;
            bool four = f[k].from->ifa_addr->sa_family == AF_INET;
            net->addr[net->count].family = four ? 4 : 6;
            net->addr[net->count].nic = (uint8_t)f[k].nic;
            net->addr[net->count].bits = subnet_bits(f[k].from);
            memcpy(net->addr[net->count].bytes, bytes_of(f[k].from), four ? 4 : 16);
            net->count++;
        }
}

static int none_left(const struct ifaddrs *all)
{
    if (*excluded.text && *included.text)
        return uno_fail(MPI_ERR_OTHER,
                        "tcp_interface \"%s\" without tcp_exclude \"%s\" leaves no interface that is up; "
                        "there are %s",
                        included.text, excluded.text, say_all(all));
    if (*excluded.text)
        return uno_fail(MPI_ERR_OTHER, "tcp_exclude \"%s\" leaves no interface that is up; there are %s", excluded.text,
                        say_all(all));
    if (*included.text)
        return uno_fail(MPI_ERR_OTHER,
                        "tcp_interface is \"%s\": no interface that is up is called so or in that subnet; "
                        "there are %s",
                        included.text, say_all(all));
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_up(i) && is_link_local(i))
            return uno_fail(MPI_ERR_OTHER,
                            "the network interfaces that are up have link-local addresses (fe80::) only, by which "
                            "another host cannot tell where to connect; give %s an address of a network",
                            i->ifa_name);
    return uno_fail(MPI_ERR_OTHER, "no network interface is up (parameter tcp_interface)");
}

static int choose_among(const struct ifaddrs *all, struct uno_net *net, bool far)
{
    static bool told;
    struct found found[FOUND_MAX];
    uint32_t nics = 0, count = find(all, AF_INET, far, found, 0, &nics);
    count = find(all, AF_INET6, far, found, count, &nics);
    int err = check_words(&included, all, told || count == 0 ? 3 : 0);
    if (!err) err = check_words(&excluded, all, told ? 3 : 1);
    told = true;
    if (err) return err;
    if (count == 0) return none_left(all);
    // Inside one host one address of the loopback is enough, and no other host can reach it.
    if (!far && !*included.text) count = 1;
    take(net, found, count);
    return MPI_SUCCESS;
}

int uno_net_own(struct uno_net *net, bool far)
{
    memset(net, 0, sizeof *net);
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return uno_fail_errno(MPI_ERR_OTHER, "list the network interfaces");
    int err = choose_among(all, net, far);
    freeifaddrs(all);
    return err;
}

bool uno_net_shares(const struct uno_net *own, uint32_t i, const struct uno_net *net, uint32_t k)
{
    if (own->addr[i].family != net->addr[k].family || own->addr[i].bits == 0) return false;
    return own->addr[i].bits <= 128 && same_bits(own->addr[i].bytes, net->addr[k].bytes, own->addr[i].bits);
}

// The name of the interface that has address i.
static bool find_device(const struct uno_net *own, uint32_t i, char *name)
{
    struct ifaddrs *all;
    bool found = false;
    if (getifaddrs(&all) != 0) return false;
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
        if (!is_up(at) || at->ifa_addr->sa_family != (own->addr[i].family == 4 ? AF_INET : AF_INET6)) continue;
        found = memcmp(bytes_of(at), own->addr[i].bytes, own->addr[i].family == 4 ? 4 : 16) == 0;
        if (found) snprintf(name, IF_NAMESIZE, "%s", at->ifa_name);
    }
    freeifaddrs(all);
    return found;
}

void uno_net_leave_by(int fd, const struct uno_net *own, uint32_t i)
{
    struct sockaddr_storage a;
    char name[IF_NAMESIZE];
    socklen_t len = uno_net_sockaddr(own, i, &a);
    ((struct sockaddr_in *)(void *)&a)->sin_port = 0;    // sin6_port lies at the same place
    if (bind(fd, (struct sockaddr *)&a, len) != 0) return;
    if (!find_device(own, i, name)) return;
    int kept = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, IF_NAMESIZE);
    (void)kept;    // older systems let root alone do so; then the way is the system's choice
}

bool uno_net_is_chosen(void)
{
    return *included.text || *excluded.text;
}
