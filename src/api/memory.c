// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Environmental management": memory for messages and windows. It is aligned to lines, or to what the info
// key mpi_minimum_memory_alignment asks for. Small blocks come from the arena (core/arena.h), so that windows on them
// can be mapped; large ones too once the program uses windows. Before that they are this process's alone and aligned so
// that the system can use large pages, which copy faster and which it mostly does not give to shared memory.
#include <stdlib.h>
#include <sys/mman.h>

#include "api/check.h"
#include "base/param.h"
#include "core/arena.h"
#include "core/info.h"

#define LARGE ((size_t)2 << 20)

static size_t alignment_of(MPI_Info info)
{
    size_t align = UNO_LINE;
    struct MPI_ABI_Info *i = uno_info(info);
    const char *asked = i ? uno_info_find(i, "mpi_minimum_memory_alignment") : NULL;
    unsigned long n = asked ? strtoul(asked, NULL, 10) : 0;
    while (align < n && align < LARGE) align *= 2;
    return align;
}

static struct uno_param share = UNO_PARAM_CHOICE("alloc_mem_share", "auto", "auto|always|never",
                                                 "memory of MPI_Alloc_mem that other ranks can map, for windows: auto "
                                                 "is below 2 MiB, and all once the program has made a window");
UNO_PARAM_DECLARE(share);
enum { AUTO, ALWAYS, NEVER };    // as in `share`

static bool is_for_windows(size_t size)
{
    if (share.num != AUTO) return share.num == ALWAYS;
    return uno_world.nlocal > 1 && (size < LARGE || uno_arena_expected());
}

static void *allocate_alone(size_t size, size_t align)
{
    void *p;
    if (posix_memalign(&p, align, size ? size : 1) != 0) return NULL;
    if (size >= LARGE) madvise(p, size, MADV_HUGEPAGE);    // advice alone: refused, it changes nothing
    return p;
}

static int allocate(MPI_Aint size, MPI_Info info, void **base)
{
    if (size < 0) return uno_fail(MPI_ERR_ARG, "size %lld is negative (0 or more allowed)", (long long)size);
    int err = uno_check_pointer(base, "baseptr");
    if (err) return err;
    size_t align = (size_t)size >= LARGE ? LARGE : alignment_of(info);
    void *p = is_for_windows((size_t)size) ? uno_arena_take((size_t)size, align) : NULL;
    if (!p) p = allocate_alone((size_t)size, align);
    if (!p) return uno_fail(MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)size);
    *base = p;
    return MPI_SUCCESS;
}

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    uno_enter("MPI_Alloc_mem");
    int err = uno_check_running();
    if (!err) err = uno_check_info(info);
    if (!err) err = allocate(size, info, baseptr);
    if (err) return uno_raise_self("MPI_Alloc_mem", err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Free_mem(void *base)
{
    uno_enter("MPI_Free_mem");
    int err = uno_check_running();
    if (!err && !uno_arena_has(base))
        free(base);
    else if (!err && !uno_arena_give(base))
        err = uno_fail(MPI_ERR_BASE, "base %p is not what MPI_Alloc_mem returned, or was freed", base);
    if (err) return uno_raise_self("MPI_Free_mem", err);
    uno_leave();
    return MPI_SUCCESS;
}
