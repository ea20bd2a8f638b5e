// SPDX-License-Identifier: BSD-3-Clause
// Agreements (ft.h): a vote goes to mpiexec, and its decision ends the request; over several jobs the members decide
// (mixed.c). Called by the entry points, by MPI_Finalize, and by news.c with what has come.
// Always holds: members number the agreements on a communicator alike, because they call them in one order; a
// communicator of one process decides by itself.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pm.h"
#include "core/progress.h"
#include "core/world.h"
#include "ft/ft.h"
#include "ft/vote.h"
#include "p2p/fail.h"
#include "p2p/p2p.h"
#include "p2p/peer.h"

#define FINISH UINT32_MAX    // turn of the agreement of MPI_Finalize

struct uno_vote *uno_votes;

static size_t words(void)
{
    return uno_job_words(uno_world.job);
}

int uno_ft_members(const struct MPI_ABI_Comm *c)
{
    return c->group->size + (c->remote ? c->remote->size : 0);
}

int uno_ft_member(const struct MPI_ABI_Comm *c, int i)
{
    const struct MPI_ABI_Group *first = c->remote && !c->low ? c->remote : c->group;
    const struct MPI_ABI_Group *second = first == c->group ? c->remote : c->group;
    return i < first->size ? first->proc[i] : second->proc[i - first->size];
}

int uno_ft_failed(const struct MPI_ABI_Comm *c, int n, int *proc)
{
    int found = 0;
    for (int i = 0; i < uno_peers_failed() && found < n; i++) {
        int p = uno_peer_failed(i);
        bool member = uno_group_find(c->group, p) != MPI_UNDEFINED ||
                      (c->remote && uno_group_find(c->remote, p) != MPI_UNDEFINED);
        if (!member) continue;
        if (proc) proc[found] = p;
        found++;
    }
    return found;
}

// ---- votes ----

static void add_members(uint64_t *set, const struct MPI_ABI_Group *g)
{
    for (int i = 0; g && i < g->size; i++) uno_set_add(set, g->proc[i]);
}

static int send_vote(const struct uno_vote *v, int flag)
{
    struct MPI_ABI_Comm *c = v->comm;
    size_t set = words() * sizeof(uint64_t), bytes = sizeof(struct uno_ballot) + UNO_BALLOT_SETS * set;
    struct uno_ballot *b = calloc(1, bytes);
    int *failed = malloc((size_t)(c->acknowledged + 1) * sizeof *failed);
    int err = b && failed ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a vote of %zu bytes", bytes);
    if (!err) {
        uint64_t *members = (uint64_t *)(void *)(b + 1), *known = members + words();
        *b = (struct uno_ballot){.kind = UNO_BALLOT_VOTE,
                                 .flag = flag,
                                 .context = c->context,
                                 .offer = v->out ? uno_context_take(false, 3) : 0,
                                 .turn = v->turn};
        add_members(members, c->group);
        add_members(members, c->remote);
        int n = uno_ft_failed(c, c->acknowledged, failed);
        for (int i = 0; i < n; i++) uno_set_add(known, failed[i]);
        errno = uno_pm_tell(b, bytes);
        if (errno) err = uno_fail_errno(MPI_ERR_OTHER, "tell mpiexec what rank %d votes", c->rank);
    }
    free(failed);
    free(b);
    return err;
}

// ---- outcomes ----

// The processes of g that are not in the set, where the first of them has the number `first`; NULL when memory is out.
static struct MPI_ABI_Group *living(const struct MPI_ABI_Group *g, int first, const uint64_t *dead)
{
    int *proc = malloc((size_t)(g->size + 1) * sizeof *proc), n = 0;
    if (!proc) return NULL;
    for (int i = 0; i < g->size; i++)
        if (!uno_set_has(dead, first + i)) proc[n++] = g->proc[i];
    struct MPI_ABI_Group *made = uno_group_make(n, proc);
    free(proc);
    return made;
}

// Of two groups one of which has died out there is none, as of MPI_Comm_create with an empty group.
static int make_shrunk(struct uno_vote *v, uint64_t context, const uint64_t *dead)
{
    struct MPI_ABI_Comm *c = v->comm, *made = NULL;
    int remote_first = c->low ? c->group->size : 0, first = c->remote && !c->low ? c->remote->size : 0;
    struct MPI_ABI_Group *g = living(c->group, first, dead);
    struct MPI_ABI_Group *remote = c->remote ? living(c->remote, remote_first, dead) : NULL;
    bool died_out = remote && remote->size == 0;
    if (died_out)
        *v->out = MPI_COMM_NULL;
    else if (g && c->remote && remote)
        made = uno_intercomm_make(g, remote, c->low, context);
    else if (g && !c->remote)
        made = uno_comm_make(g, NULL, context);
    if (g) uno_group_drop(g);
    if (remote) uno_group_drop(remote);
    if (died_out) return MPI_SUCCESS;
    if (!made) return uno_fail(MPI_ERR_NO_MEM, "no memory for a communicator");
    uno_comm_inherit(made, c);
    *v->out = made->handle;
    return MPI_SUCCESS;
}

struct uno_vote *uno_vote_find(uint64_t context, uint32_t turn)
{
    struct uno_vote *v = uno_votes;
    while (v && (v->comm->context != context || v->turn != turn)) v = v->next;
    return v;
}

// Off the list, and freed.
static void drop_vote(struct uno_vote *v)
{
    struct uno_vote **at = &uno_votes;
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    if (v->mixed) uno_council_free(&v->council);
    free(v);
}

void uno_vote_fail(struct uno_vote *v, int error)
{
    MPI_Request r = v->req;
    drop_vote(v);
    uno_request_done(r, error);
}

