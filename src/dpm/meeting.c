// SPDX-License-Identifier: BSD-3-Clause
// Meetings: accept and connect, blocking or not, are one machine that every call of the user moves on. The roots find
// each other through a port (port.c) and swap the cards of all processes of both sides; the other members give their
// card to their root and hear from it how it ended, by messages on the collective context of their communicator.
//
//   connect                     accept
//   HELLO, the key        ->
//                         <-    GREET                 both gather the cards of their members
//   CARDS                 ->
//                         <-    TAKEN: context, cards
//   COMMIT                ->                          both tell their members
//
// Always holds: the connecting side is bound once it has sent COMMIT, the accepting one once it has got that. Until
// then either may leave, and an accept goes on to the next who comes.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"
#include "chan/chan.h"
#include "chan/proc.h"
#include "core/world.h"
#include "dpm/dpm.h"
#include "dpm/port.h"
#include "p2p/p2p.h"
#include "p2p/peer.h"

#define RETRY_NS 10000000ULL    // before a port is dialled again at which too many wait

enum stage {
    M_DIAL,      // root, connect: to be dialled again
    M_MEET,      // root: waits for a connection (accept), for GREET (connect)
    M_GATHER,    // root: the members' cards, and the other side's CARDS (accept)
    M_ANSWER,    // root: waits for TAKEN (connect), for COMMIT (accept)
    M_TELL,      // root: how it ended goes to the members
    M_HEAR,      // member: waits for the root's word
    M_GIVE,      // member: its card goes to the root
    M_LEARN      // member: the cards of the other side
};

// What a root tells its members, first that it wants their cards, then how it ended.
struct word {
    int32_t gather, err, cancelled, n;
    uint64_t context;
    char why[200];
};

static const struct word give_cards = {.gather = 1};

struct taken {
    uint64_t context, n;    // then n cards
};

struct meeting {
    struct dpm_guest guest;
    struct meeting *next;
    enum uno_meeting_role role;
    enum stage stage;
    struct MPI_ABI_Comm *comm;
    int root, tag;
    MPI_Comm *out;
    MPI_Request request;
    char port[MPI_MAX_PORT_NAME];
    uint64_t deadline, retry;    // 0: none
    struct dpm_wire *wire;
    struct uno_card *mine, *theirs;
    int ntheirs;
    bool gathered;    // mine is complete
    bool gathering;
    bool cancel;         // as soon as nobody is bound
    bool waits;          // at the port
    bool over;           // ended: to be taken off the list
    MPI_Request *sub;    // messages inside comm, under way
    int nsub;
    struct word word;
};

static struct meeting *meetings;

static bool is_root(const struct meeting *m)
{
    return m->comm->rank == m->root;
}

// ---- messages inside the communicator ----

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

// Whether all have ended; *err: the first error of theirs.
static bool posted_ended(struct meeting *m, int *err)
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

// ---- the end ----

static int make_comm(struct meeting *m, struct MPI_ABI_Comm **out)
{
    struct MPI_ABI_Group *remote;
    int err = uno_group_meet(m->ntheirs, m->theirs, &remote);
    if (err) return err;
    bool apart = true;
    for (int i = 0; i < remote->size; i++) {
        apart &= uno_group_find(m->comm->group, remote->proc[i]) == MPI_UNDEFINED;
        // Its link shows when it dies, though nothing is ever sent to it.
        if (!uno_peer_of(remote->proc[i])) uno_log(1, "%s", uno_fail_text());
    }
    *out = apart ? uno_intercomm_make(m->comm->group, remote, m->role == UNO_ACCEPT, m->word.context) : NULL;
    uno_group_drop(remote);
    if (!apart) return uno_fail(MPI_ERR_PORT, "the two sides have processes in common");
    if (!*out) return uno_fail(MPI_ERR_NO_MEM, "no memory for an intercommunicator");
    uno_comm_inherit(*out, m->comm);
    return MPI_SUCCESS;
}

