// SPDX-License-Identifier: BSD-3-Clause
// The bell of a door (base/job.h): wakes the process that sleeps there. Used by ranks (chan/door.h) and by mpiexec,
// which maps the same segment.
#pragma once
#include <sys/socket.h>

#include "base/job.h"

struct sockaddr_un;

// The abstract address of the door's socket.
socklen_t uno_bell_name(const struct uno_door *d, struct sockaddr_un *a);

// After the door's mode was taken (exchanged for AWAKE); mode: what it was.
void uno_bell_sound(struct uno_door *d, uint32_t mode);
void uno_bell_close(void);

// mpiexec has left something for this rank: raises its word of news and wakes it.
void uno_bell_news(struct uno_door *d);

// The same of a death, whatever the mode says: who died may have been in the middle of ringing, with the mode taken and
// nobody woken.
void uno_bell_death(struct uno_door *d);
