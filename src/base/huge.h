// SPDX-License-Identifier: BSD-3-Clause
// Huge pages under buffers that other processes copy from or to again and again: the kernel looks up every page of a
// copy across processes, and that is half of its cost with pages of 4 KiB (docs/design/collectives.md).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Called by the owner of a buffer each time peers are about to read or write it. Once the copies in a region of 2 MiB
// have cost about what it costs to gather the region into one page, it is gathered; again only where it has got other
// pages since. Nothing else changes: the content, addresses and rights stay, and no memory is added (a region with
// pages that are not present is left alone). Whether all of the buffer lies in regions that were. Where the ring is as
// good as copies of small pages (threshold `paged`), uses count only while the buffers are about in the caches.
bool uno_huge_use(const void *at, size_t bytes);

// What gathering 2 MiB should take, by the costs of the machine, before anything is used: where it takes longer, so do
// buffers until they are gathered (a Zen 4 whose host has not given the memory yet: 6 ms instead of 0.65, so 64 MiB of
// buffers, used three times, were gathered for longer than they were used).
void uno_huge_decide(uint64_t gather_ns);

// The bytes of a buffer that lie in regions that were.
size_t uno_huge_gathered(const void *at, size_t bytes);

// Whether so much was used since the buffer's last use, or before that (threshold `cold`), that it lies in memory.
bool uno_huge_is_cold(const void *at);
uint64_t uno_huge_cold_after(void);    // bytes: that much

// As uno_huge_use, but a use counts only if fewer than `hot` bytes were used since the last one of its region.
bool uno_huge_use_hot(const void *at, size_t bytes, size_t hot);
