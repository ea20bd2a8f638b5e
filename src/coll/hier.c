// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical collectives (hier.h): which ranks share a host, and the builders. Cost of all: two in-node collectives
// and one between H leaders instead of one over n ranks whose every round crosses the network; each byte crosses it
// once per host.
//
// Always holds: the parts inside are ordinary collectives of the communicator `node` in a blocking call (shared memory
// where it can), and their builders on a view of this host's ranks elsewhere. Data of a host travel in the order of
// its ranks; operations that do not commute run here only where that is the order of all ranks. Same layout and number
// of ranks, same bits.
#include "coll/hier.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/construct.h"
#include "coll/segment.h"
#include "core/world.h"

static struct uno_param enabled =
    UNO_PARAM_BOOL("coll_hier", 1, "collectives over hosts: inside each host first, then between one rank per host");
UNO_PARAM_DECLARE(enabled);
static struct uno_param alltoall_max =
    UNO_PARAM_INT("coll_hier_alltoall", 1024, 0, 1 << 30,
                  "largest block of an alltoall over hosts that the leaders collect and exchange");
UNO_PARAM_DECLARE(alltoall_max);

// ---- the layout ----

static bool may_span(const struct MPI_ABI_Comm *c)
{
    if (!enabled.num || c->inter || c->size < 3 || uno_world.job->nhosts < 2 || uno_agree_on()) return false;
    for (int r = 0; r < c->size; r++)
        if (uno_comm_proc(c, r) >= uno_world.size) return false;
    return true;
}

// Fills host, place, member, first from the job's host number of each rank. numbered: room for [nhosts].
static void lay_out(struct uno_hier *h, const int *number, int size, int *numbered)
{
    for (uint32_t i = 0; i < uno_world.job->nhosts; i++) numbered[i] = -1;
    for (int r = 0; r < size; r++) {
        if (numbered[number[r]] < 0) numbered[number[r]] = h->hosts++;
        h->host[r] = numbered[number[r]];
        h->place[r] = h->first[h->host[r] + 1]++;
    }
    for (int i = 0; i < h->hosts; i++) h->first[i + 1] += h->first[i];
    h->blocks = true;
    for (int r = 0; r < size; r++) {
        int at = h->first[h->host[r]] + h->place[r];
        h->member[at] = r;
        if (at != r) h->blocks = false;
    }
}

static int make_node(struct MPI_ABI_Comm *c, struct uno_hier *h)
{
    int from = h->first[h->mine], n = h->first[h->mine + 1] - from;
    int *proc = malloc((size_t)n * sizeof *proc);
    if (!proc) return uno_fail(MPI_ERR_NO_MEM, "no memory for the ranks of a host");
    for (int i = 0; i < n; i++) proc[i] = c->group->proc[h->member[from + i]];
    struct MPI_ABI_Group *g = uno_group_make(n, proc);
    free(proc);
    if (!g) return uno_fail(MPI_ERR_NO_MEM, "no memory for the ranks of a host");
    int err = uno_comm_create(c, g, &h->node);
    uno_group_drop(g);
    if (!err) h->node->freed = true;    // no handle of the user's: not missed at the end
    return err;
}

void uno_hier_free(struct uno_hier *h)
{
    if (!h) return;
    if (h->node) uno_comm_drop(h->node);
    free(h);
}

// All tables in one block behind the struct.
static struct uno_hier *new_hier(size_t size)
{
    struct uno_hier *h = calloc(1, sizeof *h + (4 * size + 1) * sizeof(int));
    if (!h) return NULL;
    h->host = (int *)(h + 1);
    h->place = h->host + size;
    h->member = h->place + size;
    h->first = h->member + size;
    return h;
}

static int settle_layout(struct MPI_ABI_Comm *c, struct uno_hier **out)
{
    size_t size = (size_t)c->size;
    struct uno_hier *h = new_hier(size);
    int *number = malloc((size + uno_world.job->nhosts) * sizeof *number), mine = (int)uno_world.job->host;
    int err = h && number ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for the hosts of %d ranks", c->size);
    if (!err) err = uno_coll_allgather(c, &mine, sizeof mine, number);
    if (!err) {
        lay_out(h, number, c->size, number + size);
        h->mine = h->host[c->rank];
        if (h->hosts > 1 && h->hosts < c->size) err = make_node(c, h);
    }
    free(number);
    if (!err && h->node) {
        *out = h;
        uno_log(2, "%s: collectives over %d hosts, %d ranks on this one", c->name, h->hosts, h->node->size);
    } else {
        uno_hier_free(h);
    }
    return err;
}