void uno_vote_end(struct uno_vote *v, const struct uno_motion *motion, const uint64_t *dead)
{
    int err = MPI_SUCCESS;
    if (v->out) {
        err = make_shrunk(v, motion->offer, dead);
    } else {
        if (v->flag) *v->flag = motion->flag;
        if (motion->uneasy && v->turn != FINISH) err = UNO_ERR_PROC_FAILED;
    }
    uno_vote_fail(v, err);
}

void uno_ft_decided(const struct uno_ballot *b, size_t bytes)
{
    if (bytes != sizeof *b + UNO_BALLOT_SETS * words() * sizeof(uint64_t)) return;
    const uint64_t *dead = (const uint64_t *)(const void *)(b + 1) + words();
    struct uno_vote *v = uno_vote_find(b->context, b->turn);
    if (!v || v->mixed) return;
    for (int r = 0; r < uno_world.size; r++)
        if (uno_set_has(dead, r)) uno_peer_fail(r, UNO_ERR_PROC_FAILED);
    int n = uno_ft_members(v->comm);
    uint64_t *out = calloc(uno_council_words(n), sizeof *out);
    for (int i = 0; out && i < n; i++)
        if (uno_set_has(dead, uno_ft_member(v->comm, i))) uno_set_add(out, i);
    struct uno_motion motion = {.flag = b->flag, .uneasy = b->uneasy, .offer = b->offer};
    if (out)
        uno_vote_end(v, &motion, out);
    else
        uno_vote_fail(v, uno_fail(MPI_ERR_NO_MEM, "no memory for what %d processes have agreed on", n));
    free(out);
}

// ---- calls ----

static const struct uno_request_ops agree_ops = {.name = "agreement"}, shrink_ops = {.name = "shrinking"};

// Whether the members decide, and not mpiexec, which knows processes of its job, each of them once.
static bool by_members(const struct MPI_ABI_Comm *c)
{
    return uno_comm_is_mixed(c) || (c->remote && uno_groups_meet(c->group, c->remote));
}

static int check_job(const struct MPI_ABI_Comm *c)
{
    if (by_members(c) || uno_pm_there()) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_UNSUPPORTED_OPERATION, "there is no mpiexec to agree through");
}

static bool is_alone(const struct MPI_ABI_Comm *c)
{
    return !c->inter && c->size == 1;
}

static void decide_alone(struct uno_vote *v)
{
    uint64_t none = 0;
    struct uno_motion motion = {.flag = v->flag ? *v->flag : 0, .offer = v->out ? uno_context_take(false, 3) : 0};
    uno_vote_end(v, &motion, &none);
}

// It may have ended then.
static int cast(struct uno_vote *v)
{
    if (by_members(v->comm)) return uno_mixed_begin(v);
    if (!is_alone(v->comm)) return send_vote(v, v->flag ? *v->flag : 0);
    decide_alone(v);
    return MPI_SUCCESS;
}

static int begin(struct uno_vote vote, const struct uno_request_ops *ops, MPI_Request *req)
{
    struct MPI_ABI_Comm *c = vote.comm;
    int err = is_alone(c) ? MPI_SUCCESS : check_job(c);
    if (err) return err;
    struct uno_vote *v = malloc(sizeof *v);
    MPI_Request r = v ? uno_request_new(UNO_REQ_OTHER) : NULL;
    if (!r) {
        free(v);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for an agreement");
    }
    r->ops = ops;
    r->comm = c;
    r->rank = r->tag = MPI_UNDEFINED;
    uno_comm_hold(c);
    *v = vote;
    v->req = r;
    *req = r;
    v->next = uno_votes;
    uno_votes = v;
    err = cast(v);
    if (!err) return MPI_SUCCESS;
    drop_vote(v);
    r->active = false;
    uno_request_release(r);
    *req = MPI_REQUEST_NULL;
    return err;
}

int uno_ft_agree(struct MPI_ABI_Comm *c, int *flag, MPI_Request *req)
{
    return begin((struct uno_vote){.comm = c, .turn = c->agreements++, .flag = flag}, &agree_ops, req);
}

int uno_ft_shrink(struct MPI_ABI_Comm *c, MPI_Comm *out, MPI_Request *req)
{
    *out = MPI_COMM_NULL;
    return begin((struct uno_vote){.comm = c, .turn = c->agreements++, .out = out}, &shrink_ops, req);
}

int uno_ft_finish(void)
{
    MPI_Request req;
    uno_peers_flush();
    int err = begin((struct uno_vote){.comm = &uno_comm_world, .turn = FINISH}, &agree_ops, &req);
    return err ? err : uno_wait(&req, MPI_STATUS_IGNORE);
}

// ---- revoking ----

void uno_ft_revoked(uint64_t context)
{
    struct MPI_ABI_Comm *c = uno_context_find(context);
    if (c)
        uno_comm_revoke(c);
    else
        uno_comm_revoke_later(context);
}

int uno_ft_revoke(struct MPI_ABI_Comm *c)
{
    bool told = c->revoked;
    uno_comm_revoke(c);
    if (told || is_alone(c)) return MPI_SUCCESS;
    int err = check_job(c);
    if (err) return err;
    if (by_members(c)) {
        uno_mixed_revoke(c);
        return MPI_SUCCESS;
    }
    struct uno_ballot b = {.kind = UNO_BALLOT_REVOKE, .context = c->context};
    errno = uno_pm_tell(&b, sizeof b);
    return errno ? uno_fail_errno(MPI_ERR_OTHER, "tell mpiexec of a revoked communicator") : MPI_SUCCESS;
}
