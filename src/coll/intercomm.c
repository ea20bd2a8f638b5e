// SPDX-License-Identifier: BSD-3-Clause
// Construction of intercommunicators, and from intercommunicators (construct.h). All forms are one exchange: the
// leaders of both groups swap a block of bytes, and each passes what it got on to its group.
// Always holds: the side whose leader offered the smaller context number is `low`; its numbers are used, by both sides
// alike.
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "coll/construct.h"
#include "p2p/team.h"
#include "core/world.h"
#include "p2p/p2p.h"

// A block that travels: the leader's context numbers (count), a number of the operation's own, then bytes of payload.
struct block {
    uint64_t context;
    int64_t word;
    uint64_t bytes;
};

static int no_memory(void)
{
    return uno_fail(MPI_ERR_NO_MEM, "no memory for an intercommunicator");
}

static int swap_bytes(const struct uno_where *w, const void *out, size_t nout, void *in, size_t nin)
{
    struct MPI_ABI_Datatype *byte = uno_type(MPI_BYTE);
    return uno_sendrecv(out, (MPI_Count)nout, byte, w, in, (MPI_Count)nin, byte, w, MPI_STATUS_IGNORE);
}

// team: the local group, its leader at index 0; across: where the leader finds the other one. *theirs is malloc'ed.
static int exchange(const struct uno_team *team, const struct uno_where *across, const struct block *mine,
                    const void *data, struct block *their, void **theirs)
{
    int err = MPI_SUCCESS;
    *theirs = NULL;
    if (team->me == 0) err = swap_bytes(across, mine, sizeof *mine, their, sizeof *their);
    if (!err) err = uno_team_bcast(team, their, sizeof *their);
    if (err) return err;
    *theirs = malloc(their->bytes ? their->bytes : 1);
    if (!*theirs) return no_memory();
    if (team->me == 0) err = swap_bytes(across, data, mine->bytes, *theirs, their->bytes);
    return err ? err : uno_team_bcast(team, *theirs, their->bytes);
}

