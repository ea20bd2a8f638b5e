// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules (rules.h), and the sizes in them that follow from what the machine's paths cost.
#include "coll/rules.h"

#include <stdint.h>

#include "base/thresholds.h"
#include "coll/segment.h"

#define COUNT(rules) (sizeof(rules) / sizeof *(rules))

#define SOME_WINDOWS (256 << 10)    // with less, ranks would mostly wait for each other

#define FLAG(i) ((size_t)1 << (40 + (i)))

// From more than so many bytes on, where the threshold `slots` is UNO_SEG_SLOT: elsewhere in proportion to it.
#define BEYOND(n) (FLAG(0) | (n))

// The same, where two copies by two ranks at once take less than one across memory in small pages, whatever its size.
#define STREAMED(n) (FLAG(1) | (n))

// The same, where wide slots are spread beyond the readers' caches (segment.h).
#define SPREAD(n) (FLAG(2) | (n))

// The same, where both is so.
#define BOTH(n) (STREAMED(n) | SPREAD(n))

// As BEYOND, times the other ranks: each calls the kernel for each of them, and calls that copy from one process at
// the same time wait for each other.
#define GROWING(n) (FLAG(3) | (n))

// From where the buffers of all ranks are so many times what a cache holds.
#define UNCACHED(times) (FLAG(4) | (times))

// From where they are so many times what leaves the cache, and messages would be streamed.
#define COLD(times) (FLAG(5) | (times))

// The same, where streaming is cheap and slots are spread, too.
#define BOTH_COLD(times) (FLAG(1) | FLAG(2) | COLD(times))

// As BEYOND, by the threshold `slots_lone`: where one of two ranks gives and the other takes.
#define LONE(n) (FLAG(6) | (n))

// Where lines are dear to write (threshold `ahead`): more than so many bytes, and more than so many quarters of what
// goes at once (`eager`).
#define DEAR(n) (FLAG(7) | (n))
#define DEAR_EAGER(quarters) (DEAR(quarters) | FLAG(8))

