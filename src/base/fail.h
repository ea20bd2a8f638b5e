// SPDX-License-Identifier: BSD-3-Clause
// How a failure travels inside the library: the first place that knows says why (uno_fail, kept per thread), the return
// value carries the MPI error class. Only src/api raises error handlers, and it appends the text kept here to its
// message.
#pragma once

// Error classes beside those of the standard, as mpi_ext.h names them for users (core/errh.c holds that).
#define UNO_ERR_PROC_FAILED 16301
#define UNO_ERR_PROC_FAILED_PENDING 16302
#define UNO_ERR_REVOKED 16303

// On functions that can fail: the caller looks at the result, or says why not.
#define UNO_MUST_USE __attribute__((warn_unused_result))

// Keeps the reason, returns `mpi_class`. The text is one line without a full stop.
int uno_fail(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// As uno_fail, with the text of the current errno appended.
int uno_fail_errno(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
// The analyzer does not see across files what these return: without this, it takes for NULL what was checked elsewhere.
#define uno_fail(mpi_class, ...) ((uno_fail)(mpi_class, __VA_ARGS__), (mpi_class))
#define uno_fail_errno(mpi_class, ...) ((uno_fail_errno)(mpi_class, __VA_ARGS__), (mpi_class))
#endif

// The kept reason of this thread ("" when none) and forgetting it.
const char *uno_fail_text(void);
void uno_fail_clear(void);

// Sets the prefix of log lines: `unisono: rank N:` from here on (`unisono:` before; mpiexec keeps that).
void uno_log_rank(int rank);

// One line on stderr, prefixed as above; printed when the parameter `verbose` is at least `level`.
void uno_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
