// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --restart: makes the node and the ranks of a checkpoint anew and becomes their front. They get the process
// ids that they had, in a name space of processes of their own, whose first process is a child of mpiexec. Used by
// main() and the front.
#pragma once
struct uno_plan;
struct uno_front;
struct uno_setting;
struct uno_restart;

// `given`: what the command line says beside --restart. The result is the exit status of mpiexec.
int uno_restart_run(const struct uno_plan *given, struct uno_setting *s);

void uno_restart_replay(struct uno_front *f, const struct uno_restart *r);    // and lets the node go on
