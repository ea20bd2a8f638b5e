// SPDX-License-Identifier: BSD-3-Clause
// Hints of files under the names that ROMIO gave them (file.h): kept, and told with the values in use. docs/files.md
// says which ones change what the library does. Unknown keys and malformed values are dropped.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/info.h"
#include "io/file.h"
#include "io/posix.h"

static bool is_switch(const char *v)
{
    return strcmp(v, "enable") == 0 || strcmp(v, "disable") == 0 || strcmp(v, "automatic") == 0;
}

static bool is_boolean(const char *v)
{
    return strcmp(v, "true") == 0 || strcmp(v, "false") == 0;
}

static bool is_number(const char *v)
{
    char *end;
    errno = 0;
    return *v >= '0' && *v <= '9' && strtoll(v, &end, 10) > 0 && *end == 0 && errno == 0;
}

static bool is_permissions(const char *v)
{
    return strspn(v, "01234567") == strlen(v) && *v && strtoul(v, NULL, 8) <= 0777;
}

static bool is_text(const char *v)
{
    return *v != 0;
}

static const struct {
    const char *key, *fallback;          // NULL: told only when the user gave it
    bool (*valid)(const char *value);    // NULL: the library says what it is
} known[] = {
    {"access_style", NULL, is_text},
    {"cb_block_size", NULL, is_number},
    {"cb_buffer_size", "16777216", is_number},
    {"cb_config_list", "*:1", is_text},
    {"cb_nodes", NULL, is_number},
    {"chunked", NULL, is_text},
    {"chunked_item", NULL, is_text},
    {"chunked_size", NULL, is_text},
    {"collective_buffering", NULL, is_boolean},
    {"direct_io", "false", is_boolean},
    {"file_perm", NULL, is_permissions},
    {"filename", NULL, NULL},
    {"ind_rd_buffer_size", "4194304", is_number},
    {"ind_wr_buffer_size", "524288", is_number},
    {"io_node_list", NULL, is_text},
    {"nb_proc", NULL, is_number},
    {"num_io_nodes", NULL, is_number},
    {"romio_cb_read", "automatic", is_switch},
    {"romio_cb_write", "automatic", is_switch},
    {"romio_ds_read", "automatic", is_switch},
    {"romio_ds_write", "disable", NULL},
    {"romio_no_indep_rw", "false", is_boolean},
    {"romio_visibility_immediate", "true", NULL},
    {"striping_factor", NULL, is_number},
    {"striping_unit", NULL, is_number},
};
#define KNOWN (sizeof known / sizeof known[0])

// The value of a hint in use; NULL: it has none.
static const char *hint_of(const struct MPI_ABI_File *f, const char *key)
{
    const char *value = uno_info_find(f->info, key);
    for (size_t i = 0; !value && i < KNOWN; i++)
        if (strcmp(known[i].key, key) == 0) value = known[i].fallback;
    return value;
}

int uno_file_hints_take(struct MPI_ABI_File *f, const struct MPI_ABI_Info *info)
{
    if (!f->info) f->info = uno_info_new();
    if (!f->info) return uno_fail(MPI_ERR_NO_MEM, "no memory for hints");
    for (size_t i = 0; info && i < KNOWN; i++) {
        const char *value = uno_info_find(info, known[i].key);
        if (!value || !known[i].valid || !known[i].valid(value)) continue;
        int err = uno_info_set(f->info, known[i].key, value);
        if (err) return err;
    }
    const char *buffering = uno_info_find(f->info, "collective_buffering");
    bool apart = buffering && buffering[0] == 'f';            // "false"
    f->wish.sieve = hint_of(f, "romio_ds_read")[0] != 'd';    // "disable"
    f->wish.together[0] = apart ? 'd' : hint_of(f, "romio_cb_read")[0];
    f->wish.together[1] = apart ? 'd' : hint_of(f, "romio_cb_write")[0];
    f->wish.buffer = (uint64_t)strtoll(hint_of(f, "cb_buffer_size"), NULL, 10);
    f->wish.direct = hint_of(f, "direct_io")[0] == 't';    // "true"
    const char *permissions = hint_of(f, "file_perm");
    f->wish.permissions = permissions ? (unsigned)strtoul(permissions, NULL, 8) : 0666;
    if (f->fd >= 0) uno_file_hints_apply(f);
    return MPI_SUCCESS;
}

void uno_file_hints_apply(struct MPI_ABI_File *f)
{
    if (f->wish.direct && f->direct < 0) f->direct = uno_posix_open_direct(f->fd);
    if (f->direct < 0) f->wish.direct = false;
}

int uno_file_aggregators(const struct MPI_ABI_File *f)
{
    const char *value = uno_info_find(f->info, "cb_nodes");
    long long most = value ? strtoll(value, NULL, 10) : 0;
    return most > 0 && most < f->leaders ? (int)most : f->leaders;
}

struct MPI_ABI_Info *uno_file_hints_all(const struct MPI_ABI_File *f)
{
    struct MPI_ABI_Info *all = uno_info_new();
    if (!all) return NULL;
    char nodes[16];
    snprintf(nodes, sizeof nodes, "%d", uno_file_aggregators(f));
    for (size_t i = 0; i < KNOWN; i++) {
        const char *value = hint_of(f, known[i].key);
        if (strcmp(known[i].key, "cb_nodes") == 0) value = nodes;
        if (strcmp(known[i].key, "direct_io") == 0) value = f->wish.direct ? "true" : "false";
        if (strcmp(known[i].key, "filename") == 0 && strlen(f->path) < MPI_MAX_INFO_VAL) value = f->path;
        if (!value || uno_info_set(all, known[i].key, value) == MPI_SUCCESS) continue;
        uno_info_drop(all);
        return NULL;
    }
    return all;
}
