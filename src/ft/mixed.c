// SPDX-License-Identifier: BSD-3-Clause
// Agreements of processes of several jobs, which have no mpiexec in common, or of an intercommunicator with a process
// in both groups: messages between the members (council.h), and the deaths that each of them learns of. Called by
// agree.c; what arrives is noted and dealt with by a poller.
// Always holds: members number the agreements on a communicator alike; a message that comes before its agreement, or
// before its communicator, is kept; one for an agreement that is over is answered without any memory of it.
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "core/progress.h"
#include "core/world.h"
#include "ft/ft.h"
#include "ft/vote.h"
#include "p2p/fail.h"
#include "p2p/kind.h"
#include "p2p/peer.h"

static struct uno_event told = {.name = "agreement_message",
                                .help = "this process has sent a message of an agreement over several jobs: which of "
                                        "its kinds, and to which member, the `low` group's first",
                                .elements = "kind|member"};
UNO_EVENT_DECLARE(told);

// A message that came.
struct heard {
    struct heard *next;
    int proc;    // from
    uint64_t context;
    size_t sets;    // bytes of them
    struct uno_say say;
    uint64_t set[];
};

static struct heard *heard, **heard_end = &heard;    // not looked at yet, in order
static struct heard *kept, **kept_end = &kept;       // for what does not exist here yet, in order

static int run(struct uno_poller *self);
static struct uno_poller poller = {.fn = run};

static void append(struct heard ***end, struct heard *h)
{
    h->next = NULL;
    **end = h;
    *end = &h->next;
}

static int own_number(const struct MPI_ABI_Comm *c)
{
    return c->rank + (c->remote && !c->low ? c->remote->size : 0);
}

// Whether the member's object of the communicator has another context than the one here.
static bool crosses(const struct MPI_ABI_Comm *c, int member)
{
    if (c->sends == c->context) return false;
    int lows = c->low ? c->group->size : c->remote->size;
    return (member < lows) != c->low;
}

static bool is_from(const struct MPI_ABI_Comm *c, uint32_t member, int proc)
{
    return member < (uint32_t)uno_ft_members(c) && uno_ft_member(c, (int)member) == proc;
}

static size_t set_bytes(const struct MPI_ABI_Comm *c)
{
    return uno_council_words(uno_ft_members(c)) * sizeof(uint64_t);
}

// ---- sending ----

// Sets: two of so many bytes, or none. A process that has failed hears nothing, and that is no error.
static int send_say(int proc, uint64_t context, const struct uno_say *say, const void *first, const void *second,
                    size_t set)
{
    struct uno_peer *p = uno_peer_of(proc);
    size_t bytes = sizeof *say + 2 * set;
    if (!p) return uno_peer_failure(proc) ? MPI_SUCCESS : MPI_ERR_OTHER;
    char *all = bytes <= p->link->data_max ? malloc(bytes) : NULL;
    if (!all) return uno_fail(MPI_ERR_NO_MEM, "no memory for a message of %zu bytes about an agreement", bytes);
    memcpy(all, say, sizeof *say);
    if (set) memcpy(all + sizeof *say, first, set);
    if (set) memcpy(all + sizeof *say + set, second, set);
    struct uno_msg m = {.kind = UNO_COUNCIL, .ctx = context, .data = all, .bytes = (uint32_t)bytes};
    int err = uno_peer_send_owned(p, &m, all);
    return uno_peer_failure(proc) ? MPI_SUCCESS : err;
}

static void tell(struct uno_council *c, int to, const struct uno_say *say, const uint64_t *first, const uint64_t *dead)
{
    struct uno_vote *v = (struct uno_vote *)(void *)((char *)c - offsetof(struct uno_vote, council));
    struct uno_say s = *say;
    s.turn = v->turn;
    s.from = (uint32_t)c->me;
    s.to = (uint32_t)to;
    s.crosses = crosses(v->comm, to);
    uint64_t context = s.crosses ? v->comm->sends : v->comm->context;
    int err = send_say(uno_ft_member(v->comm, to), context, &s, first, dead, set_bytes(v->comm));
    if (err) v->error = err;
    uno_event_tell(&told, (int64_t[]){(int64_t)say->what, to});
}

