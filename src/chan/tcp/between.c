// SPDX-License-Identifier: BSD-3-Clause
// Links without a connection: what is done when one breaks, how long the next dial waits, when a link is given up, and
// how one begins anew. Called by poll (connections that broke), by dial.c (dials that fail) and when peers leave.
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "base/fail.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define FIRST_PAUSE (5 * MS)    // before the second dial; doubles
#define LAST_PAUSE (500 * MS)
#define LAST_TRIES 5             // while the channel closes
#define YIELD_PAUSE (50 * MS)    // the higher rank leaves the first dial after a break to the lower one
#define DENIALS 2                // dials that an address refuses, of a process of another job: it has ended
#define REFUSALS 20              // of one frame that breaks the protocol, however often it is sent

static _Atomic uint64_t breaks, restores;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_breaks", &breaks, "connections that broke before their peer had left"),
    UNO_PVAR_COUNTER("tcp_restores", &restores, "connections made again"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);
static struct uno_event broken = {
    .name = "link_broken", .help = "the connection to a rank broke; it is made again, or given up", .elements = "rank"};
UNO_EVENT_DECLARE(broken);
static struct uno_event restored = {
    .name = "link_restored", .help = "the connection to a rank is there again", .elements = "rank"};
UNO_EVENT_DECLARE(restored);

// All that is under way between two memories ends with err.
static void fail_transfers(struct tcp_link *l, int err)
{
    l->streams = NULL;
    if (l->early.dst) {
        l->early.dst = NULL;
        l->direct--;
        uno_direct_done(l->early.token, 0, err);
    }
    tcp_fail_offers(l, err);
    tcp_fail_landings(l, err);
}

static void give_up(struct tcp_link *l, const char *why)
{
    l->state = TCP_LOST;
    l->due = 0;
    tcp_end_lanes(l);
    char story[TCP_STORY_TEXT];
    tcp_tell_failures(l, why, story);
    tcp_forget_failures(l);
    uno_log(1, "gave up the connection to rank %d: %s", l->base.proc, story);
    if (uno_tcp_state.closing) return;
    fail_transfers(l, UNO_ERR_PROC_FAILED);
    uno_link_lost(&l->base, story);
}

// No connection now: dial after a pause, unless it has lasted too long.
void tcp_wait_and_dial(struct tcp_link *l, uint64_t pause, const char *why)
{
    uint64_t now = uno_now_ns();
    if (!l->since) l->since = now;
    l->state = TCP_WAITING;
    l->due = now + pause;
    uno_tcp_state.restless = true;
    if (now - l->since > (uint64_t)uno_tcp_patience.num * 1000 * MS) give_up(l, why);
}

// A live process listens. Its host says that nobody does any more: at the address by which it was reached, or, if it
// never was, at all of them (one may be another host's, as that of a bridge of containers).
static bool is_dead(const struct tcp_link *l)
{
    if (!uno_proc_is_guest(l->base.proc) || uno_tcp_state.closing) return false;
    struct uno_net card;
    uint32_t places = l->proven || !tcp_find_card(l->base.proc, &card) ? 1 : card.count;
    return l->denied >= DENIALS * places;
}

// err: errno, 0: something else.
void tcp_count_denial(struct tcp_link *l, uint32_t address, int err)
{
    if (l->main != l || (l->proven && address != l->address)) return;
    l->denied = err == ECONNREFUSED ? l->denied + 1 : 0;
}

static void count_break(struct tcp_link *l)
{
    l->again = true;
    uno_count_add(&breaks, 1);
    uno_event_tell(&broken, (int64_t[]){l->base.proc});
}

