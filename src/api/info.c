// SPDX-License-Identifier: BSD-3-Clause
// Info objects. Entry points of the chapter on info; all are allowed at any time, before MPI_Init and by several
// threads.
// Always holds: MPI_INFO_ENV is read-only; outputs are written on success only.
#include <stdio.h>
#include <string.h>

#include "api/check.h"
#include "api/tool.h"
#include "core/info.h"

static int check_live(MPI_Info info)
{
    if (uno_info(info)) return MPI_SUCCESS;
    if (info == MPI_INFO_NULL) return uno_fail(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    return uno_fail(MPI_ERR_INFO, "info %p is not an info object (was it freed?)", (void *)info);
}

static int check_writable(MPI_Info info)
{
    int err = check_live(info);
    if (err || !uno_info(info)->readonly) return err;
    return uno_fail(MPI_ERR_INFO, "info is MPI_INFO_ENV, which is read-only");
}

static int check_key(const char *key)
{
    if (!key) return uno_fail(MPI_ERR_INFO_KEY, "key is NULL");
    if (!*key) return uno_fail(MPI_ERR_INFO_KEY, "key is empty");
    size_t n = strnlen(key, MPI_MAX_INFO_KEY);
    if (n < MPI_MAX_INFO_KEY) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_INFO_KEY, "key `%.40s...` is too long (at most %d characters allowed)", key,
                    MPI_MAX_INFO_KEY - 1);
}

int MPI_Info_create(MPI_Info *info)
{
    int err = uno_check_pointer(info, "info");
    struct MPI_ABI_Info *i = err ? NULL : uno_info_new();
    if (!err && !i) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) *info = i;
    return uno_finish_any("MPI_Info_create", err);
}

int MPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    int err = uno_check_pointer(info, "info");
    if (!err && argc < 0) err = uno_fail(MPI_ERR_ARG, "argc %d is negative", argc);
    struct MPI_ABI_Info *i = err ? NULL : uno_info_new();
    if (!err && !i) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) err = uno_info_fill_env(i, argc, argv);
    if (!err)
        *info = i;
    else if (i)
        uno_info_drop(i);
    return uno_finish_any("MPI_Info_create_env", err);
}

int MPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    int err = check_writable(info);
    if (!err) err = check_key(key);
    if (!err && !value) err = uno_fail(MPI_ERR_INFO_VALUE, "value of key `%s` is NULL", key);
    if (!err && strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL) {
        err = uno_fail(MPI_ERR_INFO_VALUE, "value of key `%s` is too long (at most %d characters allowed)", key,
                       MPI_MAX_INFO_VAL - 1);
    }
    if (!err) err = uno_info_set(info, key, value);
    return uno_finish_any("MPI_Info_set", err);
}

int MPI_Info_delete(MPI_Info info, const char *key)
{
    int err = check_writable(info);
    if (!err) err = check_key(key);
    if (!err && !uno_info_remove(info, key)) err = uno_fail(MPI_ERR_INFO_NOKEY, "key `%s` is not in info", key);
    return uno_finish_any("MPI_Info_delete", err);
}

int MPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    int err = check_live(info);
    if (!err) err = check_key(key);
    if (!err && valuelen < 0) err = uno_fail(MPI_ERR_ARG, "valuelen %d is negative", valuelen);
    if (!err) err = uno_check_pointer(value, "value");
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) {
        const char *found = uno_info_find(uno_info(info), key);
        if (found) snprintf(value, (size_t)valuelen + 1, "%s", found);
        *flag = found != NULL;
    }
    return uno_finish_any("MPI_Info_get", err);
}

int MPI_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    int err = check_live(info);
    if (!err) err = check_key(key);
    if (!err) err = uno_check_pointer(buflen, "buflen");
    if (!err && *buflen < 0) err = uno_fail(MPI_ERR_ARG, "buflen %d is negative", *buflen);
    if (!err && *buflen > 0) err = uno_check_pointer(value, "value");
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) {
        const char *found = uno_info_find(uno_info(info), key);
        if (found) uno_tool_give(found, value, buflen);
        *flag = found != NULL;
    }
    return uno_finish_any("MPI_Info_get_string", err);
}

int MPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    int err = check_live(info);
    if (!err) err = check_key(key);
    if (!err) err = uno_check_pointer(valuelen, "valuelen");
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) {
        const char *found = uno_info_find(uno_info(info), key);
        if (found) *valuelen = (int)strlen(found);
        *flag = found != NULL;
    }
    return uno_finish_any("MPI_Info_get_valuelen", err);
}

int MPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    int err = check_live(info);
    if (!err) err = uno_check_pointer(nkeys, "nkeys");
    if (!err) *nkeys = uno_info(info)->nkeys;
    return uno_finish_any("MPI_Info_get_nkeys", err);
}

int MPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    int err = check_live(info);
    if (!err) err = uno_check_pointer(key, "key");
    int count = err ? 0 : uno_info(info)->nkeys;
    if (!err && count == 0) err = uno_fail(MPI_ERR_ARG, "n is %d, but info has no keys", n);
    if (!err && (n < 0 || n >= count)) err = uno_fail(MPI_ERR_ARG, "n %d is not a key (0 .. %d allowed)", n, count - 1);
    if (!err) {
        const struct uno_info_pair *p = uno_info(info)->first;
        while (n-- > 0) p = p->next;
        strcpy(key, p->key);
    }
    return uno_finish_any("MPI_Info_get_nthkey", err);
}

int MPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    int err = check_live(info);
    if (!err) err = uno_check_pointer(newinfo, "newinfo");
    struct MPI_ABI_Info *copy = err ? NULL : uno_info_copy(uno_info(info));
    if (!err && !copy) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) *newinfo = copy;
    return uno_finish_any("MPI_Info_dup", err);
}

int MPI_Info_free(MPI_Info *info)
{
    int err = uno_check_pointer(info, "info");
    if (!err) err = check_live(*info);
    if (!err && *info == MPI_INFO_ENV) err = uno_fail(MPI_ERR_INFO, "info is MPI_INFO_ENV, which cannot be freed");
    if (!err) {
        uno_info_drop(*info);
        *info = MPI_INFO_NULL;
    }
    return uno_finish_any("MPI_Info_free", err);
}
