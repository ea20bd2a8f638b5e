// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads port names (address.h).
#include "dpm/address.h"

#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

#define PREFIX "unisono-port:2:"

_Static_assert(sizeof PREFIX + 2 * (UNO_BOOT_BYTES + 16 + DPM_KEY) + 64 + 8 + UNO_ADDRESSES * UNO_NET_TEXT <
                   MPI_MAX_PORT_NAME,
               "a port name has room for all");

static char *put_word(char *to, const unsigned char *bytes, size_t n)
{
    to = uno_hex_put(to, bytes, n);
    *to++ = ':';
    return to;
}

static void write_net(const struct uno_net *net, char *to)
{
    strcpy(to, "-");
    if (net->count == 0) return;
    to += sprintf(to, "%u", ntohs(net->port));
    for (uint32_t i = 0; i < net->count; i++) {
        struct sockaddr_storage a;
        uno_net_sockaddr(net, i, &a);
        *to++ = ',';
        uno_net_text((const struct sockaddr *)&a, to);
        to += strlen(to);
    }
}

void dpm_address_write(const struct dpm_address *a, char *name)
{
    char *to = name + sprintf(name, PREFIX);
    to = put_word(to, a->boot, sizeof a->boot);
    to = put_word(to, a->socket, sizeof a->socket);
    to = put_word(to, a->key, sizeof a->key);
    to += sprintf(to, "%016llx:%d:%d:", (unsigned long long)a->job, a->rank, a->pid);
    write_net(&a->net, to);
}

// NULL: it is not n bytes and a colon.
static const char *get_word(const char *from, unsigned char *bytes, size_t n)
{
    const char *end = uno_hex_get(from, bytes, n);
    return end && *end == ':' ? end + 1 : NULL;
}

static bool read_one(const char *text, size_t n, struct uno_net *net)
{
    char word[UNO_NET_TEXT];
    if (n >= sizeof word || net->count == UNO_ADDRESSES) return false;
    memcpy(word, text, n);
    word[n] = 0;
    unsigned char *to = net->addr[net->count].bytes;
    int family = inet_pton(AF_INET, word, to) == 1 ? 4 : inet_pton(AF_INET6, word, to) == 1 ? 6 : 0;
    net->addr[net->count++].family = (uint8_t)family;
    return family != 0;
}

static bool read_net(const char *text, struct uno_net *net)
{
    *net = (struct uno_net){.count = 0};
    if (strcmp(text, "-") == 0) return true;
    char *at;
    long port = strtol(text, &at, 10);
    if (at == text || port < 1 || port > 65535 || *at != ',') return false;
    net->port = htons((uint16_t)port);
    for (size_t n; *at == ','; at += n) {
        n = strcspn(++at, ",");
        if (!read_one(at, n, net)) return false;
    }
    return true;
}

bool dpm_address_read(const char *name, struct dpm_address *a)
{
    unsigned long long job;
    int end = 0;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return false;
    const char *at = get_word(name + sizeof PREFIX - 1, a->boot, sizeof a->boot);
    if (at) at = get_word(at, a->socket, sizeof a->socket);
    if (at) at = get_word(at, a->key, sizeof a->key);
    if (!at || sscanf(at, "%16llx:%d:%d:%n", &job, &a->rank, &a->pid, &end) != 3 || end == 0) return false;
    a->job = job;
    return read_net(at + end, &a->net);
}

socklen_t dpm_address_here(const struct dpm_address *a, struct sockaddr_un *out)
{
    static const char prefix[] = "unisono-port-";
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *to = out->sun_path + 1;    // behind the zero byte that makes the name abstract
    memcpy(to, prefix, sizeof prefix - 1);
    to = uno_hex_put(to + sizeof prefix - 1, a->socket, sizeof a->socket);
    return (socklen_t)(to - (char *)out);
}
