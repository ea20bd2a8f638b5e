// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2
// Info objects before, during and after MPI, MPI_INFO_ENV, hints of communicators, and what is wrong input.
#include "../check.h"

#include <string.h>

static void pairs(void)
{
    MPI_Info i, j;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY];
    int n, flag;
    CHECK(MPI_Info_create(&i) == MPI_SUCCESS);
    MPI_Info_get_nkeys(i, &n);
    CHECK(n == 0);
    for (int k = 0; k < 50; k++) {
        snprintf(key, sizeof key, "key %d", k);
        snprintf(value, sizeof value, "value %d", k * k);
        CHECK(MPI_Info_set(i, key, value) == MPI_SUCCESS);
    }
    CHECK(MPI_Info_set(i, "key 7", "seven") == MPI_SUCCESS);    // replaces
    MPI_Info_get_nkeys(i, &n);
    CHECK(n == 50);
    for (int k = 0; k < 50; k++) {
        char want[32];
        snprintf(want, sizeof want, "key %d", k);
        MPI_Info_get_nthkey(i, k, key);
        CHECK(strcmp(key, want) == 0);
    }
    MPI_Info_get(i, "key 7", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, "seven") == 0);
    MPI_Info_get(i, "key 7", 3, value, &flag);
    CHECK(flag && strcmp(value, "sev") == 0);
    MPI_Info_get_valuelen(i, "key 7", &n, &flag);
    CHECK(flag && n == 5);
    strcpy(value, "untouched");
    n = 0;
    MPI_Info_get_string(i, "key 7", &n, NULL, &flag);
    CHECK(flag && n == 6);
    n = 4;
    MPI_Info_get_string(i, "key 7", &n, value, &flag);
    CHECK(flag && n == 6 && strcmp(value, "sev") == 0);
    n = 5;
    MPI_Info_get_string(i, "absent", &n, value, &flag);
    CHECK(!flag && n == 5 && strcmp(value, "sev") == 0);
    CHECK(MPI_Info_dup(i, &j) == MPI_SUCCESS && j != i);
    CHECK(MPI_Info_delete(i, "key 7") == MPI_SUCCESS);
    MPI_Info_get(i, "key 7", 10, value, &flag);
    CHECK(!flag);
    MPI_Info_get(j, "key 7", 10, value, &flag);
    CHECK(flag && strcmp(value, "seven") == 0);
    MPI_Info_get_nthkey(j, 0, key);
    CHECK(strcmp(key, "key 0") == 0);
    CHECK(MPI_Info_set(i, "empty", "") == MPI_SUCCESS);
    MPI_Info_get_valuelen(i, "empty", &n, &flag);
    CHECK(flag && n == 0);
    MPI_Info_free(&i);
    MPI_Info_free(&j);
    CHECK(i == MPI_INFO_NULL);
}

static void environment(int np)
{
    char value[MPI_MAX_INFO_VAL], number[16];
    int flag, n = sizeof value;
    MPI_Info i;
    MPI_Info_get_string(MPI_INFO_ENV, "command", &n, value, &flag);
    CHECK(flag && strlen(value) > 0);
    n = sizeof value;
    MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &n, value, &flag);
    snprintf(number, sizeof number, "%d", np);
    CHECK(flag && (np == 0 || strcmp(value, number) == 0));
    n = sizeof value;
    MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &n, value, &flag);
    CHECK(flag && strncmp(value, "MPI_THREAD_", 11) == 0);
    char *argv[] = {"program", "one", "two", NULL};
    CHECK(MPI_Info_create_env(3, argv, &i) == MPI_SUCCESS);
    n = sizeof value;
    MPI_Info_get_string(i, "argv", &n, value, &flag);
    CHECK(flag && strcmp(value, "one two") == 0);
    CHECK(MPI_Info_set(i, "command", "other") == MPI_SUCCESS);
    MPI_Info_free(&i);
}

static void hint(MPI_Comm c, const char *key, const char *want)
{
    MPI_Info i;
    char value[MPI_MAX_INFO_VAL];
    int flag, n = sizeof value;
    CHECK(MPI_Comm_get_info(c, &i) == MPI_SUCCESS);
    MPI_Info_get_string(i, key, &n, value, &flag);
    CHECK(flag == (want != NULL));
    if (want) CHECK(strcmp(value, want) == 0);
    MPI_Info_free(&i);
}

static void hints(void)
{
    MPI_Info i;
    MPI_Comm c, d, e;
    MPI_Info_create(&i);
    MPI_Info_set(i, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(i, "mpi_assert_exact_length", "perhaps");    // malformed: dropped
    MPI_Info_set(i, "unknown_key", "1");                      // unknown: dropped
    MPI_Info_set(i, "mpi_assert_memory_alloc_kinds", "system");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, i, &c);
    hint(c, "mpi_assert_no_any_tag", "true");
    hint(c, "mpi_assert_exact_length", "false");
    hint(c, "mpi_assert_no_any_source", "false");
    hint(c, "mpi_assert_memory_alloc_kinds", "system");
    hint(c, "mpi_memory_alloc_kinds", "mpi,system");
    hint(c, "unknown_key", NULL);
    hint(MPI_COMM_WORLD, "mpi_assert_no_any_tag", "false");
    MPI_Comm_dup(c, &d);    // MPI-4: hints are not passed on
    hint(d, "mpi_assert_no_any_tag", "false");
    MPI_Request r;
    MPI_Comm_idup_with_info(c, i, &e, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    hint(e, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(i, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(e, i);
    hint(e, "mpi_assert_no_any_tag", "false");
    CHECK(MPI_Comm_set_info(e, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Info_free(&i);
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
    MPI_Comm_free(&e);
}

static void wrong_input(void)
{
    MPI_Info i, copy;
    char big[MPI_MAX_INFO_VAL + 2], key[MPI_MAX_INFO_KEY];
    int n;
    memset(big, 'k', sizeof big);
    big[sizeof big - 1] = 0;
    MPI_Info_create(&i);
    CHECK(MPI_Info_set(i, big, "v") == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_set(i, "", "v") == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_set(i, NULL, "v") == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_set(i, "k", big) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_set(i, "k", NULL) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_set(MPI_INFO_NULL, "k", "v") == MPI_ERR_INFO);
    CHECK(MPI_Info_set(MPI_INFO_ENV, "k", "v") == MPI_ERR_INFO);
    CHECK(MPI_Info_delete(i, "absent") == MPI_ERR_INFO_NOKEY);
    CHECK(MPI_Info_get_nthkey(i, 0, key) == MPI_ERR_ARG);
    CHECK(MPI_Info_get_nkeys(i, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_set_info(MPI_COMM_SELF, (MPI_Info)MPI_COMM_SELF) == MPI_ERR_INFO);
    copy = i;
    MPI_Info_free(&i);
    CHECK(MPI_Info_get_nkeys(copy, &n) == MPI_ERR_INFO);
    CHECK(MPI_Info_free(&i) == MPI_ERR_INFO);
    copy = MPI_INFO_ENV;
    CHECK(MPI_Info_free(&copy) == MPI_ERR_INFO);
    MPI_Comm c;
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_SELF, i, &c) == MPI_SUCCESS);    // MPI_INFO_NULL is fine
    MPI_Comm_free(&c);
}

int main(void)
{
    int np;
    pairs();
    environment(0);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    pairs();
    environment(np);
    hints();
    wrong_input();
    MPI_Finalize();
    pairs();
    return 0;
}
