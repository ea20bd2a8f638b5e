// SPDX-License-Identifier: BSD-3-Clause
// Sockets by which jobs find each other: never blocking, looked at whenever a call of the user makes progress, and part
// of what a sleeper and the doorbell watch. A wire is a stream socket that carries frames. With the library lock held.
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
};

int dpm_sock_open(void) UNO_MUST_USE;    // once something is to be watched
void dpm_sock_watch(struct dpm_sock *s, bool watch);

// Calls step at every progress while on.
void dpm_steps(int (*step)(void));

// The next time (uno_now_ns) at which step has something to do although no descriptor is readable; 0: none.
void dpm_wake_at(uint64_t ns);

void dpm_sock_close(void);

// ---- frames ----

enum dpm_frame {
    DPM_HELLO = 1,    // connect: the key of the port
    DPM_GREET,        // accept: taken; both sides gather who they are
    DPM_CARDS,        // connect: its processes
    DPM_TAKEN,        // accept: the context, its processes
    DPM_COMMIT,       // connect: both sides have all
    DPM_REFUSE        // either: no, and why (text)
};

struct dpm_wire {
    struct dpm_sock sock;
    // A frame came (it may free the wire), or the connection broke: kind 0, the reason as text.
    void (*frame)(struct dpm_wire *w, unsigned kind, const void *body, size_t bytes);
    void *owner;
    char *in, *out;
    size_t got, room;         // of the frame under way, its head included
    size_t left, sent;        // bytes in out, of them those that the kernel has
    uint64_t deadline;        // the owner's business
    struct dpm_wire *next;    // likewise
};

struct dpm_wire *dpm_wire_new(int fd);    // NULL: no memory, fd is closed. It is watched
void dpm_wire_free(struct dpm_wire *w);
int dpm_wire_send(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes) UNO_MUST_USE;
bool dpm_wire_flushed(const struct dpm_wire *w);
