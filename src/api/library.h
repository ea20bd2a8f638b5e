// SPDX-License-Identifier: BSD-3-Clause
// The library's life as seen by the world model (api/init.c) and by sessions (api/session.c): it opens with the first
// of them and closes with the last. The lock is not held.
#pragma once

int uno_library_open(int thread_level);    // 0 or the class, with the reason kept
void uno_library_close(void);
