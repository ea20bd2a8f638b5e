// SPDX-License-Identifier: BSD-3-Clause
// Runs the schedules of all ranks on the cost model (simulate.h, docs/design/simulate.md). The core with the least time
// is taken next: it runs one of its ranks until that rank waits. A message is kept, by sender and receiver, with the
// time of its arrival until its receive is reached.
//
// Always holds: a core is in the heap when one of its ranks can go on; messages of one pair stay in order.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

#define NOBODY UINT32_MAX
#define INSIDE (UINT32_MAX - 1)    // waits for the other ranks of its host
#define ACK 0x80000000u            // of a message that the receiver copies

struct rank {
    size_t at, segment;    // next step, first step since the last fence
    double ready;          // when it can go on
    double since, last;    // at a fence: when it got there, when the last message that has come is taken
    uint32_t waits;        // for a message of this rank, or one of the words above
    bool at_fence, runnable;
    bool lends, borrows;    // since the last fence it has sent, or takes, a message that is copied across
    int round;
};

struct core {
    double time;
    int cursor, runnable;
    bool queued;
};

struct message {
    uint32_t from, to, next;
    double at;
};

struct host {
    double out;               // when its link outwards is free
    double in_from, in_is;    // inwards: since when it has been busy, with how much
    double last;              // of the ranks that have come to a collective inside
    int come;
};

struct sim {
    const struct sim_job *job;
    struct sim_plan *plan;
    struct rank *rank;
    struct core *core;
    struct host *host;
    struct sim_shared by;     // what sharing cores and caches costs
    uint32_t *order, most;    // of the ranks of each core of a host, at most so many: in which they take turns
    uint32_t *heap;           // cores, the one with the least time first
    size_t nheap;
    struct message *message;
    uint32_t *bucket, nbucket, nmessages, room, free;
    double end, messages;
    bool out_of_memory;
};

// ---- the heap ----

static bool before(const struct sim *s, uint32_t a, uint32_t b)
{
    return s->core[a].time < s->core[b].time || (s->core[a].time == s->core[b].time && a < b);
}