struct uno_hier *uno_hier_get(struct MPI_ABI_Comm *comm, bool settle, int *err)
{
    struct uno_coll *u = uno_coll_of(comm, err);
    if (!u) return NULL;
    if (u->hier_known) return u->hier;
    if (!settle || !may_span(comm)) return NULL;
    *err = settle_layout(comm, &u->hier);
    u->hier_known = !*err;
    return *err ? NULL : u->hier;
}

// ---- what the builders share ----

struct build {
    struct uno_sched *s;
    const struct uno_call *c;
    struct uno_hier *h;
    int me;        // rank on the communicator
    int lead;      // the leader of this host, its rank there: the root on the root's host, else 0
    bool leads;    // this rank is it
    int n, at;     // ranks on this host, where its members begin
    struct uno_view whole;
};

static void set_leader(struct build *b, int root)
{
    b->lead = root >= 0 && b->h->host[root] == b->h->mine ? b->h->place[root] : 0;
    b->leads = b->h->place[b->me] == b->lead;
}

// From here on steps are between the leaders; view ranks are hosts.
static void between(struct build *b, int root)
{
    struct uno_hier *h = b->h;
    int *map = uno_scratch_bytes(b->s, (size_t)h->hosts * sizeof *map);
    uno_emit_fence(b->s);
    for (int i = 0; map && i < h->hosts; i++) map[i] = root >= 0 && h->host[root] == i ? root : h->member[h->first[i]];
    b->s->view = (struct uno_view){b->whole.comm, h->mine, h->hosts, map};
}

// A collective of this host's ranks; its root is a rank there.
static void inside(struct build *b, struct uno_call c)
{
    struct uno_hier *h = b->h;
    c.name = b->c->name;
    c.op = b->s->op;
    c.comm = h->node;
    uno_emit_fence(b->s);
    if (b->s->form == UNO_BLOCKING && b->n > 1) {
        uno_emit_call(b->s, &c);
        return;
    }
    b->s->view = (struct uno_view){b->whole.comm, h->place[b->me], b->n, h->member + b->at};
    uno_build(b->s, &c);
    uno_emit_fence(b->s);
}

static void inside_bcast(struct build *b, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    inside(b, (struct uno_call){.kind = UNO_BCAST, .root = b->lead, .rbuf = buf, .rcount = count, .rtype = type});
}

static int size_of(const struct uno_hier *h, int host)
{
    return h->first[host + 1] - h->first[host];
}

static bool in_place(const void *buf)
{
    return buf == MPI_IN_PLACE;
}

// ---- barrier, bcast, reductions ----

static void barrier(struct build *b)
{
    inside(b, (struct uno_call){.kind = UNO_BARRIER});
    between(b, -1);
    if (b->leads) uno_build_barrier(b->s);
    inside(b, (struct uno_call){.kind = UNO_BARRIER});
}

static void bcast(struct build *b)
{
    const struct uno_call *c = b->c;
    between(b, c->root);
    if (b->leads) uno_build_bcast(b->s, c->rbuf, c->rcount, c->rtype, b->h->host[c->root]);
    inside_bcast(b, c->rbuf, c->rcount, c->rtype);
}

// The contributions of this host, count elements, combined in `out` of the leader, where it may lie already (own NULL).
static void inside_reduce(struct build *b, const void *own, void *out, MPI_Count count)
{
    const struct uno_call *c = b->c;
    const void *in = own ? own : b->leads ? MPI_IN_PLACE : c->rbuf;
    inside(b, (struct uno_call){.kind = UNO_REDUCE,
                                .root = b->lead,
                                .sbuf = in,
                                .rbuf = b->leads ? out : NULL,
                                .rcount = count,
                                .rtype = c->rtype});
}

static void reduce(struct build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    void *sum = root ? c->rbuf : b->leads ? uno_scratch_typed(b->s, c->rcount, c->rtype) : NULL;
    inside_reduce(b, root && in_place(c->sbuf) ? NULL : c->sbuf, sum, c->rcount);
    between(b, c->root);
    if (b->leads) uno_build_reduce(b->s, root ? MPI_IN_PLACE : sum, sum, c->rcount, c->rtype, b->h->host[c->root]);
}

