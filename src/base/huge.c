// SPDX-License-Identifier: BSD-3-Clause
// Huge pages under busy buffers (huge.h). Called by collectives and by the shared-memory channel before
// they tell a peer an address.
//
// Always holds: advice to the kernel alone, and nothing depends on it. A program may give memory back and be given
// other pages at the same addresses, so what is known of a region is asked for again as it is used: of one that was
// gathered the kernel says so in a microsecond, and one that was refused is asked for less often, unless memory was
// short or the pages were held just then. Never when the administrator has switched huge pages off ("never"), never
// while a region has pages that were not touched yet.
#include "base/huge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/param.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "base/wait.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define SHIFT 21
#define REGIONS 512
#define REST 8       // times as long as gathering took, nothing is gathered: a ninth of the time at most, in the mean
#define AT_ONCE 8    // gatherings that may follow each other, if each takes what it should: a small job's buffers
#define REST_COLD 32    // of buffers that have left the caches, whose pages are most of all buffers' and gain the least
#define REFUSED 16      // times as many bytes as else until a region that was refused is asked for again
#define ASKED 8         // of what gathering should take, a share that only finds a region gathered

static struct uno_param after =
    UNO_PARAM_BY_MACHINE("huge_after", 16 << 20, 0, 1LL << 40,
                         "bytes that peers copy from or to 2 MiB of a buffer before these are "
                         "gathered into one huge page (0: never)");
UNO_PARAM_DECLARE(after);

// What is known of a region; two that fall on one entry push each other out and start anew.
static struct region {
    uintptr_t number;
    size_t bytes;     // of use, since it was asked for
    uint64_t last;    // as `used` was after its last use
    uintptr_t end;    // of that
    bool refused, gathered;
    bool cold;    // at its last use
} seen[REGIONS];
static enum { UNKNOWN, ALLOWED, FORBIDDEN } state;

static bool allowed(void)
{
    if (state != UNKNOWN) return state == ALLOWED;
    char text[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (f && !fgets(text, sizeof text, f)) text[0] = '\0';
    if (f) fclose(f);
    state = text[0] && !strstr(text, "[never]") ? ALLOWED : FORBIDDEN;
    return state == ALLOWED;
}

// ns: what gathering should take, and takes of late; when the last one ended, and how long it took; when all rests are
// over.
static uint64_t expected = 1, took = 1, ended, lasted, rested;

void uno_huge_decide(uint64_t gather_ns)
{
    expected = took = gather_ns ? gather_ns : 1;
}

// Whether it pays now: bytes of use of `after`, while gathering takes as long as expected.
static bool is_due(const struct region *r)
{
    size_t times = r->gathered || took < expected ? 1 : (size_t)(took / expected);
    if (r->refused) times *= REFUSED;
    if (r->bytes < (size_t)after.num * times) return false;
    uint64_t now = uno_now_ns();
    return r->cold ? now >= ended + REST_COLD * lasted : now + AT_ONCE * REST * expected >= rested;
}

// A page of a virtual machine that was never touched takes the host several times as long as the costs say, and a
// kernel that must look for memory longer still. *again: it may do at another time.
static bool gather(uintptr_t number, bool *again)
{
    *again = allowed();
    unsigned char there[(1 << SHIFT) / 4096];    // no page is smaller
    void *at = (void *)(number << SHIFT);
    if (!*again || mincore(at, 1 << SHIFT, there) != 0) return false;
    for (size_t i = 0, n = ((size_t)1 << SHIFT) / (size_t)sysconf(_SC_PAGESIZE); i < n; i++)
        if (!(there[i] & 1)) return false;
    uint64_t start = uno_now_ns();
    bool done = madvise(at, 1 << SHIFT, MADV_COLLAPSE) == 0;
    *again = !done && (errno == EAGAIN || errno == EBUSY || errno == ENOMEM);
    uint64_t end = uno_now_ns();
    if (!done || end - start >= expected / ASKED) {    // else it was gathered already
        ended = end;
        lasted = end - start;
        rested = (rested > start ? rested : start) + REST * lasted;
        took = (took + lasted) / 2;
    }
    return done;
}

static uint64_t used;    // bytes, since the program began

// Ranks that share a processor share its caches, and each counts what it uses itself. Where anything is streamed by the
// costs alone, they were measured with the same limit as others.
uint64_t uno_huge_cold_after(void)
{
    if (!uno_patience.crowded || uno_thresholds.streamed < UNO_THRESHOLD_NEVER) return uno_thresholds.cold;
    return uno_thresholds.cold / uno_patience.sharers;
}

bool uno_huge_is_cold(const void *at)
{
    uintptr_t number = (uintptr_t)at >> SHIFT;
    const struct region *r = &seen[number % REGIONS];
    return r->number == number && (r->cold || used - r->last >= uno_huge_cold_after());
}

size_t uno_huge_gathered(const void *at, size_t bytes)
{
    uintptr_t here = (uintptr_t)at, end = here + bytes;
    size_t sum = 0;
    for (uintptr_t number = here >> SHIFT; here < end; number++) {
        uintptr_t next = (number + 1) << SHIFT, until = next < end ? next : end;
        const struct region *r = &seen[number % REGIONS];
        if (r->number == number && r->gathered) sum += until - here;
        here = until;
    }
    return sum;
}

bool uno_huge_use_hot(const void *at, size_t bytes, size_t hot)
{
    uintptr_t here = (uintptr_t)at, end = here + bytes;
    bool all = true;
    if (after.num == 0) return false;
    for (uintptr_t number = here >> SHIFT; here < end; number++) {
        uintptr_t next = (number + 1) << SHIFT, until = next < end ? next : end;
        struct region *r = &seen[number % REGIONS];
        bool known = r->number == number;
        if (!known) *r = (struct region){.number = number};
        // What goes on where the last use ended is as cold as that was.
        r->cold = known && (used - r->last >= uno_huge_cold_after() || (r->cold && here == r->end));
        if (used - r->last < hot) r->bytes += until - here;
        used += until - here;
        r->last = used;
        r->end = until;
        if (is_due(r)) {
            bool again;
            r->gathered = gather(number, &again);
            r->refused = !r->gathered && !again;
            r->bytes = 0;
        }
        all = all && r->gathered;
        here = until;
    }
    return all;
}

bool uno_huge_use(const void *at, size_t bytes)
{
    return uno_huge_use_hot(at, bytes, uno_thresholds_stream(&uno_thresholds) ? 2 * uno_thresholds.cached : SIZE_MAX);
}
