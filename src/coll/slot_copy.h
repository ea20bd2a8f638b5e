// SPDX-License-Identifier: BSD-3-Clause
// Copies into and out of the slots of a segment (segment.h), which know that there mostly are few bytes. For small.c,
// dense.c, large_table.c.
#pragma once
#include "base/copy.h"
#include "coll/build.h"
#include "core/pack.h"

static inline void uno_seg_copy(void *to, const void *from, size_t bytes)
{
    if (bytes <= 64)
        uno_copy_small(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

// put: into a slot, whose lines others have read; take: out of one that another rank has written. Line by line up to
// `lines` bytes, a fifth faster for 1 and 2 KiB; above, memcpy's string instructions are, but where all ranks put and
// take at once only beyond 16 KiB (bench: bcast,allgather,allreduce --sizes 512:16K).
//
// Where lines are not asked for ahead the string instructions of memcpy wait for each line that another core has
// written (base/copy.h): there, what is taken goes line by line, one way up to UNO_SEG_AWAY (Zen 4, near cores, 2
// ranks: scatter 4 KiB 0.64 us and 0.28, 8 KiB 1.04 and 0.49, gather 4 KiB 0.54 and 0.34, 16 KiB a twentieth more; 4
// ranks: allgather 64 KiB 27 and 21).
#define UNO_SEG_AWAY 8192
#define UNO_SEG_ONE_WAY 2048
#define UNO_SEG_EXCHANGE 16384

static inline void uno_seg_put(void *to, const void *from, size_t bytes, size_t lines)
{
    if (bytes > 64 && bytes <= lines)
        uno_copy_out(to, from, bytes, NULL);
    else if (bytes <= 64)
        uno_copy_small(to, from, bytes);
    else
        uno_copy_over(to, from, bytes);
}

static inline void uno_seg_take(void *to, const void *from, size_t bytes, size_t lines)
{
    size_t away = lines == UNO_SEG_EXCHANGE ? SIZE_MAX : UNO_SEG_AWAY;
    if (bytes > 64 && bytes <= (uno_copy_ahead ? lines : away))
        uno_copy_in(to, from, bytes);
    else
        uno_seg_copy(to, from, bytes);
}

// Blocks: addresses, counts and types are passed one by one, for a struct of them, written in words and read wider,
// would wait for all earlier stores, the line just posted too.

static inline void uno_seg_pack(char *to, const void *at, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    struct uno_packer p;
    uno_packer_init(&p, at, count, type);
    uno_pack(&p, to, p.total);
}

static inline void uno_seg_unpack(void *at, MPI_Count count, const struct MPI_ABI_Datatype *type, const char *from,
                                  size_t bytes)
{
    struct uno_packer p;
    uno_packer_init(&p, at, count, type);
    uno_unpack(&p, from, bytes);
}

static inline void uno_seg_put_block(char *to, const void *at, MPI_Count count, const struct MPI_ABI_Datatype *type,
                                     size_t lines)
{
    if (type->flags & UNO_TYPE_PLAIN)
        uno_seg_put(to, at, (size_t)(count * type->size), lines);
    else
        uno_seg_pack(to, at, count, type);
}

// bytes: at most what the block has room for.
static inline void uno_seg_take_block(void *at, MPI_Count count, const struct MPI_ABI_Datatype *type, const char *from,
                                      size_t bytes, size_t lines)
{
    if (type->flags & UNO_TYPE_PLAIN)
        uno_seg_take(at, from, bytes, lines);
    else
        uno_seg_unpack(at, count, type, from, bytes);
}

// A rank's own block, from what it sends to what it receives.
static inline void uno_seg_keep(void *to, MPI_Count room, struct MPI_ABI_Datatype *rtype, const void *from,
                                MPI_Count count, struct MPI_ABI_Datatype *stype)
{
    if (stype->flags & rtype->flags & UNO_TYPE_PLAIN) {
        size_t n = (size_t)(count * stype->size), m = (size_t)(room * rtype->size);
        uno_seg_copy(to, from, n < m ? n : m);
        return;
    }
    uno_block_copy((struct uno_block){to, room, rtype}, (struct uno_block){(char *)(uintptr_t)from, count, stype});
}