static void end_meeting(struct meeting *m)
{
    struct MPI_ABI_Comm *made = NULL;
    int err = m->word.err;
    bool cancelled = m->word.cancelled != 0;
    if (!err && !cancelled) err = make_comm(m, &made);
    if (err && !m->word.err) snprintf(m->word.why, sizeof m->word.why, "%s", uno_fail_text());
    if (made) *m->out = made->handle;
    dpm_wire_free(m->wire);
    m->wire = NULL;
    m->word.err = err;
    m->over = true;
    uno_chan_self.meetings--;
}

// To the members, if there are any.
static void begin_tell(struct meeting *m)
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

static void fail_meeting(struct meeting *m, int err, const char *why)
{
    m->word.err = err;
    snprintf(m->word.why, sizeof m->word.why, "%s", why);
    begin_tell(m);
}

static void fail_kept(struct meeting *m, int err)
{
    char why[sizeof m->word.why];
    snprintf(why, sizeof why, "%s", uno_fail_text());
    fail_meeting(m, err, why);
}

static void cancel_meeting(struct meeting *m)
{
    m->word.cancelled = 1;
    begin_tell(m);
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
    fail_kept(m, err);
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
        fail_meeting(m, MPI_ERR_PORT, text);
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

static void begin_gather(struct meeting *m)
{
    m->stage = M_GATHER;
    if (m->gathered || m->gathering) return;
    m->gathering = true;
    int err = uno_proc_own(&m->mine[m->root]);
    for (int r = 0; r < m->comm->size && !err; r++) {
        if (r == m->root) continue;
        err = post(m, true, r, (void *)(uintptr_t)&give_cards, sizeof give_cards);
        if (!err) err = post(m, false, r, &m->mine[r], sizeof *m->mine);
    }
    if (err) fail_kept(m, err);
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
    if (err) fail_kept(m, err);
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

static void on_frame(struct dpm_wire *w, unsigned kind, const void *body, size_t bytes)
{
    struct meeting *m = w->owner;
    bool accept = m->role == UNO_ACCEPT, good = true;
    if (m->stage >= M_TELL) return;    // all is said: the other side closes
    if (kind == 0 || kind == DPM_REFUSE) {
        char why[120];
        snprintf(why, sizeof why, "%.*s", (int)bytes, (const char *)body);
        lose_wire(m, why);
        return;
    }
    if (!accept && m->stage == M_MEET && kind == DPM_GREET) {
        begin_gather(m);
    } else if (accept && m->stage == M_GATHER && kind == DPM_CARDS && !m->theirs) {
        good = take_cards(m, body, bytes);
    } else if (accept && m->stage == M_ANSWER && kind == DPM_COMMIT) {
        begin_tell(m);
    } else if (!accept && m->stage == M_ANSWER && kind == DPM_TAKEN) {
        good = take_answer(m, body, bytes);
        if (good) good = dpm_wire_send(w, DPM_COMMIT, NULL, 0) == MPI_SUCCESS;
        if (good) begin_tell(m);
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
    if (dpm_wire_send(w, DPM_GREET, NULL, 0) != MPI_SUCCESS)
        lose_wire(m, "no memory");
    else
        begin_gather(m);
}

static void port_closed(struct dpm_guest *g)
{
    struct meeting *m = (struct meeting *)(void *)g;
    m->waits = false;
    fail_meeting(m, MPI_ERR_PORT, "the port was closed");
}

static void dial_port(struct meeting *m)
{
    int err = dpm_port_dial(m->port, &m->wire);
    m->retry = 0;
    if (err == UNO_FULL) {
        m->stage = M_DIAL;
        m->retry = uno_now_ns() + RETRY_NS;
    } else if (err) {
        fail_kept(m, err);
    } else {
        m->wire->owner = m;
        m->wire->frame = on_frame;
        m->stage = M_MEET;
    }
}

static void run_out(struct meeting *m)
{
    if (m->waits) dpm_port_leave(m->port, &m->guest);
    m->waits = false;
    drop_wire(m);
    char why[120];
    snprintf(why, sizeof why, "nobody %s at the port in time (info \"timeout\", parameter connect_timeout)",
             m->role == UNO_CONNECT ? "accepted" : "connected");
    fail_meeting(m, MPI_ERR_PORT, why);
}

static int step_root(struct meeting *m, uint64_t now)
{
    int err = MPI_SUCCESS, moved = 0;
    if (m->stage == M_DIAL && m->retry <= now) dial_port(m), moved = 1;
    if (m->stage <= M_MEET && m->deadline && m->deadline <= now) run_out(m), moved = 1;
    if (m->gathering && posted_ended(m, &err)) {
        m->gathering = false;
        m->gathered = !err;
        moved = 1;
        if (err) fail_kept(m, err);
    }
    if (m->stage == M_GATHER && m->gathered) {
        go_on_gathered(m);
        moved += m->stage != M_GATHER;
    }
    if (m->stage == M_TELL && !m->gathering && posted_ended(m, &err) && (!m->wire || dpm_wire_flushed(m->wire))) {
        if (err && !m->word.err) m->word.err = err;
        end_meeting(m);
        moved = 1;
    }
    return moved;
}

// ---- the other members ----

static void member_failed(struct meeting *m, int err)
{
    m->word.err = err;
    snprintf(m->word.why, sizeof m->word.why, "%s", uno_fail_text());
    end_meeting(m);
}

static int hear(struct meeting *m)
{
    m->stage = M_HEAR;
    return post(m, false, m->root, &m->word, sizeof m->word);
}

static int heard(struct meeting *m)
{
    if (m->word.gather) {
        m->stage = M_GIVE;
        int err = uno_chan_open_guests();
        if (!err) err = uno_proc_own(m->mine);
        return err ? err : post(m, true, m->root, m->mine, sizeof *m->mine);
    }
    if (m->word.err || m->word.cancelled || m->word.n <= 0) {
        end_meeting(m);
        return MPI_SUCCESS;
    }
    m->stage = M_LEARN;
    m->ntheirs = m->word.n;
    m->theirs = malloc((size_t)m->ntheirs * sizeof *m->theirs);
    if (!m->theirs) return uno_fail(MPI_ERR_NO_MEM, "no memory for the processes of another job");
    return post(m, false, m->root, m->theirs, (size_t)m->ntheirs * sizeof *m->theirs);
}

static int step_member(struct meeting *m)
{
    int err = MPI_SUCCESS;
    if (!posted_ended(m, &err)) return 0;
    if (!err && m->stage == M_HEAR)
        err = heard(m);
    else if (!err && m->stage == M_GIVE)
        err = hear(m);
    else if (!err)
        end_meeting(m);
    if (err) member_failed(m, err);
    return 1;
}

// ---- all ----

static void arm_timer(uint64_t now)
{
    uint64_t next = 0;
    dpm_ports_expire(now, &next);
    for (struct meeting *m = meetings; m; m = m->next) {
        uint64_t at = m->stage == M_DIAL ? m->retry : m->stage == M_MEET ? m->deadline : 0;
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
    for (struct meeting *m = meetings; m; m = m->next) moved += is_root(m) ? step_root(m, now) : step_member(m);
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
    if (uno_request_is_done(r) || !is_root(m) || m->stage >= M_TELL) return MPI_SUCCESS;
    m->cancel = true;
    if (m->role == UNO_ACCEPT && m->stage == M_ANSWER) return MPI_SUCCESS;    // the other side may be bound already
    if (m->waits) dpm_port_leave(m->port, &m->guest);
    m->waits = false;
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
    *m = (struct meeting){.guest = {.came = guest_came, .closed = port_closed},
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
    int err = dpm_port_patience(spec, &m->deadline);
    if (!err && strlen(spec->port) >= sizeof m->port) err = uno_fail(MPI_ERR_PORT, "port_name is too long for one");
    if (!err) err = uno_chan_open_guests();
    if (err) {
        fail_kept(m, err);
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
    if (is_root(m)) {
        begin_root(m, spec);
    } else {
        err = hear(m);
        if (err) member_failed(m, err);
    }
    arm_timer(uno_now_ns());
    return MPI_SUCCESS;
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
