// SPDX-License-Identifier: BSD-3-Clause
// What a process has resident, as its page tables say. VmRSS and statm are sums of counters per processor, off by some
// pages on each of them.
#ifndef UNO_TESTS_RESIDENT_H
#define UNO_TESTS_RESIDENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// KiB under `what` ("Rss:", "Anonymous:") in /proc/PID/smaps_rollup; -1: it cannot be read.
static inline long resident_kib(int pid, const char *what)
{
    char line[256], path[64];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *f = fopen(path, "r");
    while (f && kib < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0) kib = strtol(line + strlen(what), NULL, 10);
    if (f) fclose(f);
    return kib;
}

#endif
