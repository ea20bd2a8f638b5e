// SPDX-License-Identifier: BSD-3-Clause
// What the library does for collective algorithms of components, and the component of its own (outside.h).
#include "coll/outside.h"

#include <string.h>

#include "base/component.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/choose.h"
#include "core/op.h"

uint32_t uno_outside_apart;

// ---- the services ----

static void copy(struct uno_sched *s, const void *from, void *to, MPI_Count count, MPI_Datatype type)
{
    uno_copy_block(s, uno_block(from, count, uno_type(type)), uno_block(to, count, uno_type(type)));
}

static void send_to(struct uno_sched *s, int peer, const void *at, MPI_Count count, MPI_Datatype type)
{
    uno_emit_send(s, peer, at, count, uno_type(type));
}

static void receive_from(struct uno_sched *s, int peer, void *at, MPI_Count count, MPI_Datatype type)
{
    uno_emit_recv(s, peer, at, count, uno_type(type));
}

static void combine(struct uno_sched *s, const void *a, const void *b, void *out, MPI_Count count, MPI_Datatype type)
{
    uno_emit_reduce(s, a, b, out, count, uno_type(type));
}

static void *scratch(struct uno_sched *s, MPI_Count count, MPI_Datatype type)
{
    return uno_scratch_typed(s, count, uno_type(type));
}

static MPI_Count extent_of(MPI_Datatype type)
{
    return uno_type(type)->extent;
}

static MPI_Count bytes_of(MPI_Datatype type)
{
    return uno_type(type)->size;
}

static const struct uno_collective_host host = {.send = send_to,
                                                .receive = receive_from,
                                                .signal = uno_emit_signal,
                                                .copy = copy,
                                                .combine = combine,
                                                .fence = uno_emit_fence,
                                                .scratch = scratch,
                                                .extent = extent_of,
                                                .bytes = bytes_of};
static bool is_own(const struct uno_component *c);

static const char *is_chosen(const struct uno_component *c, bool *is)
{
    *is = is_own(c) || c->priority > UNO_COLLECTIVE_OWN;
    if (is_own(c)) return "where no other set is";
    return *is ? "before the own ones" : "only where coll_table or coll_force name its algorithms";
}

static char *wrong(const struct uno_component *c)
{
    const struct uno_algorithm_set *set = c->table;
    for (size_t i = 0; i < set->count; i++) {
        const struct uno_algorithm *a = set->algorithm ? &set->algorithm[i] : NULL;
        if (!a || !a->collective || !a->name || !a->build)
            return uno_component_format("collective %s: algorithm %zu of %zu lacks its collective, its name or build: "
                                        "complete struct uno_algorithm",
                                        c->name, i + 1, set->count);
        const char *why = uno_choose_unfit(a->collective, a->name);
        if (why) return uno_component_format("collective %s: %.40s=%.40s %s", c->name, a->collective, a->name, why);
    }
    return NULL;
}

static const struct uno_services services = {UNO_COMPONENT_COLLECTIVE, &host, is_chosen, wrong};
UNO_SERVICES_DECLARE(services);

// The library's own algorithms are named by the words in rules_read.c.
static const struct uno_algorithm_set none = {NULL, 0};
static const struct uno_component own = {
    UNO_COMPONENT_IS_COLLECTIVE,    .name = "own",
    .version = UNO_VERSION,         .about = "the library's algorithms, named by coll_table and coll_force",
    .priority = UNO_COLLECTIVE_OWN, .table = &none};
UNO_COMPONENT_DECLARE(own);

static bool is_own(const struct uno_component *c)
{
    return c == &own;
}

// ---- the list ----

const struct uno_algorithm *uno_outside_at(size_t i, bool *taken)
{
    size_t count;
    struct uno_found *all = uno_components_all(&count);
    // Of two sets that fit, the one with the higher priority wins: its rules must be the last.
    for (struct uno_found *f = all + count; f-- > all;) {
        if (!f->is || f->is->kind != UNO_COMPONENT_COLLECTIVE || !uno_component_usable(f)) continue;
        const struct uno_algorithm_set *set = f->is->table;
        *taken = f->is->priority > UNO_COLLECTIVE_OWN;
        if (i < set->count) return &set->algorithm[i];
        i -= set->count;
    }
    return NULL;
}

int uno_outside_named(const char *collective, const char *name)
{
    bool taken;
    int found = -1;    // of several sets the one with the highest priority is the last
    const struct uno_algorithm *a;
    for (int i = 0; (a = uno_outside_at((size_t)i, &taken)) != NULL; i++)
        if (strcmp(a->collective, collective) == 0 && strcmp(a->name, name) == 0) found = i;
    return found;
}

// ---- a call ----

static const struct uno_algorithm *algorithm_of(const struct uno_call *c)
{
    if (c->kind > UNO_ALLTOALL || c->comm->inter || c->comm->size < 2) return NULL;
    const struct uno_algorithm *a = uno_choose_outside(c->kind, c->comm->size, uno_call_bytes(c));
    return a && c->op && !c->op->commutative && !a->ordered ? NULL : a;
}

bool uno_outside_takes(const struct uno_call *c)
{
    return uno_agree_on() || algorithm_of(c);
}

bool uno_outside_build(struct uno_sched *s, const struct uno_call *c)
{
    if (!(uno_outside_apart >> c->kind & 1)) return false;
    const struct uno_algorithm *a = algorithm_of(c);
    if (!a) return false;
    const struct uno_algorithm_call call = {.rank = s->view.rank,
                                            .size = s->view.size,
                                            .root = c->root,
                                            .send = c->sbuf,
                                            .receive = c->rbuf,
                                            .send_count = c->scount,
                                            .receive_count = c->rcount,
                                            .send_type = c->stype,
                                            .receive_type = c->rtype,
                                            .op = c->op};
    a->build(s, &call);
    return true;
}
