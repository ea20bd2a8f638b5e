// SPDX-License-Identifier: BSD-3-Clause
// Thin names for what the kernel and the processor offer to those who wait: futex, membarrier, pause, the time-stamp
// counter.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Sleeps while *word == value; returns early on a wake, a signal, or after ns nanoseconds (0: no limit). shared: the
// word lies in memory that other processes map.
void uno_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns, bool shared);
void uno_futex_wake(_Atomic uint32_t *word, int howmany, bool shared);

// Registers this process for global and private expedited membarriers; false when the kernel refuses.
bool uno_membarrier_open(void);
void uno_membarrier_global(void);     // every registered process's running threads pass a full barrier
void uno_membarrier_private(void);    // every running thread of this process does

uint64_t uno_now_ns(void);    // CLOCK_MONOTONIC

static inline void uno_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");    // waits as long as a pause elsewhere; `yield` is nothing on most of these processors
#endif
}

// A cheap clock for spin limits; ticks of unknown but constant rate. uno_ticks_per_us measures the rate once.
static inline uint64_t uno_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));    // may be read early; a spin limit need not know better
    return t;
#else
    return uno_now_ns();
#endif
}
uint64_t uno_ticks_per_us(void);
