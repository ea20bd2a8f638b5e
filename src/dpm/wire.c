// SPDX-License-Identifier: BSD-3-Clause
// Frames over a stream socket (wire.h). Called by port.c, dial.c and meeting.c.
// Always holds: nothing is taken for a frame before the other side has shown the key, where it comes over a network.
#include "dpm/wire.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/invariant.h"
#include "dpm/seal.h"

#define MAGIC 0x756e6f33u        // "uno3": the version of what follows, too
#define FRAME_MAX (64u << 20)    // bytes of a body
#define FIRST_MAX 256            // of one that comes before the key

struct head {
    uint32_t magic, kind;
    uint64_t bytes;    // that follow
};

// What both sides send first, in clear.
struct words {
    char magic[8];
    unsigned char nonce[DPM_NONCE];
};

static const char version[8] = "unoport2";

struct dpm_greeting {
    bool dials;
    unsigned char key[DPM_KEY];
    struct words mine;
};

_Static_assert(sizeof(struct words) >= sizeof(struct head), "a frame's head fits where a greeting was");

static void wire_ready(struct dpm_sock *s);

struct dpm_wire *dpm_wire_new(int fd)
{
    struct dpm_wire *w = calloc(1, sizeof *w);
    void *in = malloc(sizeof(struct words));
    if (!w || !in) {
        free(w);
        free(in);
        close(fd);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a connection to another job"), NULL;
    }
    w->sock = (struct dpm_sock){.fd = fd, .ready = wire_ready};
    w->in = in;
    w->room = sizeof(struct head);
    w->most = FIRST_MAX;
    dpm_sock_watch(&w->sock, true);
    return w;
}

// false: it broke.
static bool push_out(struct dpm_wire *w)
{
    while (w->sent < w->left) {
        ssize_t n = send(w->sock.fd, w->out + w->sent, w->left - w->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) break;
        if (n < 0) return false;
        w->sent += (size_t)n;
    }
    bool more = w->sent < w->left;
    if (!more) w->sent = w->left = 0;
    if (more != w->sock.writing) {
        w->sock.writing = more;
        if (w->sock.watched) dpm_sock_watch(&w->sock, true);
    }
    return true;
}

// Room for n more bytes that are to be sent; NULL: no memory.
static char *more_out(struct dpm_wire *w, size_t n)
{
    char *out = realloc(w->out, w->left + n);
    if (!out) return uno_fail(MPI_ERR_NO_MEM, "no memory for what another job is told"), NULL;
    w->out = out;
    return out + w->left;
}

struct dpm_wire *dpm_wire_sealed(int fd, const unsigned char key[DPM_KEY], bool dials)
{
    struct dpm_wire *w = dpm_wire_new(fd);
    if (!w) return NULL;
    w->greeting = calloc(1, sizeof *w->greeting);
    w->seal = calloc(1, sizeof *w->seal);
    char *out = more_out(w, sizeof(struct words));
    if (!w->greeting || !w->seal || !out || dpm_seal_open() || dpm_nonce(w->greeting->mine.nonce)) {
        dpm_wire_free(w);
        return NULL;
    }
    w->greeting->dials = dials;
    memcpy(w->greeting->key, key, DPM_KEY);
    memcpy(w->greeting->mine.magic, version, sizeof version);
    memcpy(out, &w->greeting->mine, sizeof(struct words));
    w->left += sizeof(struct words);
    w->room = sizeof(struct words);
    w->sock.writing = true;    // the next look sends it, and hears what is wrong with the connection
    dpm_sock_watch(&w->sock, true);
    return w;
}

void dpm_wire_free(struct dpm_wire *w)
{
    if (!w) return;
    dpm_sock_watch(&w->sock, false);
    close(w->sock.fd);
    free(w->in);
    free(w->out);
    free(w->seal);
    free(w->greeting);
    free(w);
}

void dpm_wire_trust(struct dpm_wire *w)
{
    w->most = FRAME_MAX;
}