void tcp_dial_failed(struct tcp_link *l, int fd, const char *why)
{
    if (l->unlike) {    // for good
        tcp_forget_failures(l);
        give_up(l, l->unlike);
        return;
    }
    const char *failure = tcp_note_failure(l, fd, why);
    if (l->planned) count_break(l);    // what was to be quicker does not work
    l->moving = l->planned = false;
    uno_log(3, "dialling rank %d%s failed between %s", l->base.proc, l->main == l ? "" : " by a further way", failure);
    if (l->main != l) {
        tcp_lane_failed(l);
        return;
    }
    if (l->leaving && !tcp_owes(l)) {    // the peer has left before us
        tcp_begin_anew(l);
        return;
    }
    if (is_dead(l)) {
        give_up(l, "its process has ended");
        return;
    }
    uint32_t doublings = l->tries < 10 ? l->tries : 10;
    uint64_t pause = FIRST_PAUSE << doublings;
    l->tries++;
    if (uno_tcp_state.closing && l->tries >= LAST_TRIES)
        l->state = TCP_GONE;
    else
        tcp_wait_and_dial(l, pause < LAST_PAUSE ? pause : LAST_PAUSE, why);
}

// It broke, and is there again.
void tcp_restored(struct tcp_link *l)
{
    tcp_count_resent(l);
    l->given_seq = 0;
    l->again = false;
    uno_count_add(&restores, 1);
    uno_event_tell(&restored, (int64_t[]){l->base.proc});
}

// The peer took its leave: what comes next between us, if anything, begins from nothing.
void tcp_begin_anew(struct tcp_link *l)
{
    tcp_end_lanes(l);
    l->ways = 0;
    l->moving = l->planned = false;
    l->ends[0] = '\0';
    if (l->direct && !uno_tcp_state.closing)
        fail_transfers(l, UNO_ERR_PROC_FAILED);    // closing: p2p has forgotten them
    l->tail = l->sent = l->head = 0;
    l->seq = l->got_seq = l->given_seq = l->peer_life = 0;
    l->untold = 0;
    l->pieces = 0;
    l->since = l->due = 0;
    l->tries = l->denied = 0;
    l->proven = l->base.met = false;
    l->tell = l->bye = false;
    l->state = uno_tcp_state.closing ? TCP_GONE : TCP_IDLE;
}

// And what was half sent or read by it.
static void close_socket(struct tcp_link *l)
{
    if (l->broken) uno_tcp_state.unwell--;
    l->broken = 0;
    l->unheard = false;
    uno_tcp_state.up--;
    tcp_rewind(l, 0);
    close(l->sock.fd);
    l->sock.fd = -1;
    tcp_forget_input(l);
}

void tcp_hang_up(struct tcp_link *l)
{
    if (l->dial) tcp_forget_dial(l);
    if (l->sock.fd >= 0) close_socket(l);
}

void tcp_lose(struct uno_link *link, int err)
{
    struct tcp_link *l = tcp_of(link);
    tcp_end_lanes(l);
    tcp_hang_up(l);
    l->state = TCP_LOST;
    l->due = 0;
    fail_transfers(l, err);
}

static void take_down_lane(struct tcp_link *l)
{
    int level = l->broken == EPROTO ? 0 : 2;    // at 1 it is told who caused it: stall.c
    if (!uno_tcp_state.closing && !l->main->bye)
        uno_log(level, "the further connection to rank %d between %s broke (%s)", l->base.proc, l->ends, l->broken_why);
    tcp_lane_down(l);
}

void tcp_take_down(struct tcp_link *l)
{
    if (!l->broken) return;
    if (l->main != l) {
        take_down_lane(l);
        return;
    }
    int err = l->broken;
    close_socket(l);
    if (l->bye || (l->leaving && !tcp_owes(l))) {
        tcp_begin_anew(l);
        return;
    }
    l->owed_since = 0;
    if (!l->planned) count_break(l);
    // A link that stays fruitless is given up in the end: somebody alters all that comes, or the peer itself is wrong.
    if (l->fruitful || err != EPROTO) l->since = 0;
    if (!l->moving && !l->planned)
        uno_log(err == EPROTO ? 0 : 1, "the connection to rank %d between %s broke (%s%s), it is made again",
                l->base.proc, l->ends, err == EPROTO ? "protocol violation: " : "",
                err == EPROTO ? l->broken_why : strerror(err));
    if (l->refusals >= REFUSALS) {
        give_up(l, l->broken_why);
        return;
    }
    tcp_wait_and_dial(l, l->moving || tcp_goes_first(l->base.proc) ? 0 : YIELD_PAUSE, "it broke");
    tcp_arm_timer();
}
