// SPDX-License-Identifier: BSD-3-Clause
// Splitting a communicator by what its processes share: the host, a part of the hardware, a process set.
#pragma once
#include "core/comm.h"

struct MPI_ABI_Info;

// MPI_Comm_split_type. *out is NULL where the caller is no member of any part.
int uno_hw_split(struct MPI_ABI_Comm *c, int split_type, int key, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out);
