// SPDX-License-Identifier: BSD-3-Clause
// Reaching into the memory of another process of this host by cross-memory attach, for protocols above the channels
// that copy by themselves (p2p/part_shared.c). Defined in shm/direct.c, which tries once whether the kernel allows it.
#pragma once

// The process id of a process of this job on this host whose memory may be read and written, 0: it may not.
int uno_reach(int proc);
