// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Environmental management": memory for messages. It is aligned to lines, or to what the info key
// mpi_minimum_memory_alignment asks for; large blocks are aligned so that the system can use large pages, which copy
// faster.
#include <stdlib.h>
#include <sys/mman.h>

#include "api/check.h"
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

static int allocate(MPI_Aint size, MPI_Info info, void **base)
{
    if (size < 0) return uno_fail(MPI_ERR_ARG, "size %lld is negative (0 or more allowed)", (long long)size);
    int err = uno_check_pointer(base, "baseptr");
    if (err) return err;
    size_t align = alignment_of(info);
    if ((size_t)size >= LARGE) align = LARGE;
    void *p;
    if (posix_memalign(&p, align, size ? (size_t)size : 1) != 0)
        return uno_fail(MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)size);
    if ((size_t)size >= LARGE) madvise(p, (size_t)size, MADV_HUGEPAGE);    // advice alone: refused, it changes nothing
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
    if (err) return uno_raise_self("MPI_Free_mem", err);
    free(base);
    uno_leave();
    return MPI_SUCCESS;
}
