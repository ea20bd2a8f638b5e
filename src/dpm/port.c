// SPDX-License-Identifier: BSD-3-Clause
// Ports (port.h). A port is a listening socket of its own with an abstract name, which no file outlives, and, where
// other hosts may connect, one of TCP. Its name carries a random key: who shows it is let in. Inside the host both
// sides look whether the other is of the same user. The kernel keeps those who wait until an accept does: without one,
// nothing is looked at.
#define _GNU_SOURCE
#include "dpm/port.h"

#include <errno.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/param.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "core/info.h"
#include "dpm/address.h"
#include "dpm/dpm.h"

#define BACKLOG 4096
#define NS_PER_S 1000000000ULL
#define GREETERS 64               // at one listener that have not shown the key yet
#define GREET_NS 3000000000ULL    // they have so long
#define REST_NS 100000000ULL      // before a listener is looked at again that could not be served
#define KEEPALIVE_S 10            // without a sign of life, and between three questions for one
#define UNHEARD_MS 15000          // that what was sent may stay unacknowledged

static struct uno_param patience =
    UNO_PARAM_INT("connect_timeout", 60, 0, 1000000,
                  "seconds that MPI_Comm_connect waits for an accept, where its info has no \"timeout\"");
UNO_PARAM_DECLARE(patience);
static struct uno_param reach =
    UNO_PARAM_CHOICE("port_reach", "hosts", "hosts|host",
                     "from where a port of MPI_Open_port is reached: from other hosts too, by tcp, or from its own");
UNO_PARAM_DECLARE(reach);

struct port;

struct listener {
    struct dpm_sock sock;    // fd -1: there is none
    struct port *port;
    bool far;
    struct dpm_wire *greeters;    // connections that have not shown the key, newest first
    int ngreeters;
    uint64_t rest;    // not looked at before that; 0: it is well
};

struct port {
    struct listener listener[2];    // inside the host; between hosts
    struct port *next;
    struct dpm_address at;
    char name[MPI_MAX_PORT_NAME];
    struct dpm_guest *first;    // accepts, in order
    struct dpm_wire *ready;     // that have shown the key, and no accept is left for them
};

static struct port *ports;

// ---- who comes ----

static struct port *find_port(const char *name)
{
    struct port *p = ports;
    while (p && strcmp(p->name, name) != 0) p = p->next;
    return p;
}

