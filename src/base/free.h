// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process may still hope for. Asked before a large amount is laid out, because pages come only
// when they are touched, and then there is no error to return.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Whether there is so much (less than 2 MiB always is): of what the system calls available, with free swap space, and
// of what the limit of this control group leaves. The kernel is asked, which takes 50 us, if that was longer ago than
// 10 ms or it is more than a sixteenth of what was left. True when nothing is known. The lock is held.
bool uno_memory_has(uint64_t bytes);

// Gives memory that was freed back to the system, as far as the C library can.
void uno_memory_trim(void);
