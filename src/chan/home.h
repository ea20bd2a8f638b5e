// SPDX-License-Identifier: BSD-3-Clause
// Homes: the segments of other jobs on this host, where the doors and boards of their processes are. Each is mapped
// once, as long as a process that lives there is known (proc.h). With the library lock held.
#pragma once
#include <stdint.h>

#include "base/fail.h"

struct uno_card;
struct uno_job_head;

struct uno_home {
    struct uno_home *next;
    struct uno_job_head *job;
    uint64_t id;
    int32_t host;
    int users;
};

// That of the process with this card, held once more; found through /proc. NULL: *error is an errno value, EXDEV when
// the process is on another host, ENOENT when it has ended.
struct uno_home *uno_home_take(const struct uno_card *card, int *error) UNO_MUST_USE;
void uno_home_give(struct uno_home *home);
