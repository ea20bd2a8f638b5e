// SPDX-License-Identifier: BSD-3-Clause
// Why a job ended, in one line, and with which exit status. The front asks of each rank that ended whether that is a
// failure; the first failure decides. The text is complete only when all ranks are gone.
#pragma once
#include "node.h"

struct uno_verdict {
    int status;        // of mpiexec
    char *what;        // NULL: nothing to report
    int others;        // ranks that were running when it was decided, for the line; 0: not mentioned
    char *forgot;      // the first rank that ended well but did not call MPI_Finalize; NULL none
    int forgetters;    // how many did
};

// True if the rank's end is a failure. `*ends_job`: the other ranks have to be ended.
bool uno_verdict_rank(struct uno_verdict *v, const struct uno_plan *p, int rank, const struct uno_exit *e,
                      bool *ends_job);
char *uno_verdict_text(const struct uno_verdict *v);       // the whole line, or NULL
char *uno_verdict_warning(const struct uno_verdict *v);    // of what is no failure; NULL: nothing

char *uno_verdict_codes(const struct uno_plan *p, const int *status);    // how each rank ended; -1: not known

// Where the ranks of a node are, one line per rank; the caller frees it.
char *uno_verdict_where(const struct uno_plan *p, const struct uno_wait *wait, size_t count);

// The deadlock report: what each rank waits for, and a cycle if there is one. `wait` has one entry per sleeping rank.
char *uno_verdict_deadlock(const struct uno_plan *p, const struct uno_wait *wait, size_t count);
