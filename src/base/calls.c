// SPDX-License-Identifier: BSD-3-Clause
// What copies across processes cost in this kernel at least (machine.h): those within one process, which nothing else
// delays, timed when a host's costs come from the table. How dear calls and the look-up of pages are is up to the
// kernel, its mitigations and whoever runs the machine, so a row that was measured on the same processor can be wrong
// by a factor of three (docs/design/machine.md). Some 50 us, once per host.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/wait.h"

#define SHORT 4096
#define LONG 32768
#define TRIES 4

// The least of some, so that whoever lost the core meanwhile does not count. ns; 0: this kernel has no such copies.
static uint64_t least_ns(char *to, char *from, size_t n, bool across)
{
    struct iovec mine = {to, n}, theirs = {from, n};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = uno_now_ns();
        if (!across)
            memcpy(to, from, n);
        else if (process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) != (ssize_t)n)
            return 0;
        uint64_t took = uno_now_ns() - start;
        if (took < least) least = took;
    }
    return least;
}

// Half as much again as a row tells is within what its measurements, and these, spread from job to job.
static bool exceeds(uint64_t seen, uint64_t told)
{
    return seen > told + told / 2;
}

static bool raise_to(struct uno_costs *c, uint64_t one, uint64_t all, uint64_t plain)
{
    uint64_t cross = all > one ? (all - one) * 1000 / (LONG - SHORT) : 0, copy = plain * 1000 / LONG;
    uint64_t more = cross * SHORT / 1000, call = one > more ? one - more : 0;
    bool raised = false;
    if (exceeds(call, c->call)) c->call = (uint32_t)call, raised = true;
    if (!exceeds(cross, c->cross)) return raised;
    c->cross = (uint32_t)cross;
    c->page = cross > copy ? (uint32_t)((cross - copy) * SHORT / 1000) : 1;
    return true;
}

bool uno_machine_raise(struct uno_costs *c)
{
    char *to = mmap(NULL, 2L * LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (to == MAP_FAILED) return false;
    char *from = to + LONG;
    memset(from, 1, LONG);
    uint64_t one = least_ns(to, from, SHORT, true);
    bool raised = one && raise_to(c, one, least_ns(to, from, LONG, true), least_ns(to, from, LONG, false));
    munmap(to, 2L * LONG);
    return raised;
}
