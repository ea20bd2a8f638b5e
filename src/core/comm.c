// SPDX-License-Identifier: BSD-3-Clause
// Communicator objects: made, registered under their context, found by it when a message arrives, held and dropped.
// Called by the construction (src/coll/construct.c), by delivery (src/p2p) and by MPI_Init. All with the library lock
// held.
// Always holds: a registered context belongs to exactly one communicator of this process.
#include "core/comm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "core/attr.h"
#include "core/errh.h"
#include "core/info.h"
#include "core/world.h"

#define BUCKETS 1024    // a power of two
// A context: collective bit 63, mixed 62; then the leader's world rank 28..47 and a counter 0..27, or, of a mixed
// communicator, random bits from which each leader counts up.
#define LEADER_SHIFT 28
#define FIRST_COUNTER 16    // below: the predefined communicators

struct MPI_ABI_Comm uno_comm_world, uno_comm_self, uno_comm_invalid;
struct MPI_ABI_Comm *uno_comm_parent;
struct MPI_ABI_Comm *const uno_predefined_comm[4] = {&uno_comm_invalid, &uno_comm_world, &uno_comm_self,
                                                     &uno_comm_invalid};

static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Comm), .magic = UNO_COMM_MAGIC};
static struct MPI_ABI_Comm *bucket[BUCKETS];
static struct MPI_ABI_Comm *latest;    // the one found last: most look-ups ask for it again
static uint64_t counter = FIRST_COUNTER;

static struct MPI_ABI_Comm **bucket_of(uint64_t context)
{
    return &bucket[(context * 0x9e3779b97f4a7c15ULL) >> 54 & (BUCKETS - 1)];
}

// Jobs know nothing of each other's numbers: two leaders draw numbers that are near with a chance of 2^-40.
static uint64_t take_random(int n)
{
    static uint64_t next;
    if (!next && getrandom(&next, sizeof next, 0) != sizeof next)
        next = uno_world.job->job_id ^ (uint64_t)uno_world.rank << LEADER_SHIFT;
    next = (next & (UNO_CTX_MIXED - 1)) | 1;
    if (next + (uint64_t)n >= UNO_CTX_MIXED) next = 1;
    uint64_t first = next;
    next += (uint64_t)n;
    return UNO_CTX_MIXED | first;
}

uint64_t uno_context_take(bool mixed, int n)
{
    if (mixed) return take_random(n);
    uint64_t first = counter;
    counter += (uint64_t)n;
    return (uint64_t)uno_world.rank << LEADER_SHIFT | first;
}

struct MPI_ABI_Comm *uno_context_find(uint64_t context)
{
    if (latest && latest->context == context) return latest;
    struct MPI_ABI_Comm *c = *bucket_of(context);
    while (c && c->context != context) c = c->chain;
    if (c) latest = c;
    return c;
}

bool uno_groups_meet(const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b)
{
    for (int i = 0; i < b->size; i++)
        if (uno_group_find(a, b->proc[i]) != MPI_UNDEFINED) return true;
    return false;
}

void uno_comm_register(struct MPI_ABI_Comm *c, uint64_t context)
{
    uint64_t other = context;
    // A process of both sides has two objects, and a message must find the right one.
    if (c->remote && uno_groups_meet(c->group, c->remote)) *(c->low ? &other : &context) ^= UNO_CTX_TURNED;
    struct MPI_ABI_Comm **b = bucket_of(context);
    c->context = context;
    c->sends = other;
    c->chain = *b;
    *b = c;
    c->ready = true;
    uno_p2p_replay(c);
}

static void unregister(struct MPI_ABI_Comm *c)
{
    struct MPI_ABI_Comm **at = bucket_of(c->context);
    while (*at && *at != c) at = &(*at)->chain;
    if (*at) *at = c->chain;
    if (latest == c) latest = NULL;
}

static size_t never_received;    // messages that were there when their communicator went

static void forget_match(struct uno_match *m)
{
    for (struct uno_unexp *u; (u = m->first) != NULL; never_received++) {
        uno_match_take(m, u);
        uno_unexp_free(u);
    }
    free(m->source);
    *m = (struct uno_match){0};
}

