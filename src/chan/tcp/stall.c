// SPDX-License-Identifier: BSD-3-Clause
// Connections that have fallen silent: the kernel has sent, and the other kernel has acknowledged nothing for longer
// than it ever takes. Such a lane is taken out; a main link moves to another way. Called by poll and before a sleep,
// where a peer is reached in more ways than one. What the other process does, or whether it runs at all, plays no part:
// it is its kernel that acknowledges.
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define LOOK_EVERY (5 * MS)
#define LOOK_ASLEEP (20 * MS)
// The least silence that means something: a kernel may keep an acknowledgement for 40 ms (Linux, TCP_DELACK_MIN).
#define SILENCE (60 * MS)
#define SILENCE_MOST (1000 * MS)

static _Atomic uint64_t moves;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_moves", &moves, "connections that fell silent and were moved to another way"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

// Whether something is on its way; or should be, since the other side has room for it: an interface of ours that is
// down takes nothing from the kernel.
static bool waits_for_ack(const struct tcp_info *i)
{
    return i->tcpi_unacked > 0 || (i->tcpi_notsent_bytes > 0 && i->tcpi_snd_wnd > i->tcpi_snd_mss);
}

// How long nothing has been acknowledged by a connection, if it is longer than that may take (ns). 0: nothing is owed,
// or it comes. *owed_since: when something was seen to be owed first.
static uint64_t silence_of(int fd, uint64_t *owed_since, uint64_t now)
{
    struct tcp_info i = {0};    // an older kernel fills less of it
    socklen_t len = sizeof i;
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) != 0 || !waits_for_ack(&i)) {
        *owed_since = 0;
        return 0;
    }
    if (!*owed_since) *owed_since = now;
    uint64_t since = *owed_since, heard = now - i.tcpi_last_ack_recv * MS;
    if (heard > since) since = heard;
    uint64_t most = (2 * (uint64_t)i.tcpi_rtt + 4 * (uint64_t)i.tcpi_rttvar) * 1000;
    if (most < SILENCE) most = SILENCE;
    if (most > SILENCE_MOST) most = SILENCE_MOST;
    return since + most < now ? now - since : 0;
}

static uint64_t silence(struct tcp_link *l, uint64_t now)
{
    return silence_of(l->tail == l->head ? -1 : l->sock.fd, &l->owed_since, now);
}

// A connection that is up and not silent, by other interfaces than the silent one: the main link may move there.
static struct tcp_link *find_healthy(struct tcp_link *m, const struct tcp_link *but, uint64_t now)
{
    for (struct tcp_link *l = m; l; l = l->side) {
        if (l == but || l->state != TCP_UP || l->broken || silence(l, now)) continue;
        bool same = l->way.own == but->way.own || l->way.theirs == but->way.theirs;    // as when a move has just ended
        if (l->way.own != TCP_NOWHERE && l->way.theirs != TCP_NOWHERE && !same) return l;
    }
    return NULL;
}

static void move_main(struct tcp_link *m, const struct tcp_link *to, uint64_t ns)
{
    uno_log(1, "rank %d has acknowledged nothing for %d ms between %s: its messages go between %s", m->base.proc,
            (int)(ns / MS), m->ends, to->ends);
    uno_count_add(&moves, 1);
    m->move = to->way;
    m->moving = true;
    tcp_broken(m, ETIMEDOUT, "silent");
}

static void take_out(struct tcp_link *l, uint64_t ns)
{
    uno_log(1, "rank %d has acknowledged nothing for %d ms between %s: others carry what is sent", l->base.proc,
            (int)(ns / MS), l->ends);
    uno_count_add(&moves, 1);
    tcp_broken(l, ETIMEDOUT, "silent");
}

static void look_at_ways(struct tcp_link *m, uint64_t now)
{
    bool silent = false;
    for (struct tcp_link *l = m; l; l = l->side) {
        if (l->state == TCP_DIALING && silence_of(tcp_dial_socket(l), &l->owed_since, now))
            tcp_give_up_dial(l, "silent");
        if (l->state != TCP_UP || l->broken) continue;
        uint64_t ns = silence(l, now);
        if (!ns) continue;
        silent = true;
        struct tcp_link *healthy = find_healthy(m, l, now);
        if (healthy && l == m) move_main(m, healthy, ns);
        if (healthy && l != m) take_out(l, ns);
    }
    if (silent) tcp_open_lanes(m);
}

void tcp_look_for_stalls(void)
{
    uint64_t now = uno_now_ns();
    if (uno_tcp_state.closing) return;
    bool owed = false;
    for (struct tcp_link *m = uno_tcp_state.first; m; m = m->next) {
        if (m->main != m || m->ways < 2) continue;
        look_at_ways(m, now);
        tcp_prefer_quickest(m, now);
        for (struct tcp_link *l = m; l; l = l->side) owed = owed || l->owed_since;
    }
    uno_tcp_state.stall_at = owed ? now + LOOK_ASLEEP : 0;
}
