// SPDX-License-Identifier: BSD-3-Clause
// Agreements (ft.h): a vote goes to mpiexec, and its decision ends the request. Called by the entry points, by
// MPI_Finalize, and by news.c with what has come.
// Always holds: members number the agreements on a communicator alike, because they call them in one order; a
// communicator of one process decides by itself.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pm.h"
#include "core/progress.h"
#include "core/world.h"
#include "ft/ft.h"
#include "p2p/fail.h"
#include "p2p/p2p.h"
#include "p2p/peer.h"

#define FINISH UINT32_MAX    // turn of the agreement of MPI_Finalize

struct ballot {
    struct ballot *next;
    MPI_Request req;
    struct MPI_ABI_Comm *comm;    // held by the request
    uint32_t turn;
    int *flag;        // of an agreement
    MPI_Comm *out;    // of a shrink
};

static struct ballot *ballots;

static size_t words(void)
{
    return uno_job_words(uno_world.job);
}

static void set_bit(uint64_t *set, int rank)
{
    set[rank / 64] |= 1ULL << rank % 64;
}

static bool has_bit(const uint64_t *set, int rank)
{
    return set[rank / 64] >> rank % 64 & 1;
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
    for (int i = 0; g && i < g->size; i++) set_bit(set, g->proc[i]);
}

static int send_vote(const struct ballot *v, int flag)
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
        for (int i = 0; i < n; i++) set_bit(known, failed[i]);
        errno = uno_pm_tell(b, bytes);
        if (errno) err = uno_fail_errno(MPI_ERR_OTHER, "tell mpiexec what rank %d votes", c->rank);
    }
    free(failed);
    free(b);
    return err;
}

// ---- outcomes ----

// The processes of g that are not in the set; NULL when memory is out.
static struct MPI_ABI_Group *living(const struct MPI_ABI_Group *g, const uint64_t *dead)
{
    int *proc = malloc((size_t)(g->size + 1) * sizeof *proc), n = 0;
    if (!proc) return NULL;
    for (int i = 0; i < g->size; i++)
        if (!has_bit(dead, g->proc[i])) proc[n++] = g->proc[i];
    struct MPI_ABI_Group *made = uno_group_make(n, proc);
    free(proc);
    return made;
}

static int make_shrunk(struct ballot *v, uint64_t context, const uint64_t *dead)
{
    struct MPI_ABI_Comm *c = v->comm, *made = NULL;
    struct MPI_ABI_Group *g = living(c->group, dead), *remote = c->remote ? living(c->remote, dead) : NULL;
    if (g && c->remote && remote)
        made = uno_intercomm_make(g, remote, c->low, context);
    else if (g && !c->remote)
        made = uno_comm_make(g, NULL, context);
    if (g) uno_group_drop(g);
    if (remote) uno_group_drop(remote);
    if (!made) return uno_fail(MPI_ERR_NO_MEM, "no memory for a communicator");
    uno_comm_inherit(made, c);
    *v->out = made->handle;
    return MPI_SUCCESS;
}

static void end_ballot(struct ballot *v, const struct uno_ballot *b, const uint64_t *dead)
{
    int err = MPI_SUCCESS;
    if (v->out) {
        err = make_shrunk(v, b->offer, dead);
    } else {
        if (v->flag) *v->flag = b->flag;
        if (b->uneasy && v->turn != FINISH) err = UNO_ERR_PROC_FAILED;
    }
    MPI_Request r = v->req;
    free(v);
    uno_request_done(r, err);
}

static struct ballot *take_ballot(uint64_t context, uint32_t turn)
{
    for (struct ballot **at = &ballots, *v; (v = *at); at = &v->next) {
        if (v->comm->context != context || v->turn != turn) continue;
        *at = v->next;
        return v;
    }
    return NULL;
}

void uno_ft_decided(const struct uno_ballot *b, size_t bytes)
{
    if (bytes != sizeof *b + UNO_BALLOT_SETS * words() * sizeof(uint64_t)) return;
    const uint64_t *dead = (const uint64_t *)(const void *)(b + 1) + words();
    struct ballot *v = take_ballot(b->context, b->turn);
    if (!v) return;
    for (int r = 0; r < uno_world.size; r++)
        if (has_bit(dead, r)) uno_peer_fail(r, UNO_ERR_PROC_FAILED);
    end_ballot(v, b, dead);
}

// ---- calls ----

static const struct uno_request_ops agree_ops = {.name = "agreement"}, shrink_ops = {.name = "shrinking"};

static int check_job(const struct MPI_ABI_Comm *c)
{
    if (uno_comm_is_mixed(c))
        return uno_fail(MPI_ERR_UNSUPPORTED_OPERATION, "the communicator has processes of several jobs (of one alone, "
                                                       "they can agree)");
    if (uno_pm_there()) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_UNSUPPORTED_OPERATION, "there is no mpiexec to agree through");
}

static bool is_alone(const struct MPI_ABI_Comm *c)
{
    return !c->inter && c->size == 1;
}

static int decide_alone(struct ballot *v)
{
    uint64_t *none = calloc(words(), sizeof *none);
    if (!none) return uno_fail(MPI_ERR_NO_MEM, "no memory for an agreement");
    struct uno_ballot b = {.flag = v->flag ? *v->flag : 0, .offer = v->out ? uno_context_take(false, 3) : 0};
    end_ballot(take_ballot(v->comm->context, v->turn), &b, none);
    free(none);
    return MPI_SUCCESS;
}

static int begin(struct ballot ballot, const struct uno_request_ops *ops, MPI_Request *req)
{
    struct MPI_ABI_Comm *c = ballot.comm;
    int err = is_alone(c) ? MPI_SUCCESS : check_job(c);
    if (err) return err;
    struct ballot *v = malloc(sizeof *v);
    MPI_Request r = v ? uno_request_new(UNO_REQ_OTHER) : NULL;
    if (!r) {
        free(v);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for an agreement");
    }
    r->ops = ops;
    r->comm = c;
    r->rank = r->tag = MPI_UNDEFINED;
    uno_comm_hold(c);
    *v = ballot;
    v->req = r;
    *req = r;
    v->next = ballots;
    ballots = v;
    err = is_alone(c) ? decide_alone(v) : send_vote(v, v->flag ? *v->flag : 0);
    if (!err) return MPI_SUCCESS;
    free(take_ballot(c->context, v->turn));
    r->active = false;
    uno_request_release(r);
    *req = MPI_REQUEST_NULL;
    return err;
}

int uno_ft_agree(struct MPI_ABI_Comm *c, int *flag, MPI_Request *req)
{
    return begin((struct ballot){.comm = c, .turn = c->agreements++, .flag = flag}, &agree_ops, req);
}

int uno_ft_shrink(struct MPI_ABI_Comm *c, MPI_Comm *out, MPI_Request *req)
{
    *out = MPI_COMM_NULL;
    return begin((struct ballot){.comm = c, .turn = c->agreements++, .out = out}, &shrink_ops, req);
}

int uno_ft_finish(void)
{
    MPI_Request req;
    uno_peers_flush();
    int err = begin((struct ballot){.comm = &uno_comm_world, .turn = FINISH}, &agree_ops, &req);
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
    struct uno_ballot b = {.kind = UNO_BALLOT_REVOKE, .context = c->context};
    if (!err) errno = uno_pm_tell(&b, sizeof b);
    return !err && errno ? uno_fail_errno(MPI_ERR_OTHER, "tell mpiexec of a revoked communicator") : err;
}
