// SPDX-License-Identifier: BSD-3-Clause
// Ports: names, listening, and who is let in. For meeting.c.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "dpm/sock.h"

// An accept that waits at a port: gets one connection that has shown the key.
struct dpm_guest {
    struct dpm_guest *next;
    void (*came)(struct dpm_guest *g, struct dpm_wire *w);    // owns the wire from here on
    void (*closed)(struct dpm_guest *g);                      // the port was closed
};

int dpm_port_wait(const char *name, struct dpm_guest *g) UNO_MUST_USE;    // MPI_ERR_PORT: no open port of ours
void dpm_port_leave(const char *name, struct dpm_guest *g);

// When to give up (uno_now_ns), 0: never.
struct uno_meeting_spec;
int dpm_port_patience(const struct uno_meeting_spec *spec, uint64_t *ns) UNO_MUST_USE;

// Dials: *w is connected, or about to be, and HELLO is on its way. MPI_ERR_PORT with the reason; UNO_FULL: too many
// wait there, call again in a while.
int dpm_port_dial(const char *name, struct dpm_wire **w) UNO_MUST_USE;

bool dpm_ports_expire(uint64_t now, uint64_t *next);    // drops who does not greet; next: the earliest deadline so far
void dpm_ports_close(void);
