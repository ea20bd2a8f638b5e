// SPDX-License-Identifier: BSD-3-Clause
// What the members of one side of a meeting tell each other (meeting.h), by messages on the collective context of their
// communicator: they give their cards to their root, and hear from it how it ended. Called by meeting.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "dpm/meeting.h"
#include "p2p/p2p.h"
#include "p2p/peer.h"

static const struct word give_cards[] = {{.gather = REACH_NONE}, {.gather = REACH_HOST}, {.gather = REACH_FAR}};

static int post(struct meeting *m, bool send, int rank, void *data, size_t bytes)
{
    struct uno_where where = {.comm = m->comm, .rank = rank, .tag = m->tag, .coll = true};
    struct MPI_ABI_Datatype *byte = uno_type(MPI_BYTE);
    MPI_Request *r = &m->sub[m->nsub];
    int err = send ? uno_isend(data, (MPI_Count)bytes, byte, &where, UNO_STANDARD, r)
                   : uno_irecv(data, (MPI_Count)bytes, byte, &where, r);
    if (!err) m->nsub++;
    return err;
}

bool dpm_side_ended(struct meeting *m, int *err)
{
    for (int i = 0; i < m->nsub; i++)
        if (!uno_request_is_done(m->sub[i])) return false;
    for (int i = 0; i < m->nsub; i++) {
        int e = uno_wait(&m->sub[i], MPI_STATUS_IGNORE);
        if (!*err) *err = e;
    }
    m->nsub = 0;
    return true;
}

static int make_comm(struct meeting *m)
{
    struct MPI_ABI_Group *remote;
    int err = uno_group_meet(m->ntheirs, m->theirs, &remote);
    if (err) return err;
    uno_peers_meet(remote);
    m->made = uno_intercomm_make(m->comm->group, remote, m->role == UNO_ACCEPT, m->word.context);
    uno_group_drop(remote);
    if (!m->made) return uno_fail(MPI_ERR_NO_MEM, "no memory for an intercommunicator");
    uno_comm_inherit(m->made, m->comm);
    return MPI_SUCCESS;
}

void dpm_side_make(struct meeting *m)
{
    m->word.err = make_comm(m);
    if (m->word.err) snprintf(m->word.why, sizeof m->word.why, "%s", uno_fail_text());
    m->stage = M_REACH;
}

bool dpm_side_reached(const struct meeting *m)
{
    return !m->made || uno_peers_are_met(m->made->remote);
}

void dpm_side_call(struct meeting *m, bool send)
{
    int err = MPI_SUCCESS;
    for (int r = 0; r < m->comm->size; r++) {
        bool one = meeting_is_root(m) ? r != m->root : r == m->root;
        if (one && !err) err = post(m, send, r, NULL, 0);
    }
    if (err) uno_log(1, "a member that met another job was lost: %s", uno_fail_text());
}

void dpm_side_end(struct meeting *m)
{
    if (m->made) *m->out = m->made->handle;
    m->over = true;
    uno_chan_self.meetings--;
}

void dpm_side_tell(struct meeting *m)
{
    int err = MPI_SUCCESS;
    m->stage = M_TELL;
    m->word.gather = 0;
    m->word.n = m->word.err || m->word.cancelled ? 0 : m->ntheirs;
    for (int r = 0; r < m->comm->size && !err; r++) {
        if (r == m->root) continue;
        err = post(m, true, r, &m->word, sizeof m->word);
        if (!err && m->word.n) err = post(m, true, r, m->theirs, (size_t)m->ntheirs * sizeof *m->theirs);
    }
    if (err && !m->word.err) m->word.err = err;
}

void dpm_side_fail(struct meeting *m, int err, const char *why)
{
    m->word.err = err;
    snprintf(m->word.why, sizeof m->word.why, "%s", why);
    dpm_side_tell(m);
}

void dpm_side_fail_kept(struct meeting *m, int err)
{
    char why[sizeof m->word.why];
    snprintf(why, sizeof why, "%s", uno_fail_text());
    dpm_side_fail(m, err, why);
}

// ---- the root asks ----

void dpm_side_gather(struct meeting *m)
{
    enum reach wanted = m->far ? REACH_FAR : REACH_HOST;
    m->stage = M_GATHER;
    if (m->gathering || (m->gathered && m->asked >= wanted)) return;
    m->gathering = true;
    m->gathered = false;
    m->asked = wanted;
    int err = uno_chan_open_guests(m->far);
    if (!err) err = uno_proc_own(&m->mine[m->root]);
    const struct word *ask = &give_cards[wanted];
    for (int r = 0; r < m->comm->size && !err; r++) {
        if (r == m->root) continue;
        err = post(m, true, r, (void *)(uintptr_t)ask, sizeof *ask);
        if (!err) err = post(m, false, r, &m->mine[r], sizeof *m->mine);
    }
    if (err) dpm_side_fail_kept(m, err);
}

// ---- the other members ----

static void member_failed(struct meeting *m, int err)
{
    m->word.err = err;
    snprintf(m->word.why, sizeof m->word.why, "%s", uno_fail_text());
    if (m->word.n > 0)
        m->stage = M_REACH;    // the others wait for this one
    else
        dpm_side_end(m);
}

static int await_word(struct meeting *m)
{
    m->stage = M_HEAR;
    return post(m, false, m->root, &m->word, sizeof m->word);
}

void dpm_side_hear(struct meeting *m)
{
    int err = await_word(m);
    if (err) member_failed(m, err);
}

static int heard(struct meeting *m)
{
    if (m->word.gather) {
        m->stage = M_GIVE;
        // Should it fail, the root waits for the card all the same.
        if (uno_chan_open_guests(m->word.gather == REACH_FAR)) uno_log(0, "meeting another job: %s", uno_fail_text());
        int err = uno_proc_own(m->mine);
        return err ? err : post(m, true, m->root, m->mine, sizeof *m->mine);
    }
    if (m->word.err || m->word.cancelled || m->word.n <= 0) {
        dpm_side_end(m);
        return MPI_SUCCESS;
    }
    m->stage = M_LEARN;
    m->ntheirs = m->word.n;
    m->theirs = malloc((size_t)m->ntheirs * sizeof *m->theirs);
    if (!m->theirs) return uno_fail(MPI_ERR_NO_MEM, "no memory for the processes of another job");
    return post(m, false, m->root, m->theirs, (size_t)m->ntheirs * sizeof *m->theirs);
}

// What goes wrong from here on is no error of the call: the communicator is there.
static int step_made(struct meeting *m)
{
    int lost = MPI_SUCCESS;
    if (m->stage == M_REACH) {
        if (!dpm_side_reached(m)) return 0;
        m->stage = M_LEAVE;
        dpm_side_call(m, true);
        dpm_side_call(m, false);
        return 1;
    }
    if (!dpm_side_ended(m, &lost)) return 0;
    dpm_side_end(m);
    return 1;
}

int dpm_side_step(struct meeting *m)
{
    int err = MPI_SUCCESS;
    if (m->stage >= M_REACH) return m->over ? 0 : step_made(m);
    if (!dpm_side_ended(m, &err)) return 0;
    if (!err && m->stage == M_HEAR)
        err = heard(m);
    else if (!err && m->stage == M_GIVE)
        err = await_word(m);
    else if (!err)
        dpm_side_make(m);
    if (err) member_failed(m, err);
    return 1;
}
