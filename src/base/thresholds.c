// SPDX-License-Identifier: BSD-3-Clause
// The formulas (thresholds.h). Called when the library opens, and by unisono-info.
//
// Always holds: whatever the costs, every threshold stays within the limits that its users can bear; no formula looks
// at a constant that stands for a processor.
#include "base/thresholds.h"

#include <string.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/huge.h"
#include "base/machine.h"
#include "base/param.h"

#define KB ((uint64_t)1024)
#define RING_MOST (128 * KB)    // of one message: three fit the byte ring of a pair (chan/shm/ring.h)

#define TURN_PIECE (4 * KB)    // where the ring is past the caches: lines that both know are near, and read in pages

#define SLOTS_MOST (128 * KB)    // two of them fit a wide slot
#define LINES_TOLD 5             // by a copy across of a collective
#define LINES_TOLD_LONE 3        // of two ranks, of whom one tells and the other does
#define ERRAND_NS 200            // that both sides of an errand compute
#define COMBINED (8 * KB)        // bytes of an accumulate across processes per call (rma/combine.c)
#define CALL_DEAR 6              // a call of the kernel whose code has left the caches, in calls
#define EAGER_DEAR (64 * KB)     // where two copies take as long as even such a one (Xeon 167, 2 ranks: 8 us, 11)
#define CALLS_APART 32           // of a copy across, each as long as a call: then a second call is a few per cent

struct uno_thresholds uno_thresholds, uno_thresholds_told;

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

// The power of two at or above.
static uint64_t up(uint64_t value)
{
    uint64_t power = 1;
    while (power < value && power < 1ULL << 40) power *= 2;
    return power;
}

// The nearest power of two, by ratio.
static uint64_t near(uint64_t value)
{
    uint64_t power = up(value);
    return value * value * 2 <= power * power ? power / 2 : power;
}