// Fills what does not depend on the object being predefined. 0, or MPI_ERR_NO_MEM.
static int fill_comm(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *group, struct MPI_ABI_Group *remote)
{
    c->size = group->size;
    c->rank = group->rank;
    c->inter = remote != NULL;
    c->npeers = remote ? remote->size : group->size;
    size_t n = c->npeers ? (size_t)c->npeers : 1;
    c->peer = calloc(n, sizeof *c->peer);
    c->match[0].source = calloc(n, sizeof *c->match[0].source);
    c->match[1].source = calloc(n, sizeof *c->match[1].source);
    if (!c->peer || !c->match[0].source || !c->match[1].source) {
        free(c->peer);
        free(c->match[0].source);
        free(c->match[1].source);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a communicator of %d processes", c->size);
    }
    c->group = group;
    c->remote = remote;
    uno_group_hold(group);
    if (remote) uno_group_hold(remote);
    c->errhandler = &uno_errors_are_fatal;
    c->session = MPI_SESSION_NULL;
    return MPI_SUCCESS;
}

struct MPI_ABI_Comm *uno_comm_make(struct MPI_ABI_Group *group, struct MPI_ABI_Group *remote, uint64_t context)
{
    struct MPI_ABI_Comm *c = uno_pool_get(&pool);
    if (!c) return NULL;
    if (fill_comm(c, group, remote) != MPI_SUCCESS) {
        uno_pool_put(&pool, c);
        return NULL;
    }
    c->handle = c;
    c->next = uno_comm_self.next;
    c->prev = &uno_comm_self;
    if (c->next) c->next->prev = c;
    uno_comm_self.next = c;
    if (context) uno_comm_register(c, context);
    return c;
}

struct MPI_ABI_Comm *uno_intercomm_make(struct MPI_ABI_Group *local, struct MPI_ABI_Group *remote, bool low,
                                        uint64_t base)
{
    struct MPI_ABI_Comm *inside = uno_comm_make(local, NULL, base + (low ? 1 : 2));
    if (!inside) return NULL;
    struct MPI_ABI_Comm *c = uno_comm_make(local, remote, 0);
    if (!c) {
        uno_comm_drop(inside);
        return NULL;
    }
    c->local_comm = inside;
    c->low = low;
    uno_comm_register(c, base);
    return c;
}

void uno_comm_inherit(struct MPI_ABI_Comm *child, const struct MPI_ABI_Comm *parent)
{
    uno_errh_hold(parent->errhandler);
    uno_errh_drop(child->errhandler);
    child->errhandler = parent->errhandler;
    child->session = parent->session;
}

void uno_comm_hold(struct MPI_ABI_Comm *c)
{
    uno_assert(c->head.magic == UNO_COMM_MAGIC && c->head.refs > 0);
    c->head.refs++;
}

// Gives back all that the communicator owns; not the object itself.
static void empty_out(struct MPI_ABI_Comm *c)
{
    if (c->coll_free) c->coll_free(c);
    if (c->ready) unregister(c);
    if (c->local_comm) uno_comm_drop(c->local_comm);
    forget_match(&c->match[0]);
    forget_match(&c->match[1]);
    free(c->peer);
    free(c->topo);
    uno_attrs_drop(c->attrs);
    if (c->info) uno_info_drop(c->info);
    uno_errh_drop(c->errhandler);
    if (c->remote) uno_group_drop(c->remote);
    uno_group_drop(c->group);
}

void uno_comm_drop(struct MPI_ABI_Comm *c)
{
    uno_assert(c->head.magic == UNO_COMM_MAGIC && c->head.refs > 0);
    if (--c->head.refs > 0) return;
    uno_assert(!c->prev || c->prev->next == c);
    uno_assert(!c->next || c->next->prev == c);
    if (c->prev) c->prev->next = c->next;
    if (c->next) c->next->prev = c->prev;
    empty_out(c);
    uno_pool_put(&pool, c);
}