static void allreduce(struct build *b)
{
    const struct uno_call *c = b->c;
    inside_reduce(b, in_place(c->sbuf) ? NULL : c->sbuf, c->rbuf, c->rcount);
    between(b, -1);
    if (b->leads) uno_build_allreduce(b->s, MPI_IN_PLACE, c->rbuf, c->rcount, c->rtype);
    inside_bcast(b, c->rbuf, c->rcount, c->rtype);
}

static MPI_Count part_of(const struct uno_call *c, int rank)
{
    return c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, rank) : c->rcount;
}

// What the leaders know of the parts of a reduce_scatter, in elements.
struct parts {
    MPI_Count *host;     // [hosts] of all ranks of a host
    MPI_Count *count;    // [n] of each rank here
    MPI_Count *displ;    // [n] where it lies in what the leader has
    MPI_Count total;
};

static bool cut(struct build *b, struct parts *p)
{
    const struct uno_hier *h = b->h;
    p->host = uno_scratch_bytes(b->s, (size_t)(h->hosts + 2 * b->n) * sizeof *p->host);
    if (!p->host) return false;
    p->count = p->host + h->hosts;
    p->displ = p->count + b->n;
    memset(p->host, 0, (size_t)h->hosts * sizeof *p->host);
    p->total = 0;
    MPI_Count here = 0;
    for (int r = 0; r < b->whole.size; r++) {
        MPI_Count part = part_of(b->c, r);
        if (h->host[r] == h->mine) {
            p->count[h->place[r]] = part;
            p->displ[h->place[r]] = h->blocks ? here : p->total;
            here += part;
        }
        p->host[h->host[r]] += part;
        p->total += part;
    }
    return true;
}

// Leaders share out the sum by hosts where each host's ranks, and so their parts, are consecutive; else all get all.
static void reduce_scatter(struct build *b)
{
    const struct uno_call *c = b->c;
    struct parts p;
    if (!cut(b, &p)) return;
    char *sum = b->leads ? uno_scratch_typed(b->s, p.total, c->rtype) : NULL;
    char *mine = b->leads && b->h->blocks ? uno_scratch_typed(b->s, p.host[b->h->mine], c->rtype) : sum;
    if (b->s->error) return;
    inside_reduce(b, in_place(c->sbuf) ? c->rbuf : c->sbuf, sum, p.total);
    between(b, -1);
    struct uno_call over = {.kind = UNO_REDUCE_SCATTER, .sbuf = sum, .rbuf = mine, .rtype = c->rtype};
    over.rcounts = (struct uno_vector){p.host, true};
    if (b->leads && b->h->blocks)
        uno_build_reduce_scatter(b->s, &over);
    else if (b->leads)
        uno_build_allreduce(b->s, MPI_IN_PLACE, sum, p.total, c->rtype);
    inside(b, (struct uno_call){.kind = UNO_SCATTERV,
                                .sbuf = mine,
                                .scounts = {p.count, true},
                                .sdispls = {p.displ, true},
                                .stype = b->leads ? c->rtype : NULL,
                                .rbuf = c->rbuf,
                                .rcount = part_of(c, b->me),
                                .rtype = c->rtype});
}

// ---- gather, scatter, allgather, alltoall ----

// Room for the blocks of all ranks, host after host: the user's buffer where that is the order of ranks, else packed
// bytes in scratch.
struct room {
    char *at;
    MPI_Count count;    // of a block
    struct MPI_ABI_Datatype *type;
};

static struct uno_block room_of(const struct build *b, const struct room *r, int host)
{
    return uno_block(uno_offset(r->at, b->h->first[host] * r->count, r->type), size_of(b->h, host) * r->count, r->type);
}

static struct room room_for(struct build *b, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (b->h->blocks) return (struct room){buf, count, type};
    MPI_Count bytes = count * type->size;
    return (struct room){uno_scratch_bytes(b->s, (size_t)(bytes * b->whole.size)), bytes, uno_bytes()};
}

// Packed bytes in scratch for this host's blocks alone: what room_of gives for it.
static struct uno_block own_room(struct build *b, size_t bytes)
{
    return uno_packed(uno_scratch_bytes(b->s, bytes * (size_t)b->n), bytes * (size_t)b->n);
}

