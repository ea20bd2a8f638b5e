// SPDX-License-Identifier: BSD-3-Clause
// Few lines of a slot that come together with the stamp's (segment.h): their writer asks for all of them before it
// fills the first, their reader, where it has a core of its own, at each look at the stamp. Between two chiplets each
// way that one waits for after the other costs as much as the stamp (2 ranks, 64 B: bcast 0.37 to 0.31 us, scatter 0.40
// to 0.32, gatherv of 512 B 0.52 to 0.38; 4 ranks on two cores, scatterv of 64 B 0.28 to 0.22). A writer of many lines
// loses them too often before it is done (1 KiB: 0.16 to 0.26), and of four or more readers the more so (512 B, a core
// each: 8 ranks bcast 0.95 to 0.74 us, scatter 1.75 to 1.26, scatterv 1.85 to 1.18; 4 ranks 0.70 to 0.60). Called by
// segment.c, small.c, large*.c, dense.c.
#include "base/copy.h"
#include "base/patience.h"
#include "coll/segment.h"
#include "core/word.h"

#define GAPS 2    // between two looks: a block comes later than a stamp alone

void uno_seg_ask(struct uno_coll *u, uint64_t k, const char *at, size_t bytes)
{
    if (bytes > UNO_COPY_AHEAD) return;
    uno_copy_ask(at, bytes);
    uno_copy_ask((const char *)uno_seg_line(u, u->me, k), sizeof(struct uno_line));
}

// Who finds a stamp at the first look is behind its writer, and the next line is written, too, or still as this rank
// has it in its cache: asked for now, it is there at the next call (2 ranks, 8 B in a row: bcast 0.097 to 0.069 us,
// gather 0.108 to 0.068, gatherv 0.140 to 0.097, scan 0.117 to 0.098; with a barrier before each call no difference).
void uno_seg_wait_soon(struct uno_coll *u, int r, uint64_t k, const char *at, size_t bytes)
{
    struct uno_line *line = uno_seg_line(u, r, k);
    struct uno_patience p = {0};
    if (!u->crowded && uno_word_reached(&line->stamp, k)) {
        __builtin_prefetch(uno_seg_line(u, r, k + 1));
        return;
    }
    bool few = bytes <= (u->n > 2 ? UNO_COPY_AHEAD / 2 : UNO_COPY_AHEAD) && !u->crowded;
    while (few && !uno_word_reached(&line->stamp, k)) {
        if (p.looks == UNO_WORD_LOOKS || !uno_patience_spin(&p)) break;
        uno_patience_apart(GAPS);
        uno_copy_soon(at, bytes);
    }
    uno_seg_wait_line(u, r, line, k);
}

void uno_seg_wait_all(struct uno_coll *u, uint64_t k, size_t bytes)
{
    for (int r = 0; r < u->n; r++)
        if (r != u->me) uno_seg_wait_soon(u, r, k, uno_seg_slot(u, r, k, bytes), bytes);
}
