// SPDX-License-Identifier: BSD-3-Clause
// Meetings: accept and connect, blocking or not, are one machine that every call of the user moves on. The roots find
// each other through a port (port.c) and swap the cards of all processes of both sides; the other members give their
// card to their root and hear from it how it ended (side.c).
//
//   connect                     accept
//   HELLO, the key        ->
//                         <-    GREET                 both gather the cards of their members
//   CARDS                 ->
//                         <-    TAKEN: context, cards
//   COMMIT                ->                          both tell their members, all make the communicator
//   MET                  <-->                         each is linked with all of the other side
//
// Always holds: the connecting side is bound once it has sent COMMIT, the accepting one once it has got that. Until
// then either may leave, and an accept goes on to the next who comes. Nobody returns before all have looked at all: how
// a process ended that nobody ever looked at could not be told.
#include "dpm/meeting.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"
#include "chan/chan.h"
#include "dpm/wire.h"
#include "p2p/p2p.h"

#define RETRY_NS 10000000ULL    // before a port is dialled again at which too many wait

struct taken {
    uint64_t context, n;    // then n cards
};

static struct meeting *meetings;

static void cancel_meeting(struct meeting *m)
{
    m->word.cancelled = 1;
    dpm_side_tell(m);
}

// ---- the root ----

static void drop_wire(struct meeting *m)
{
    dpm_wire_free(m->wire);
    m->wire = NULL;
    free(m->theirs);
    m->theirs = NULL;
}

static void wait_at_port(struct meeting *m)
{
    m->stage = M_MEET;
    m->waits = true;
    int err = dpm_port_wait(m->port, &m->guest);
    if (!err) return;
    m->waits = false;
    dpm_side_fail_kept(m, err);
}

// The other side is gone before anything was agreed.
static void lose_wire(struct meeting *m, const char *why)
{
    drop_wire(m);
    if (m->cancel) {
        cancel_meeting(m);
    } else if (m->role == UNO_ACCEPT) {
        wait_at_port(m);
    } else {
        char text[160];
        snprintf(text, sizeof text, "the port is not served any more: %s", why);
        dpm_side_fail(m, MPI_ERR_PORT, text);
    }
}

static bool take_cards(struct meeting *m, const void *cards, size_t bytes)
{
    if (bytes == 0 || bytes % sizeof *m->theirs || bytes / sizeof *m->theirs > INT_MAX) return false;
    m->theirs = malloc(bytes);
    if (!m->theirs) return false;
    memcpy(m->theirs, cards, bytes);
    m->ntheirs = (int)(bytes / sizeof *m->theirs);
    return true;
}

static int say_taken(struct meeting *m)
{
    size_t bytes = (size_t)m->comm->size * sizeof *m->mine;
    struct taken *t = malloc(sizeof *t + bytes);
    if (!t) return uno_fail(MPI_ERR_NO_MEM, "no memory for an answer to another job");
    m->word.context = uno_context_take(true, 3);
    *t = (struct taken){.context = m->word.context, .n = (uint64_t)m->comm->size};
    memcpy(t + 1, m->mine, bytes);
    int err = dpm_wire_send(m->wire, DPM_TAKEN, t, sizeof *t + bytes);
    free(t);
    return err;
}

// All members have given their cards: the other side gets them when it is its turn.
static void go_on_gathered(struct meeting *m)
{
    int err = MPI_SUCCESS;
    if (m->role == UNO_CONNECT)
        err = dpm_wire_send(m->wire, DPM_CARDS, m->mine, (size_t)m->comm->size * sizeof *m->mine);
    else if (m->theirs)
        err = say_taken(m);
    else
        return;
    m->stage = M_ANSWER;
    if (err) dpm_side_fail_kept(m, err);
}

static bool take_answer(struct meeting *m, const void *body, size_t bytes)
{
    struct taken t;
    if (bytes < sizeof t) return false;
    memcpy(&t, body, sizeof t);
    m->word.context = t.context;
    return (t.context & UNO_CTX_MIXED) && !(t.context & UNO_CTX_COLL) &&
           take_cards(m, (const char *)body + sizeof t, bytes - sizeof t);
}