// Every rank's block, `from`, to the leader's `to`, which holds this host's blocks one behind the other. from.at may be
// IN_PLACE where the leader's is there already.
static void inside_gather(struct build *b, struct uno_block from, struct uno_block to)
{
    inside(b, (struct uno_call){.kind = UNO_GATHER,
                                .root = b->lead,
                                .sbuf = from.at,
                                .scount = from.count,
                                .stype = from.type,
                                .rbuf = b->leads ? to.at : NULL,
                                .rcount = b->leads ? to.count / b->n : 0,
                                .rtype = b->leads ? to.type : NULL});
}

static void inside_scatter(struct build *b, struct uno_block from, struct uno_block to)
{
    inside(b, (struct uno_call){.kind = UNO_SCATTER,
                                .root = b->lead,
                                .sbuf = b->leads ? from.at : NULL,
                                .scount = b->leads ? from.count / b->n : 0,
                                .stype = b->leads ? from.type : NULL,
                                .rbuf = to.at,
                                .rcount = to.count,
                                .rtype = to.type});
}

// From scratch to where each block belongs.
static void hand_out(struct build *b, const struct room *r, bool skip_own)
{
    if (b->h->blocks) return;
    uno_emit_fence(b->s);
    for (int i = 0; i < b->whole.size; i++) {
        int rank = b->h->member[i];
        if (rank == b->me && skip_own) continue;
        uno_copy_block(b->s, uno_packed(r->at + i * r->count, (size_t)r->count), uno_recv_block(b->c, rank));
    }
}

static void gather(struct build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    struct uno_block own = uno_send_block(c, 0), here = {NULL, 0, NULL};
    struct room all = {NULL, 0, NULL};
    if (root) all = room_for(b, c->rbuf, c->rcount, c->rtype);
    if (root && in_place(c->sbuf) && !b->h->blocks) own = uno_recv_block(c, b->me);
    if (b->leads) here = root ? room_of(b, &all, b->h->mine) : own_room(b, uno_block_bytes(own));
    if (b->s->error) return;
    inside_gather(b, own, here);
    between(b, c->root);
    int to = b->h->host[c->root];
    if (b->leads && !root) uno_send_to(b->s, to, here);
    if (!root) return;
    for (int i = 0; i < b->h->hosts; i++)
        if (i != to) uno_recv_from(b->s, i, room_of(b, &all, i));
    hand_out(b, &all, in_place(c->sbuf));
}

static void scatter(struct build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    struct uno_block own = uno_recv_block(c, 0), here = {NULL, 0, NULL};
    struct room all = {NULL, 0, NULL};
    if (root) all = room_for(b, (void *)(uintptr_t)c->sbuf, c->scount, c->stype);
    if (b->leads) here = root ? room_of(b, &all, b->h->mine) : own_room(b, uno_block_bytes(own));
    if (b->s->error) return;
    for (int i = 0; root && !b->h->blocks && i < b->whole.size; i++)
        uno_copy_block(b->s, uno_send_block(c, b->h->member[i]), uno_packed(all.at + i * all.count, (size_t)all.count));
    between(b, c->root);
    int from = b->h->host[c->root];
    if (b->leads && !root) uno_recv_from(b->s, from, here);
    for (int i = 0; root && i < b->h->hosts; i++)
        if (i != from) uno_send_to(b->s, i, room_of(b, &all, i));
    inside_scatter(b, here, own);
}

static void allgather(struct build *b)
{
    const struct uno_call *c = b->c;
    struct uno_hier *h = b->h;
    struct room all = room_for(b, c->rbuf, c->rcount, c->rtype);
    MPI_Count *count = uno_scratch_bytes(b->s, 2 * (size_t)h->hosts * sizeof *count);
    if (b->s->error) return;
    struct uno_block own = uno_send_block(c, 0);
    bool there = b->leads && h->blocks;
    if (in_place(c->sbuf) && !there) own = uno_recv_block(c, b->me);
    inside_gather(b, own, room_of(b, &all, h->mine));
    between(b, -1);
    for (int i = 0; i < h->hosts; i++) {
        count[i] = size_of(h, i) * all.count;
        count[h->hosts + i] = h->first[i] * all.count;
    }
    struct uno_call over = {.kind = UNO_ALLGATHERV, .sbuf = MPI_IN_PLACE, .rbuf = all.at, .rtype = all.type};
    over.rcounts = (struct uno_vector){count, true};
    over.rdispls = (struct uno_vector){count + h->hosts, true};
    if (b->leads) uno_build_allgather(b->s, &over);
    inside_bcast(b, all.at, all.count * b->whole.size, all.type);
    hand_out(b, &all, in_place(c->sbuf));
}

