// SPDX-License-Identifier: BSD-3-Clause
// Ports (port.h). A port is a listening socket of its own with an abstract name, which no file outlives, and a random
// key that its name carries: who shows it is let in, and both sides look whether the other is of the same user. The
// kernel keeps those who wait until an accept does: without one, nothing is looked at.
//
//   unisono-port:1:BOOT:SOCKET:KEY:JOB:RANK:PID    (hexadecimal, but for the last two)
#define _GNU_SOURCE
#include "dpm/port.h"

#include <errno.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/param.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/proc.h"
#include "core/info.h"
#include "dpm/dpm.h"

#define PREFIX "unisono-port:1:"
#define KEY 16
#define BACKLOG 4096
#define NS_PER_S 1000000000ULL
#define GREETERS 64               // that have not shown the key yet
#define GREET_NS 3000000000ULL    // they have so long

static struct uno_param patience =
    UNO_PARAM_INT("connect_timeout", 60, 0, 1000000,
                  "seconds that MPI_Comm_connect waits for an accept, where its info has no \"timeout\"");
UNO_PARAM_DECLARE(patience);

struct address {
    unsigned char boot[UNO_BOOT_BYTES], socket[KEY], key[KEY];
    uint64_t job;
    int rank, pid;
};

struct port {
    struct dpm_sock listener;
    struct port *next;
    struct address at;
    char name[MPI_MAX_PORT_NAME];
    struct dpm_guest *first;      // accepts, in order
    struct dpm_wire *greeters;    // connections that have not shown the key
    struct dpm_wire *ready;       // that have, and no accept is left for them
    int ngreeters;
};

static struct port *ports;

// ---- names ----

static char *put_hex(char *to, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) to += sprintf(to, "%02x", bytes[i]);
    *to++ = ':';
    return to;
}

static void write_name(const struct address *a, char *name)
{
    char *to = name + sprintf(name, PREFIX);
    to = put_hex(to, a->boot, sizeof a->boot);
    to = put_hex(to, a->socket, sizeof a->socket);
    to = put_hex(to, a->key, sizeof a->key);
    sprintf(to, "%016llx:%d:%d", (unsigned long long)a->job, a->rank, a->pid);
}

// NULL: it is not n bytes and a colon.
static const char *get_hex(const char *from, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, from += 2) {
        unsigned value;
        char pair[3] = {from[0], from[0] ? from[1] : 0, 0};
        if (strspn(pair, "0123456789abcdef") != 2 || sscanf(pair, "%x", &value) != 1) return NULL;
        bytes[i] = (unsigned char)value;
    }
    return *from == ':' ? from + 1 : NULL;
}

static bool read_name(const char *name, struct address *a)
{
    unsigned long long job;
    int end = 0;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return false;
    const char *at = get_hex(name + sizeof PREFIX - 1, a->boot, sizeof a->boot);
    if (at) at = get_hex(at, a->socket, sizeof a->socket);
    if (at) at = get_hex(at, a->key, sizeof a->key);
    if (!at || sscanf(at, "%16llx:%d:%d%n", &job, &a->rank, &a->pid, &end) != 3 || at[end]) return false;
    a->job = job;
    return true;
}

static struct port *find_port(const char *name)
{
    struct port *p = ports;
    while (p && strcmp(p->name, name) != 0) p = p->next;
    return p;
}

static socklen_t to_sockaddr(const struct address *a, struct sockaddr_un *out)
{
    static const char prefix[] = "unisono-port-";
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *to = out->sun_path + 1;    // behind the zero byte that makes the name abstract
    memcpy(to, prefix, sizeof prefix - 1);
    to = put_hex(to + sizeof prefix - 1, a->socket, sizeof a->socket);
    return (socklen_t)(to - 1 - (char *)out);
}

