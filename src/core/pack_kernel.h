// SPDX-License-Identifier: BSD-3-Clause
// The inner loops of packing: many runs of one length. Called by pack.c and, for files, io/access.c; the loops are
// compiled per run length.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

// n runs of len bytes from src, sstride apart, to dst, dstride apart. Source and destination do not overlap.
void uno_copy_runs(char *dst, ptrdiff_t dstride, const char *src, ptrdiff_t sstride, size_t len, size_t n);

// n runs of len bytes at base + disp[i], gathered to (scattered from) consecutive memory.
void uno_copy_gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n);
void uno_copy_scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n);

// Columns that share lines: `columns` of them, `across` apart, each with `runs` of len bytes, `down` apart; packed one
// column after the other. in: from `packed` to `user`.
struct uno_grid {
    char *user, *packed;
    ptrdiff_t across, down;
    size_t len, columns, runs;
};
void uno_copy_grid(const struct uno_grid *g, bool in);

// Chooses the instruction set of gathers, up to `most`; returns it. Done at load; tests go through all.
enum uno_isa uno_copy_choose(enum uno_isa most);
