// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of small blocks over several hosts (hier.h). With n ranks on H hosts, s = n / H on each, m bytes from each
// to each, latency a inside a host and A between hosts, time per byte b and B:
//   2 (a + s n m b) + 4 s n m b + (H - 1) (A + s^2 m B)    gather, one message per pair of hosts, scatter
// Each byte is copied four times more than in a flat one: worth it up to the parameter coll_hier_alltoall.
#include "coll/hier_build.h"

// The leader's tables of an alltoall, blocks of `bytes`: rows of this host's ranks with a block for every rank, and
// what goes to each host (rows of its ranks come from this one) beside what comes from there.
struct crossing {
    size_t bytes;
    char *rows, *go, *come;
};

// Between rows and the messages: out picks the blocks for the ranks of host g, in puts those from there.
static void copy_crossing(struct uno_hier_build *b, const struct crossing *x, int g, bool out)
{
    const struct uno_hier *h = b->h;
    int there = uno_hier_size(h, g);
    size_t skip = (size_t)b->n * (size_t)h->first[g] * x->bytes;
    for (int i = 0; i < b->n; i++)
        for (int j = 0; j < there; j++) {
            struct uno_block row = uno_packed(
                x->rows + ((size_t)i * (size_t)b->whole.size + (size_t)h->member[h->first[g] + j]) * x->bytes,
                x->bytes);
            size_t at = out ? (size_t)(i * there + j) : (size_t)(j * b->n + i);
            struct uno_block message = uno_packed((out ? x->go : x->come) + skip + at * x->bytes, x->bytes);
            uno_copy_block(b->s, out ? row : message, out ? message : row);
        }
}

static void exchange_rows(struct uno_hier_build *b, const struct crossing *x)
{
    struct uno_hier *h = b->h;
    size_t row = (size_t)b->n * x->bytes;
    for (int g = 0; g < h->hosts; g++) copy_crossing(b, x, g, true);
    for (int k = 1; k < h->hosts; k++) {
        int to = (h->mine + k) % h->hosts, from = (h->mine - k + h->hosts) % h->hosts;
        uno_recv_from(b->s, from,
                      uno_packed(x->come + row * (size_t)h->first[from], row * (size_t)uno_hier_size(h, from)));
        uno_send_to(b->s, to, uno_packed(x->go + row * (size_t)h->first[to], row * (size_t)uno_hier_size(h, to)));
    }
    uno_copy_block(b->s, uno_packed(x->go + row * (size_t)b->at, row * (size_t)b->n),
                   uno_packed(x->come + row * (size_t)b->at, row * (size_t)b->n));
    uno_emit_fence(b->s);
    for (int g = 0; g < h->hosts; g++) copy_crossing(b, x, g, false);
}

void uno_hier_alltoall(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    int n = b->whole.size;
    struct uno_block to = uno_block(c->rbuf, c->rcount * n, c->rtype);
    struct uno_block from = c->sbuf == MPI_IN_PLACE ? to : uno_block(c->sbuf, c->scount * n, c->stype);
    struct crossing x = {.bytes = uno_block_bytes(to) / (size_t)n};
    size_t all = uno_block_bytes(to) * (size_t)b->n;
    if (b->leads) x.rows = uno_scratch_bytes(b->s, 3 * all);
    if (b->s->error) return;
    if (b->leads) {
        x.go = x.rows + all;
        x.come = x.go + all;
    }
    uno_hier_inside_gather(b, from, uno_packed(x.rows, all));
    uno_hier_between(b, -1);
    if (b->leads) exchange_rows(b, &x);
    uno_hier_inside_scatter(b, uno_packed(x.rows, all), to);
}