static int open_predefined(struct MPI_ABI_Comm *c, MPI_Comm handle, struct MPI_ABI_Group *group, const char *name)
{
    *c = (struct MPI_ABI_Comm){.head = {.magic = UNO_COMM_MAGIC, .refs = 1}, .handle = handle};
    if (!group) return uno_fail(MPI_ERR_NO_MEM, "no memory for the group of %s", name);
    int err = fill_comm(c, group, NULL);
    uno_group_drop(group);    // the communicator holds it now
    if (err) return err;
    c->errhandler = uno_errh_initial();
    strcpy(c->name, name);
    uno_comm_register(c, handle == MPI_COMM_WORLD ? UNO_CTX_WORLD : UNO_CTX_SELF);
    return MPI_SUCCESS;
}

// The two predefined objects stay when the library closes, with what a faster peer may have sent already for its next
// session.
int uno_comm_open(void)
{
    if (uno_comm_world.group) return MPI_SUCCESS;
    int *proc = malloc((size_t)uno_world.size * sizeof *proc);
    if (!proc) return uno_fail(MPI_ERR_NO_MEM, "no memory for the group of MPI_COMM_WORLD");
    for (int i = 0; i < uno_world.size; i++) proc[i] = i;
    struct MPI_ABI_Group *world = uno_group_make(uno_world.size, proc);
    free(proc);
    int err = open_predefined(&uno_comm_world, MPI_COMM_WORLD, world, "MPI_COMM_WORLD");
    if (err) return err;
    err = open_predefined(&uno_comm_self, MPI_COMM_SELF, uno_group_make(1, &uno_world.rank), "MPI_COMM_SELF");
    if (err) return err;
    uno_comm_world.next = &uno_comm_self;
    uno_comm_self.prev = &uno_comm_world;
    return MPI_SUCCESS;
}

// What users hung on a predefined communicator goes; its queues, group and context stay.
static void strip(struct MPI_ABI_Comm *c)
{
    if (c->coll_free) c->coll_free(c);
    c->coll_free = NULL;
    c->coll = NULL;
    memset(c->peer, 0, (size_t)c->npeers * sizeof *c->peer);
    uno_attrs_drop(c->attrs);
    c->attrs = NULL;
    if (c->info) uno_info_drop(c->info);
    c->info = NULL;
    uno_errh_drop(c->errhandler);
    c->errhandler = uno_errh_initial();
}

int uno_comm_delete_attrs(void)
{
    int err = uno_attrs_delete(uno_comm_self.attrs, MPI_COMM_SELF);
    return err ? err : uno_attrs_delete(uno_comm_world.attrs, MPI_COMM_WORLD);
}

void uno_comm_report(void)
{
    int lost = 0;
    for (struct uno_unexp *u = uno_comm_world.match[0].first; u; u = u->next_all) never_received++;
    for (struct uno_unexp *u = uno_comm_self.match[0].first; u; u = u->next_all) never_received++;
    for (struct MPI_ABI_Comm *c = uno_comm_self.next; c; c = c->next) lost += !c->freed;
    if (lost) uno_log(1, "%d communicators were never freed", lost);
    if (uno_groups_live()) uno_log(1, "%zu groups were never freed", uno_groups_live());
    if (uno_errhs_live()) uno_log(1, "%zu error handlers were never freed", uno_errhs_live());
    if (never_received) uno_log(1, "%zu messages were never received", never_received);
}

void uno_comm_shut(bool shut)
{
    uno_comm_world.freed = uno_comm_self.freed = shut;
}

void uno_comm_close(void)
{
    uno_comm_report();
    uno_p2p_keep(&uno_comm_world);
    // Those left behind keep their memory (a request may still name them) but are found by no message any more.
    for (struct MPI_ABI_Comm *c = uno_comm_self.next, *next; c; c = next) {
        next = c->next;
        if (c->coll_free) c->coll_free(c);
        c->coll_free = NULL;
        if (c->ready) unregister(c);
        c->ready = false;
        c->next = c->prev = NULL;
    }
    uno_comm_self.next = NULL;
    strip(&uno_comm_self);
    strip(&uno_comm_world);
}
