// SPDX-License-Identifier: BSD-3-Clause
// How a failure travels inside the library: the first place that knows says why (uno_fail, kept a thread), the return
// value carries the MPI error class. Only src/api raises error handlers, and it appends the text kept here to its
// message.
#pragma once

// Keeps the reason, returns `mpi_class`. The text is one line without a full stop.
int uno_fail(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// As uno_fail, with the text of the current errno appended.
int uno_fail_errno(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// The kept reason of this thread ("" when none) and forgetting it.
const char *uno_fail_text(void);
void uno_fail_clear(void);

// Who speaks in log lines: `unisono: rank N:` from here on (`unisono:` before; mpiexec leaves it so).
void uno_log_rank(int rank);

// One line on stderr, prefixed as above; printed when the parameter `verbose` is at least `level`.
void uno_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
