// SPDX-License-Identifier: BSD-3-Clause
// What core files hold of the memory that ranks share (job.h). Each module asks for the part that it begins to use.
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/job.h"
#include "base/param.h"

static struct uno_param share_dump = UNO_PARAM_BOOL(
    "share_dump", 0,
    "core files hold what a process uses of the memory that ranks share (rings, windows, MPI_Alloc_mem)");
UNO_PARAM_DECLARE(share_dump);

static void advise(const void *p, size_t bytes, int advice)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)p / page * page, end = ((uintptr_t)p + bytes + page - 1) / page * page;
    if (share_dump.num && p && bytes) madvise((void *)first, end - first, advice);
}

void uno_dump_keep(void *p, size_t bytes)
{
    advise(p, bytes, MADV_DODUMP);
}

void uno_dump_forget(void *p, size_t bytes)
{
    advise(p, bytes, MADV_DONTDUMP);
}