static bool is_same_user(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

// ---- who comes ----

static void take_out(struct dpm_wire **list, struct dpm_wire *w)
{
    while (*list && *list != w) list = &(*list)->next;
    if (*list) *list = w->next;
}

static void hand_over(struct port *p, struct dpm_wire *w)
{
    struct dpm_guest *g = p->first;
    p->first = g->next;
    g->came(g, w);
}

static void on_waiting(struct dpm_wire *w, unsigned kind, const void *body, size_t bytes)
{
    struct port *p = w->owner;
    (void)kind, (void)body, (void)bytes;    // it left, or talks out of turn
    take_out(&p->ready, w);
    dpm_wire_free(w);
}

static void look_at_listener(struct port *p);

static void on_greeting(struct dpm_wire *w, unsigned kind, const void *body, size_t bytes)
{
    struct port *p = w->owner;
    take_out(&p->greeters, w);
    p->ngreeters--;
    if (kind != DPM_HELLO || bytes != KEY || memcmp(body, p->at.key, KEY) != 0) {
        static const char why[] = "the key in the port name is not the one of this port";
        int err = kind ? dpm_wire_send(w, DPM_REFUSE, why, sizeof why - 1) : MPI_SUCCESS;
        (void)err;    // it is dropped in any case
        dpm_wire_free(w);
    } else if (p->first) {
        hand_over(p, w);
    } else {
        w->frame = on_waiting;
        w->next = NULL;
        struct dpm_wire **end = &p->ready;
        while (*end) end = &(*end)->next;
        *end = w;
    }
}

static void let_in(struct port *p, int fd)
{
    if (!is_same_user(fd)) {
        uno_log(1, "dropped a connection to a port: it comes from another user");
        close(fd);
        return;
    }
    struct dpm_wire *w = dpm_wire_new(fd);
    if (!w) return;
    w->owner = p;
    w->frame = on_greeting;
    w->deadline = uno_now_ns() + GREET_NS;
    w->next = p->greeters;
    p->greeters = w;
    p->ngreeters++;
}

static void listener_ready(struct dpm_sock *s)
{
    struct port *p = (struct port *)(void *)s;
    while (p->first && p->ngreeters < GREETERS) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0) break;
        let_in(p, fd);
    }
    look_at_listener(p);
}

// Listens while somebody accepts, and not too many are being looked at.
static void look_at_listener(struct port *p)
{
    bool wanted = p->first && p->ngreeters < GREETERS;
    if (wanted != p->listener.watched) dpm_sock_watch(&p->listener, wanted);
}

int dpm_port_wait(const char *name, struct dpm_guest *g)
{
    struct port *p = find_port(name);
    if (!p) return uno_fail(MPI_ERR_PORT, "port_name \"%.60s\" is no port that this process has open", name);
    struct dpm_guest **end = &p->first;
    while (*end) end = &(*end)->next;
    g->next = NULL;
    *end = g;
    struct dpm_wire *w = p->ready;
    if (w) {
        p->ready = w->next;
        hand_over(p, w);
    }
    look_at_listener(p);
    return MPI_SUCCESS;
}

void dpm_port_leave(const char *name, struct dpm_guest *g)
{
    struct port *p = find_port(name);
    struct dpm_guest **at = p ? &p->first : NULL;
    while (at && *at && *at != g) at = &(*at)->next;
    if (!at || !*at) return;
    *at = g->next;
    look_at_listener(p);
}

static bool expire(struct port *p, uint64_t now, uint64_t *next)
{
    bool dropped = false;
    for (struct dpm_wire **at = &p->greeters, *w; (w = *at);) {
        if (w->deadline <= now) {
            *at = w->next;
            p->ngreeters--;
            dpm_wire_free(w);
            dropped = true;
            continue;
        }
        if (!*next || w->deadline < *next) *next = w->deadline;
        at = &w->next;
    }
    return dropped;
}

bool dpm_ports_expire(uint64_t now, uint64_t *next)
{
    bool dropped = false;
    for (struct port *p = ports; p; p = p->next) {
        if (!p->ngreeters) continue;
        dropped |= expire(p, now, next);
        look_at_listener(p);
    }
    return dropped;
}

// ---- dialling ----

static int dial(const struct address *a, const char *name)
{
    struct sockaddr_un to;
    socklen_t len = to_sockaddr(a, &to);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return uno_fail_errno(MPI_ERR_OTHER, "open a socket to another job"), -1;
    if (connect(fd, (struct sockaddr *)&to, len) == 0 && is_same_user(fd)) return fd;
    int e = errno;
    close(fd);
    errno = e;
    if (e == EAGAIN) return -2;
    uno_fail(MPI_ERR_PORT, "nobody listens at port_name \"%.24s...\" (rank %d of its job, process %d): it is closed",
             name, a->rank, a->pid);
    return -1;
}

