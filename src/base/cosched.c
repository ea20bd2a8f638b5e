// SPDX-License-Identifier: BSD-3-Clause
// Ranks that share processors and run side by side (cosched.h).
#define _GNU_SOURCE
#include "base/cosched.h"

#include <sched.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/job.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/wait.h"

static struct uno_param homes = UNO_PARAM_BOOL(
    "wait_homes", 1,
    "twice or more times as many ranks as processors take these in turn, or in blocks while each exchanges with both "
    "neighbours, and two that wait for each other part (0: they stay where the kernel put them)");
UNO_PARAM_DECLARE(homes);

// The kernel lays ranks out by chance when they start, and what only yields it has no reason to move. Where they are
// as many on each processor, a rank looks every HOME_FROM turns whether it is on its own, and goes back; each time it
// had to, it looks half as often, so that the kernel has the last word where processors are not alike. (8 ranks on two
// cores, 8 bytes between ranks r and r + 4: 2.0 us where each pair has a core, 2.5 to 4.8 where not; windows of 2 KiB,
// 4 ranks: 13 us and 27.)
#define HOME_FROM 64
#define HOME_MOST 65536

#define LOOKS 16    // between two looks at the clock and at the other's door
#define GAVE_FIRST_NS 2000
#define GAVE_MOST_US 200    // a yield that took longer lost a slice
#define MISSES 8
#define RETRY 64

// SAMPLED waits for messages are timed together, so that messages of which one comes right behind the other count as
// they should, and what a rank does after one of these. PART of them in a row decide. Two ranks that share a processor
// pay for each message with a switch; apart with their lines, and with the time of the others, which stand still
// meanwhile. They part if one does so little between its waits, less than a LIGHTth of what giving the core away and
// getting it back takes (LIGHT_FARth where lines cost much), and messages have no more than LIGHT_BYTES over the cube
// of the ranks that share a processor (16 KiB of two, 2 KiB of four), and nothing else is waited for meanwhile. They
// come together again once their cycle, as often as ranks share a processor, takes longer than one beside each other
// did, or messages are longer, or after OTHERS waits for something else with fewer than PART of SAMPLED waits between
// them. (4 ranks on two cores, bursts of some 20 exchanges between barriers, 8 B: parted and together by turns 3.4 us,
// together 1.7.) Each time it takes twice as many to part anew. But one pair after the other does either: while
// processors have more ranks than their share, a pair parts after PART_UNEVEN at most, and only one of UNEVEN cycles
// counts that would bring it back (4 ranks between two chiplets, 8 B to 4 KiB: in one job of six one pair was apart and
// the other was not, 2.3 to 3.2 us instead of 0.7 to 1.9). Where more than SHARE ranks share a processor, two that
// parted seldom run at once.
#define SHARE 8
#define SAMPLED 8
#define PART 16
#define PART_MOST 128
#define PART_UNEVEN 32
#define LIGHT 6
#define LIGHT_FAR 12
#define LIGHT_BYTES 131072
#define COPIED 11000    // bytes per us
#define UNEVEN 8
#define OTHERS 64

// Lines taken from this rank by its neighbours, after which it votes for a layout. They are told some 32 at a time.
#define VOTED_BY 256

static struct {
    uint32_t n, own;    // processors; the home by this rank's turn, plus 1; 0: it has none
    cpu_set_t set;
    _Atomic uint32_t at, last, distance;    // home, plus 1; the turn of the last look, and turns between two
    bool apart;
    uint32_t part, others;    // samples that it takes to part; waits for something else, apart
    uint32_t alone;           // samples since the last of these
} home = {.part = PART};

static struct {
    _Atomic uint32_t *votes;    // NULL: this rank has none
    const _Atomic uint32_t *taken[UNO_NEIGHBOURS];
    uint32_t before[UNO_NEIGHBOURS];    // as they were when it voted last
    uint32_t turn, ranks;
    bool voted, blocks;    // for blocks; they are there
} ring;

static struct misses {
    uint32_t missed, waits;    // looks in vain, in a row; waits
} misses;                      // of all waits but those for messages

static struct {
    const struct uno_door *of;
    _Atomic bool beside;    // as last seen
    struct misses misses;
    uint32_t row, uneven;     // samples in a row; of those to come back by, in an uneven layout
    uint64_t began, bytes;    // ticks, of the first of SAMPLED cycles; 0: there is none. What came in them
    uint64_t ended, work;     // ticks, of a wait that is a sample; 0: it is none. From there to the next
    uint64_t switched;        // ticks of a cycle beside it, less its copies: the mean of late; 0: not known
    _Atomic uint64_t gave;    // likewise, of giving the core away and getting it back
} pair;

