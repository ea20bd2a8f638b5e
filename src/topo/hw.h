// SPDX-License-Identifier: BSD-3-Clause
// Splitting a communicator by what its processes share: the host, a part of the hardware, a process set.
#pragma once
#include "core/comm.h"

struct MPI_ABI_Info;

// The color for MPI_Comm_split that MPI_Comm_split_type means; MPI_UNDEFINED where the caller is in no part. Collective
// over c.
int uno_hw_color(struct MPI_ABI_Comm *c, int split_type, struct MPI_ABI_Info *info, int *color);

// Sets a key per kind of part that MPI_Comm_split_type takes: `true` when this process stays in one such part, else
// `false`.
int uno_hw_info(struct MPI_ABI_Info *info);