static void push_core(struct sim *s, uint32_t c)
{
    if (s->core[c].queued) return;
    s->core[c].queued = true;
    size_t i = s->nheap++;
    for (; i && before(s, c, s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = c;
}

static uint32_t pop_core(struct sim *s)
{
    uint32_t top = s->heap[0], last = s->heap[--s->nheap];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < s->nheap; i = k) {
        if (k + 1 < s->nheap && before(s, s->heap[k + 1], s->heap[k])) k++;
        if (!before(s, s->heap[k], last)) break;
        s->heap[i] = s->heap[k];
    }
    s->heap[i] = last;
    s->core[top].queued = false;
    return top;
}

// ---- where ranks are ----

static uint32_t core_of(const struct sim *s, uint32_t r)
{
    const struct sim_machine *m = &s->job->m;
    return (uint32_t)(r / m->ranks * m->cores + r % m->ranks % m->cores);
}

static int ranks_on(const struct sim *s, uint32_t core)
{
    const struct sim_machine *m = &s->job->m;
    int64_t local = core % m->cores;
    return local < m->ranks ? (int)((m->ranks - local + m->cores - 1) / m->cores) : 0;
}

static uint32_t host_of(const struct sim *s, uint32_t r)
{
    return (uint32_t)(r / s->job->m.ranks);
}

// The rank can go on at a time. A core that was idle has gone round its waiting ranks meanwhile.
static void wake(struct sim *s, uint32_t r, double at)
{
    uint32_t c = core_of(s, r);
    struct core *core = &s->core[c];
    s->rank[r].ready = at;
    s->rank[r].waits = NOBODY;
    if (s->rank[r].runnable) return;
    s->rank[r].runnable = true;
    if (core->runnable++ == 0 && core->time < at) {
        int n = ranks_on(s, c);
        double turns = n > 1 ? floor((at - core->time) / s->by.turn) : 0;
        core->cursor = n > 1 ? (int)fmod(core->cursor + turns, n) : 0;
        core->time = at;
    }
    push_core(s, c);
}

// ---- messages ----

static uint32_t *bucket_of(struct sim *s, uint32_t from, uint32_t to)
{
    uint64_t h = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15ULL;
    return &s->bucket[(h >> 40) % s->nbucket];
}

static void keep(struct sim *s, uint32_t from, uint32_t to, double at)
{
    uint32_t i = s->free;
    if (i != NOBODY) {
        s->free = s->message[i].next;
    } else {
        if (s->nmessages == s->room) {
            uint32_t room = s->room ? 2 * s->room : 1024;
            struct message *more = realloc(s->message, room * sizeof *more);
            if (!more) {
                s->out_of_memory = true;
                return;
            }
            s->message = more;
            s->room = room;
        }
        i = s->nmessages++;
    }
    uint32_t *b = bucket_of(s, from, to);
    s->message[i] = (struct message){from, to, *b, at};
    *b = i;
}

// The first message of the pair, which is the last in its chain; taken out. Negative: there is none.
static double take(struct sim *s, uint32_t from, uint32_t to)
{
    uint32_t *found = NULL;
    for (uint32_t *at = bucket_of(s, from, to); *at != NOBODY; at = &s->message[*at].next)
        if (s->message[*at].from == from && s->message[*at].to == to) found = at;
    if (!found) return -1;
    uint32_t i = *found;
    *found = s->message[i].next;
    s->message[i].next = s->free;
    s->free = i;
    return s->message[i].at;
}

static bool copied_by_receiver(const struct sim *s, uint32_t a, uint32_t b, uint32_t bytes)
{
    return host_of(s, a) == host_of(s, b) && bytes > s->job->m.eager;
}

static void deliver(struct sim *s, uint32_t from, uint32_t to, double at, bool large)
{
    struct rank *r = &s->rank[to];
    keep(s, from, to, at);
    if (r->waits == from || (large && r->waits < INSIDE)) wake(s, to, at > r->since ? at : r->since);
}

// Both sides copy a half, where each has a core.
static bool is_shared_out(const struct sim *s, uint32_t bytes)
{
    return bytes > s->job->m.alone && s->job->m.ranks <= s->job->m.cores;
}

static double cross_cost(const struct sim *s, uint32_t bytes)
{
    const struct uno_costs *c = &s->job->m.cost;
    double all = bytes * c->cross * 1e-3;
    return c->call + (is_shared_out(s, bytes) ? all / 2 + c->meet / 2.0 : all) * s->by.copy;
}

// While a rank sends a large message itself, both cores take lines back from each other.
static double exchange_cost(const struct sim *s, uint32_t me, uint32_t bytes)
{
    return cross_cost(s, bytes) * (s->rank[me].lends && s->rank[me].borrows ? s->job->m.both : 1);
}

// One side of a message in a ring: `across` per byte, into lines that the other core has had, or out of them.
static double ring_cost(const struct sim *s, uint32_t me, uint32_t peer, uint32_t bytes, uint32_t across)
{
    double each = core_of(s, me) == core_of(s, peer) ? s->job->m.copy : across;
    return (s->job->m.post + bytes * each * 1e-3 * s->by.thin) * s->by.ring;
}

static uint32_t write_byte(const struct uno_costs *c)
{
    return c->write < c->write_ahead ? c->write : c->write_ahead;
}

// When a message is there whose first byte could be at `first`. Messages are not seen in the order in which they
// arrive, so a link is not reserved: it is done when all that came since it became busy is through.
static double pass_link(struct host *h, double first, double length)
{
    if (first > h->in_from + h->in_is) h->in_from = first, h->in_is = 0;
    if (first < h->in_from) h->in_from = first;
    h->in_is += length;
    double through = h->in_from + h->in_is;
    return through > first + length ? through : first + length;
}

static void send_step(struct sim *s, uint32_t me, uint32_t to, uint32_t bytes, double *now)
{
    const struct sim_machine *m = &s->job->m;
    struct host *from = &s->host[host_of(s, me)], *there = &s->host[host_of(s, to)];
    s->messages++;
    if (from == there) {
        bool large = copied_by_receiver(s, me, to, bytes);
        if (large) s->rank[me].lends = true;
        *now += large ? m->post : ring_cost(s, me, to, bytes, write_byte(&m->cost));
        deliver(s, me, to, *now + m->cost.line + (bytes > 56 && !large ? m->cost.data : 0), large);
        return;
    }
    *now += m->post + bytes * m->socket * 1e-3;
    double begin = *now > from->out ? *now : from->out, length = bytes * m->byte * 1e-3;
    from->out = begin + length;
    deliver(s, me, to, pass_link(there, begin + m->latency, length), false);
}

static double receive_cost(const struct sim *s, uint32_t me, uint32_t from, uint32_t bytes)
{
    const struct sim_machine *m = &s->job->m;
    if (host_of(s, me) != host_of(s, from)) return m->post + bytes * m->socket * 1e-3;
    if (copied_by_receiver(s, me, from, bytes)) return m->post + exchange_cost(s, me, bytes);
    return ring_cost(s, me, from, bytes, m->cost.read);
}

// ---- a rank ----

static bool is_kind(const struct sim_step *p, enum sim_kind kind)
{
    return p->what >> SIM_SHIFT == (uint32_t)kind;
}

// Where ranks share cores a message that is copied across takes one more turn of all of them: the sender must learn
// that its buffer is free.
static double lap_cost(const struct sim *s, uint32_t me, uint32_t from, uint32_t bytes)
{
    const struct sim_machine *m = &s->job->m;
    bool waits = copied_by_receiver(s, me, from, bytes) && m->ranks > m->cores;
    return waits ? s->by.turn * ceil((double)m->ranks / (double)m->cores) : 0;
}

// Takes what has come since the last fence; *missing is the first that has not.
static double take_receives(struct sim *s, uint32_t me, double now, uint32_t *missing)
{
    struct rank *r = &s->rank[me];
    for (size_t i = r->segment; i < r->at; i++) {
        struct sim_step *p = &s->plan->step[i];
        if (!is_kind(p, SIM_RECV) || p->what & SIM_DONE) continue;
        uint32_t from = p->what & SIM_PEER;
        if (copied_by_receiver(s, me, from, p->bytes)) r->borrows = true;
        double at = take(s, from, me), cost = receive_cost(s, me, from, p->bytes);
        if (at < 0) {
            if (*missing == NOBODY) *missing = from;
            continue;
        }
        p->what |= SIM_DONE;
        now += cost;
        double taken = (now > at + cost ? now : at + cost) + lap_cost(s, me, from, p->bytes);
        if (taken > r->last) r->last = taken;
        if (copied_by_receiver(s, me, from, p->bytes)) deliver(s, me | ACK, from, taken + s->job->m.cost.line, false);
    }
    return now;
}

// Its own half of a copy a rank makes while it waits: since `idle` ns.
static double take_acks(struct sim *s, uint32_t me, double idle, double now, uint32_t *missing)
{
    struct rank *r = &s->rank[me];
    for (size_t i = r->segment; i < r->at && *missing == NOBODY; i++) {
        struct sim_step *p = &s->plan->step[i];
        uint32_t to = p->what & SIM_PEER;
        if (!is_kind(p, SIM_SEND) || p->what & SIM_DONE || !copied_by_receiver(s, me, to, p->bytes)) continue;
        double at = take(s, to | ACK, me);
        if (at < 0) {
            *missing = to | ACK;
            return now;
        }
        p->what |= SIM_DONE;
        double own = is_shared_out(s, p->bytes) ? exchange_cost(s, me, p->bytes) : 0;
        if (own > idle) now += own - idle;
        idle = idle > own ? idle - own : 0;
        if (at > r->last) r->last = at;
    }
    return now;
}

// True when all is through: then *now is when.
static bool fence_step(struct sim *s, uint32_t me, double *now)
{
    struct rank *r = &s->rank[me];
    uint32_t missing = NOBODY;
    if (!r->at_fence) {
        r->at_fence = true;
        r->since = *now;
        r->last = 0;
    }
    double idle = *now - r->since;
    *now = take_receives(s, me, *now, &missing);
    *now = take_acks(s, me, idle, *now, &missing);
    r->since = *now;
    if (missing != NOBODY) {
        r->waits = missing;
        return false;
    }
    for (size_t i = r->segment; i < r->at; i++) s->plan->step[i].what &= ~SIM_DONE;
    r->segment = r->at + 1;
    r->at_fence = r->lends = r->borrows = false;
    if (r->last <= *now) return true;
    r->at++;    // it goes on when the last one is there
    wake(s, me, r->last);
    return false;
}

// The last rank of the host to come lets all go.
static void inside_step(struct sim *s, uint32_t me, const struct sim_step *p, double now)
{
    const struct sim_machine *m = &s->job->m;
    struct host *h = &s->host[host_of(s, me)];
    if (now > h->last) h->last = now;
    s->rank[me].waits = INSIDE;
    s->rank[me].segment = ++s->rank[me].at;
    if (++h->come < m->ranks) return;
    double end = h->last + sim_inside(m, (enum uno_coll_kind)(p->what & SIM_PEER), p->bytes, UNO_ALG_END);
    h->come = 0;
    h->last = 0;
    for (int64_t i = 0; i < m->ranks; i++) wake(s, (uint32_t)(host_of(s, me) * m->ranks + i), end);
}

// Runs a rank until it waits or ends; returns when.
static double run_rank(struct sim *s, uint32_t me, double now)
{
    struct rank *r = &s->rank[me];
    const struct sim_machine *m = &s->job->m;
    r->runnable = false;
    if (r->at == s->plan->first[me] && !r->at_fence) now += m->enter;
    for (;;) {
        if (r->at == s->plan->first[me + 1]) {
            if (now > s->end) s->end = now;
            if (++r->round == s->job->rounds || s->plan->first[me] == r->at) return now;
            r->at = r->segment = s->plan->first[me];
            now += m->enter;
        }
        struct sim_step *p = &s->plan->step[r->at];
        switch ((enum sim_kind)(p->what >> SIM_SHIFT)) {
        case SIM_SEND: send_step(s, me, p->what & SIM_PEER, p->bytes, &now); break;
        case SIM_RECV: break;
        case SIM_COPY: now += p->bytes * m->copy * 1e-3; break;
        case SIM_REDUCE: now += p->bytes * m->combine * 1e-3; break;
        case SIM_FENCE:
            if (!fence_step(s, me, &now)) return now;
            break;
        case SIM_INSIDE: inside_step(s, me, p, now); return now;
        }
        r->at++;
    }
}

// One turn of a core: the next of its ranks looks, and runs if it can.
static void turn_core(struct sim *s, uint32_t c)
{
    struct core *core = &s->core[c];
    const struct sim_machine *m = &s->job->m;
    int n = ranks_on(s, c);
    uint32_t local = s->order[(uint32_t)core->cursor + c % (uint32_t)m->cores * s->most];
    uint32_t me = (uint32_t)(c / m->cores * m->ranks + c % m->cores + local * m->cores);
    struct rank *r = &s->rank[me];
    if (n > 1) {
        core->cursor = (core->cursor + 1) % n;
        core->time += s->by.turn;
    } else if (r->ready > core->time) {
        core->time = r->ready;
    }
    if (r->runnable && r->ready <= core->time) {
        core->runnable--;
        core->queued = true;    // until it is over: it may wake itself
        double now = run_rank(s, me, core->time);
        if (now > core->time) core->time = now;
        core->queued = false;
    }
    if (core->runnable > 0) push_core(s, c);
}

// ---- all of it ----

// The system takes the ranks of a core in turn, in an order that has nothing to do with their numbers: any one does.
static void shuffle(struct sim *s)
{
    uint64_t random = 1;
    for (uint32_t c = 0; c < s->job->m.cores; c++) {
        uint32_t *order = s->order + c * s->most, n = (uint32_t)ranks_on(s, c);
        for (uint32_t i = 0; i < n; i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            uint32_t k = (uint32_t)((random >> 33) % (i + 1));
            order[i] = order[k];
            order[k] = i;
        }
    }
}

static bool lay_out(struct sim *s)
{
    const struct sim_machine *m = &s->job->m;
    size_t n = (size_t)s->plan->ranks, cores = (size_t)(m->hosts * m->cores);
    s->nbucket = 1024;
    while (s->nbucket < 2 * n && s->nbucket < 1u << 23) s->nbucket *= 2;
    s->free = NOBODY;
    s->rank = calloc(n, sizeof *s->rank);
    s->core = calloc(cores, sizeof *s->core);
    s->host = calloc((size_t)m->hosts, sizeof *s->host);
    s->heap = calloc(cores, sizeof *s->heap);
    s->most = (uint32_t)((m->ranks + m->cores - 1) / m->cores);
    s->order = calloc((size_t)m->cores * s->most, sizeof *s->order);
    s->bucket = malloc(s->nbucket * sizeof *s->bucket);
    if (!s->rank || !s->core || !s->host || !s->heap || !s->bucket || !s->order) return false;
    shuffle(s);
    for (uint32_t i = 0; i < s->nbucket; i++) s->bucket[i] = NOBODY;
    for (uint32_t r = 0; r < n; r++) {
        s->rank[r].at = s->rank[r].segment = s->plan->first[r];
        wake(s, r, 0);
    }
    return true;
}

int sim_run(const struct sim_job *job, struct sim_plan *plan, struct sim_result *out)
{
    struct sim s = {.job = job, .plan = plan};
    bool good = sim_share(job, plan, &s.by) == 0 && lay_out(&s);
    while (good && s.nheap && !s.out_of_memory) turn_core(&s, pop_core(&s));
    for (int r = 0; r < plan->ranks && good; r++) good = s.rank[r].at == plan->first[r + 1];
    *out = (struct sim_result){.time = s.end / job->rounds,
                               .memory = plan->memory,
                               .messages = s.messages / job->rounds,
                               .steps = (double)plan->first[plan->ranks]};
    free(s.rank);
    free(s.core);
    free(s.host);
    free(s.heap);
    free(s.order);
    free(s.bucket);
    free(s.message);
    return good ? 0 : -1;
}