void uno_mixed_revoke(struct MPI_ABI_Comm *c)
{
    int me = own_number(c);
    struct uno_say say = {.what = UNO_SAY_REVOKE, .from = (uint32_t)me};
    for (int i = 0; i < uno_ft_members(c); i++) {
        uint64_t context = crosses(c, i) ? c->sends : c->context;
        if (i == me || !send_say(uno_ft_member(c, i), context, &say, NULL, NULL, 0)) continue;
        uno_log(0, "rank %d does not hear of a revoked communicator: %s", i, uno_fail_text());
    }
}

// ---- an agreement under way ----

static void note_deaths(struct uno_vote *v)
{
    if (v->failed == v->comm->failed) return;
    v->failed = v->comm->failed;
    v->stirred = true;
    for (int i = 0; i < v->council.n; i++)
        if (uno_peer_failure(uno_ft_member(v->comm, i))) uno_council_lost(&v->council, i);
}

// Who leads waits for all, also for those to which nothing was ever sent: a link tells when its process dies.
static void watch_all(struct uno_vote *v)
{
    v->watches = true;
    for (int i = 0; i < v->council.n; i++) {
        int proc = uno_ft_member(v->comm, i);
        if (proc != uno_world.rank && !uno_peer_failure(proc) && !uno_peer_of(proc)) v->error = MPI_ERR_OTHER;
    }
}

// The others take this process for dead: it does the same with them.
static void leave(struct uno_vote *v, const uint64_t *out)
{
    for (int i = 0; i < v->council.n; i++)
        if (!uno_set_has(out, i)) uno_peer_fail(uno_ft_member(v->comm, i), UNO_ERR_PROC_FAILED);
    uno_vote_fail(v, uno_fail(UNO_ERR_PROC_FAILED, "the other members take this process for dead"));
}

static void conclude(struct uno_vote *v)
{
    const uint64_t *out = v->council.set[UNO_OUT];
    if (uno_set_has(out, v->council.me)) {
        leave(v, out);
        return;
    }
    for (int i = 0; i < v->council.n; i++)
        if (uno_set_has(out, i)) uno_peer_fail(uno_ft_member(v->comm, i), UNO_ERR_PROC_FAILED);
    uno_vote_end(v, &v->council.motion, out);
}

// Whether something was to be done. May end v.
static int move(struct uno_vote *v)
{
    note_deaths(v);
    if (!v->stirred) return 0;
    v->stirred = false;
    uno_council_step(&v->council);
    if (v->council.lead == v->council.me && !v->watches) watch_all(v);
    if (v->council.decided)
        conclude(v);
    else if (v->error)
        uno_vote_fail(v, v->error);
    return 1;
}

int uno_mixed_begin(struct uno_vote *v)
{
    struct MPI_ABI_Comm *c = v->comm;
    struct uno_council *council = &v->council;
    int n = uno_ft_members(c), *acknowledged = malloc((size_t)(c->acknowledged + 1) * sizeof *acknowledged);
    if (!acknowledged || !uno_council_make(council, n, own_number(c))) {
        free(acknowledged);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for an agreement of %d processes", n);
    }
    council->tell = tell;
    council->vote.flag = v->flag ? *v->flag : 0;
    council->vote.offer = v->out ? uno_context_take(true, 3) : 0;
    int known = uno_ft_failed(c, c->acknowledged, acknowledged);
    for (int i = 0; i < known; i++)
        for (int m = 0; m < n; m++)
            if (uno_ft_member(c, m) == acknowledged[i]) uno_set_add(council->set[UNO_KNOWN], m);
    free(acknowledged);
    v->mixed = v->stirred = true;
    *heard_end = kept;    // perhaps for this one
    if (kept) heard_end = kept_end;
    kept = NULL;
    kept_end = &kept;
    uno_poller_add(&poller);
    move(v);
    return MPI_SUCCESS;
}

