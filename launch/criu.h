// SPDX-License-Identifier: BSD-3-Clause
// Calls criu, the program that writes processes to files and makes them anew. It is found by the parameter
// launch_criu; nothing of it is linked. What it says goes to a file, from which one line is told. Used by checkpoint.c
// and restart.c.
#pragma once
#include <sys/types.h>

#include "begin.h"

// NULL, or one line that says why criu cannot work here and what to do. Takes about 50 ms.
char *uno_criu_check(void);

// What is dumped: the process `node` and all that descends from it, as numbered in the name space of processes of
// `init` (0: ours). `link` is the inode of the one socket whose other end is outside.
struct uno_criu_dump {
    const char *folder;    // absolute
    const char *log;       // a name in it
    int node, init;
    uint64_t link;
};
pid_t uno_criu_dump(const struct uno_criu_dump *d, const struct uno_setting *s);    // -1: errno says why

// Becomes criu, which makes the processes of `folder` anew, with `fd` as the end of their link, and leaves.
_Noreturn void uno_criu_restore(const char *folder, const char *log, uint64_t link, int fd);

// The line of the log that tells best why criu failed, or NULL; the caller frees it.
char *uno_criu_reason(const char *log);
