// SPDX-License-Identifier: BSD-3-Clause
// Sockets by which jobs find each other: never blocking, looked at whenever a call of the user makes progress, and part
// of what a sleeper and the doorbell watch. With the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

// Something that is looked at when its descriptor is readable, or its time has come. First member of what owns it.
struct dpm_sock {
    int fd;
    void (*ready)(struct dpm_sock *s);    // may free the owner
    bool watched;
    bool writing;    // room to write is waited for, too
    bool ending;     // looked at when the other side has closed, and not for what it sends
};

int dpm_sock_open(void) UNO_MUST_USE;    // once something is to be watched
void dpm_sock_watch(struct dpm_sock *s, bool watch);

// Calls step at every progress while on.
void dpm_steps(int (*step)(void));

// The next time (uno_now_ns) at which step has something to do although no descriptor is readable; 0: none.
void dpm_wake_at(uint64_t ns);

void dpm_sock_close(void);
