// SPDX-License-Identifier: BSD-3-Clause
// The machine file's life: written, found, and passed over with its reason when it is broken, of another processor or
// of another version.
#include "base/machine.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/param.h"

#define VERSION 4    // that the library reads

static char folder[] = "/tmp/uno-machine-XXXXXX", path[512];

// A whole file, with `name` left out (NULL: nothing), and one more line.
static void write_file(int version, const char *processor, const char *without, const char *more)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "unisono machine %d\n# measured\nprocessor = %s\n", version, processor);
    for (size_t i = 0; uno_cost_name(i); i++)
        if (!without || strcmp(without, uno_cost_name(i)) != 0)
            fprintf(f, "%s = %zu    # %s\n", uno_cost_name(i), 1000 + i, uno_cost_unit(i));
    fputs(more, f);
    fclose(f);
}

static const char *here(void)
{
    static char name[UNO_MACHINE_TEXT];
    uno_processor_name(name, sizeof name);
    return name;
}

static void refused(const char *part)
{
    struct uno_machine m = {.cost = {.line = 7}};
    assert_int_equal(uno_machine_read(path, &m), MPI_ERR_ARG);
    if (!strstr(uno_fail_text(), part)) fail_msg("\"%s\" lacks \"%s\"", uno_fail_text(), part);
    assert_int_equal(m.cost.line, 7);
    uno_machine_find(&m);
    assert_memory_equal(m.from, "table: ", 7);
    if (!strstr(m.wrong, part)) fail_msg("\"%s\" lacks \"%s\"", m.wrong, part);
}

static void is_found(void **state)
{
    (void)state;
    struct uno_machine m;
    const char *name;
    unlink(path);
    uno_machine_find(&m);
    assert_memory_equal(m.from, "table: ", 7);
    assert_memory_equal(&m.told, uno_costs_known(&name), sizeof m.told);    // whatever was raised
    write_file(VERSION, here(), NULL, "");
    uno_machine_find(&m);
    assert_string_equal(m.from, path);
    for (size_t i = 0; uno_cost_name(i); i++) assert_int_equal(uno_cost_at(&m.cost, i), 1000 + i);
    assert_memory_equal(&m.told, &m.cost, sizeof m.told);
}

static void is_passed_over(void **state)
{
    (void)state;
    write_file(VERSION + 1, here(), NULL, "");
    refused("is of version 5, and this library reads version 4");
    write_file(0, here(), NULL, "");
    refused("is of version 0");
    write_file(VERSION, "Somebody-1-2", NULL, "");
    refused("was measured on Somebody-1-2, and this is ");
    write_file(VERSION, here(), "call", "");
    refused("lacks call");
    write_file(VERSION, here(), NULL, "call = -3\n");
    refused("call is \"-3\", a whole number from 10 to");
    write_file(VERSION, here(), NULL, "call = 3x\n");
    refused("call is \"3x\"");
    write_file(VERSION, here(), NULL, "call 3\n");
    refused("not of the form NAME = VALUE");
    write_file(VERSION, here(), NULL, "colour = 3\n");
    refused("no cost is called colour");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    refused("is not a machine file");
}

static void the_parameter_names_it(void **state)
{
    (void)state;
    struct uno_machine m;
    write_file(VERSION, here(), NULL, "line = 321\n");
    setenv("UNISONO_MACHINE_FILE", "none", 1);
    assert_int_equal(uno_params_load(), 0);
    uno_machine_find(&m);
    assert_memory_equal(m.from, "table: ", 7);
    char other[600];
    snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(rename(path, other), 0);
    setenv("UNISONO_MACHINE_FILE", other, 1);
    assert_int_equal(uno_params_load(), 0);
    uno_machine_find(&m);
    assert_string_equal(m.from, other);
    assert_int_equal(m.cost.line, 321);
    unlink(other);
    uno_machine_find(&m);
    assert_memory_equal(m.from, "table: ", 7);
}

static void kinds_of_processors(void **state)
{
    (void)state;
    uint32_t own = uno_machine_kind(), other = own ^ 255;
    struct uno_machine m = {.kind = 0}, theirs = {.kind = other}, used = {.kind = other, .blend = UNO_BLEND_ALIKE};
    assert_null(uno_machine_join(&m));
    assert_null(uno_machine_join(&m));
    assert_null(uno_machine_meet(own, true));
    assert_non_null(strstr(uno_machine_meet(__builtin_bswap32(other), false), "order of bytes"));
    assert_non_null(uno_machine_meet(17, false));
    assert_non_null(strstr(uno_machine_meet(other, true), "--set mixed=1"));
    assert_int_equal(m.blend, UNO_BLEND_OPEN);
    assert_null(uno_machine_refusal(other));
    assert_int_equal(m.blend, UNO_BLEND_OPEN);
    // Who comes first decides: the use of long double, or another kind.
    assert_true(uno_machine_keep_alike() && uno_machine_is_alike());
    assert_non_null(strstr(uno_machine_meet(other, false), "long double"));
    assert_null(uno_machine_join(&theirs));
    assert_false(uno_machine_keep_alike() || uno_machine_is_alike());
    assert_null(uno_machine_meet(other, false));
    assert_non_null(strstr(uno_machine_join(&used), "--set mixed=1"));
    setenv("UNISONO_MIXED", "1", 1);
    assert_int_equal(uno_params_load(), 0);
    struct uno_machine said = {.kind = 0};
    assert_null(uno_machine_join(&said));
    assert_false(uno_machine_keep_alike());
    unsetenv("UNISONO_MIXED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_found), cmocka_unit_test(is_passed_over),
                                       cmocka_unit_test(the_parameter_names_it), cmocka_unit_test(kinds_of_processors)};
    if (!mkdtemp(folder)) return 1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    char deeper[600];
    snprintf(deeper, sizeof deeper, "%s/unisono", folder);
    if (mkdir(deeper, 0700) != 0) return 1;
    uno_machine_path(path, sizeof path, false);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(deeper);
    rmdir(folder);
    return failed;
}
