// SPDX-License-Identifier: BSD-3-Clause
// Unit test of param.c: kinds, ranges, order of the sources, and the messages for what is misspelt.
#include "base/param.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fail.h"

static struct uno_param size = UNO_PARAM_INT("test_size", 4096, 0, 1 << 30, "a size");
static struct uno_param flag = UNO_PARAM_BOOL("test_flag", 1, "a switch");
static struct uno_param text = UNO_PARAM_TEXT("test_text", "abc", "a text");
static struct uno_param pick = UNO_PARAM_CHOICE("test_pick", "two", "one|two|three", "a choice");
UNO_PARAM_DECLARE(size);
UNO_PARAM_DECLARE(flag);
UNO_PARAM_DECLARE(text);
UNO_PARAM_DECLARE(pick);

static int load_with(const char *name, const char *value)
{
    setenv(name, value, 1);
    int err = uno_params_load();
    unsetenv(name);
    return err;
}

static void refused(const char *name, const char *value, const char *text_part)
{
    assert_int_equal(load_with(name, value), MPI_ERR_ARG);
    if (!strstr(uno_fail_text(), text_part)) fail_msg("\"%s\" lacks \"%s\"", uno_fail_text(), text_part);
}

static void defaults_stand(void **state)
{
    (void)state;
    assert_int_equal(uno_params_load(), 0);
    assert_int_equal(size.num, 4096);
    assert_int_equal(flag.num, 1);
    assert_string_equal(text.text, "abc");
    assert_int_equal(pick.num, 1);
    assert_int_equal(pick.origin, UNO_PARAM_DEFAULT);
}

static void values_are_read(void **state)
{
    (void)state;
    assert_int_equal(load_with("UNISONO_TEST_SIZE", "64k"), 0);
    assert_int_equal(size.num, 65536);
    assert_int_equal(size.origin, UNO_PARAM_FROM_ENV);
    assert_int_equal(load_with("UNISONO_TEST_SIZE", "2M"), 0);
    assert_int_equal(size.num, 2 << 20);
    assert_int_equal(load_with("UNISONO_TEST_SIZE", "0x10"), 0);
    assert_int_equal(size.num, 16);
    assert_int_equal(load_with("UNISONO_TEST_FLAG", "off"), 0);
    assert_int_equal(flag.num, 0);
    assert_int_equal(load_with("UNISONO_TEST_TEXT", "x=y z"), 0);
    assert_string_equal(text.text, "x=y z");
    assert_int_equal(load_with("UNISONO_TEST_PICK", "three"), 0);
    assert_int_equal(pick.num, 2);
    assert_string_equal(pick.text, "three");
}

static void malformed_is_refused(void **state)
{
    (void)state;
    refused("UNISONO_TEST_SIZE", "", "from 0 to 1073741824");
    refused("UNISONO_TEST_SIZE", "12q", "whole number");
    refused("UNISONO_TEST_SIZE", "-1", "from 0 to");
    refused("UNISONO_TEST_SIZE", "2G", "from 0 to");
    refused("UNISONO_TEST_SIZE", "99999999999999999999", "from 0 to");
    refused("UNISONO_TEST_SIZE", "9999999999999G", "from 0 to");
    refused("UNISONO_TEST_FLAG", "maybe", "yes or no");
    refused("UNISONO_TEST_PICK", "tw", "one|two|three");
    refused("UNISONO_TEST_PICK", "", "one|two|three");
    refused("UNISONO_TEST_SISE", "1", "did you mean test_size?");
    refused("UNISONO_COMPLETELY_ELSE", "1", "unisono-info");
    assert_int_equal(load_with("UNISONO_OMP_ANYTHING", "1"), 0);
    assert_int_equal(load_with("UNISONO_JOB", "3:0"), 0);
    assert_int_equal(load_with("UNISONO_PM_FD", "3"), 0);
    assert_int_equal(load_with("UNISONO_PARENT", "a port"), 0);
    assert_int_equal(load_with("UNISONO_", "3"), MPI_ERR_ARG);
}

static int load_file_text(const char *content)
{
    char path[] = "/tmp/unisono-param-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    int err = load_with("UNISONO_PARAM_FILE", path);
    unlink(path);
    return err;
}

static void file_is_read(void **state)
{
    (void)state;
    assert_int_equal(load_file_text("# comment\n\n test_size = 3k # three\ntest_text=one two \n"), 0);
    assert_int_equal(size.num, 3072);
    assert_int_equal(size.origin, UNO_PARAM_FROM_FILE);
    assert_string_equal(text.text, "one two");
    setenv("UNISONO_TEST_SIZE", "5", 1);
    assert_int_equal(load_file_text("test_size = 6"), 0);
    unsetenv("UNISONO_TEST_SIZE");
    assert_int_equal(size.num, 5);
    assert_int_equal(load_file_text("\ntest_size 6\n"), MPI_ERR_ARG);
    assert_non_null(strstr(uno_fail_text(), ":2: "));
    assert_int_equal(load_file_text("test_siz = 6"), MPI_ERR_ARG);
    assert_non_null(strstr(uno_fail_text(), "did you mean test_size?"));
    assert_int_equal(load_with("UNISONO_PARAM_FILE", "/nonexistent/file"), MPI_ERR_ARG);
    assert_non_null(strstr(uno_fail_text(), "No such file"));
}

static void nearest_word(void **state)
{
    (void)state;
    const char *const words[] = {"--timeout", "--host", "--hostfile"};
    assert_string_equal(uno_nearest("--timout", words, 3), "--timeout");
    assert_string_equal(uno_nearest("--hots", words, 3), "--host");
    assert_null(uno_nearest("--absurdity", words, 3));
    assert_null(uno_nearest("x", words, 3));
    assert_null(uno_nearest("abc", words, 0));
}

// What a tool writes before the values are read stays.
static void a_tool_wins(void **state)
{
    (void)state;
    assert_int_equal(uno_param_write(&size, 3, NULL), 0);
    assert_int_equal(load_with("UNISONO_TEST_SIZE", "7"), 0);
    unsetenv("UNISONO_TEST_SIZE");
    assert_int_equal(size.num, 3);
    assert_int_equal(uno_param_write(&size, size.max + 1, NULL), MPI_ERR_ARG);
    assert_non_null(strstr(uno_fail_text(), "test_size"));
    assert_int_equal(size.num, 3);
    assert_int_equal(uno_param_write(&pick, 2, NULL), 0);
    assert_string_equal(pick.text, "three");
    assert_int_equal(uno_param_write(&pick, 9, NULL), MPI_ERR_ARG);
    assert_string_equal(pick.text, "three");
}

static void all_are_listed(void **state)
{
    (void)state;
    size_t count;
    struct uno_param *const *all = uno_params_all(&count);
    int seen = 0;
    for (size_t i = 0; i < count; i++) seen += all[i] == &size || !strcmp(all[i]->name, "verbose");
    assert_int_equal(seen, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stand), cmocka_unit_test(values_are_read), cmocka_unit_test(malformed_is_refused),
        cmocka_unit_test(file_is_read),   cmocka_unit_test(nearest_word),    cmocka_unit_test(all_are_listed),
        cmocka_unit_test(a_tool_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