// The processor of the rank of a turn, plus 1, or so many after that.
static uint32_t processor(uint32_t turn, uint32_t more)
{
    uint32_t skip = ((ring.blocks ? turn * home.n / ring.ranks : turn) + more) % home.n, cpu = 0;
    while (!CPU_ISSET(cpu, &home.set) || skip-- > 0) cpu++;
    return cpu + 1;
}

// A new home, which is looked for soon.
static void live_at(uint32_t to)
{
    atomic_store_explicit(&home.at, to, memory_order_relaxed);
    atomic_store_explicit(&home.distance, HOME_FROM, memory_order_relaxed);
}

void uno_cosched_home(uint32_t turn, uint32_t ranks)
{
    // Relaxed, all of this file: hints.
    atomic_store_explicit(&home.at, 0, memory_order_relaxed);
    if (!homes.num || sched_getaffinity(0, sizeof home.set, &home.set) != 0) return;
    home.n = (uint32_t)CPU_COUNT(&home.set);
    home.apart = false;
    home.part = PART;
    pair.of = NULL;
    ring.turn = turn;
    ring.ranks = ranks;
    ring.votes = NULL;
    ring.voted = ring.blocks = false;
    home.own = home.n >= 2 && ranks > home.n && ranks % home.n == 0 ? processor(turn, 0) : 0;
    live_at(home.own);
}

void uno_cosched_neighbours(_Atomic uint32_t *votes, const _Atomic uint32_t *const taken[UNO_NEIGHBOURS])
{
    if (home.own == 0 || ring.ranks < 4) return;
    ring.votes = votes;
    for (int i = 0; i < UNO_NEIGHBOURS; i++) {
        ring.taken[i] = taken[i];
        ring.before[i] = atomic_load_explicit(taken[i], memory_order_relaxed);
    }
}

void uno_cosched_settle(void)
{
    ring.votes = NULL;
}

uint32_t uno_cosched_home_is(void)
{
    return atomic_load_explicit(&home.at, memory_order_relaxed);
}

// The one after a processor, both plus 1; some are in the set.
static uint32_t next_to(uint32_t at)
{
    uint32_t cpu = at % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, &home.set)) cpu = (cpu + 1) % CPU_SETSIZE;
    return cpu + 1;
}

static uint32_t here(void)
{
    return (uint32_t)sched_getcpu() + 1;
}

// Bound there for a moment, this thread moves; what it was bound to before, by the user too, it is bound to again.
static void go_home(void)
{
    cpu_set_t may, one;
    uint32_t to = uno_cosched_home_is();
    if (to == 0 || sched_getaffinity(0, sizeof may, &may) != 0 || !CPU_ISSET(to - 1, &may)) return;
    CPU_ZERO(&one);
    CPU_SET(to - 1, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof may, &may);
}

static void vote(void)
{
    uint32_t now[UNO_NEIGHBOURS], n[UNO_NEIGHBOURS], all = 0;
    for (int i = 0; i < UNO_NEIGHBOURS; i++) {
        now[i] = atomic_load_explicit(ring.taken[i], memory_order_relaxed);
        all += n[i] = now[i] - ring.before[i];
    }
    if (all < VOTED_BY) return;
    for (int i = 0; i < UNO_NEIGHBOURS; i++) ring.before[i] = now[i];
    uint32_t less = n[UNO_BEFORE] < n[UNO_AFTER] ? n[UNO_BEFORE] : n[UNO_AFTER];
    bool blocks = 3 * less >= n[UNO_BEFORE] + n[UNO_AFTER] && n[UNO_ACROSS] < less;
    if (blocks != ring.voted) atomic_fetch_add_explicit(ring.votes, blocks ? 1 : UINT32_MAX, memory_order_relaxed);
    ring.voted = blocks;
}

static void follow_votes(void)
{
    bool blocks = atomic_load_explicit(ring.votes, memory_order_relaxed) == ring.ranks;
    if (blocks == ring.blocks) return;
    ring.blocks = blocks;
    home.own = processor(ring.turn, 0);
    live_at(home.apart ? uno_cosched_home_is() : home.own);
    uno_log(2, "waits: ranks %s share a processor", blocks ? "beside each other" : "in turn");
}

