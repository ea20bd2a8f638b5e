// SPDX-License-Identifier: BSD-3-Clause
// Listening on addresses of this host, and their forms (net.h). Which addresses: choose.c.
#include "chan/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/param.h"

static struct uno_param ports = UNO_PARAM_TEXT(
    "tcp_port_range", "", "ports that tcp and MPI_Open_port listen on, FIRST-LAST; empty: any that is free");
UNO_PARAM_DECLARE(ports);

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

bool uno_net_is_near(const struct sockaddr *peer)
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

socklen_t uno_net_sockaddr(const struct uno_net *net, uint32_t i, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (net->addr[i].family == 4) {
        struct sockaddr_in *a = (struct sockaddr_in *)(void *)out;
        a->sin_family = AF_INET;
        a->sin_port = net->port;
        memcpy(&a->sin_addr, net->addr[i].bytes, 4);
        return sizeof *a;
    }
    struct sockaddr_in6 *a = (struct sockaddr_in6 *)(void *)out;
    a->sin6_family = AF_INET6;
    a->sin6_port = net->port;
    memcpy(&a->sin6_addr, net->addr[i].bytes, 16);
    return sizeof *a;
}

static int bind_range(int fd, struct sockaddr_storage *a, socklen_t len)
{
    unsigned first = 0, last = 0;
    char rest;
    bool good = sscanf(ports.text, "%u-%u%c", &first, &last, &rest) == 2 && first > 0 && first <= last && last <= 65535;
    if (*ports.text && !good)
        return uno_fail(MPI_ERR_ARG, "tcp_port_range is \"%s\", FIRST-LAST from 1 to 65535 is expected", ports.text);
    for (unsigned port = first; port <= last; port++) {
        ((struct sockaddr_in *)(void *)a)->sin_port = htons((uint16_t)port);    // sin6_port lies at the same place
        if (bind(fd, (struct sockaddr *)a, len) == 0) return MPI_SUCCESS;
        if (errno != EADDRINUSE) break;
    }
    return uno_fail_errno(MPI_ERR_OTHER, "bind a tcp port (tcp_port_range \"%s\")", ports.text);
}

void uno_net_text(const struct sockaddr *a, char *text)
{
    strcpy(text, "?");
    if (a->sa_family != AF_INET && a->sa_family != AF_INET6) return;
    const unsigned char *bytes = bytes_of(a);
    bool mapped = a->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes);
    inet_ntop(mapped ? AF_INET : a->sa_family, mapped ? bytes + 12 : bytes, text, UNO_NET_TEXT);
}

int uno_net_listen(struct uno_net *net, int backlog)
{
    struct sockaddr_storage a;
    net->port = 0;
    socklen_t len = uno_net_sockaddr(net, 0, &a);
    if (net->count > 1) {    // several: listen on all
        memset(&((struct sockaddr_in *)(void *)&a)->sin_addr, 0, 4);
        for (uint32_t i = 0; i < net->count; i++)
            if (net->addr[i].family == 6) len = sizeof(struct sockaddr_in6);
        if (len == sizeof(struct sockaddr_in6)) a = (struct sockaddr_storage){.ss_family = AF_INET6};
    }
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), off = 0;
    if (fd < 0) return uno_fail_errno(MPI_ERR_OTHER, "open a tcp socket"), -1;
    if (a.ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    int err = bind_range(fd, &a, len);
    len = sizeof a;
    if (!err && (listen(fd, backlog) != 0 || getsockname(fd, (struct sockaddr *)&a, &len) != 0))
        err = uno_fail_errno(MPI_ERR_OTHER, "listen on a tcp port");
    if (err) {
        close(fd);
        return -1;
    }
    net->port = ((struct sockaddr_in *)(void *)&a)->sin_port;
    return fd;
}