// The leader's tables of an alltoall, blocks of `bytes`: rows of this host's ranks with a block for every rank, and
// what goes to each host (rows of its ranks come from this one) beside what comes from there.
struct crossing {
    size_t bytes;
    char *rows, *go, *come;
};

// Between rows and the messages: out picks the blocks for the ranks of host g, in puts those from there.
static void cross(struct build *b, const struct crossing *x, int g, bool out)
{
    const struct uno_hier *h = b->h;
    int there = size_of(h, g);
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

static void exchange(struct build *b, const struct crossing *x)
{
    struct uno_hier *h = b->h;
    size_t row = (size_t)b->n * x->bytes;
    for (int g = 0; g < h->hosts; g++) cross(b, x, g, true);
    for (int k = 1; k < h->hosts; k++) {
        int to = (h->mine + k) % h->hosts, from = (h->mine - k + h->hosts) % h->hosts;
        uno_recv_from(b->s, from, uno_packed(x->come + row * (size_t)h->first[from], row * (size_t)size_of(h, from)));
        uno_send_to(b->s, to, uno_packed(x->go + row * (size_t)h->first[to], row * (size_t)size_of(h, to)));
    }
    uno_copy_block(b->s, uno_packed(x->go + row * (size_t)b->at, row * (size_t)b->n),
                   uno_packed(x->come + row * (size_t)b->at, row * (size_t)b->n));
    uno_emit_fence(b->s);
    for (int g = 0; g < h->hosts; g++) cross(b, x, g, false);
}

static void alltoall(struct build *b)
{
    const struct uno_call *c = b->c;
    int n = b->whole.size;
    struct uno_block to = uno_block(c->rbuf, c->rcount * n, c->rtype);
    struct uno_block from = in_place(c->sbuf) ? to : uno_block(c->sbuf, c->scount * n, c->stype);
    struct crossing x = {.bytes = uno_block_bytes(to) / (size_t)n};
    size_t all = uno_block_bytes(to) * (size_t)b->n;
    if (b->leads) x.rows = uno_scratch_bytes(b->s, 3 * all);
    if (b->s->error) return;
    if (b->leads) {
        x.go = x.rows + all;
        x.come = x.go + all;
    }
    inside_gather(b, from, uno_packed(x.rows, all));
    between(b, -1);
    if (b->leads) exchange(b, &x);
    inside_scatter(b, uno_packed(x.rows, all), to);
}

// ---- the choice ----

static bool fits(const struct uno_call *c, const struct uno_hier *h, bool commutes)
{
    switch (c->kind) {
    case UNO_BARRIER:
    case UNO_BCAST:
    case UNO_GATHER:
    case UNO_SCATTER:
    case UNO_ALLGATHER: return true;
    case UNO_ALLTOALL: return c->rcount * c->rtype->size <= alltoall_max.num;
    case UNO_REDUCE:
    case UNO_ALLREDUCE:
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return commutes || h->blocks;
    default: return false;
    }
}

bool uno_build_hier(struct uno_sched *s, const struct uno_call *c, struct uno_hier *h)
{
    if (!h || !fits(c, h, !s->op || s->op->commutative)) return false;
    struct build b = {.s = s, .c = c, .h = h, .me = s->view.rank, .whole = s->view};
    b.at = h->first[h->mine];
    b.n = size_of(h, h->mine);
    bool rooted = c->kind == UNO_BCAST || c->kind == UNO_REDUCE || c->kind == UNO_GATHER || c->kind == UNO_SCATTER;
    set_leader(&b, rooted ? c->root : -1);
    switch (c->kind) {
    case UNO_BARRIER: barrier(&b); break;
    case UNO_BCAST: bcast(&b); break;
    case UNO_REDUCE: reduce(&b); break;
    case UNO_ALLREDUCE: allreduce(&b); break;
    case UNO_GATHER: gather(&b); break;
    case UNO_SCATTER: scatter(&b); break;
    case UNO_ALLGATHER: allgather(&b); break;
    case UNO_ALLTOALL: alltoall(&b); break;
    default: reduce_scatter(&b); break;
    }
    s->view = b.whole;
    return true;
}
