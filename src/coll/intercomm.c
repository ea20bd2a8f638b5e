// SPDX-License-Identifier: BSD-3-Clause
// Construction of intercommunicators, and from intercommunicators (construct.h). All forms are one exchange: the
// leaders of both groups swap a block of bytes, and each passes what it got on to its group.
// Always holds: the side whose leader offered the smaller context number is `low`; its numbers are used, by both sides
// alike.
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "chan/chan.h"
#include "chan/proc.h"
#include "coll/construct.h"
#include "p2p/team.h"
#include "core/progress.h"
#include "core/world.h"
#include "p2p/p2p.h"
#include "p2p/peer.h"

// A block that travels: the leader's context numbers (count), a number of the operation's own, then bytes of payload.
struct block {
    uint64_t context;
    int64_t word;
    uint64_t bytes;
    uint64_t job;      // of the leader
    uint64_t mixed;    // its group has processes of several jobs
    uint64_t far;      // its group is on several hosts, or the other leader on another one
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

// team: the local group, its leader at index 0; across: where the leader finds the other one.
static int swap_blocks(const struct uno_team *team, const struct uno_where *across, const struct block *mine,
                       struct block *their)
{
    int err = MPI_SUCCESS;
    if (team->me == 0) err = swap_bytes(across, mine, sizeof *mine, their, sizeof *their);
    return err ? err : uno_team_bcast(team, their, sizeof *their);
}

// *theirs is malloc'ed.
static int swap_payloads(const struct uno_team *team, const struct uno_where *across, const void *data, size_t bytes,
                         size_t their_bytes, void **theirs)
{
    int err = MPI_SUCCESS;
    *theirs = malloc(their_bytes ? their_bytes : 1);
    if (!*theirs) return no_memory();
    if (team->me == 0) err = swap_bytes(across, data, bytes, *theirs, their_bytes);
    return err ? err : uno_team_bcast(team, *theirs, their_bytes);
}

static int exchange(const struct uno_team *team, const struct uno_where *across, const struct block *mine,
                    const void *data, struct block *their, void **theirs)
{
    *theirs = NULL;
    int err = swap_blocks(team, across, mine, their);
    return err ? err : swap_payloads(team, across, data, mine->bytes, their->bytes, theirs);
}

// The exchange over an existing intercommunicator, with the leaders at rank 0.
static int exchange_inter(struct MPI_ABI_Comm *c, const struct block *mine, const void *data, struct block *their,
                          void **theirs)
{
    struct uno_team team = uno_team_all(c, 0);
    struct uno_where across = {.comm = c, .rank = 0, .tag = team.tag, .coll = true};
    return exchange(&team, &across, mine, data, their, theirs);
}

// The members' cards in the order of their ranks, at the leader.
static int gather_cards(const struct uno_team *team, struct uno_card *cards)
{
    struct uno_card *indexed = calloc((size_t)team->n, sizeof *indexed);
    if (!indexed) return no_memory();
    int err = uno_proc_own(&indexed[team->me]);
    if (!err) err = uno_team_gather(team, indexed, sizeof *indexed);
    for (int i = 0; i < team->n; i++) cards[uno_team_rank(team, i)] = indexed[i];
    free(indexed);
    return err;
}

// The groups of different jobs: each member says how it is reached.
static int swap_cards(const struct uno_team *team, const struct uno_where *across, int n, bool far,
                      struct MPI_ABI_Group **remote)
{
    struct uno_card *cards = malloc((size_t)team->n * sizeof *cards);
    if (!cards) return no_memory();
    void *theirs = NULL;
    int err = uno_chan_open_guests(far);
    if (!err) err = gather_cards(team, cards);
    if (!err)
        err = swap_payloads(team, across, cards, (size_t)team->n * sizeof *cards, (size_t)n * sizeof *cards, &theirs);
    if (!err) err = uno_group_meet(n, theirs, remote);
    free(theirs);
    free(cards);
    return err;
}

// Processes of several jobs may not know each other.
static bool are_strangers(const struct block *mine, const struct block *their)
{
    return mine->mixed || their->mixed || mine->job != their->job;
}

// The other side's processes. Their numbers serve inside one job alone.
static int swap_groups(const struct uno_team *team, const struct MPI_ABI_Group *group, const struct uno_where *across,
                       const struct block *mine, const struct block *their, struct MPI_ABI_Group **remote)
{
    int n = (int)(their->bytes / sizeof(int));
    if (are_strangers(mine, their))
        return swap_cards(team, across, n, their->far || uno_group_is_spread(group), remote);
    void *procs = NULL;
    int err = swap_payloads(team, across, group->proc, (size_t)group->size * sizeof(int), their->bytes, &procs);
    if (!err) *remote = uno_group_make(n, procs);
    free(procs);
    return err || *remote ? err : no_memory();
}

// Numbers that are unique over all jobs win over those that are not.
static bool comes_first(uint64_t own, uint64_t other)
{
    bool wide = own & UNO_CTX_MIXED;
    return wide == ((other & UNO_CTX_MIXED) != 0) ? own < other : wide;
}

static bool is_reached(void *group)
{
    return uno_peers_are_met(group);
}

// Nobody returns before all have looked at all, as in a meeting (src/dpm/meeting.c).
static int reach(const struct uno_team *team, const struct uno_where *across, struct MPI_ABI_Group *remote)
{
    int64_t nothing = 0;
    struct block mine = {0}, their;
    uno_peers_meet(remote);
    uno_wait_until(is_reached, remote, &(struct uno_waiting){.peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED});
    int err = uno_team_most(team, &nothing);
    return err ? err : swap_blocks(team, across, &mine, &their);
}

static int create_over(const struct uno_team *team, struct MPI_ABI_Group *group, const struct uno_where *across,
                       struct MPI_ABI_Comm **out)
{
    struct block mine = {.bytes = (uint64_t)group->size * sizeof(int), .mixed = group->mixed}, their;
    mine.job = uno_world.job->job_id;
    if (across->comm) {    // at the leader alone
        int leader = uno_comm_proc(across->comm, across->rank);
        bool guest = uno_proc_is_guest(leader);
        mine.far = !uno_proc_is_near(leader) || uno_group_is_spread(group);
        mine.context = uno_context_take(group->mixed || guest, 3);
    }
    uint64_t own = mine.context;
    struct MPI_ABI_Group *remote = NULL;
    int err = swap_blocks(team, across, &mine, &their);
    if (!err) err = swap_groups(team, group, across, &mine, &their, &remote);
    if (!err) err = uno_team_bcast(team, &own, sizeof own);
    bool low = comes_first(own, their.context);
    if (!err && uno_groups_meet(group, remote))
        err = uno_fail(MPI_ERR_COMM, "the local and the remote group have processes in common");
    if (!err && are_strangers(&mine, &their)) err = reach(team, across, remote);
    struct MPI_ABI_Comm *c = err ? NULL : uno_intercomm_make(group, remote, low, low ? own : their.context);
    if (remote) uno_group_drop(remote);
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
    if (uno_groups_meet(c->group, c->remote))
        return uno_fail(MPI_ERR_COMM, "the local and the remote group have processes in common");
    if (c->rank == 0 && c->low) mine.context = uno_context_new(uno_comm_is_mixed(c));
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

// The members of the remote group with these ranks.
static struct MPI_ABI_Group *remote_members(const struct MPI_ABI_Comm *c, int n, int *ranks)
{
    for (int i = 0; i < n; i++) ranks[i] = c->remote->proc[ranks[i]];
    return uno_group_make(n, ranks);
}

int uno_intercomm_group(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out)
{
    struct block mine = {.bytes = (uint64_t)g->size * sizeof(int)}, their;
    if (c->rank == 0 && c->low) mine.context = uno_context_take(uno_comm_is_mixed(c), 3);
    uint64_t own = mine.context;
    void *ranks;
    int *own_ranks = malloc(mine.bytes ? mine.bytes : 1);
    *out = NULL;
    int err = own_ranks ? uno_group_translate(g, g->size, NULL, c->group, own_ranks) : no_memory();
    if (!err) err = exchange_inter(c, &mine, own_ranks, &their, &ranks);
    free(own_ranks);
    struct uno_team team = uno_team_all(c, 0);
    if (!err) err = uno_team_bcast(&team, &own, sizeof own);
    if (err) return err;
    int n = (int)(their.bytes / sizeof(int));
    struct MPI_ABI_Group *remote = remote_members(c, n, ranks);
    free(ranks);
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
    if (c->rank == 0 && c->low) mine.context = uno_context_take(uno_comm_is_mixed(c), 3 * (c->size + c->npeers));
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