// Threads that look at the same time spoil a distance, no more.
void uno_cosched_turn(uint32_t turns)
{
    if (turns % HOME_FROM != 0 || uno_cosched_home_is() == 0) return;
    uint32_t last = atomic_load_explicit(&home.last, memory_order_relaxed);
    if (turns - last < atomic_load_explicit(&home.distance, memory_order_relaxed)) return;
    atomic_store_explicit(&home.last, turns, memory_order_relaxed);
    if (ring.votes) {
        vote();
        follow_votes();
    }
    uint32_t d = atomic_load_explicit(&home.distance, memory_order_relaxed);
    bool away = here() != uno_cosched_home_is();
    if (away) go_home();
    d = away ? 2 * d : d / 2;
    d = d < HOME_FROM ? HOME_FROM : d > HOME_MOST ? HOME_MOST : d;
    atomic_store_explicit(&home.distance, d, memory_order_relaxed);
}

static bool was_beside(void)
{
    return atomic_load_explicit(&pair.beside, memory_order_relaxed);
}

static uint64_t gave(void)
{
    uint64_t g = atomic_load_explicit(&pair.gave, memory_order_relaxed);
    return g ? g : GAVE_FIRST_NS * uno_ticks_per_us() / 1000;
}

// While ranks change their processors, some yields and cycles take ten times as long, and raise what is known too far.
static uint64_t mean(uint64_t before, uint64_t now)
{
    uint64_t most = before + before / 2;
    return before - before / 16 + (now < most ? now : most) / 16;
}

void uno_cosched_gave(uint64_t ticks)
{
    if (!was_beside() || ticks > GAVE_MOST_US * uno_ticks_per_us()) return;
    atomic_store_explicit(&pair.gave, mean(gave(), ticks), memory_order_relaxed);
}

// Home, to where the higher one of two lives while they are apart, or back.
static void change_home(void)
{
    home.others = home.alone = 0;
    home.apart = !home.apart;
    if (!home.apart && home.part < PART_MOST) home.part *= 2;
    uint32_t of = (uint32_t)(pair.of - uno_patience.doors);
    uint32_t to = !home.apart ? home.own : home.own ? processor(of, 1) : next_to(here());
    live_at(to);
    uno_log(2, "waits: %s rank %u of this host", home.apart ? "apart from" : "no longer apart from", of);
    go_home();
}

// Whether this processor has more or fewer ranks than its share.
static bool is_uneven(void)
{
    uint32_t there = 1, at = here(), all = uno_patience.ndoors;
    for (uint32_t i = 0; i < all; i++)
        there += i != uno_patience.own && atomic_load_explicit(&uno_patience.doors[i].ran, memory_order_relaxed) == at;
    return there < all / home.n || there > (all + home.n - 1) / home.n;
}

// Ticks of both copies of a message inside one core's caches.
static uint64_t copies(size_t bytes)
{
    return bytes * uno_ticks_per_us() / COPIED;
}

// Whether a cycle apart from the other took longer than one beside it does, of which a yield is a part: gave() is
// above that at times, as said.
static bool is_dear(uint64_t cycle, size_t bytes, uint32_t share)
{
    uint64_t least = gave() / 4, switched = pair.switched > least ? pair.switched : least;
    return cycle * share > switched + copies(bytes);
}

static void learn_beside(uint64_t cycle, size_t bytes)
{
    if (cycle <= copies(bytes) || is_uneven()) return;
    uint64_t now = cycle - copies(bytes);
    pair.switched = pair.switched ? mean(pair.switched, now) : now;
}

// What this rank did after a wait and how long the next took decide where it goes: of two that share a processor the
// higher one.
static void look_at_cycle(uint64_t cycle, size_t bytes)
{
    uint64_t g = gave();
    bool higher = pair.of < &uno_patience.doors[uno_patience.own];
    uint32_t share = uno_patience.ndoors > home.n ? uno_patience.ndoors / home.n : 1;
    bool is_long = bytes > LIGHT_BYTES / (share * share * share);
    bool light = !is_long && pair.work * (uno_copy_is_light() ? LIGHT : LIGHT_FAR) < g;
    bool beside = was_beside(), heavy = is_long || is_dear(cycle, bytes, share);
    if (++home.alone >= PART) home.others = 0;
    if (beside) learn_beside(cycle, bytes);
    if (!(beside ? light && higher : heavy))
        pair.row = 0;
    else if (beside || is_long || ++pair.uneven % UNEVEN == 0 || !is_uneven())
        pair.row++;
    if (pair.row < PART) return;
    if (beside && pair.row < home.part && (pair.row < PART_UNEVEN || !is_uneven())) return;
    bool away = uno_cosched_home_is() != 0 && here() != uno_cosched_home_is();    // the kernel has moved it
    if (beside ? !away : home.apart)
        change_home();
    else if (away)
        go_home();
    pair.row = 0;
}

