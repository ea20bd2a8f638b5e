// SPDX-License-Identifier: BSD-3-Clause
// Where ranks share processors: which of them run side by side. A wait for one rank that runs on another processor
// looks for about as long as giving the core away and getting it back takes, so that two ranks that answer each other
// keep their processors for a slice of the kernel's, and then the next two do (implicit coscheduling: Dusseau, Arpaci,
// Culler, SIGMETRICS 1996). The ranks have homes: in turn, so that ranks r and r + n/2 mostly share a processor and
// what they write for each other stays in its caches; two of them that do little but wait for each other part.
// docs/design/messages.md, 7. Hints all: what is wrong costs time. Called with the library lock held, if there is one.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uno_door;
struct uno_patience;

// The ranks of this host, which may all run on the same processors and outnumber them, are laid out over these in turn;
// `turn` is this one's.
void uno_cosched_home(uint32_t turn, uint32_t ranks);

// Where all ranks of a host exchange messages with the two before and after them, as on a ring, blocks of ranks share a
// processor instead: half of these messages stay there, and half of the changes of ranks. Each says so by one of
// `votes`. taken: counts of the lines that the rank before this one, the one after and the one half of the ranks on
// took from it.
enum { UNO_BEFORE, UNO_AFTER, UNO_ACROSS, UNO_NEIGHBOURS };
void uno_cosched_neighbours(_Atomic uint32_t *votes, const _Atomic uint32_t *const taken[UNO_NEIGHBOURS]);
void uno_cosched_settle(void);    // all stay where they are from now on: there are threads

// The processor that this rank goes back to now and then, plus 1; 0: none.
uint32_t uno_cosched_home_is(void);

// It has a processor again, for the `turns`th time.
void uno_cosched_turn(uint32_t turns);

// Giving the core away took so many ticks.
void uno_cosched_gave(uint64_t ticks);

// A wait for what the owner of a door does begins, and has ended. of NULL: for nobody in particular, or for what comes
// for many waits at once if the core is given away, so that looking loses.
void uno_cosched_wait(struct uno_patience *p, const struct uno_door *of);
void uno_cosched_waited(const struct uno_patience *p);

// Looks for what the owner of a door does, which are the caller's, go on for so many ticks from now on, and then until
// uno_patience_spin says otherwise.
uint64_t uno_cosched_looks(struct uno_patience *p, const struct uno_door *of);

// A wait for a message from or to it begins, and has ended. came: a message has, of so many bytes.
void uno_cosched_wait_message(struct uno_patience *p, const struct uno_door *of);
void uno_cosched_waited_message(const struct uno_patience *p, bool came, size_t bytes);