// ---- what arrives ----

static const char *deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    size_t sets = h->bytes - sizeof(struct uno_say);
    const struct MPI_ABI_Comm *c = uno_context_find(h->ctx);
    struct heard *one = malloc(sizeof *one + sets);
    if (!one) uno_world_abort(MPI_ERR_NO_MEM, "out of memory for a message about an agreement");
    *one = (struct heard){.proc = link->proc, .context = h->ctx, .sets = sets};
    memcpy(&one->say, payload, sizeof one->say);
    memcpy(one->set, (const char *)payload + sizeof one->say, sets);
    bool revokes = one->say.what == UNO_SAY_REVOKE;
    const char *wrong = NULL;
    if (one->say.what >= UNO_SAY_END || sets % (2 * sizeof(uint64_t)) != 0 || revokes != (sets == 0))
        wrong = "a message about an agreement that makes no sense arrived";
    else if (c && (!is_from(c, one->say.from, link->proc) || (!revokes && sets != 2 * set_bytes(c))))
        wrong = "a message about an agreement came from a process that has no part in it";
    if (wrong) {
        free(one);
        return wrong;
    }
    append(&heard_end, one);
    uno_poller_add(&poller);
    return NULL;
}

static const struct uno_kind row = {.number = UNO_COUNCIL,
                                    .name = "agreement",
                                    .least = sizeof(struct uno_say),
                                    .most = UINT32_MAX,
                                    .whole = true,
                                    .deliver = deliver};
UNO_KIND_DECLARE(row);

static void hear_revoked(struct MPI_ABI_Comm *c, uint64_t context)
{
    bool told_already = c && c->revoked;
    uno_ft_revoked(context);
    if (c && !told_already) uno_mixed_revoke(c);    // who said so first may have died before all heard it
}

// An agreement that is over here.
static void answer(const struct heard *h)
{
    struct uno_say say = h->say;
    size_t set = h->sets / 2;
    if (!uno_council_answer(&say)) return;
    uint64_t context = h->say.crosses ? h->context ^ UNO_CTX_TURNED : h->context;
    say.from = h->say.to;
    say.to = h->say.from;
    if (send_say(h->proc, context, &say, h->set, (const char *)h->set + set, set))
        uno_log(0, "a member of an agreement gets no answer: %s", uno_fail_text());
}

// Whether the message is done with; else it is for later.
static bool take(struct heard *h)
{
    struct MPI_ABI_Comm *c = uno_context_find(h->context);
    struct uno_vote *v = c ? uno_vote_find(h->context, h->say.turn) : NULL;
    bool later = c ? (int32_t)(h->say.turn - c->agreements) >= 0 : h->say.what == UNO_SAY_VOTE;
    if (h->say.what == UNO_SAY_REVOKE) {
        hear_revoked(c, h->context);
    } else if (v && v->mixed && is_from(c, h->say.from, h->proc) && h->sets == 2 * set_bytes(c)) {
        uno_council_hear(&v->council, (int)h->say.from, &h->say, h->set);
        v->stirred = true;
    } else if (later) {
        return false;
    } else {
        answer(h);
    }
    return true;
}

static int run(struct uno_poller *self)
{
    int n = 0;
    bool any = false;
    for (struct heard *h; (h = heard); n++) {
        heard = h->next;
        if (!heard) heard_end = &heard;
        if (take(h))
            free(h);
        else
            append(&kept_end, h);
    }
    for (struct uno_vote *v = uno_votes, *next; v; v = next) {
        next = v->next;
        any |= v->mixed;
        if (v->mixed) n += move(v);
    }
    if (!any && !heard) uno_poller_remove(self);
    return n;
}

static void forget(struct heard **list, struct heard ***end)
{
    for (struct heard *h; (h = *list); free(h)) *list = h->next;
    *end = list;
}

void uno_mixed_close(void)
{
    uno_poller_remove(&poller);
    forget(&heard, &heard_end);
    forget(&kept, &kept_end);
}
