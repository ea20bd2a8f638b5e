// SPDX-License-Identifier: BSD-3-Clause
// Files that take the ranks' output instead of, or beside, mpiexec's own standard output and error: --outfile-pattern,
// --errfile-pattern and --output-filename. All are opened before a rank of the job is started. Patterns hold %r (rank),
// %h (host), %l (rank on its host), %p (number of the host), %g (number of the job, 0 unless it was spawned) and %%.
#pragma once
#include "plan.h"

struct uno_outfile {
    char *path;
    int fd;
};

struct uno_outfiles {
    struct uno_outfile *file;
    int count;
    int *of;    // by rank * 2 + (1 for standard error): index of its file, -1 none
};

// *files: NULL where the user wants none. `fresh`: what earlier runs have written there goes. Returns NULL, or why a
// file cannot be made; the caller frees that.
char *uno_outfiles_open(const struct uno_plan *p, bool fresh, struct uno_outfiles **files);
void uno_outfiles_free(struct uno_outfiles *o);    // the files stay open

// Refuses a pattern with an unknown letter.
void uno_pattern_check(const char *option, const char *pattern);
char *uno_pattern_fill(const struct uno_plan *p, const char *pattern, int rank);    // the caller frees
