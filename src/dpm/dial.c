// SPDX-License-Identifier: BSD-3-Clause
// Dials a port (port.h): the socket inside the host if it is there, else all addresses that the name holds at once. The
// first connection whose other side shows that it knows the key is the one.
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chan/chan.h"
#include "chan/proc.h"
#include "dpm/address.h"
#include "dpm/port.h"
#include "dpm/seal.h"
#include "dpm/wire.h"

// Connections that are tried for a guest.
struct call {
    struct call *next;
    struct dpm_guest *guest;
    struct dpm_address to;
    struct dpm_wire *wire[UNO_ADDRESSES];
    int left;
    char why[160];    // the last one failed
};

static struct call *calls;

static int say_hello(struct dpm_wire *w, const struct dpm_address *to, const struct dpm_guest *g)
{
    struct dpm_hello hello = {.far = g->far};
    struct uno_card own;
    int err = uno_proc_own(&own);
    if (err) return err;
    hello.kernel = own.kernel;
    memcpy(hello.key, to->key, sizeof hello.key);
    dpm_wire_trust(w);
    return dpm_wire_send(w, DPM_HELLO, &hello, sizeof hello);
}

// ---- inside the host ----

static bool is_this_host(const struct dpm_address *a)
{
    struct uno_card own;
    return uno_proc_own(&own) == MPI_SUCCESS && memcmp(a->boot, own.kernel.boot, sizeof a->boot) == 0;
}

// -1: it is not there (errno).
static int connect_here(const struct dpm_address *a)
{
    struct sockaddr_un to;
    socklen_t len = dpm_address_here(a, &to);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&to, len) == 0) return fd;
    int e = errno;
    close(fd);
    errno = e;
    return -1;
}

static int dial_here(int fd, const struct dpm_address *a, struct dpm_guest *g)
{
    if (!dpm_is_same_user(fd)) {
        close(fd);
        return uno_fail(MPI_ERR_PORT, "the port is another user's (process %d)", a->pid);
    }
    struct dpm_wire *w = dpm_wire_new(fd);
    int err = w ? say_hello(w, a, g) : MPI_ERR_NO_MEM;
    if (err)
        dpm_wire_free(w);
    else
        g->came(g, w);
    return err;
}

// ---- other hosts ----

static void forget(struct call *c)
{
    struct call **at = &calls;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    for (int i = 0; i < UNO_ADDRESSES; i++) dpm_wire_free(c->wire[i]);
    free(c);
}

static void note(struct call *c, uint32_t i, const char *why)
{
    struct sockaddr_storage a;
    char text[UNO_NET_TEXT];
    uno_net_sockaddr(&c->to.net, i, &a);
    uno_net_text((const struct sockaddr *)&a, text);
    snprintf(c->why, sizeof c->why, "%s: %.90s", text, why);
}

static int nobody_there(const struct call *c)
{
    return uno_fail(MPI_ERR_PORT, "nobody listens at port_name (rank %d of its job, process %d): %s", c->to.rank,
                    c->to.pid, c->why);
}

static void on_answer(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    struct call *c = w->owner;
    struct dpm_guest *g = c->guest;
    uint32_t i = 0;
    while (c->wire[i] != w) i++;
    if (kind == DPM_HERE && say_hello(w, &c->to, g) == MPI_SUCCESS) {
        c->wire[i] = NULL;
        forget(c);
        g->came(g, w);
        return;
    }
    char why[96];
    snprintf(why, sizeof why, "%.*s", (int)bytes, (const char *)body);
    note(c, i, kind == DPM_BROKEN ? why : "it talks out of turn");
    c->wire[i] = NULL;
    dpm_wire_free(w);
    if (--c->left > 0) return;
    (void)nobody_there(c);    // the text is what counts
    forget(c);
    g->failed(g, uno_fail_text());
}

static void dial_address(struct call *c, uint32_t i)
{
    struct sockaddr_storage a;
    socklen_t len = uno_net_sockaddr(&c->to.net, i, &a);
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) dpm_set_options(fd);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&a, len) != 0 && errno != EINPROGRESS)) {
        note(c, i, strerror(errno));
        if (fd >= 0) close(fd);
        return;
    }
    struct dpm_wire *w = dpm_wire_sealed(fd, c->to.key, true);
    if (!w) {
        note(c, i, uno_fail_text());
        return;
    }
    w->owner = c;
    w->frame = on_answer;
    c->wire[i] = w;
    c->left++;
}

static int dial_far(const struct dpm_address *a, struct dpm_guest *g)
{
    int err = dpm_seal_open();
    if (err) return uno_fail(MPI_ERR_PORT, "the port is on another host: %s", uno_fail_text());
    struct call *c = calloc(1, sizeof *c);
    if (!c) return uno_fail(MPI_ERR_NO_MEM, "no memory for a connection to another job");
    *c = (struct call){.next = calls, .guest = g, .to = *a};
    calls = c;
    for (uint32_t i = 0; i < a->net.count; i++) dial_address(c, i);
    if (c->left > 0) return MPI_SUCCESS;
    err = nobody_there(c);
    forget(c);
    return err;
}

int dpm_port_dial(const char *name, struct dpm_guest *g)
{
    struct dpm_address a;
    if (!dpm_address_read(name, &a))
        return uno_fail(MPI_ERR_PORT, "port_name \"%.60s\" is not what MPI_Open_port gave", name);
    bool here = is_this_host(&a);
    int fd = here ? connect_here(&a) : -1;
    if (fd >= 0) return dial_here(fd, &a, g);
    if (here && errno == EAGAIN) return UNO_FULL;
    if (a.net.count > 0) return dial_far(&a, g);    // a container of this host, too
    if (!here)
        return uno_fail(MPI_ERR_PORT, "port_name is of another host, or of a time before this one was started, and "
                                      "was opened for its own host alone");
    return uno_fail(MPI_ERR_PORT,
                    "nobody listens at port_name \"%.24s...\" (rank %d of its job, process %d): it is "
                    "closed",
                    name, a.rank, a.pid);
}

void dpm_dial_leave(struct dpm_guest *g)
{
    for (struct call *c = calls, *next; c; c = next) {
        next = c->next;
        if (c->guest == g) forget(c);
    }
}
