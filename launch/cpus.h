// SPDX-License-Identifier: BSD-3-Clause
// The processors of this host (base/hw.h) and which of them a rank is bound to. hwloc is asked when the user names a
// unit; the default binding needs cores alone, since loading hwloc costs more than starting two ranks. Only processors
// that this process may use are considered.
#pragma once
#include <sched.h>

#include "plan.h"

int uno_cpus_count(const struct uno_plan *p);    // cores, or hardware threads, that this process may use
int uno_cpus_units(const struct uno_plan *p, enum uno_unit unit);    // of that kind

// The processors of a list such as "0-3,6", at most CPU_SETSIZE, in its order. -1: malformed.
int uno_cpus_list(const char *text, int *cpu);

// NULL, or why this host cannot give what the user asks for (more units than there are, other processors). The caller
// frees it.
char *uno_cpus_refusal(const struct uno_plan *p);

// The processors of local rank `local` of `nlocal`. False: the rank is not bound. `share` says that no other job is
// bound here.
bool uno_cpus_bind(const struct uno_plan *p, int local, int nlocal, cpu_set_t *set);

// Gives up the name that says that a job is bound here, if we have it, and takes it again. False: another job has it.
void uno_cpus_yield(void);
bool uno_cpus_retake(void);

// How many processors this process may use.
int uno_cpus_mine(void);

// For each local rank: how many ranks, itself included, share a processor with it.
void uno_cpus_sharers(const struct uno_plan *p, int nlocal, int *sharers);

// "cores 0-1 (processors 0-3)" for messages; the caller frees it.
char *uno_cpus_text(const cpu_set_t *set);