static bool take_greet(struct meeting *m, const void *body, size_t bytes)
{
    struct dpm_greet greet;
    if (bytes != sizeof greet) return false;
    memcpy(&greet, body, sizeof greet);
    m->far = greet.far != 0;
    dpm_side_gather(m);
    return true;
}

static void on_frame(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    struct meeting *m = w->owner;
    bool accept = m->role == UNO_ACCEPT, good = true;
    if (m->stage >= M_TELL) {    // it is through, or gone
        m->met = true;
        if (kind == DPM_BROKEN) {    // what is said to it now would never have left
            dpm_wire_free(w);
            m->wire = NULL;
        }
        return;
    }
    if (kind == DPM_BROKEN || kind == DPM_REFUSE) {
        char why[120];
        snprintf(why, sizeof why, "%.*s", (int)bytes, (const char *)body);
        lose_wire(m, why);
        return;
    }
    if (!accept && m->stage == M_MEET && kind == DPM_GREET) {
        good = take_greet(m, body, bytes);
    } else if (accept && m->stage == M_GATHER && kind == DPM_CARDS && !m->theirs) {
        good = take_cards(m, body, bytes);
    } else if (accept && m->stage == M_ANSWER && kind == DPM_COMMIT) {
        dpm_side_tell(m);
    } else if (!accept && m->stage == M_ANSWER && kind == DPM_TAKEN) {
        good = take_answer(m, body, bytes);
        if (good) good = dpm_wire_send(w, DPM_COMMIT, NULL, 0) == MPI_SUCCESS;
        if (good) dpm_side_tell(m);
    } else {
        good = false;
    }
    if (!good) lose_wire(m, "it talks out of turn");
}

static void guest_came(struct dpm_guest *g, struct dpm_wire *w)
{
    struct meeting *m = (struct meeting *)(void *)g;
    m->waits = false;
    m->wire = w;
    w->owner = m;
    w->frame = on_frame;
    if (m->role == UNO_CONNECT) return;
    m->far = w->far || g->far;
    if (dpm_wire_send(w, DPM_GREET, &(struct dpm_greet){.far = m->far}, sizeof(struct dpm_greet)) != MPI_SUCCESS)
        lose_wire(m, "no memory");
    else
        dpm_side_gather(m);
}

static void nobody_comes(struct dpm_guest *g, const char *why)
{
    struct meeting *m = (struct meeting *)(void *)g;
    m->waits = false;
    dpm_side_fail(m, MPI_ERR_PORT, why);
}

static void dial_port(struct meeting *m)
{
    m->stage = M_MEET;
    m->waits = true;
    int err = dpm_port_dial(m->port, &m->guest);
    m->retry = 0;
    if (!err) return;
    m->waits = false;
    if (err == UNO_FULL) {
        m->stage = M_DIAL;
        m->retry = uno_now_ns() + RETRY_NS;
    } else {
        dpm_side_fail_kept(m, err);
    }
}

static void leave_port(struct meeting *m)
{
    if (m->waits && m->role == UNO_ACCEPT) dpm_port_leave(m->port, &m->guest);
    if (m->waits && m->role == UNO_CONNECT) dpm_dial_leave(&m->guest);
    m->waits = false;
}

// Whether its time is limited now: until somebody is at the port or, where the user has said how long, until this side
// is bound.
static bool is_timed(const struct meeting *m)
{
    bool bound = m->stage > M_ANSWER || (m->stage == M_ANSWER && m->role == UNO_ACCEPT);
    return m->deadline && (m->limited ? !bound : m->stage <= M_MEET);
}

