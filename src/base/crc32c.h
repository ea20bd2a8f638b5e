// SPDX-License-Identifier: BSD-3-Clause
// CRC32C (Castagnoli) of memory, by the processor's instructions where it has them. Callers: the TCP channel's frames.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Continues `crc`, the result for the bytes before; 0 to begin.
uint32_t uno_crc32c(uint32_t crc, const void *data, size_t bytes);

// The same without special instructions (the fallback, and the oracle of the test).
uint32_t uno_crc32c_plain(uint32_t crc, const void *data, size_t bytes);
