// SPDX-License-Identifier: BSD-3-Clause
// Ports: who is let in (port.c), and dialling them (dial.c). For meeting.c.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct dpm_wire;

// A side of a meeting that waits for a connection: an accept at a port of ours, or a connect.
struct dpm_guest {
    struct dpm_guest *next;
    bool far;    // some of its processes are on other hosts than this one
    // The other side has shown the key, which may be at once; owns the wire from here on.
    void (*came)(struct dpm_guest *g, struct dpm_wire *w);
    void (*failed)(struct dpm_guest *g, const char *why);    // the port was closed, or nobody answers
};

int dpm_port_wait(const char *name, struct dpm_guest *g) UNO_MUST_USE;    // MPI_ERR_PORT: no open port of ours
void dpm_port_leave(const char *name, struct dpm_guest *g);

// MPI_SUCCESS: g hears of it; MPI_ERR_PORT with the reason; UNO_FULL: too many wait there, call again in a while.
int dpm_port_dial(const char *name, struct dpm_guest *g) UNO_MUST_USE;
void dpm_dial_leave(struct dpm_guest *g);

// When to give up (uno_now_ns), 0: never; whether the user has said so.
struct uno_meeting_spec;
int dpm_port_patience(const struct uno_meeting_spec *spec, uint64_t *ns, bool *said) UNO_MUST_USE;

bool dpm_ports_expire(uint64_t now, uint64_t *next);    // drops who does not greet; next: the earliest deadline so far
void dpm_ports_close(void);

bool dpm_is_same_user(int fd);    // of a socket inside this host
void dpm_set_options(int fd);     // of one between hosts
