// SPDX-License-Identifier: BSD-3-Clause
// Unit test of fail.c: the kept reason and the log line.
#include "base/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/param.h"

static void reason_is_kept(void **state)
{
    (void)state;
    assert_int_equal(uno_fail(13, "tag %d is negative", -5), 13);
    assert_string_equal(uno_fail_text(), "tag -5 is negative");
    errno = ENOENT;
    assert_int_equal(uno_fail_errno(7, "open %s", "x"), 7);
    assert_string_equal(uno_fail_text(), "open x: No such file or directory");
    uno_fail(1, "two\nlines");
    assert_string_equal(uno_fail_text(), "two lines");
    uno_fail_clear();
    assert_string_equal(uno_fail_text(), "");
}

static void long_reason_is_cut(void **state)
{
    (void)state;
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    uno_fail(1, "%s", big);
    assert_int_equal(strlen(uno_fail_text()), 511);
    errno = EIO;
    uno_fail_errno(1, "%s", big);
    assert_int_equal(strlen(uno_fail_text()), 511);
}

// What uno_log writes on stderr while `level` is logged at the verbosity `set`.
static void captured(char *out, size_t room, const char *set, int level, const char *text)
{
    int pipes[2], keep = dup(STDERR_FILENO);
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    setenv("UNISONO_VERBOSE", set, 1);
    assert_int_equal(uno_params_load(), 0);
    dup2(pipes[1], STDERR_FILENO);
    uno_log(level, "%s", text);
    dup2(keep, STDERR_FILENO);
    ssize_t n = read(pipes[0], out, room - 1);
    out[n > 0 ? n : 0] = '\0';
    close(pipes[0]);
    close(pipes[1]);
    close(keep);
}

static void log_honours_verbosity(void **state)
{
    (void)state;
    char out[2048], big[3000];
    captured(out, sizeof out, "0", 1, "hidden");
    assert_string_equal(out, "");
    captured(out, sizeof out, "2", 1, "seen");
    assert_string_equal(out, "unisono: seen\n");
    uno_log_rank(3);
    captured(out, sizeof out, "0", 0, "always");
    assert_string_equal(out, "unisono: rank 3: always\n");
    memset(big, 'y', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    captured(out, sizeof out, "0", 0, big);
    assert_int_equal(out[strlen(out) - 1], '\n');
    assert_true(strlen(out) > 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reason_is_kept),
        cmocka_unit_test(long_reason_is_cut),
        cmocka_unit_test(log_honours_verbosity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