static void run_out(struct meeting *m)
{
    const char *verb = m->role == UNO_CONNECT ? "accepted" : "connected", *who = "nobody";
    if (m->stage > M_MEET) who = "not all processes of the other side";
    if (m->stage > M_MEET && m->gathering) who = "not all processes of this side", verb = "called";
    leave_port(m);
    drop_wire(m);
    char why[160];
    snprintf(why, sizeof why, "%s %s at the port in time (info \"timeout\", parameter connect_timeout)", who, verb);
    dpm_side_fail(m, MPI_ERR_PORT, why);
}

static void end_root(struct meeting *m)
{
    dpm_side_end(m);
    dpm_wire_free(m->wire);
    m->wire = NULL;
}

// All members know how it ended.
static void go_on_told(struct meeting *m, int err)
{
    if (m->word.n == 0) {    // no communicator
        if (err && !m->word.err) m->word.err = err;
        end_root(m);
        return;
    }
    dpm_side_make(m);
    dpm_side_call(m, false);
}

// Whether it moved. What goes wrong from here on is no error of the call: the communicator is there.
static int step_made(struct meeting *m)
{
    int lost = MPI_SUCCESS;
    if (m->stage == M_SWAP ? !m->met : !dpm_side_ended(m, &lost)) return 0;
    if (m->stage == M_REACH && !dpm_side_reached(m)) return 0;
    if (m->stage == M_REACH) {
        m->stage = M_SWAP;
        if (!m->wire || dpm_wire_send(m->wire, DPM_MET, NULL, 0) != MPI_SUCCESS) m->met = true;
    } else if (m->stage == M_SWAP) {
        m->stage = M_LEAVE;
        dpm_side_call(m, true);
    } else {
        if (m->wire && !dpm_wire_flushed(m->wire)) return 0;
        end_root(m);
    }
    return 1;
}

static int step_root(struct meeting *m, uint64_t now)
{
    int err = MPI_SUCCESS, moved = 0;
    if (m->stage >= M_REACH) return m->over ? 0 : step_made(m);
    if (m->stage == M_DIAL && m->retry <= now) dial_port(m), moved = 1;
    if (is_timed(m) && m->deadline <= now) run_out(m), moved = 1;
    if (m->gathering && dpm_side_ended(m, &err)) {
        m->gathering = false;
        m->gathered = !err;
        moved = 1;
        if (err) dpm_side_fail_kept(m, err);
    }
    if (m->stage == M_GATHER && m->gathered) dpm_side_gather(m);    // again, if the next who came needs more
    if (m->stage == M_GATHER && m->gathered) {
        go_on_gathered(m);
        moved += m->stage != M_GATHER;
    }
    if (m->stage == M_TELL && !m->gathering && dpm_side_ended(m, &err) && (!m->wire || dpm_wire_flushed(m->wire))) {
        go_on_told(m, err);
        moved = 1;
    }
    return moved;
}

// ---- all ----

static void arm_timer(uint64_t now)
{
    uint64_t next = 0;
    dpm_ports_expire(now, &next);
    for (struct meeting *m = meetings; m; m = m->next) {
        uint64_t at = m->stage == M_DIAL ? m->retry : is_timed(m) ? m->deadline : 0;
        if (at && (!next || at < next)) next = at;
    }
    dpm_wake_at(next);
}

// Takes those that have ended off the list, then ends their requests: that may begin others.
static void finish_ended(void)
{
    for (struct meeting **at = &meetings, *m; (m = *at);) {
        if (!m->over) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        if (m->word.cancelled)
            uno_request_cancelled(m->request);
        else
            uno_request_done(m->request, m->word.err);
    }
}

static int step_all(void)
{
    int moved = 0;
    uint64_t now = uno_now_ns();
    for (struct meeting *m = meetings; m; m = m->next)
        moved += meeting_is_root(m) ? step_root(m, now) : dpm_side_step(m);
    if (moved) finish_ended();
    arm_timer(now);
    if (!meetings) dpm_steps(NULL);
    return moved;
}

static int end_request(MPI_Request r)
{
    struct meeting *m = r->extra;
    if (m->word.err) uno_fail(m->word.err, "%s", m->word.why);
    return MPI_SUCCESS;    // the status has the class
}

