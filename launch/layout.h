// SPDX-License-Identifier: BSD-3-Clause
// Words of the command line that say where ranks go and what they are bound to, in the forms of MPICH and Open MPI:
// core:2, ppr:1:socket, node:PE=2, and settings of Open MPI (--mca NAME VALUE). Called by options.c; mistakes end
// mpiexec with one line.
#pragma once
#include "plan.h"

void uno_layout_map(struct uno_plan *p, const char *option, const char *text);
void uno_layout_bind(struct uno_plan *p, const char *option, const char *text);
void uno_layout_rank(struct uno_plan *p, const char *option, const char *text);
void uno_layout_ppr(struct uno_plan *p, const char *option, const char *count, const char *unit);

// A setting that has a meaning here is applied; any other is noted in p->ignored.
void uno_layout_mca(struct uno_plan *p, const char *name, const char *value);

long uno_layout_number(const char *option, const char *text, long least, long most);