// Bytes that take `ns` at `ps` per byte.
static uint64_t bytes_in(uint64_t ns, uint64_t ps)
{
    return ns * 1000 / (ps ? ps : 1);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t cheaper_write(const struct uno_costs *c)
{
    return c->write < c->write_ahead ? c->write : c->write_ahead;
}

// Some KiB from core to core, through lines that both know or past the caches, whichever is cheaper.
struct route {
    uint64_t wait;           // ns: of a reader that follows the writer, for a piece
    uint64_t start;          // ns: before the first byte
    uint64_t write, read;    // ps per byte
    bool past;
};

static struct route route_of(const struct uno_costs *c)
{
    struct route plain = {c->line, c->data, cheaper_write(c), c->read, false};
    struct route past = {c->line + c->past, c->past, c->past_write, c->past_read, true};
    return c->past_write && past.write + past.read < plain.write + plain.read ? past : plain;
}

// The time of n bytes through the ring, ps: whole, the reader begins when all is there; in pieces, both work at once.
static uint64_t ring_ps(const struct uno_costs *c, uint64_t piece, uint64_t n)
{
    struct route r = route_of(c);
    if (n <= 2 * piece) return r.start * 1000 + n * (r.write + r.read);
    return r.start * 1000 + piece * (r.write + r.read) + (n - piece) * larger(r.write, r.read);
}

static uint64_t piece_of(const struct uno_costs *c)
{
    struct route r = route_of(c);
    return within(up(bytes_in(r.wait, larger(r.write, r.read))), KB, 16 * KB);
}

static uint64_t looked_up_ps(const struct uno_costs *c)
{
    return c->page * 1000ULL / (4 * KB);
}

// A copy across in huge pages, ps per byte.
static uint64_t huge_ps(const struct uno_costs *c)
{
    return c->cross > looked_up_ps(c) ? c->cross - looked_up_ps(c) : 0;
}

// A copy across of n bytes in small pages, ps: by one, or by two, who meet at every page.
static uint64_t across_ps(const struct uno_costs *c, uint64_t n)
{
    uint64_t alone = c->call * 1000ULL + n * c->cross;
    uint64_t both = c->call * 1000ULL + n * c->cross / 2 + larger(n, 64 * KB) * c->meet * 1000 / (64 * KB);
    return alone < both ? alone : both;
}

// The last size, in steps of 1 KiB, at which the ring is not dearer than a copy across in small pages, but for so many
// eighths of that.
static uint64_t eager_of(const struct uno_costs *c, uint64_t piece, uint64_t eighths)
{
    uint64_t n = 4 * KB;
    while (n < RING_MOST && ring_ps(c, piece, n + KB) <= across_ps(c, n + KB) * (8 + eighths) / 8) n += KB;
    return n;
}

// In one message asking for lines ahead costs what it saves, or a little more; in windows, where the reader has the
// lines of many messages, it gains a quarter (Xeon 207, writes 60 to 70 ps per byte either way, windows of 64 x 2 KiB
// 17.9 and 13.5 us). So measurements that differ by no more than a third are no reason against it.
static bool is_ahead(const struct uno_costs *c)
{
    return c->write_ahead < c->write || (!route_of(c).past && 3ULL * c->write_ahead <= 4ULL * c->write);
}

// Lines that cost so much, and copies across in huge pages.
static struct uno_costs in_huge(const struct uno_costs *c, uint32_t write, uint32_t read)
{
    struct uno_costs as = *c;
    as.write = write;
    as.read = read;
    as.cross = (uint32_t)huge_ps(c);
    return as;
}

// Found only after much has been sent, so compared with copies in huge pages.
static uint64_t eager_light_of(const struct uno_costs *c)
{
    struct uno_costs light = in_huge(c, c->write < c->read ? c->write : c->read, c->read);
    return eager_of(&light, piece_of(&light), 0);
}

// In blocks that both sides write in turns a line travels once per message, not twice.
static uint64_t eager_turn_of(const struct uno_costs *c, const struct uno_thresholds *t)
{
    struct uno_costs turn = in_huge(c, c->read / 2, c->read / 2);
    return t->grows ? larger(eager_of(&turn, t->turn_piece, 0), t->eager_light) : t->eager_light;
}

// A root that has copied its own block, at about the cost of huge pages, helps with the others' while these look up
// small ones: %, of the share that keeps all of them busy equally long. Nothing where the look-ups are the lesser part.
static uint64_t late_of(const struct uno_costs *c)
{
    uint64_t part = looked_up_ps(c) * 100 / (c->cross ? c->cross : 1);
    return part < 50 ? 0 : within(part, 50, 100);
}

// Bytes after which gathering 2 MiB has paid: what is lost per byte without is looking up pages, or the ring instead of
// a copy by both sides.
static uint64_t huge_after_of(const struct uno_costs *c)
{
    uint64_t ring = larger(route_of(c).write, route_of(c).read), lost = looked_up_ps(c);
    if (ring > huge_ps(c) / 2 && ring - huge_ps(c) / 2 < lost) lost = ring - huge_ps(c) / 2;
    return near(within(bytes_in((uint64_t)c->gather * 1000, lost), KB * KB, KB * KB * KB));
}

// The power of two up to which a long message is streamed through the ring rather than copied across in small pages.
static uint64_t paged_of(const struct uno_costs *c, uint64_t piece)
{
    uint64_t n = KB;
    while (n < UNO_THRESHOLD_NEVER && ring_ps(c, piece, 2 * n) <= across_ps(c, 2 * n)) n *= 2;
    return n;
}

// Buffers that have left the caches are copied across at half the speed, and by two ranks no faster than by one, for
// memory keeps both waiting. A ring past the caches does as well as that, and looks no pages up.
static uint64_t streamed_of(const struct uno_costs *c)
{
    struct route r = route_of(c);
    if (!r.past || larger(r.write, r.read) > 2 * c->cross) return UNO_THRESHOLD_NEVER;
    return 2 * c->cache * KB * KB;
}

// While a root copies its own block past the caches: %, of theirs, that others copy across, at that speed.
static uint64_t meanwhile_of(const struct uno_costs *c)
{
    if (streamed_of(c) == UNO_THRESHOLD_NEVER) return 0;
    return within(c->past_write * 100ULL / (2ULL * c->cross), 0, 50);
}

// Up to here a block of a collective had better be written into a slot of the segment and read there: that is two
// copies, one after the other. A copy across, of huge pages, needs both sides' addresses and ends told besides.
static uint64_t slots_of(const struct uno_costs *c, uint64_t lines)
{
    uint64_t twice = route_of(c).write + route_of(c).read, once = huge_ps(c);
    if (twice <= once) return SLOTS_MOST;
    return within(near(bytes_in(c->call + lines * c->line, twice - once)), 4 * KB, SLOTS_MOST);
}

// What bytes in the lines of an errand cost more than in a copy across, ps each: they are written and read, and neither
// core goes on meanwhile.
static uint64_t errand_ps(const struct uno_costs *c)
{
    uint64_t twice = 2ULL * (cheaper_write(c) + c->read);
    return twice > c->cross ? twice - c->cross : 0;
}

// What is as large as the gain of `ns`: bytes in the lines of an errand.
static uint64_t errand_bytes(const struct uno_costs *c, uint64_t ns)
{
    uint64_t ps = errand_ps(c);
    return ps ? within(bytes_in(ns, ps), UNO_ERRAND_NEAR, UNO_ERRAND_MOST) : UNO_ERRAND_MOST;
}

// Of puts and gets, each of which would be one call of the kernel.
static uint64_t left_of(const struct uno_costs *c)
{
    uint64_t lines = 2ULL * c->line + ERRAND_NS;
    if (lines >= c->call) return 0;
    return c->call > lines + c->data ? errand_bytes(c, c->call - lines - c->data) : UNO_ERRAND_NEAR;
}

// A wake must not take longer than the accumulate across processes, which is read and written in pieces.
static uint64_t rouse_of(const struct uno_costs *c)
{
    uint64_t ps = 2 * (c->cross + c->call * 1000ULL / COMBINED);
    return within(near(bytes_in(c->wake, ps)), 32 * KB, 64 * KB * KB);
}

struct uno_thresholds uno_thresholds_of(const struct uno_costs *c)
{
    struct uno_thresholds t;
    t.ahead = is_ahead(c);
    t.piece = piece_of(c);
    t.long_piece = within(4 * t.piece, 4 * KB, 32 * KB);
    t.grows = route_of(c).past;
    t.turn_piece = t.grows && t.piece > TURN_PIECE ? TURN_PIECE : t.piece;
    // Where lines are asked for ahead, windows gain several times over what one message may lose: in a copy across
    // their receiver works, in the ring both sides do (Xeon 207, us, ring and across: one message of 12 KiB 1.9 both, a
    // window of 64 of them 57 and 78).
    t.eager = eager_of(c, t.piece, t.ahead);
    t.eager_light = eager_light_of(c);
    t.eager_turn = eager_turn_of(c, &t);
    t.alone = within(near(2 * bytes_in(c->meet, c->cross)), 4 * KB, 256 * KB);
    t.alone_crowded = within(near(CALLS_APART * bytes_in(c->call, c->cross)), t.alone, KB * KB);
    t.help = within(near(bytes_in(c->wake, c->cross)), 256 * KB, 64 * KB * KB);
    t.late = late_of(c);
    t.meanwhile = meanwhile_of(c);
    t.call_worth = within((bytes_in(c->call, c->cross) + KB / 2) / KB * KB, 2 * KB, 256 * KB);
    t.eager_dear = within(CALL_DEAR * t.call_worth, t.eager, t.eager > EAGER_DEAR ? t.eager : EAGER_DEAR);
    t.paged = paged_of(c, t.piece);
    t.streamed = streamed_of(c);
    t.cold = t.streamed < UNO_THRESHOLD_NEVER ? t.streamed : c->cache * (KB * KB / 2 * 3);
    t.slots = slots_of(c, LINES_TOLD);
    t.slots_lone = t.grows ? t.slots : slots_of(c, LINES_TOLD_LONE);
    t.coll_direct = within(near(t.call_worth), 4 * KB, 256 * KB);
    t.left = left_of(c);
    t.brought = within(errand_bytes(c, c->call), KB, UNO_ERRAND_MOST);
    t.rouse = rouse_of(c);
    t.huge_after = huge_after_of(c);
    t.spin = within((c->wake * 3ULL / 2 + 2500) / 5000 * 5, 20, 500);
    t.gap = c->gap;
    t.cached = c->cache * KB * KB;
    return t;
}

size_t uno_thresholds_spread(void)
{
    return uno_thresholds.grows ? 2 * uno_own_cache() : 0;
}

#define INFO(field, unit, param, meaning)                                                                              \
    {                                                                                                                  \
#field, unit, meaning, param, offsetof(struct uno_thresholds, field)                                           \
    }
static const struct uno_threshold_info infos[] = {
    INFO(ahead, "", NULL, "copies into shared lines ask for them ahead"),
    INFO(piece, "bytes", NULL, "the least of a message in the ring; up to two of them it is told once"),
    INFO(long_piece, "bytes", NULL, "the most: longer messages leave in quarters"),
    INFO(turn_piece, "bytes", NULL, "as piece, in lines that both sides write in turns"),
    INFO(grows, "", NULL, "rings that are used much grow until they leave the reader's caches"),
    INFO(eager, "bytes", NULL, "messages go through the ring up to here, above by a copy across processes"),
    INFO(eager_light, "bytes", NULL, "the same while lines that a reader has cost no more to write than to read"),
    INFO(eager_turn, "bytes", NULL, "the same in lines that both sides write in turns"),
    INFO(eager_dear, "bytes", NULL, "the same while copies across processes take much longer than they cost here"),
    INFO(alone, "bytes", NULL, "the receiver copies alone up to here, above each side a half"),
    INFO(alone_crowded, "bytes", NULL, "the same where ranks outnumber their processors"),
    INFO(help, "bytes", NULL, "a sender that sleeps is woken from here on, to copy its half"),
    INFO(late, "%", NULL, "of its share of others' blocks that a root with one to copy first takes, in small pages"),
    INFO(meanwhile, "%", NULL, "of a large gather's blocks that others copy across while the root copies its own"),
    INFO(call_worth, "bytes", NULL, "what the fixed cost of a copy across processes would copy"),
    INFO(paged, "bytes", NULL, "messages whose buffers lie in small pages are streamed through the ring up to here"),
    INFO(streamed, "bytes", NULL,
         "used since a buffer's last use, so that it left the caches: longer ones are streamed, too"),
    INFO(cold, "bytes", NULL, "used since a buffer's last use, so that messages and windows take it to lie in memory"),
    INFO(slots, "bytes", NULL, "blocks of collectives go through a slot up to here, or in proportion to it"),
    INFO(slots_lone, "bytes", NULL, "the same for a broadcast or reduction of two ranks"),
    INFO(coll_direct, "bytes", "coll_direct_min", "nonblocking collectives copy between the buffers from here on"),
    INFO(left, "bytes", NULL, "puts and gets on a process's own memory are left to a target that waits up to here"),
    INFO(brought, "bytes", NULL, "accumulates that are left to it bring their data up to here, above it copies them"),
    INFO(rouse, "bytes", NULL, "accumulates on such memory wake a target that sleeps from here on"),
    INFO(huge_after, "bytes", "huge_after", "copied from or to 2 MiB, after which gathering them has paid"),
    INFO(spin, "us", "wait_spin_us", "a wait looks so long before it sleeps"),
    INFO(gap, "ns", "wait_gap_ns", "between two looks of a wait for a line"),
    INFO(cached, "bytes", NULL, "of all ranks' buffers: beyond, crowded ranks hand large blocks round in windows"),
};

const struct uno_threshold_info *uno_threshold_info(size_t i)
{
    return i < sizeof infos / sizeof *infos ? &infos[i] : NULL;
}

uint64_t uno_threshold_at(const struct uno_thresholds *t, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)t + infos[i].at, sizeof value);
    return value;
}

