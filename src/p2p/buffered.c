// SPDX-License-Identifier: BSD-3-Clause
// Buffers for MPI_Bsend (buffered.h). A message takes a block of the user's buffer: this file's bookkeeping (within
// MPI_BSEND_OVERHEAD) and the packed data. Blocks are in address order; a block is given back once its send has
// completed.
#include "p2p/buffered.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "chan/chan.h"
#include "core/progress.h"
#include "core/session.h"
#include "p2p/inner.h"
#include "p2p/sign.h"

#define ALIGN 64

struct block {
    struct block *next;
    size_t bytes;    // with this head
    MPI_Request req;
};

struct uno_bsend {
    char *base;     // NULL: automatic, blocks come from malloc
    char *start;    // base rounded up
    size_t size;
    struct block *first;
    void *user;
    struct uno_bsend *next;    // all attached buffers
};

struct uno_bsend *uno_bsend_process;
static struct uno_bsend *all;

static size_t rounded(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

int uno_bsend_attach(struct uno_bsend **slot, void *buf, MPI_Count size)
{
    if (*slot) return uno_fail(MPI_ERR_BUFFER, "a buffer is attached already (detach it first)");
    struct uno_bsend *b = calloc(1, sizeof *b);
    if (!b) return uno_fail(MPI_ERR_NO_MEM, "no memory for a buffer's bookkeeping");
    b->user = buf;
    b->size = (size_t)size;
    if (buf != MPI_BUFFER_AUTOMATIC) {
        b->base = buf;
        b->start = (char *)rounded((size_t)(uintptr_t)buf);
    }
    b->next = all;
    all = b;
    *slot = b;
    return MPI_SUCCESS;
}

// Gives blocks back whose sends have completed. Returns whether none is left.
static bool reap(struct uno_bsend *b)
{
    for (struct block **at = &b->first; *at;) {
        struct block *k = *at;
        if (!uno_request_is_done(k->req)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        if (k->req != &uno_request_sent) uno_request_release(k->req);
        if (!b->base) free(k);
    }
    return b->first == NULL;
}

static bool empty(void *arg)
{
    return reap(arg);
}

void uno_bsend_flush(struct uno_bsend *b)
{
    if (b) uno_wait_until(empty, b, NULL);
}

static bool flush_poll(MPI_Request r)
{
    if (uno_request_is_done(r) || !reap(r->extra)) return false;
    uno_request_done(r, MPI_SUCCESS);
    return true;
}

struct flush {
    struct uno_poller poller;
    MPI_Request req;
};

static int flush_step(struct uno_poller *p)
{
    struct flush *f = (struct flush *)p;
    if (!flush_poll(f->req)) return 0;
    uno_poller_remove(p);
    free(f);
    return 1;
}

static const struct uno_request_ops flush_ops = {.name = "flush"};

int uno_bsend_iflush(struct uno_bsend *b, MPI_Request *req)
{
    if (!b || reap(b)) {
        *req = &uno_request_sent;
        return MPI_SUCCESS;
    }
    MPI_Request r = uno_request_new(UNO_REQ_OTHER);
    struct flush *f = malloc(sizeof *f);
    if (!r || !f) {
        if (r) uno_request_release(r);
        free(f);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    }
    r->ops = &flush_ops;
    r->extra = b;
    *f = (struct flush){.poller = {.fn = flush_step}, .req = r};
    uno_poller_add(&f->poller);
    *req = r;
    return MPI_SUCCESS;
}

int uno_bsend_detach(struct uno_bsend **slot, void **buf, MPI_Count *size)
{
    struct uno_bsend *b = *slot;
    if (!b) return uno_fail(MPI_ERR_BUFFER, "no buffer is attached");
    uno_bsend_flush(b);
    *buf = b->user;
    *size = (MPI_Count)b->size;
    struct uno_bsend **at = &all;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    free(b);
    *slot = NULL;
    return MPI_SUCCESS;
}

void uno_bsend_flush_all(void)
{
    for (struct uno_bsend *b = all; b; b = b->next) uno_bsend_flush(b);
}

size_t uno_bsend_attached(void)
{
    size_t n = 0;
    for (struct uno_bsend *b = all; b; b = b->next) n++;
    return n;
}

static struct uno_bsend *buffer_for(struct MPI_ABI_Comm *c)
{
    if (c->bsend) return c->bsend;
    struct MPI_ABI_Session *s = uno_session(c->session);
    if (s && s->bsend) return s->bsend;
    return uno_bsend_process;
}

// First fit between the blocks in use. NULL: no room.
static struct block *take_block(struct uno_bsend *b, size_t bytes)
{
    size_t need = rounded(sizeof(struct block)) + rounded(bytes);
    struct block *k;
    struct block **at = &b->first;
    if (!b->base) {
        k = malloc(need);
        if (!k) return NULL;
    } else {
        char *from = b->start, *end = b->base + b->size;
        while (*at && (size_t)((char *)*at - from) < need) {
            from = (char *)*at + (*at)->bytes;
            at = &(*at)->next;
        }
        if (!*at && (end < from || (size_t)(end - from) < need)) return NULL;
        k = (struct block *)(void *)from;
    }
    k->bytes = need;
    k->next = *at;
    *at = k;
    return k;
}

int uno_bsend(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to)
{
    if (to->rank == MPI_PROC_NULL) return MPI_SUCCESS;
    struct uno_bsend *b = buffer_for(to->comm);
    if (!b) return uno_fail(MPI_ERR_BUFFER, "no buffer is attached (MPI_Buffer_attach)");
    size_t bytes = (size_t)(count * type->size);
    reap(b);
    struct block *k = take_block(b, bytes);
    if (!k) {
        uno_progress();
        reap(b);
        k = take_block(b, bytes);
    }
    if (!k)
        return uno_fail(MPI_ERR_BUFFER,
                        "a message of %zu bytes does not fit the attached buffer of %zu bytes beside what waits there",
                        bytes, b->size);
    k->req = &uno_request_sent;
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(type, count, to);
    int err = uno_send_at_once(buf, count, type, to);
    if (err == UNO_FULL) {
        char *data = (char *)k + rounded(sizeof *k);
        struct uno_packer packer;
        uno_packer_init(&packer, buf, count, type);
        uno_pack(&packer, data, bytes);
        MPI_Request r;
        err = uno_isend(data, (MPI_Count)bytes, uno_type(MPI_BYTE), to, UNO_COPIED, &r);
        if (!err) k->req = r;
    }
    reap(b);
    return err;
}
