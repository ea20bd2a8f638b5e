// SPDX-License-Identifier: BSD-3-Clause
// Published names: two tables stand for two processes, a file without a lock for one whose process died.
#define _GNU_SOURCE
#include "base/names.h"

#include <dirent.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/param.h"

static char folder[] = "/tmp/unisono-names-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? setenv("XDG_RUNTIME_DIR", folder, 1) : -1;
}

static int count_files(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/unisono-names", folder);
    DIR *d = opendir(path);
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/unisono-names", folder);
    return rmdir(path) | rmdir(folder);    // both are empty: nothing was left behind
}

static void test_publish(void **state)
{
    struct uno_names here = {0}, there = {0};
    char port[64];
    (void)state;
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(uno_names_publish(&here, "a", "port 1", 1), 0);
    assert_int_equal(uno_names_publish(&here, "", "port 2", 2), 0);
    assert_int_equal(uno_names_look_up(&here, "a", port, sizeof port), 0);
    assert_string_equal(port, "port 1");
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), 0);
    assert_string_equal(port, "port 1");
    assert_int_equal(uno_names_look_up(&there, "", port, sizeof port), 0);
    assert_string_equal(port, "port 2");
    assert_int_equal(uno_names_look_up(&there, "a", port, 3), MPI_ERR_NAME);
    assert_int_equal(uno_names_publish(&there, "a", "other", 1), MPI_ERR_SERVICE);
    assert_int_equal(uno_names_publish(&here, "a", "other", 1), MPI_ERR_SERVICE);
    assert_int_equal(uno_names_unpublish(&there, "a"), MPI_ERR_SERVICE);
    assert_int_equal(uno_names_unpublish(&here, "a"), 0);
    assert_int_equal(uno_names_unpublish(&here, "a"), MPI_ERR_SERVICE);
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(count_files(), 1);
    uno_names_close(&here);
    assert_int_equal(count_files(), 0);
}

static void test_owners(void **state)
{
    struct uno_names t = {0};
    char port[64];
    (void)state;
    assert_int_equal(uno_names_publish(&t, "a", "1", 7), 0);
    assert_int_equal(uno_names_publish(&t, "b", "2", 8), 0);
    assert_int_equal(uno_names_publish(&t, "c", "3", 7), 0);
    uno_names_drop(&t, 7);
    assert_int_equal(uno_names_look_up(&t, "a", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(uno_names_look_up(&t, "c", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(uno_names_look_up(&t, "b", port, sizeof port), 0);
    uno_names_close(&t);
}

// A process that ends without a word leaves its file. It is not found, and the name is free.
static void test_stale(void **state)
{
    struct uno_names t = {0};
    char port[64];
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) _exit(uno_names_publish(&t, "left", "behind", 1));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(), 1);
    assert_int_equal(uno_names_look_up(&t, "left", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(uno_names_publish(&t, "left", "here", 1), 0);
    assert_int_equal(uno_names_look_up(&t, "left", port, sizeof port), 0);
    assert_string_equal(port, "here");
    uno_names_close(&t);
}

// A process that the publisher forks takes nothing away when it ends.
static void test_fork(void **state)
{
    struct uno_names here = {0}, there = {0};
    char port[64];
    int status;
    (void)state;
    assert_int_equal(uno_names_publish(&here, "a", "1", 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uno_names_close(&here);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), 0);
    uno_names_close(&here);
}

// A folder that others may read is not used: the name is known to this table alone.
static void test_open_folder(void **state)
{
    struct uno_names here = {0}, there = {0};
    char path[300], port[64];
    (void)state;
    snprintf(path, sizeof path, "%s/unisono-names", folder);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(uno_names_publish(&here, "a", "1", 1), 0);
    assert_int_equal(uno_names_look_up(&here, "a", port, sizeof port), 0);
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), MPI_ERR_NAME);
    assert_int_equal(count_files(), 0);
    uno_names_close(&here);
    assert_int_equal(chmod(path, 0700), 0);
}

static void choose(const char *path)
{
    setenv("UNISONO_NAME_FOLDER", path, 1);
    assert_int_equal(uno_params_load(), 0);
}

// A folder that was asked for is used whatever the host's own is, and what is wrong with it is told, not passed over.
static void test_chosen_folder(void **state)
{
    struct uno_names here = {0}, there = {0};
    char path[300], port[64];
    (void)state;
    snprintf(path, sizeof path, "%s/shared", folder);
    choose(path);
    assert_int_equal(uno_names_publish(&here, "a", "1", 1), 0);
    setenv("XDG_RUNTIME_DIR", "/nowhere", 1);    // as on another host
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), 0);
    assert_string_equal(port, "1");
    assert_int_equal(uno_names_publish(&there, "a", "2", 1), MPI_ERR_SERVICE);
    assert_int_equal(chmod(path, 0750), 0);
    assert_int_equal(uno_names_look_up(&there, "a", port, sizeof port), MPI_ERR_NAME);
    assert_non_null(strstr(uno_fail_text(), "open to others (mode 750"));
    assert_int_equal(uno_names_publish(&there, "b", "2", 1), MPI_ERR_OTHER);
    assert_non_null(strstr(uno_fail_text(), "open to others (mode 750"));
    assert_int_equal(chmod(path, 0700), 0);
    uno_names_close(&here);
    assert_int_equal(rmdir(path), 0);    // nothing was left behind
    choose("shared");
    assert_int_equal(uno_names_publish(&here, "a", "1", 1), MPI_ERR_OTHER);
    assert_non_null(strstr(uno_fail_text(), "begins with / or ~/"));
    setenv("HOME", folder, 1);
    choose("~/shared");
    assert_int_equal(uno_names_publish(&here, "a", "1", 1), 0);
    uno_names_close(&here);
    assert_int_equal(rmdir(path), 0);
    choose("");
    setenv("XDG_RUNTIME_DIR", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_publish),     cmocka_unit_test(test_owners),
                                       cmocka_unit_test(test_stale),       cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_open_folder), cmocka_unit_test(test_chosen_folder)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
