// SPDX-License-Identifier: BSD-3-Clause
// Info keys of windows (MPI-5.0 12.2.7). Called when a window is made, by MPI_Win_set_info and MPI_Win_get_info.
// Always holds: w->info has known keys with valid values only; a hint never changes a result.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/info.h"
#include "rma/rma.h"

static bool is_boolean(const char *v)
{
    return strcmp(v, "true") == 0 || strcmp(v, "false") == 0;
}

static bool is_number(const char *v)
{
    char *end;
    errno = 0;
    long long n = strtoll(v, &end, 10);
    return end != v && *end == '\0' && n >= 0 && errno == 0;
}

static bool is_ordering(const char *v)
{
    if (strcmp(v, "none") == 0) return true;
    while (*v) {
        size_t n = strcspn(v, ",");
        if (n != 3 || !strchr("rw", v[0]) || v[1] != 'a' || !strchr("rw", v[2])) return false;
        v += n + (v[n] == ',');
    }
    return true;
}

static bool is_ops(const char *v)
{
    return strcmp(v, "same_op") == 0 || strcmp(v, "same_op_no_op") == 0;
}

static const struct {
    const char *key, *fallback;
    bool (*valid)(const char *value);
} known[] = {
    {"no_locks", "false", is_boolean},
    {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    {"accumulate_ops", "same_op_no_op", is_ops},
    {"same_size", "false", is_boolean},
    {"same_disp_unit", "false", is_boolean},
    {"alloc_shared_noncontig", "false", is_boolean},
    {"mpi_minimum_memory_alignment", "64", is_number},
    {"mpi_accumulate_granularity", "0", is_number},
    {"mpi_assert_memory_alloc_kinds", "", NULL},
};
#define KNOWN (sizeof known / sizeof known[0])

int uno_win_hints_take(struct MPI_ABI_Win *w, const struct MPI_ABI_Info *info)
{
    for (size_t i = 0; info && i < KNOWN; i++) {
        const char *value = uno_info_find(info, known[i].key);
        if (!value || (known[i].valid && !known[i].valid(value))) continue;
        if (!w->info) w->info = uno_info_new();
        int err = w->info ? uno_info_set(w->info, known[i].key, value) : MPI_ERR_NO_MEM;
        if (err) return uno_fail(MPI_ERR_NO_MEM, "no memory for hints");
    }
    w->no_locks = uno_win_hint_true(w, "no_locks");
    return MPI_SUCCESS;
}

static const char *value_of(const struct MPI_ABI_Win *w, size_t i)
{
    const char *value = w->info ? uno_info_find(w->info, known[i].key) : NULL;
    return value ? value : known[i].fallback;
}

struct MPI_ABI_Info *uno_win_hints_all(const struct MPI_ABI_Win *w)
{
    struct MPI_ABI_Info *all = uno_info_new();
    for (size_t i = 0; all && i < KNOWN; i++) {
        if (!value_of(w, i)[0] || uno_info_set(all, known[i].key, value_of(w, i)) == MPI_SUCCESS) continue;
        uno_info_drop(all);
        return NULL;
    }
    return all;
}

const char *uno_win_hint(const struct MPI_ABI_Win *w, const char *key)
{
    return w->info ? uno_info_find(w->info, key) : NULL;
}

bool uno_win_hint_true(const struct MPI_ABI_Win *w, const char *key)
{
    const char *value = uno_win_hint(w, key);
    return value && strcmp(value, "true") == 0;
}