// For messages: up to 8 ranks as measured, of more as the simulation finds on networks of 1 to 12 GB/s and 2 to 30 us
// (docs/design/simulate.md), which differ by a factor of four at most; the least sizes are taken.
static const struct uno_rule built_in[] = {
    {UNO_BARRIER, 0, 0, UNO_ALG_DISSEMINATION},
    {UNO_BCAST, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 4, 128 << 10, UNO_ALG_SCATTER},
    {UNO_BCAST, 4, 2 << 20, UNO_ALG_CHAIN},
    {UNO_BCAST, 32, 2 << 20, UNO_ALG_SCATTER},
    {UNO_BCAST, 32, 8 << 20, UNO_ALG_CHAIN},
    {UNO_BCAST, 128, 128 << 10, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 128, 256 << 10, UNO_ALG_SCATTER},
    {UNO_BCAST, 512, 256 << 10, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 512, 1 << 20, UNO_ALG_SCATTER},
    {UNO_REDUCE, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 3, 32 << 10, UNO_ALG_RING},
    {UNO_REDUCE, 64, 32 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 64, 128 << 10, UNO_ALG_RING},
    {UNO_REDUCE, 512, 128 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 512, 1 << 20, UNO_ALG_RING},
    {UNO_ALLREDUCE, 0, 0, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 0, (256 << 10) + 1, UNO_ALG_RING},
    {UNO_ALLREDUCE, 3, 16 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 4, 16 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 4, 64 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 16, 64 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 16, 128 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 64, 128 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 64, 512 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 512, 512 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 512, 2 << 20, UNO_ALG_RING},
    {UNO_GATHER, 0, 0, UNO_ALG_LINEAR},
    {UNO_GATHER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_GATHER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_SCATTER, 0, 0, UNO_ALG_LINEAR},
    {UNO_SCATTER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_SCATTER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_BRUCK},
    {UNO_ALLGATHER, 0, 2 << 10, UNO_ALG_RING},
    {UNO_ALLGATHERV, 0, 0, UNO_ALG_RING},
    {UNO_ALLTOALL, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 0, UNO_ALG_BRUCK},
    {UNO_ALLTOALL, 8, 256, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 64 << 10, UNO_ALG_PAIRWISE},
    {UNO_ALLTOALLV, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALLW, 0, 0, UNO_ALG_LINEAR},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_DIRECT},
    {UNO_REDUCE_SCATTER, 8, 0, UNO_ALG_REDUCE},
    {UNO_REDUCE_SCATTER, 3, 16 << 10, UNO_ALG_RING},
    {UNO_SCAN, 0, 0, UNO_ALG_DOUBLING},
    {UNO_SCAN, 4, 64 << 10, UNO_ALG_CHAIN},
    // Inside a host: what goes from memory to memory (bench: allgather,gather --sizes 1K:8K, scan --sizes 8K:64K).
    {UNO_BCAST, 0, LONE(8 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE, 0, LONE(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, BEYOND(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, BEYOND((6 << 10) - 1), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, BEYOND(4 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_SCAN, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    // A line of a slot that is written again comes back from its reader first; messages between two ranks that answer
    // each other go by blocks that each writes as it has read them (chan/shm/turn.h). Xeon 167, us, by slots and by
    // messages: 4 KiB allreduce 1.02 and 0.77, allgather 0.96 and 0.75, 8 KiB 1.74 and 1.21, reduce-scatter 1.08 and
    // 0.81, scan of 16 KiB 2.1 and 1.5; 1 KiB allreduce 0.43 both.
    {UNO_ALLREDUCE, 0, DEAR(1 << 10), UNO_ALG_MESSAGES},
    {UNO_ALLREDUCE, 0, DEAR_EAGER(6), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 0, DEAR(3 << 9), UNO_ALG_MESSAGES},
    {UNO_REDUCE_SCATTER, 0, DEAR_EAGER(7), UNO_ALG_COPIES},
    {UNO_SCAN, 0, DEAR(3 << 10), UNO_ALG_MESSAGES},
    {UNO_SCAN, 0, DEAR_EAGER(8), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, DEAR(1 << 10), UNO_ALG_MESSAGES},
    {UNO_ALLGATHER, 0, DEAR_EAGER(4), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, DEAR(1 << 10), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 0, DEAR_EAGER(4), UNO_ALG_COPIES},
    // Emerald Rapids, us, in the slot, copied, by messages: 4 KiB 1.1, 1.2, 0.9, or 0.27 and 0.5 by messages while both
    // cores are threads of one, 6 KiB 1.4, 1.6, 1.1, 8 KiB 1.7, 1.65, 1.4, 12 KiB 2.3, 1.2 to 1.75, 1.5 to 1.9.
    {UNO_SCATTER, 0, DEAR(4 << 10), UNO_ALG_MESSAGES},
    {UNO_SCATTER, 0, DEAR(8 << 10), UNO_ALG_COPIES},
    // More ranks, each with a core (measured with 4, 8 and 16 on 16 cores, docs/design/collectives.md). In a scatter by
    // messages no rank waits until the root has written the blocks of all.
    {UNO_BCAST, 3, 0, UNO_ALG_SLOTS},
    {UNO_BCAST, 3, GROWING(7 << 9), UNO_ALG_COPIES},
    {UNO_REDUCE, 3, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE, 3, GROWING(12 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE, 3, UNCACHED(3), UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 3, 0, UNO_ALG_SLOTS},
    {UNO_ALLREDUCE, 3, GROWING(10 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 3, UNCACHED(3), UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 3, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE_SCATTER, 3, GROWING(6 << 10), UNO_ALG_COPIES},
    {UNO_SCAN, 3, 0, UNO_ALG_SLOTS},
    {UNO_SCAN, 3, BEYOND(32 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 3, 0, UNO_ALG_SLOTS},
    {UNO_GATHER, 3, GROWING(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 3, 0, UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 3, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 3, BEYOND(2 << 10), UNO_ALG_MESSAGES},
    {UNO_SCATTER, 3, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 3, 0, UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 3, BEYOND(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 3, UNCACHED(12), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 6, UNCACHED(6), UNO_ALG_WINDOWS},
    {UNO_REDUCE, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_REDUCE, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLREDUCE, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_SCATTER, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, STREAMED(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, COLD(1), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 0, COLD(4), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 3, COLD(1), UNO_ALG_WINDOWS},
    {UNO_REDUCE, 0, COLD(1), UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 0, COLD(1), UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, COLD(1), UNO_ALG_WINDOWS},
    {UNO_REDUCE, 3, COLD(1), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 3, COLD(1), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 3, COLD(1), UNO_ALG_COPIES},
    {UNO_REDUCE, 0, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 0, STREAMED(256 << 10), UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, BOTH((512 << 10) - 1), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 3, BOTH((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, COLD(1), UNO_ALG_WINDOWS},
    {UNO_GATHER, 0, COLD(1), UNO_ALG_WINDOWS},
    // Two ranks stream each other what lies in memory (bench: allgather,scatter --sizes 4M:64M), until it lies in huge
    // pages (gathered.h). Where lines are dear, too, own blocks go past the caches, and allgathers do better by copies
    // (Zen 3, 32 MiB 16.1 to 14.0 ms).
    {UNO_SCATTER, 0, COLD(1), UNO_ALG_MESSAGES},
    {UNO_ALLGATHER, 0, COLD(1), UNO_ALG_MESSAGES},
    {UNO_ALLGATHER, 0, BOTH_COLD(1), UNO_ALG_COPIES},
    {UNO_SCATTER, 3, COLD(1), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 3, COLD(1), UNO_ALG_COPIES},
};

// The same where ranks outnumber cores: each meeting costs turns of all of them, and of two copies one is made while
// its rank would only wait (bench: --np 4 and 8 on two cores, --sizes 8K:256K). Copies across, which look buffers up
// and gather them, serve an alltoall beyond the caches, too; then messages (Zen 4, one chiplet, ms in windows, copied,
// by messages: 2 MiB of 4 ranks 2.5, 1.4, 2.4, 8 MiB 10.2, 10.1, 8.2; 512 KiB of 8 ranks 2.0, 1.5, 1.9, 2 MiB 8.5,
// 10.0, 9.9).
static const struct uno_rule crowded_in[] = {
    {UNO_REDUCE, 0, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE, 0, (256 << 10) + 1, UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLREDUCE, 0, (128 << 10) + 1, UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, UNCACHED(1), UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 8, (128 << 10) + 1, UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE_SCATTER, 0, (128 << 10) + 1, UNO_ALG_COPIES},
    // A copy waits for a turn of both ranks (Emerald Rapids, us, in slots and copied: 4 ranks 16 KiB 2.1 and 3.5, in a
    // row 5.6 and 9.4, 32 KiB 3.0 and 4.2, 9.0 and 10.1; 8 ranks 16 KiB 3.5 and 4.3, 12 and 19, 32 KiB 5.1 and 4.8, 20
    // and 21).
    {UNO_GATHER, 0, 0, UNO_ALG_SLOTS},
    {UNO_GATHER, 0, BEYOND(24 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, 0, UNO_ALG_SLOTS},
    {UNO_SCATTER, 0, BEYOND(4 << 10), UNO_ALG_COPIES},
    // By messages a root goes on once it has written, and copies wait for turns of all (Emerald Rapids, 6 KiB, us, in
    // the slot, copied, by messages: 4 ranks 1.06, 3.5, 1.15, in a row 3.9, 8.3, 1.8; 8 ranks 1.3, 3.7, 2.1, in a
    // row 9.7, 17, 5; 32 ranks 4.1, 6.5, 8.3, in a row 57, 106, 35).
    {UNO_SCATTER, 0, DEAR(4 << 10), UNO_ALG_MESSAGES},
    {UNO_SCATTER, 0, DEAR(16 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 32, DEAR(0), UNO_ALG_SLOTS},
    {UNO_SCATTER, 32, DEAR(8 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_SCATTER, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_SCAN, 0, 0, UNO_ALG_SLOTS},
    {UNO_SCAN, 0, (256 << 10) + 1, UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 8, 0, UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 8, (256 << 10) + 1, UNO_ALG_COPIES},
    // Likewise (32 KiB, 4 ranks 3.1 and 4.3, in a row 4.5 and 8.5; 8 ranks 1.9 and 4.9, 11 and 20, 64 KiB 5.5 and 6.5,
    // 18 and 22, 4 ranks 7.8 and 5.7, 7.3 and 10).
    {UNO_BCAST, 0, 0, UNO_ALG_SLOTS},
    {UNO_BCAST, 0, BEYOND(32 << 10), UNO_ALG_COPIES},
    {UNO_BCAST, 8, 0, UNO_ALG_SLOTS},
    {UNO_BCAST, 8, BEYOND(64 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, SPREAD(64 << 10), UNO_ALG_COPIES},
    {UNO_BCAST, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_BCAST, 0, STREAMED(4 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, STREAMED(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, STREAMED(16 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, STREAMED(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 8, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_REDUCE_SCATTER, 0, STREAMED(16 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 8, STREAMED(16 << 10), UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, COLD(1), UNO_ALG_WINDOWS},
    // A root that takes from many comes late to the windows of most (Zen 4, ms in windows and copied: 8 ranks 8 MiB 4.3
    // and 2.9, between two chiplets 5.5 and 2.3; 4 ranks 16 MiB 3.4 and 5.0).
    {UNO_GATHER, 0, COLD(4), UNO_ALG_WINDOWS},
    {UNO_GATHER, 8, COLD(4), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, UNCACHED(1), UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, UNCACHED(1), UNO_ALG_WINDOWS},
    // Streamed through the rings, which stay in the caches, and written past these (Xeon 167, ms in windows, copied, by
    // messages: 4 ranks 8 MiB 11.6, 11.5, 10.1, 16 MiB 22.9, 23.8, 21.2, 4 MiB 4.2, 3.9, 4.6; 8 ranks 2 MiB 12.0, 12.9,
    // 10.9, 8 MiB 47, 51, 44). Not measured where small pages are so dear that messages are streamed anyway.
    {UNO_ALLTOALL, 0, UNCACHED(4), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 0, STREAMED(UNCACHED(4)), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, BOTH(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, BOTH(64 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, SPREAD(32 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, COLD(4), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 8, COLD(4), UNO_ALG_WINDOWS},
    // Zen 3, ms in windows, copied, best peer (two chiplets): 4 ranks 2 MiB 3.4, 2.9, 3.9 (3.8, 2.5, 3.5), 4 MiB 7.0,
    // 7.1, 8.5 (8.1, 6.7, 7.1), 8 MiB 14.3, 17.8, 17.0 (18.2, 14.6, 15.7); 8 ranks 512 KiB 3.7, 3.8, 4.2 (4.6, 2.8,
    // 3.5), 1 MiB 7.4, 8.5, 8.3 (8.8, 7.7, 7.3), 2 MiB 15.8, 21.9, 16.4. 16 MiB of 4 ranks: by messages 29, windows 31.
    {UNO_ALLTOALL, 0, BOTH_COLD(4), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 8, BOTH_COLD(2), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, BOTH_COLD(8), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 8, BOTH_COLD(8), UNO_ALG_WINDOWS},
};

// For messages among the ranks of one host that outnumber its cores, as nonblocking and persistent calls send them:
// what has fewer rounds, each of which is a turn of all ranks, and copies less often (docs/design/collectives.md, 11).
#define MANY 33         // ranks, of which each has little of the caches
#define TOO_MANY 128    // ranks that each would send to all others

static const struct uno_rule sharing[] = {
    // Emerald Rapids, us, now to or from one rank at once, calls in a row in brackets: barrier of 8 ranks 12.5 and 10.3
    // (12.1 and 10.4), 16 ranks 60 and 33 (58 and 35); bcast of 256 B 8 ranks 3.4 and 0.36 (1.9 and 1.7), 40 ranks 50
    // and 1.2 (3.9 and 5.2), of 2 KiB 128 ranks 490 and 16 (90 and 6,500).
    {UNO_BARRIER, 0, 0, UNO_ALG_DISSEMINATION},
    {UNO_BARRIER, 5, 0, UNO_ALG_LINEAR},
    {UNO_BARRIER, TOO_MANY, 0, UNO_ALG_DISSEMINATION},
    {UNO_BCAST, 0, 0, UNO_ALG_LINEAR},
    {UNO_BCAST, TOO_MANY, 0, UNO_ALG_BINOMIAL},
    // Likewise reduce of 2 KiB, down a tree and at once, 4 ranks 2.2 and 1.3 (1.4 and 1.4), 8 KiB 3.2 and 1.9 (3.6 and
    // 8.6), 8 ranks 2 KiB 5.1 and 1.5 (3.3 and 3.9), 24 KiB 11.8 and 4.7 (30 and 27), 64 KiB 33 and 32 (51 and 41);
    // 64 KiB round a ring 4 ranks 25, 8 ranks 68, down a tree 15 and 34.
    {UNO_REDUCE, 0, 0, UNO_ALG_LINEAR},
    {UNO_REDUCE, 0, 4 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 5, 0, UNO_ALG_LINEAR},
    {UNO_REDUCE, 5, 128 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, TOO_MANY, 0, UNO_ALG_BINOMIAL},
    // Likewise allreduce, doubling and by way of one rank, 4 ranks 2 KiB 5.0 and 5.6 (6.1 and 5.9), 8 ranks 14 and 10
    // (16 and 12), 16 ranks 63 and 31 (74 and 31), 64 ranks 640 and 181 (960 and 197); parts at once and by way of one
    // rank, 8 ranks 32 KiB 49 and 42 (49 and 55), 64 KiB 56 and 60 (73 and 74), 16 ranks 64 KiB 342 and 223 (411 and
    // 312).
    {UNO_ALLREDUCE, 3, 0, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 4, 32 << 10, UNO_ALG_DIRECT},
    {UNO_ALLREDUCE, 5, 0, UNO_ALG_LINEAR},
    {UNO_ALLREDUCE, 5, 32 << 10, UNO_ALG_DIRECT},
    {UNO_ALLREDUCE, 9, 0, UNO_ALG_LINEAR},
    {UNO_ALLREDUCE, 9, 128 << 10, UNO_ALG_DIRECT},
    {UNO_ALLREDUCE, MANY, 128 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, TOO_MANY, 0, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, TOO_MANY, 128 << 10, UNO_ALG_RING},
    {UNO_GATHER, 0, 0, UNO_ALG_LINEAR},
    {UNO_SCATTER, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_LINEAR},
    // Emerald Rapids, us, by Bruck's way, round a ring, to all at once: 40 ranks 1,000 B 730, 1,460, 420, 8 KiB 1,900,
    // 2,590, 970, 64 ranks in a row 7,500, 13,200, 7,100, 128 ranks 8 KiB 31,500, 57,900, 52,700.
    {UNO_ALLGATHER, MANY, 0, UNO_ALG_BRUCK},
    {UNO_ALLGATHER, MANY, 2 << 10, UNO_ALG_LINEAR},
    {UNO_ALLGATHER, TOO_MANY, 2 << 10, UNO_ALG_BRUCK},
    {UNO_ALLGATHER, TOO_MANY, 16 << 10, UNO_ALG_RING},
    {UNO_ALLGATHERV, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLGATHERV, TOO_MANY, 0, UNO_ALG_RING},
    // Pairs in turn and all at once, ms: 8 ranks 64 KiB 0.32 and 0.21, 16 ranks 1.5 and 0.9, 1 MiB 45 and 35, 40 ranks
    // 64 KiB 23 and 15.
    {UNO_ALLTOALL, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, MANY, 0, UNO_ALG_BRUCK},
    {UNO_ALLTOALL, MANY, 256, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, TOO_MANY, 64 << 10, UNO_ALG_PAIRWISE},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_DIRECT},
    {UNO_REDUCE_SCATTER, MANY, 0, UNO_ALG_REDUCE},
    {UNO_REDUCE_SCATTER, MANY, 16 << 10, UNO_ALG_RING},
    {UNO_SCAN, 0, 0, UNO_ALG_DOUBLING},
    {UNO_SCAN, 4, 64 << 10, UNO_ALG_DIRECT},
    {UNO_SCAN, 5, 0, UNO_ALG_CHAIN},
    {UNO_SCAN, 5, 32 << 10, UNO_ALG_DIRECT},
    // Xeon 167, us, direct and along a chain: 32 KiB of 6 ranks 26 and 24, 16 ranks 183 and 94, 64 KiB of 5 ranks 40
    // and 32, 8 ranks 71 and 60 (Zen 4: 56 and 150).
    {UNO_SCAN, 5, DEAR((32 << 10) - 1), UNO_ALG_CHAIN},
    {UNO_SCAN, 5, DEAR(64 << 10), UNO_ALG_DIRECT},
    {UNO_SCAN, MANY, 0, UNO_ALG_CHAIN},
};

const struct uno_rules uno_rules_built_in = {built_in, COUNT(built_in)};
const struct uno_rules uno_rules_crowded = {crowded_in, COUNT(crowded_in)};
const struct uno_rules uno_rules_sharing = {sharing, COUNT(sharing)};

size_t uno_choose_footprint(enum uno_coll_kind kind, int size)
{
    size_t n = (size_t)size;
    if (kind == UNO_ALLGATHER || kind == UNO_ALLGATHERV) return n * n;
    if (kind == UNO_ALLTOALL) return 2 * n * n;
    if (kind == UNO_REDUCE) return n + 1;
    return kind == UNO_ALLREDUCE || kind == UNO_GATHER || kind == UNO_SCATTER ? 2 * n : n;
}

// So many times a threshold, shared by all buffers.
static size_t each(uint64_t threshold, size_t times, const struct uno_rule *r, int ranks)
{
    return times * ((size_t)threshold / uno_choose_footprint(r->kind, ranks));
}

size_t uno_rule_bytes(const struct uno_rule *r, int ranks)
{
    const struct uno_thresholds *t = uno_coll_reduces(r->kind) ? &uno_thresholds_told : &uno_thresholds;
    size_t n = r->bytes % FLAG(0);
    if (r->bytes < FLAG(0)) return n;
    bool never = (r->bytes & STREAMED(0) && !uno_thresholds_stream(t)) ||
                 (r->bytes & SPREAD(0) && !uno_thresholds_spread()) ||
                 (r->bytes & COLD(0) && t->streamed >= UNO_THRESHOLD_NEVER) || (r->bytes & DEAR(0) && !t->ahead);
    if (never) return SIZE_MAX;
    if (r->bytes & COLD(0)) return each(t->streamed, n, r, ranks) + 1;
    if (r->bytes & UNCACHED(0)) {
        size_t bytes = each(t->cached, n, r, ranks);
        return (bytes < SOME_WINDOWS ? SOME_WINDOWS : bytes) + 1;
    }
    if (r->bytes & DEAR(0)) return (r->bytes & FLAG(8) ? n * (size_t)t->eager / 4 : n) + 1;
    if (r->bytes & GROWING(0)) n *= (size_t)(ranks - 1);
    return n * (size_t)(r->bytes & LONE(0) ? t->slots_lone : t->slots) / UNO_SEG_SLOT + 1;
}

bool uno_rule_in_host(int alg)
{
    return alg == UNO_ALG_SLOTS || alg == UNO_ALG_COPIES || alg == UNO_ALG_WINDOWS || alg == UNO_ALG_MESSAGES;
}
