// SPDX-License-Identifier: BSD-3-Clause
// What ranks say of their buffers' pages (gathered.h). Called by shm.c.
//
// Always holds: what is said at call i lies in the line of flow that says which windows are ready, in word i % 2, and
// is overwritten at call i + 2, which a rank enters only after all have said it at call i + 1, having read it.
#include "coll/gathered.h"

#include "base/huge.h"
#include "base/pvar.h"
#include "coll/choose.h"

static _Atomic uint64_t taken;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("coll_shm_gathered", &taken,
                     "of coll_shm_large, those that had left the caches and lay in huge pages on all ranks"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

// Huge pages, or enough of them: the ends of a buffer share theirs with something else.
#define MOSTLY(part, all) ((part) >= (all) / 4 * 3)

// Among so many ranks what all of them read stays in windows, where it is read from memory once (8 ranks, allreduce 4
// MiB 2.6 ms, by copies 3.8, allgather 1 MiB 2.0 and 2.9; 4 ranks 2.5 and 1.2, 0.45 and 0.30). Reductions to one rank
// always do: the others only read there (4 ranks, 1 MiB 0.05 and 0.14).
#define MANY 8

struct range {
    const void *at;
    size_t bytes;
};

// Where ranks outnumber cores and the caches hold all buffers, a reduction's windows stay in them (Zen 3, 4 ranks,
// allreduce of 256 KiB 50 us, 88 by copies). What has left the caches gains nothing by huge pages, nor by being marked
// as used before it is sent (Zen 3, 2 ranks, with them and without: scatter of 16 MiB 3.2 and 2.6 ms, alltoall 5.8 and
// 5.1, allgather 5.3 and 4.8). But the shared cache may still hold it (Zen 4, all 32 MiB, with them and without: 2
// ranks, alltoall 0.43 and 0.89 ms, bcast 0.5 and 1.3; 4 ranks, allgather 1.06 and 1.71), which a scatter (0.97 and
// 0.67) or an allreduce (1.03 and 0.78) does not gain by.
bool uno_gathered_asks(const struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (!u->cma || u->flow.fixed >> c->kind & 1) return false;
    bool many = u->n >= MANY, in_place = c->sbuf == MPI_IN_PLACE;
    size_t all = bytes * uno_choose_footprint(c->kind, u->n);
    if (all > u->flow.far || (all > u->flow.cold && (c->kind == UNO_SCATTER || c->kind == UNO_ALLREDUCE))) return false;
    switch (c->kind) {
    case UNO_BCAST: return true;
    case UNO_SCATTER: return bytes >= u->copies[UNO_SCATTER];    // shorter ones are messages for another reason
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: return !many;
    case UNO_ALLTOALL: return !in_place && u->n <= UNO_SEG_SLOT / 64;
    case UNO_ALLREDUCE: return !many && (!u->crowded || all > u->flow.cached);
    default: return false;
    }
}

// What others would copy from or to, of this rank's; none: nothing. False: not without packing.
static bool exposed(const struct uno_coll *u, const struct uno_call *c, size_t bytes, struct range out[2])
{
    bool in_place = c->sbuf == MPI_IN_PLACE, root = u->me == c->root;
    size_t all = bytes * (size_t)u->n;
    const struct MPI_ABI_Datatype *type = c->rtype;
    struct uno_block own;
    switch (c->kind) {
    case UNO_BCAST: out[0] = (struct range){c->rbuf, bytes}; break;
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV:
        own = in_place ? uno_recv_block(c, u->me) : uno_send_block(c, 0);
        type = own.type;
        out[0] = (struct range){own.at, uno_block_bytes(own)};
        break;
    case UNO_ALLTOALL:
        type = c->stype;
        out[0] = (struct range){c->sbuf, all};
        break;
    case UNO_SCATTER:
        if (!root) return true;
        type = c->stype;
        out[0] = (struct range){c->sbuf, all};
        break;
    case UNO_ALLREDUCE:
        out[1] = (struct range){c->rbuf, bytes};
        out[0] = in_place ? out[1] : (struct range){c->sbuf, bytes};
        break;
    default: break;
    }
    return type->flags & UNO_TYPE_PLAIN;
}

static _Atomic uint32_t *word_of(const struct uno_coll *u, int r, uint64_t call)
{
    return (_Atomic uint32_t *)(void *)u->flow.line[2 * (size_t)r].data + call % 2;
}

static uint32_t said_by_all(struct uno_coll *u)
{
    uint32_t all = UINT32_MAX;
    if (!u->flow.said_at) return 0;
    uno_seg_wait_all_done(u, u->flow.said_at);
    // Relaxed: the done lines, waited for just now, have published them.
    for (int r = 0; r < u->n; r++) all &= atomic_load_explicit(word_of(u, r, u->flow.calls), memory_order_relaxed);
    return all;
}

static void say(struct uno_coll *u)
{
    u->flow.calls++;
    // Relaxed: the done line publishes it, of a phase in which nobody posts.
    atomic_store_explicit(word_of(u, u->me, u->flow.calls), u->flow.gathered, memory_order_relaxed);
    u->flow.said_at = ++u->phase;
    uno_seg_done(u, u->flow.said_at);
}

bool uno_gathered(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct range mine[2] = {{NULL, 0}, {NULL, 0}};
    uint32_t bit = UINT32_C(1) << c->kind;
    bool by_all = said_by_all(u) & bit, here = exposed(u, c, bytes, mine);
    for (int i = 0; i < 2 && here; i++) {
        if (!mine[i].bytes) continue;
        if (!by_all) uno_huge_use(mine[i].at, mine[i].bytes);
        if (!MOSTLY(uno_huge_gathered(mine[i].at, mine[i].bytes), mine[i].bytes)) here = false;
    }
    u->flow.gathered = here ? u->flow.gathered | bit : u->flow.gathered & ~bit;
    say(u);
    by_all &= !u->comm->broken;
    uno_count_add(&taken, by_all);
    return by_all;
}
