// SPDX-License-Identifier: BSD-3-Clause
// The system calls behind wait.h. Used by progress (core), the lock of the library and the doors.
#define _GNU_SOURCE
#include "base/wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void uno_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns, bool shared)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL, NULL, 0);
}

void uno_futex_wake(_Atomic uint32_t *word, int howmany, bool shared)
{
    syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, howmany, NULL, NULL, 0);
}

bool uno_membarrier_open(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void uno_membarrier_global(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void uno_membarrier_private(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

uint64_t uno_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Measured over 50 us on first use: exact enough for a spin limit, cheap enough for start-up.
uint64_t uno_ticks_per_us(void)
{
    static _Atomic uint64_t rate;    // relaxed: any thread may measure, all get about the same value
    uint64_t r = atomic_load_explicit(&rate, memory_order_relaxed);
    if (r) return r;
    uint64_t n0 = uno_now_ns(), t0 = uno_ticks(), n1;
    do n1 = uno_now_ns();
    while (n1 - n0 < 50000);
    r = (uno_ticks() - t0) * 1000 / (n1 - n0);
    if (!r) r = 1;
    atomic_store_explicit(&rate, r, memory_order_relaxed);
    return r;
}