static void see(const struct uno_door *of)
{
    struct uno_door *own = &uno_patience.doors[uno_patience.own];
    if (!uno_patience_beside(own)) atomic_store_explicit(&own->ran, here(), memory_order_relaxed);
    atomic_store_explicit(&pair.beside, uno_patience_beside(of), memory_order_relaxed);
    pair.of = of;
}

static bool runs(const struct uno_door *d)
{
    return atomic_load_explicit(&d->runs, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&d->mode, memory_order_relaxed) == UNO_DOOR_AWAKE;
}

// Looks in vain keep others off the core: after MISSES in a row one wait in RETRY looks. None does where none yields.
static void begin(struct uno_patience *p, const struct uno_door *of, const struct misses *m)
{
    if (uno_patience.yields == 0 || (m->missed > MISSES && m->waits % RETRY != 0)) return;
    p->with = of;
    p->until = 0;
}

static void end(const struct uno_patience *p, struct misses *m)
{
    m->waits++;
    if (p->with) m->missed = p->yields == 0 ? 0 : m->missed + 1;
}

void uno_cosched_wait(struct uno_patience *p, const struct uno_door *of)
{
    pair.row = home.alone = 0;
    if (home.apart && ++home.others >= OTHERS) change_home();
    if (of && !uno_patience_beside(of) && runs(of)) begin(p, of, &misses);
}

void uno_cosched_waited(const struct uno_patience *p)
{
    end(p, &misses);
}

// Two pairs of which one rank each runs would give their processors away at the same time, again and again, so one that
// finds the other not running looks for a while that is drawn (4 ranks on two cores, MPI_Test, 8 B between ranks 2 r
// and 2 r + 1: a round trip 1.3 to 1.9 us, now 0.8).
uint64_t uno_cosched_looks(struct uno_patience *p, const struct uno_door *of)
{
    static uint32_t drawn;
    bool apart = of && !uno_patience_beside(of), there = apart && runs(of);
    p->until = 0;
    p->with = there ? of : NULL;
    if (!apart || there) return 0;
    drawn = drawn * 1664525 + 1013904223 + (uint32_t)uno_ticks();
    return (drawn >> 8) % (2 * gave());
}

void uno_cosched_wait_message(struct uno_patience *p, const struct uno_door *of)
{
    if (of != pair.of) pair.row = pair.misses.missed = 0, pair.began = pair.ended = 0;
    // Of one that answers soon the door is not looked at each time: its line is the owner's.
    if (of != pair.of || pair.ended || was_beside() || pair.misses.missed) see(of);
    if (pair.ended) pair.work = uno_ticks() - pair.ended;
    pair.ended = 0;
    if (!was_beside()) begin(p, of, &pair.misses);
}

void uno_cosched_waited_message(const struct uno_patience *p, bool came, size_t bytes)
{
    end(p, &pair.misses);
    if (came) pair.bytes += bytes;
    if (pair.misses.waits % SAMPLED == SAMPLED / 2) pair.ended = uno_ticks();
    if (pair.misses.waits % SAMPLED != 0) return;
    if (pair.began && home.n >= 2 && uno_patience.ndoors <= SHARE * home.n)
        look_at_cycle((uno_ticks() - pair.began) / SAMPLED, pair.bytes / SAMPLED);
    pair.bytes = 0;
    pair.began = uno_ticks();
}

bool uno_cosched_spin(struct uno_patience *p)
{
    if (++p->looks % LOOKS != 0) return true;
    uint64_t now = uno_ticks();
    if (p->until == 0) p->until = now + gave();
    return now < p->until && runs(p->with);
}

bool uno_cosched_again(struct uno_patience *p)
{
    if (!p->with || !runs(p->with)) return false;
    p->until = 0;
    return true;
}
