// SPDX-License-Identifier: BSD-3-Clause
// Hints of communicators (hint.h). Called by MPI_Comm_set_info, MPI_Comm_get_info and MPI_Comm_dup_with_info.
// Always holds: c->info holds known keys with valid values only.
#include "core/hint.h"

#include <string.h>

#include "base/fail.h"
#include "core/info.h"

static bool is_boolean(const char *v)
{
    return strcmp(v, "true") == 0 || strcmp(v, "false") == 0;
}

// The kinds of memory that the library knows are `system` and `mpi`; others in the list make the hint unusable.
static bool is_memory_kinds(const char *v)
{
    while (*v) {
        size_t n = strcspn(v, ",");
        bool known = (n == 6 && strncmp(v, "system", 6) == 0) ||
                     (n >= 3 && strncmp(v, "mpi", 3) == 0 && (n == 3 || v[3] == ':'));
        if (!known) return false;
        v += n + (v[n] == ',');
    }
    return true;
}

static const struct {
    const char *key, *fallback;
    bool (*valid)(const char *value);    // NULL: the library sets it, the user cannot
} known[] = {
    {"mpi_assert_no_any_tag", "false", is_boolean},
    {"mpi_assert_no_any_source", "false", is_boolean},
    {"mpi_assert_exact_length", "false", is_boolean},
    {"mpi_assert_allow_overtaking", "false", is_boolean},
    {"mpi_assert_strict_persistent_collective_ordering", "false", is_boolean},
    {"mpi_assert_memory_alloc_kinds", NULL, is_memory_kinds},
    {"mpi_memory_alloc_kinds", "mpi,system", NULL},
};
#define KNOWN (sizeof known / sizeof known[0])

int uno_hints_take(struct MPI_ABI_Comm *c, const struct MPI_ABI_Info *info)
{
    for (size_t i = 0; info && i < KNOWN; i++) {
        const char *value = uno_info_find(info, known[i].key);
        if (!value || !known[i].valid || !known[i].valid(value)) continue;
        if (!c->info) c->info = uno_info_new();
        if (!c->info) return uno_fail(MPI_ERR_NO_MEM, "no memory for hints");
        int err = uno_info_set(c->info, known[i].key, value);
        if (err) return err;
    }
    return MPI_SUCCESS;
}

struct MPI_ABI_Info *uno_hints_all(const struct MPI_ABI_Comm *c)
{
    struct MPI_ABI_Info *all = uno_info_new();
    if (!all) return NULL;
    for (size_t i = 0; i < KNOWN; i++) {
        const char *value = uno_info_find(c->info, known[i].key);
        if (!value) value = known[i].fallback;
        if (!value || uno_info_set(all, known[i].key, value) == MPI_SUCCESS) continue;
        uno_info_drop(all);
        return NULL;
    }
    return all;
}