int dpm_port_dial(const char *name, struct dpm_wire **out)
{
    struct address a;
    struct uno_card own;
    if (!read_name(name, &a)) return uno_fail(MPI_ERR_PORT, "port_name \"%.60s\" is not what MPI_Open_port gave", name);
    int err = uno_proc_own(&own);
    if (err) return err;
    if (memcmp(a.boot, own.boot, sizeof own.boot) != 0)
        return uno_fail(MPI_ERR_PORT, "port_name is of another host, or of a time before this one was started");
    int fd = dial(&a, name);
    if (fd < 0) return fd == -2 ? UNO_FULL : MPI_ERR_PORT;
    struct dpm_wire *w = dpm_wire_new(fd);
    if (!w) return uno_fail(MPI_ERR_NO_MEM, "no memory for a connection to another job");
    err = dpm_wire_send(w, DPM_HELLO, a.key, KEY);
    if (err) {
        dpm_wire_free(w);
        return err;
    }
    *out = w;
    return MPI_SUCCESS;
}

int dpm_port_patience(const struct uno_meeting_spec *spec, uint64_t *ns)
{
    const char *text = spec->info ? uno_info_find(spec->info, "timeout") : NULL;
    double seconds = spec->role == UNO_CONNECT ? (double)patience.num : -1;
    char rest;
    if (text && (sscanf(text, "%lf%c", &seconds, &rest) != 1 || !(seconds >= 0 && seconds <= 1e9)))
        return uno_fail(MPI_ERR_INFO_VALUE, "info \"timeout\" is \"%s\": seconds are expected (0 .. 1e9)", text);
    *ns = seconds < 0 ? 0 : uno_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);
    return MPI_SUCCESS;
}

// ---- opening and closing ----

static int begin_listening(struct port *p)
{
    struct sockaddr_un at;
    socklen_t len = to_sockaddr(&p->at, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, BACKLOG) != 0) {
        int err = uno_fail_errno(MPI_ERR_OTHER, "open a port");
        if (fd >= 0) close(fd);
        return err;
    }
    p->listener = (struct dpm_sock){.fd = fd, .ready = listener_ready};
    return MPI_SUCCESS;
}

int uno_port_open(char *name)
{
    struct uno_card own;
    struct port *p = calloc(1, sizeof *p);
    int err = p ? uno_proc_own(&own) : uno_fail(MPI_ERR_NO_MEM, "no memory for a port");
    if (!err) err = dpm_sock_open();
    if (!err && (getrandom(p->at.socket, KEY, 0) != KEY || getrandom(p->at.key, KEY, 0) != KEY))
        err = uno_fail_errno(MPI_ERR_OTHER, "draw the key of a port");
    if (!err) err = begin_listening(p);
    if (err) {
        free(p);
        return err;
    }
    memcpy(p->at.boot, own.boot, sizeof own.boot);
    p->at.job = own.job;
    p->at.rank = own.rank;
    p->at.pid = own.pid;
    write_name(&p->at, p->name);
    strcpy(name, p->name);
    p->next = ports;
    ports = p;
    return MPI_SUCCESS;
}

static void free_wires(struct dpm_wire *list)
{
    for (struct dpm_wire *next; list; list = next) {
        next = list->next;
        dpm_wire_free(list);
    }
}

static void free_port(struct port *p)
{
    dpm_sock_watch(&p->listener, false);
    close(p->listener.fd);
    free_wires(p->greeters);
    free_wires(p->ready);
    free(p);
}

int uno_port_close(const char *name)
{
    struct port **at = &ports, *p = find_port(name);
    if (!p) return uno_fail(MPI_ERR_PORT, "port_name \"%.60s\" is no port that this process has open", name);
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    while (p->first) {
        struct dpm_guest *g = p->first;
        p->first = g->next;
        g->closed(g);
    }
    free_port(p);
    return MPI_SUCCESS;
}

void dpm_ports_close(void)
{
    while (ports) {
        struct port *p = ports;
        ports = p->next;
        free_port(p);
    }
}