int dpm_wire_send(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    size_t tag = w->seal ? DPM_TAG : 0;
    struct head h = {MAGIC, kind, bytes + tag};
    uno_assert(!w->greeting);
    char *out = more_out(w, sizeof h + bytes + tag);
    if (!out) return MPI_ERR_NO_MEM;
    memcpy(out, &h, sizeof h);
    if (bytes) memcpy(out + sizeof h, body, bytes);
    if (w->seal) dpm_seal_put(w->seal, &h, sizeof h, out + sizeof h, bytes);
    w->left += sizeof h + bytes + tag;
    push_out(w);    // a break is seen by the next look
    return MPI_SUCCESS;
}

bool dpm_wire_flushed(const struct dpm_wire *w)
{
    return w->left == 0;
}

static void broke(struct dpm_wire *w, const char *why)
{
    dpm_sock_watch(&w->sock, false);
    w->left = w->sent = 0;    // will not leave any more
    w->frame(w, DPM_BROKEN, why, strlen(why));
}

static void offended(struct dpm_wire *w, const char *why)
{
    w->wrong = true;
    broke(w, why);
}

// The system says why.
static void broke_off(struct dpm_wire *w)
{
    char why[100];
    snprintf(why, sizeof why, "%s", errno ? strerror(errno) : "it closed the connection");
    broke(w, why);
}

// Reads up to `room`. 1: all is there, 0: not yet, -1: it broke (errno; 0: the other side closed).
static int fill(struct dpm_wire *w)
{
    while (w->got < w->room) {
        ssize_t n = recv(w->sock.fd, w->in + w->got, w->room - w->got, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return 0;
        if (n == 0) errno = 0;
        if (n <= 0) return -1;
        w->got += (size_t)n;
    }
    return 1;
}

static const char stranger[] = "it runs another version, or is no process of an MPI job";

// The other side's nonce is there: both know the keys. The side that answers shows at once that it does.
static void take_greeting(struct dpm_wire *w)
{
    struct dpm_greeting *g = w->greeting;
    struct words theirs;
    memcpy(&theirs, w->in, sizeof theirs);
    const unsigned char *dialer = g->dials ? g->mine.nonce : theirs.nonce;
    dpm_seal_begin(w->seal, g->key, dialer, g->dials ? theirs.nonce : g->mine.nonce, g->dials);
    bool answers = !g->dials;
    w->greeting = NULL;
    free(g);
    w->got = 0;
    w->room = sizeof(struct head);
    if (answers && dpm_wire_send(w, DPM_HERE, NULL, 0) != MPI_SUCCESS) broke(w, uno_fail_text());
}

// A whole frame has come. False: it is not as it was sent.
static void take_frame(struct dpm_wire *w, const struct head *h)
{
    size_t bytes = h->bytes;
    char *body = w->in + sizeof *h;
    w->got = 0;
    w->room = sizeof *h;
    if (w->seal && !dpm_seal_take(w->seal, h, sizeof *h, body, bytes)) {
        offended(w, "the key in the port name is not the one of this port");
        return;
    }
    if (w->seal) bytes -= DPM_TAG;
    w->frame(w, h->kind, body, bytes);
}

static void wire_ready(struct dpm_sock *s)
{
    struct dpm_wire *w = (struct dpm_wire *)(void *)s;
    struct head h;
    int there = push_out(w) ? fill(w) : -1;
    if (w->greeting && w->got > 0 && memcmp(w->in, version, w->got < sizeof version ? w->got : sizeof version) != 0) {
        offended(w, stranger);
        return;
    }
    if (there == 0) return;
    if (there < 0) {
        broke_off(w);
        return;
    }
    if (w->greeting) {
        take_greeting(w);
        return;
    }
    memcpy(&h, w->in, sizeof h);
    if (h.magic != MAGIC || h.kind == DPM_BROKEN || h.bytes > w->most) {
        offended(w, h.magic == MAGIC ? "it sends what makes no sense" : stranger);
        return;
    }
    if (w->room < sizeof h + h.bytes) {    // the body follows
        char *in = realloc(w->in, sizeof h + h.bytes);
        if (in) w->in = in, w->room = sizeof h + h.bytes;
        if (!in) errno = ENOMEM;
        there = in ? fill(w) : -1;
        if (there < 0) broke_off(w);
        if (there <= 0) return;
    }
    take_frame(w, &h);
}
