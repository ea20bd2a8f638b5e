// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process may still hope for. Asked before a large amount is laid out, because pages come only
// when they are touched, and then there is no error to return.
#pragma once
#include <stdint.h>

// Bytes: what the system calls available, with free swap space, and what the limit of this control group leaves.
// UINT64_MAX when nothing is known.
uint64_t uno_memory_left(void);

// Gives memory that was freed back to the system, as far as the C library can.
void uno_memory_trim(void);