static void free_meeting(MPI_Request r)
{
    struct meeting *m = r->extra;
    free(m->sub);
    free(m->mine);
    free(m->theirs);
    free(m);
}

static int cancel(MPI_Request r)
{
    struct meeting *m = r->extra;
    if (uno_request_is_done(r) || !meeting_is_root(m) || m->stage >= M_TELL) return MPI_SUCCESS;
    m->cancel = true;
    if (m->role == UNO_ACCEPT && m->stage == M_ANSWER) return MPI_SUCCESS;    // the other side may be bound already
    leave_port(m);
    drop_wire(m);
    cancel_meeting(m);
    return MPI_SUCCESS;
}

static const struct uno_request_ops meeting_ops = {
    .name = "meeting", .cancel = cancel, .end = end_request, .free = free_meeting};

static struct meeting *make_meeting(const struct uno_meeting_spec *spec, MPI_Comm *out)
{
    struct meeting *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    MPI_Request r = uno_request_new(UNO_REQ_OTHER);
    if (!r) {
        free(m);
        return NULL;
    }
    r->ops = &meeting_ops;
    r->extra = m;
    r->comm = spec->comm;
    r->rank = r->tag = MPI_UNDEFINED;
    uno_comm_hold(spec->comm);
    *m = (struct meeting){
        .guest = {.came = guest_came, .failed = nobody_comes, .far = uno_group_is_spread(spec->comm->group)},
        .role = spec->role,
        .comm = spec->comm,
        .root = spec->root,
        .tag = uno_coll_tag(spec->comm),
        .out = out,
        .request = r};
    bool root = spec->comm->rank == spec->root;
    m->mine = calloc(root ? (size_t)spec->comm->size : 1, sizeof *m->mine);
    m->sub = calloc(4 * (size_t)spec->comm->size, sizeof(MPI_Request));    // both exchanges may be under way
    if (m->mine && m->sub) return m;
    uno_request_release(r);
    return NULL;
}

// What is wrong at the root ends its members' calls too: they are told.
static void begin_root(struct meeting *m, const struct uno_meeting_spec *spec)
{
    int err = dpm_port_patience(spec, &m->deadline, &m->limited);
    if (!err && strlen(spec->port) >= sizeof m->port) err = uno_fail(MPI_ERR_PORT, "port_name is too long for one");
    if (!err) err = uno_chan_open_guests(false);
    if (err) {
        dpm_side_fail_kept(m, err);
        return;
    }
    strcpy(m->port, spec->port);
    if (m->role == UNO_ACCEPT)
        wait_at_port(m);
    else
        dial_port(m);
}

int uno_meeting_start(const struct uno_meeting_spec *spec, MPI_Comm *out, MPI_Request *req)
{
    int err = dpm_sock_open();
    if (err) return err;
    struct meeting *m = make_meeting(spec, out);
    if (!m) return uno_fail(MPI_ERR_NO_MEM, "no memory for a meeting");
    *out = MPI_COMM_NULL;
    *req = m->request;
    uno_chan_self.meetings++;
    m->next = meetings;
    meetings = m;
    dpm_steps(step_all);
    if (meeting_is_root(m)) {
        begin_root(m, spec);
    } else {
        dpm_side_hear(m);
    }
    arm_timer(uno_now_ns());
    return MPI_SUCCESS;
}

bool uno_meeting_is_bound(MPI_Request r)
{
    const struct meeting *m = r->extra;
    return m->stage >= M_TELL && m->word.n > 0;
}

int uno_meeting_hold(const struct uno_meeting_spec *spec, MPI_Comm *out)
{
    MPI_Request r;
    int err = uno_meeting_start(spec, out, &r);
    return err ? err : uno_wait(&r, MPI_STATUS_IGNORE);
}

void uno_dpm_close(void)
{
    dpm_ports_close();
    dpm_sock_close();
}
