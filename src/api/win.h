// SPDX-License-Identifier: BSD-3-Clause
// What the entry points on windows share: checks, and how they end.
#pragma once
#include "api/check.h"
#include "rma/rma.h"

int uno_check_win(MPI_Win win);                                                     // MPI_ERR_WIN
int uno_check_memory(const void *at, const char *name);                             // MPI_ERR_BUFFER: NULL
int uno_check_win_rank(const struct MPI_ABI_Win *w, int rank, const char *name);    // MPI_ERR_RANK

static inline int uno_finish_win(MPI_Win win, const char *call, int err)
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) return uno_raise_win(win, call, err);
    uno_leave();
    return MPI_SUCCESS;
}