bool dpm_is_same_user(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

void dpm_set_options(int fd)
{
    const int on = 1, s = KEEPALIVE_S, times = 3, ms = UNHEARD_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &s, sizeof s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &s, sizeof s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

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

static void on_waiting(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    struct port *p = w->owner;
    (void)kind, (void)body, (void)bytes;    // it left, or talks out of turn
    take_out(&p->ready, w);
    dpm_wire_free(w);
}

static void look_at_listener(struct listener *l);

// Whoever finds a port that is open to the network may try it: one line is enough.
static void log_stranger(const struct dpm_wire *w, const char *why)
{
    static bool told;
    char from[UNO_NET_TEXT];
    if (told) return;
    told = true;
    uno_net_text((const struct sockaddr *)&w->from, from);
    uno_log(0, "dropped a connection to a port from %s: %s (further ones are not reported)", from, why);
}

static void drop_greeter(struct listener *l, struct dpm_wire *w)
{
    take_out(&l->greeters, w);
    l->ngreeters--;
    dpm_wire_free(w);
}

static void refuse(struct listener *l, struct dpm_wire *w, enum dpm_frame kind, const char *reason)
{
    static const char why[] = "the key in the port name is not the one of this port";
    if (l->far && (w->wrong || kind != DPM_BROKEN)) log_stranger(w, w->wrong ? reason : why);
    int err = kind == DPM_BROKEN ? MPI_SUCCESS : dpm_wire_send(w, DPM_REFUSE, why, sizeof why - 1);
    (void)err;    // it is dropped in any case
    drop_greeter(l, w);
}

static void on_greeting(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    struct listener *l = w->owner;
    struct port *p = l->port;
    struct dpm_hello hello;
    struct uno_card own;
    if (bytes == sizeof hello) memcpy(&hello, body, sizeof hello);
    if (kind != DPM_HELLO || bytes != sizeof hello || memcmp(hello.key, p->at.key, DPM_KEY) != 0) {
        char reason[80];
        snprintf(reason, sizeof reason, "%.*s", kind == DPM_BROKEN ? (int)bytes : 0, (const char *)body);
        refuse(l, w, kind, reason);
        return;
    }
    take_out(&l->greeters, w);
    l->ngreeters--;
    w->owner = p;
    w->far = l->far || hello.far || uno_proc_own(&own) != MPI_SUCCESS || !uno_kernel_same(&own.kernel, &hello.kernel);
    dpm_wire_trust(w);
    if (p->first) {
        hand_over(p, w);
        return;
    }
    w->frame = on_waiting;
    w->next = NULL;
    struct dpm_wire **end = &p->ready;
    while (*end) end = &(*end)->next;
    *end = w;
}

// Of those from other hosts the newest have the best chance: who is silent may be silent for ever.
static void drop_oldest(struct listener *l)
{
    struct dpm_wire *w = l->greeters;
    while (w && w->next) w = w->next;
    if (w) drop_greeter(l, w);
}

static void let_in(struct listener *l, int fd, const struct sockaddr_storage *from)
{
    if (!l->far && !dpm_is_same_user(fd)) {
        uno_log(1, "dropped a connection to a port: it comes from another user");
        close(fd);
        return;
    }
    if (l->far) dpm_set_options(fd);
    struct dpm_wire *w = l->far ? dpm_wire_sealed(fd, l->port->at.key, false) : dpm_wire_new(fd);
    if (!w) {
        uno_log(l->far ? 0 : 1, "dropped a connection to a port: %s", uno_fail_text());
        return;
    }
    w->from = *from;
    w->owner = l;
    w->frame = on_greeting;
    w->deadline = uno_now_ns() + GREET_NS;
    w->next = l->greeters;
    l->greeters = w;
    l->ngreeters++;
}

static void listener_ready(struct dpm_sock *s)
{
    struct listener *l = (struct listener *)(void *)s;
    while (l->port->first && (l->far || l->ngreeters < GREETERS)) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(s->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0 && errno != EAGAIN) l->rest = uno_now_ns() + REST_NS;    // no descriptors left, for one
        if (fd < 0) break;
        if (l->ngreeters >= GREETERS) drop_oldest(l);
        let_in(l, fd, &from);
    }
    look_at_listener(l);
}

// Listens while somebody accepts, and not too many are being looked at.
static void look_at_listener(struct listener *l)
{
    bool wanted = l->sock.fd >= 0 && l->port->first && !l->rest && (l->far || l->ngreeters < GREETERS);
    if (wanted != l->sock.watched) dpm_sock_watch(&l->sock, wanted);
}

static void look_at_listeners(struct port *p)
{
    for (int i = 0; i < 2; i++) look_at_listener(&p->listener[i]);
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
    look_at_listeners(p);
    return MPI_SUCCESS;
}

void dpm_port_leave(const char *name, struct dpm_guest *g)
{
    struct port *p = find_port(name);
    struct dpm_guest **at = p ? &p->first : NULL;
    while (at && *at && *at != g) at = &(*at)->next;
    if (!at || !*at) return;
    *at = g->next;
    look_at_listeners(p);
}

static bool expire(struct listener *l, uint64_t now, uint64_t *next)
{
    bool dropped = false;
    for (struct dpm_wire *w = l->greeters, *after; w; w = after) {
        after = w->next;
        if (w->deadline <= now) {
            if (l->far) log_stranger(w, "it did not greet in time");
            drop_greeter(l, w);
            dropped = true;
        } else if (!*next || w->deadline < *next) {
            *next = w->deadline;
        }
    }
    if (l->rest && l->rest <= now) l->rest = 0;
    if (l->rest && (!*next || l->rest < *next)) *next = l->rest;
    return dropped;
}

bool dpm_ports_expire(uint64_t now, uint64_t *next)
{
    bool dropped = false;
    for (struct port *p = ports; p; p = p->next)
        for (int i = 0; i < 2; i++) {
            struct listener *l = &p->listener[i];
            if (!l->ngreeters && !l->rest) continue;
            dropped |= expire(l, now, next);
            look_at_listener(l);
        }
    return dropped;
}

int dpm_port_patience(const struct uno_meeting_spec *spec, uint64_t *ns, bool *said)
{
    const char *text = spec->info ? uno_info_find(spec->info, "timeout") : NULL;
    double seconds = spec->role == UNO_CONNECT ? (double)patience.num : -1;
    char rest;
    if (text && (sscanf(text, "%lf%c", &seconds, &rest) != 1 || !(seconds >= 0 && seconds <= 1e9)))
        return uno_fail(MPI_ERR_INFO_VALUE, "info \"timeout\" is \"%s\": seconds are expected (0 .. 1e9)", text);
    *said = text != NULL;
    *ns = seconds < 0 ? 0 : uno_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);
    return MPI_SUCCESS;
}