static struct uno_param *param_of(const char *name)
{
    size_t n;
    struct uno_param *const *all = uno_params_all(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

static void decide(const struct uno_costs *c)
{
    struct uno_copy_costs copy = {(uint32_t)cheaper_write(c), c->read, c->data, c->past, c->past_write, c->past_read};
    uno_copy_decide(uno_thresholds.ahead != 0, (size_t)uno_thresholds.cached / 2, &copy);
    uno_huge_decide(c->gather * UINT64_C(1000));
}

// Programs that open no job, and channels under test, have the table's.
__attribute__((constructor)) static void begin(void)
{
    const char *name;
    uno_thresholds = uno_thresholds_told = uno_thresholds_of(uno_costs_known(&name));
    decide(uno_costs_known(&name));
}

void uno_thresholds_set(const struct uno_machine *m, bool say)
{
    if (say && *m->wrong) uno_log(0, "%s", m->wrong);
    struct uno_thresholds t = uno_thresholds_of(&m->cost);
    uno_thresholds_told = uno_thresholds_of(&m->told);
    t.coll_direct = uno_thresholds_told.coll_direct;    // reductions among others
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        struct uno_param *p = infos[i].param ? param_of(infos[i].param) : NULL;
        if (!p) continue;    // mpiexec has no such parameter
        uint64_t value = uno_threshold_at(&t, i);
        uno_param_derive(p, (int64_t)value);
        value = (uint64_t)p->num;
        memcpy((char *)&t + infos[i].at, &value, sizeof value);
    }
    uno_thresholds = t;
    decide(&m->cost);
}
