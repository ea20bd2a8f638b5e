// SPDX-License-Identifier: BSD-3-Clause
// Copies between a buffer of this process and the layout at a part (copy.h): plain loads and stores where it is mapped,
// else across processes (chan/peer_memory.h). Called by op.c, combine.c, remote.c.
#include "rma/copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/huge.h"
#include "chan/peer_memory.h"
#include "rma/direct.h"

#define PIECE ((size_t)32768)    // of a copy that goes backward

int uno_rma_unordered;

static bool is_plain(const struct MPI_ABI_Datatype *type)
{
    return (type->flags & UNO_TYPE_PLAIN) != 0;
}

int uno_rma_lay_out(struct uno_rma_layout *l, char *base, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    *l = (struct uno_rma_layout){.bytes = (size_t)(count * type->size)};
    l->one = (struct uno_run){base, l->bytes};
    l->run = &l->one;
    l->runs = 1;
    if (is_plain(type) || l->bytes == 0) return MPI_SUCCESS;
    struct uno_packer p;
    uno_packer_init(&p, base, count, type);
    l->list = malloc(uno_packer_runs(&p) * sizeof *l->list);
    if (!l->list) return uno_fail(MPI_ERR_NO_MEM, "no memory for the layout at the target");
    l->runs = uno_packer_list(&p, l->list);
    l->run = l->list;
    return MPI_SUCCESS;
}

void uno_rma_lay_down(struct uno_rma_layout *l)
{
    free(l->list);
}

void uno_rma_rewind(struct uno_rma_layout *l, size_t done)
{
    l->done = done;
    while (l->at > 0 && l->run[l->at - 1].end > done) l->at--;
}

char *uno_rma_next(const struct uno_rma_layout *l)
{
    const struct uno_run *r = &l->run[l->at];
    return r->at + (l->done - (l->at ? r[-1].end : 0));
}

size_t uno_rma_stretch(struct uno_rma_layout *l, size_t n, char **at)
{
    size_t end = l->run[l->at].end, left = end - l->done;
    *at = uno_rma_next(l);
    if (n > left) n = left;
    l->done += n;
    if (l->done == end) l->at++;
    return n;
}

bool uno_rma_turn(size_t n)
{
    static bool backward;
    if (n < UNO_RMA_TURN) return false;
    return backward = !backward;
}

bool uno_rma_is_cold(const void *to, size_t n)
{
    if (n < UNO_RMA_TURN) return false;
    uno_huge_use_hot(to, n, 0);    // as a use alone: window memory is not gathered
    return uno_huge_is_cold(to);
}

void uno_rma_copy_large(char *to, const char *from, size_t n)
{
    // A store that misses would read the line first (bench: put-bw, get-bw, rput --sizes 1M).
    if (uno_rma_is_cold(to, n)) {
        uno_copy_past(to, from, n);
        return;
    }
    if (!uno_rma_turn(n)) {
        memcpy(to, from, n);
        return;
    }
    size_t some = n % PIECE ? n % PIECE : PIECE;
    for (size_t at = n - some;; at -= PIECE, some = PIECE) {
        memcpy(to + at, from + at, some);
        if (at == 0) break;
    }
}

// Across processes: what has come moves the walk on, also when the rest is not mapped there.
static int reach(const struct uno_rma_part *p, struct uno_rma_layout *l, char *here, size_t n, bool get)
{
    struct uno_run run = {here, n};
    struct uno_crossing c = {.pid = p->pid,
                             .reading = get,
                             .mine = &(struct uno_mem){&run, 1},
                             .theirs = &(struct uno_mem){l->run, l->runs},
                             .theirs_at = l->done};
    int err = uno_peer_memory_copy(&c, n);
    l->done = c.theirs_at;
    while (l->at < l->runs && l->run[l->at].end <= l->done) l->at++;
    return err == MPI_ERR_BUFFER ? MPI_ERR_RMA_RANGE : err;
}

int uno_rma_move(const struct uno_rma_part *p, struct uno_rma_layout *l, void *here, size_t n, bool get)
{
    if (p->path != UNO_RMA_MAPPED) return reach(p, l, here, n, get);
    char *mine = here;
    for (size_t k; n > 0; n -= k, mine += k) {
        char *at;
        k = uno_rma_stretch(l, n, &at);
        uno_rma_copy(get ? mine : at, get ? at : mine, k);
    }
    return MPI_SUCCESS;
}

void uno_rma_stream(struct uno_rma_stream *s, const struct uno_rma_side *side)
{
    s->plain = is_plain(side->type) ? side->buf : NULL;
    if (!s->plain) uno_packer_init(&s->packer, side->buf, side->count, side->type);
}

void uno_rma_read(struct uno_rma_stream *s, void *to, size_t n)
{
    if (!s->plain) {
        uno_pack(&s->packer, to, n);
        return;
    }
    memcpy(to, s->plain, n);
    s->plain += n;
}

void uno_rma_write(struct uno_rma_stream *s, const void *from, size_t n)
{
    if (!s->plain) {
        uno_unpack(&s->packer, from, n);
        return;
    }
    memcpy(s->plain, from, n);
    s->plain += n;
}
