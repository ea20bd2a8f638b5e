// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --gdb: some ranks of the first job, all of them on this host, are started under one gdb on the terminal. A
// node starts such a rank held: what it executes waits to be let go, and then executes the program. The front starts
// gdb once all of them are there; mpiexec-gdb.py attaches to each, lets it go, and stops it in main.
// docs/design/debuggers.md says why it is so.
#pragma once
#include "begin.h"

#define UNO_HOLD_OPTION "--hold"

struct uno_debugger;

bool uno_debug_is_list(const char *word);                    // whether a word can be what follows --gdb
bool uno_debug_wants(const struct uno_plan *p, int rank);    // whether the rank is held for gdb
void uno_debug_check(struct uno_plan *p);                    // ends mpiexec with one line where it cannot work
struct uno_debugger *uno_debug_new(const struct uno_plan *p, const struct uno_setting *s);    // NULL: no --gdb

void uno_debug_started(struct uno_debugger *d, int rank, int pid);
bool uno_debug_runs(const struct uno_debugger *d);      // gdb is there; d may be NULL, here and below
void uno_debug_end(struct uno_debugger *d);             // asks gdb to leave; the second time, kills it
char *uno_debug_reap(struct uno_debugger *d);           // NULL, or, once, how gdb ended; the caller frees it
bool uno_debug_leaves(const struct uno_debugger *d);    // it left processes of its ranks behind, which have not ended

// mpiexec --hold PATH ARGV...: a held rank, in its own process. Returns an exit status if the program cannot be run.
int uno_debug_hold(char **words);
void uno_debug_hold_begin(sigset_t *mask);    // in the child of a node, before it executes that
