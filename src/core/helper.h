// SPDX-License-Identifier: BSD-3-Clause
// The progress thread (parameter progress_thread): moves nonblocking collectives on while the program computes. It
// rests unless some are under way, and steps aside for threads that wait in MPI themselves.
#pragma once
#include <stdbool.h>

#include "base/fail.h"

extern bool uno_helper_on;        // it runs: the library's lock is real
extern bool uno_helper_beside;    // on the one processor that the program has: it does not look again and again
extern int uno_helper_users;      // who need it whether pollers are queued or not: windows reached by messages

// After the library is open; nothing without the parameter. The lock is not held.
int uno_helper_start(void) UNO_MUST_USE;
void uno_helper_stop(void);    // before it closes

// One more, or one less, needs what arrives to be handled while the program computes. Starts the thread if need be and
// makes the lock real from here on. With the lock held. 0, or MPI_ERR_OTHER.
int uno_helper_need(bool more);

// Wakes it, as there may be work at once: a poller was added. With the lock held.
void uno_helper_call(void);

// A thread of the program begins to wait, and has waited: what arrives in between is the helper's, unless that is a
// moment. With the lock held.
void uno_helper_waits(void);
void uno_helper_waited(void);

// The program moves on itself what it began, for long perhaps: as good as a wait that ends now. With the lock held.
void uno_helper_spared(void);
