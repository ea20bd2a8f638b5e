// SPDX-License-Identifier: BSD-3-Clause
// Keeps the reason for a failure, one line per thread (fail.h), and writes the library's log lines. Called from
// everywhere; the only place in the library that prints. A log line is one write(2), so lines of several threads or
// ranks never mix inside a line.
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/param.h"

#undef uno_fail    // what the analyzer sees in their place
#undef uno_fail_errno

static struct uno_param verbose =
    UNO_PARAM_INT("verbose", 0, 0, 3,
                  "how much the library says on standard error: 0 nothing but fatal errors and strangers on the "
                  "network, 1 fallbacks and leaks, 2 set-up, 3 everything");
UNO_PARAM_DECLARE(verbose);

static _Thread_local char reason[512];
static char prefix[48];

// Appends to the reason from `at` on, kept to one line: a line break in an argument turns into a blank.
static int put_text(size_t at, const char *fmt, va_list args)
{
    int n = vsnprintf(reason + at, sizeof reason - at, fmt, args);
    for (char *c = reason + at; *c; c++)
        if (*c == '\n') *c = ' ';
    return n < 0 ? 0 : n;
}

int uno_fail(int mpi_class, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_text(0, fmt, args);
    va_end(args);
    return mpi_class;
}

int uno_fail_errno(int mpi_class, const char *fmt, ...)
{
    int err = errno;
    va_list args;
    va_start(args, fmt);
    put_text(0, fmt, args);
    va_end(args);
    size_t at = strlen(reason);
    snprintf(reason + at, sizeof reason - at, ": %s", strerror(err));
    errno = err;
    return mpi_class;
}

const char *uno_fail_text(void)
{
    return reason;
}

void uno_fail_clear(void)
{
    reason[0] = '\0';
}

void uno_log_rank(int rank)
{
    snprintf(prefix, sizeof prefix, "unisono: rank %d: ", rank);
}

void uno_log(int level, const char *fmt, ...)
{
    if (verbose.num < level) return;
    int err = errno;
    char line[1024];
    int at = snprintf(line, sizeof line, "%s", prefix[0] ? prefix : "unisono: ");
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line + at, sizeof line - (size_t)at - 1, fmt, args);
    va_end(args);
    size_t len = strnlen(line, sizeof line - 2);
    if (n < 0) len = (size_t)at;
    line[len] = '\n';
    ssize_t done = write(STDERR_FILENO, line, len + 1);
    (void)done;
    errno = err;
}