// The exchange over an existing intercommunicator, with the leaders at rank 0.
static int exchange_inter(struct MPI_ABI_Comm *c, const struct block *mine, const void *data, struct block *their,
                          void **theirs)
{
    struct uno_team team = uno_team_all(c, 0);
    struct uno_where across = {.comm = c, .rank = 0, .tag = team.tag, .coll = true};
    return exchange(&team, &across, mine, data, their, theirs);
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

static bool disjoint(const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b)
{
    for (int i = 0; i < b->size; i++) {
        if (uno_group_find(a, b->proc[i]) != MPI_UNDEFINED) return false;
    }
    return true;
}

static int create_over(const struct uno_team *team, struct MPI_ABI_Group *group, const struct uno_where *across,
                       struct MPI_ABI_Comm **out)
{
    struct block mine = {.bytes = (uint64_t)group->size * sizeof(int)}, their;
    if (team->me == 0) mine.context = uno_context_take(3);
    uint64_t own = mine.context;
    void *procs;
    int err = exchange(team, across, &mine, group->proc, &their, &procs);
    if (!err) err = uno_team_bcast(team, &own, sizeof own);
    struct MPI_ABI_Group *remote = err ? NULL : uno_group_make((int)(their.bytes / sizeof(int)), procs);
    free(procs);
    if (err) return err;
    if (!remote) return no_memory();
    bool low = own < their.context;
    if (!disjoint(group, remote))
        err = uno_fail(MPI_ERR_COMM, "the local and the remote group have processes in common");
    struct MPI_ABI_Comm *c = err ? NULL : uno_intercomm_make(group, remote, low, low ? own : their.context);
    uno_group_drop(remote);
    if (!err && !c) err = no_memory();
    *out = c;
    return err;
}

int uno_intercomm_create(struct MPI_ABI_Comm *local, int leader, const struct uno_where *remote,
                         struct MPI_ABI_Comm **out)
{
    struct uno_where across = {.coll = true};
    if (remote) across = (struct uno_where){remote->comm, remote->rank, UNO_TAG_LEADERS(remote->tag), true};
    struct uno_team team = uno_team_all(local, leader);
    int err = create_over(&team, local->group, &across, out);
    if (!err) uno_comm_inherit(*out, local);
    return err;
}

int uno_intercomm_from_groups(struct MPI_ABI_Group *local, int local_leader, struct MPI_ABI_Group *remote,
                              int remote_leader, const char *stringtag, struct MPI_ABI_Comm **out)
{
    struct MPI_ABI_Comm *inside;
    int err = uno_comm_from_group(local, stringtag, &inside);
    if (err) return err;
    struct uno_where across = {.comm = &uno_comm_world};
    bool leader = inside->rank == local_leader;
    if (leader) {
        across.rank = uno_group_find(uno_comm_world.group, remote->proc[remote_leader]);
        for (const char *p = stringtag; *p; p++)
            across.tag = (int)(((unsigned)across.tag * 31 + (unsigned char)*p) & 0x1fffffff);
    }
    err = uno_intercomm_create(inside, local_leader, leader ? &across : NULL, out);
    uno_comm_drop(inside);
    return err;
}

int uno_intercomm_merge(struct MPI_ABI_Comm *c, int high, struct MPI_ABI_Comm **out)
{
    struct block mine = {.word = high != 0}, their;
    if (c->rank == 0 && c->low) mine.context = uno_context_new();
    uint64_t own = mine.context;
    void *nothing;
    int err = exchange_inter(c, &mine, NULL, &their, &nothing);
    free(nothing);
    struct uno_team team = uno_team_all(c, 0);
    if (!err) err = uno_team_bcast(&team, &own, sizeof own);
    if (err) return err;
    bool first = mine.word != their.word ? !mine.word : c->low;
    const struct MPI_ABI_Group *a = first ? c->group : c->remote, *b = first ? c->remote : c->group;
    int n = a->size + b->size, *proc = malloc((size_t)n * sizeof *proc);
    if (!proc) return no_memory();
    memcpy(proc, a->proc, (size_t)a->size * sizeof *proc);
    memcpy(proc + a->size, b->proc, (size_t)b->size * sizeof *proc);
    struct MPI_ABI_Group *g = uno_group_make(n, proc);
    free(proc);
    struct MPI_ABI_Comm *child = g ? uno_comm_make(g, NULL, c->low ? own : their.context) : NULL;
    if (g) uno_group_drop(g);
    if (!child) return no_memory();
    uno_comm_inherit(child, c);
    *out = child;
    return MPI_SUCCESS;
}

int uno_intercomm_group(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out)
{
    struct block mine = {.bytes = (uint64_t)g->size * sizeof(int)}, their;
    if (c->rank == 0 && c->low) mine.context = uno_context_take(3);
    uint64_t own = mine.context;
    void *procs;
    *out = NULL;
    int err = exchange_inter(c, &mine, g->proc, &their, &procs);
    struct uno_team team = uno_team_all(c, 0);
    if (!err) err = uno_team_bcast(&team, &own, sizeof own);
    int n = err ? 0 : (int)(their.bytes / sizeof(int));
    struct MPI_ABI_Group *remote = err ? NULL : uno_group_make(n, procs);
    free(procs);
    if (err) return err;
    if (!remote) return no_memory();
    if (n > 0 && g->rank != MPI_UNDEFINED) {
        *out = uno_intercomm_make(g, remote, c->low, c->low ? own : their.context);
        if (*out)
            uno_comm_inherit(*out, c);
        else
            err = no_memory();
    }
    uno_group_drop(remote);
    return err;
}

int uno_intercomm_split(struct MPI_ABI_Comm *c, int color, int key, struct MPI_ABI_Comm **out)
{
    struct block mine = {.bytes = (uint64_t)c->size * 2 * sizeof(int)}, their;
    int(*table)[2] = malloc(mine.bytes);
    if (!table) return no_memory();
    table[c->rank][0] = color;
    table[c->rank][1] = key;
    struct uno_team team = uno_team_all(c, 0);
    int err = uno_team_allgather(&team, table, sizeof *table);
    // As many numbers as there can be colors: they are counted only when both tables are known.
    if (c->rank == 0 && c->low) mine.context = uno_context_take(3 * (c->size + c->npeers));
    uint64_t own = mine.context;
    void *theirs = NULL;
    if (!err) err = exchange_inter(c, &mine, table, &their, &theirs);
    if (!err) err = uno_team_bcast(&team, &own, sizeof own);
    struct uno_color_split split = {.index = -1};
    if (!err) err = uno_intercomm_colors(c, table, theirs, &split);
    free(table);
    free(theirs);
    if (!err && split.index >= 0 && split.remote->size > 0) {
        *out = uno_intercomm_make(split.local, split.remote, c->low,
                                  (c->low ? own : their.context) + 3 * (uint64_t)split.index);
        if (*out)
            uno_comm_inherit(*out, c);
        else
            err = no_memory();
    }
    if (split.local) uno_group_drop(split.local);
    if (split.remote) uno_group_drop(split.remote);
    return err;
}
