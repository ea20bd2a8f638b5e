// SPDX-License-Identifier: BSD-3-Clause
// Process failure for the entry points in src/api/survive.c: agreements of the members of a communicator, revoking it.
// The lock is held; arguments are checked. Results: 0 or an MPI error class.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "core/comm.h"
#include "core/request.h"

struct uno_ballot;

// After the library is open: from now on uno_progress notices what mpiexec tells (news.c).
void uno_ft_open(void);
void uno_ft_close(void);

// Looks now.
void uno_ft_look(void);

// All members of c that live agree on the bits that their flags have in common; *flag is written when the request ends.
// It ends with UNO_ERR_PROC_FAILED on all of them if one has failed that not all have acknowledged.
int uno_ft_agree(struct MPI_ABI_Comm *c, int *flag, MPI_Request *req) UNO_MUST_USE;

// The members of c that live make a communicator; *out is written when the request ends.
int uno_ft_shrink(struct MPI_ABI_Comm *c, MPI_Comm *out, MPI_Request *req) UNO_MUST_USE;

// Here at once, and soon everywhere.
int uno_ft_revoke(struct MPI_ABI_Comm *c) UNO_MUST_USE;

// In a job that goes on: waits until every rank is in MPI_Finalize or dead.
int uno_ft_finish(void) UNO_MUST_USE;

// How many failures of c's members this process knows of, in the order in which it learnt of them: the first n as world
// ranks or numbers of chan/proc.h.
int uno_ft_failed(const struct MPI_ABI_Comm *c, int n, int *proc);

// agree.c, for news.c: mpiexec has decided.
void uno_ft_decided(const struct uno_ballot *b, size_t bytes);
void uno_ft_revoked(uint64_t context);