// ---- opening and closing ----

static int listen_here(struct port *p)
{
    struct sockaddr_un at;
    socklen_t len = dpm_address_here(&p->at, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, BACKLOG) != 0) {
        int err = uno_fail_errno(MPI_ERR_OTHER, "open a port");
        if (fd >= 0) close(fd);
        return err;
    }
    p->listener[0].sock.fd = fd;
    return MPI_SUCCESS;
}

// A host without a network is reached by nobody; what the user has asked for by name must be there.
static int listen_far(struct port *p)
{
    int err = uno_net_own(&p->at.net, true);
    int fd = err ? -1 : uno_net_listen(&p->at.net, BACKLOG);
    p->listener[1].sock.fd = fd;
    if (fd >= 0) return MPI_SUCCESS;
    p->at.net.count = 0;
    if (uno_net_is_chosen()) return MPI_ERR_OTHER;
    uno_log(1, "a port is not reached from other hosts: %s", uno_fail_text());
    return MPI_SUCCESS;
}

static void make_listeners(struct port *p)
{
    for (int i = 0; i < 2; i++)
        p->listener[i] = (struct listener){.sock = {.fd = -1, .ready = listener_ready}, .port = p, .far = i == 1};
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
    for (int i = 0; i < 2; i++) {
        struct listener *l = &p->listener[i];
        dpm_sock_watch(&l->sock, false);
        if (l->sock.fd >= 0) close(l->sock.fd);
        free_wires(l->greeters);
    }
    free_wires(p->ready);
    free(p);
}

int uno_port_open(char *name, bool far)
{
    struct uno_card own;
    struct port *p = calloc(1, sizeof *p);
    int err = p ? uno_proc_own(&own) : uno_fail(MPI_ERR_NO_MEM, "no memory for a port");
    if (p) make_listeners(p);
    if (!err) err = dpm_sock_open();
    if (!err && (getrandom(p->at.socket, sizeof p->at.socket, 0) != sizeof p->at.socket ||
                 getrandom(p->at.key, DPM_KEY, 0) != DPM_KEY))
        err = uno_fail_errno(MPI_ERR_OTHER, "draw the key of a port");
    if (!err) err = listen_here(p);
    if (!err && far && strcmp(reach.text, "hosts") == 0) err = listen_far(p);
    if (err) {
        if (p) free_port(p);
        return err;
    }
    memcpy(p->at.boot, own.kernel.boot, sizeof p->at.boot);
    p->at.job = own.job;
    p->at.rank = own.rank;
    p->at.pid = own.pid;
    dpm_address_write(&p->at, p->name);
    strcpy(name, p->name);
    p->next = ports;
    ports = p;
    return MPI_SUCCESS;
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
        g->failed(g, "the port was closed");
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
