// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Tool support", the MPI tool information interface: its start and end, enumerations and categories, and
// what all its functions share (tool.h).
#include <string.h>

#include "api/tool.h"
#include "core/info.h"

// ---- shared ----

int uno_tool_enter(void)
{
    uno_tool_lock();
    if (uno_tool_is_open()) return MPI_SUCCESS;
    return uno_fail(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not open (MPI_T_init_thread opens it)");
}

int uno_tool_leave(const char *call, int err)
{
    uno_tool_unlock();
    return err ? uno_keep_raised(call, err) : MPI_SUCCESS;
}

int uno_tool_check(const void *p, const char *name)
{
    return p ? MPI_SUCCESS : uno_fail(MPI_T_ERR_INVALID, "%s is NULL", name);
}

int uno_tool_check_index(int index, const char *name, int count)
{
    if (index >= 0 && index < count) return MPI_SUCCESS;
    return uno_fail(MPI_T_ERR_INVALID_INDEX, "%s %d is out of range (0 .. %d allowed)", name, index, count - 1);
}

int uno_tool_check_list(int len, const int *indices)
{
    if (len < 0) return uno_fail(MPI_T_ERR_INVALID, "len %d is negative", len);
    return len > 0 ? uno_tool_check(indices, "indices") : MPI_SUCCESS;
}

int uno_tool_check_info(MPI_Info info)
{
    if (info == MPI_INFO_NULL || uno_info(info)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_INFO, "info %p is not an info object (was it freed?)", (void *)info);
}

int uno_tool_bad_name(const char *what, const char *name)
{
    return uno_fail(MPI_T_ERR_INVALID_NAME, "name: no %s is called %.64s", what, name);
}

int uno_tool_bad_handle(int code, const char *what, const void *handle)
{
    return uno_fail(code, "%s %p is none (was it freed?)", what, handle);
}

int uno_tool_no_memory(const char *what)
{
    return uno_fail(MPI_T_ERR_MEMORY, "no memory for %s", what);
}

void uno_tool_give_part(const char *text, size_t n, char *to, int *len)
{
    if (!len) return;
    if (to && *len > 0) {
        size_t most = (size_t)*len - 1, some = n < most ? n : most;
        memcpy(to, text, some);
        to[some] = '\0';
    }
    *len = (int)n + 1;
}

void uno_tool_give(const char *text, char *to, int *len)
{
    uno_tool_give_part(text, strlen(text), to, len);
}

// ---- start and end ----

int MPI_T_init_thread(int required, int *provided)
{
    uno_tool_lock();
    int err = uno_tool_check(provided, "provided");
    if (!err) err = uno_tool_open();
    if (!err) *provided = uno_thread_level(required);
    return uno_tool_leave(__func__, err);
}

int MPI_T_finalize(void)
{
    int err = uno_tool_enter();
    if (!err) uno_tool_close();
    return uno_tool_leave(__func__, err);
}

// ---- enumerations ----

static int check_enum(MPI_T_enum e)
{
    return uno_enum_is_live(e) ? MPI_SUCCESS : uno_tool_bad_handle(MPI_T_ERR_INVALID_HANDLE, "enumtype", e);
}

int MPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    int err = uno_tool_enter();
    if (!err) err = check_enum(enumtype);
    if (!err) {
        uno_tool_out(num, uno_enum_size(enumtype));
        uno_tool_give(enumtype->name, name, name_len);
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    int err = uno_tool_enter();
    if (!err) err = check_enum(enumtype);
    if (!err) err = uno_tool_check_index(indx, "index", uno_enum_size(enumtype));
    if (!err) {
        size_t n;
        const char *word = uno_word_of(enumtype->words, indx, &n);
        uno_tool_out(value, indx);
        uno_tool_give_part(word, n, name, name_len);
    }
    return uno_tool_leave(__func__, err);
}

// ---- categories ----

static int check_category(int cat_index)
{
    return uno_tool_check_index(cat_index, "cat_index", uno_categories_count());
}

int MPI_T_category_get_num(int *num_cat)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(num_cat, "num_cat");
    if (!err) *num_cat = uno_categories_count();
    return uno_tool_leave(__func__, err);
}

int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
                            int *num_pvars, int *num_categories)
{
    int err = uno_tool_enter();
    if (!err) err = check_category(cat_index);
    if (!err) {
        const struct uno_category *c = uno_category_at(cat_index);
        uno_tool_give(c->name, name, name_len);
        uno_tool_give(c->help, desc, desc_len);
        uno_tool_out(num_cvars, uno_category_cvars(c, 0, NULL));
        uno_tool_out(num_pvars, uno_category_pvars(c, 0, NULL));
        uno_tool_out(num_categories, uno_category_kids(c, 0, NULL));
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_category_get_num_events(int cat_index, int *num_events)
{
    int err = uno_tool_enter();
    if (!err) err = check_category(cat_index);
    if (!err) err = uno_tool_check(num_events, "num_events");
    if (!err) *num_events = uno_category_events(uno_category_at(cat_index), 0, NULL);
    return uno_tool_leave(__func__, err);
}

int MPI_T_category_get_index(const char *name, int *cat_index)
{
    int err = uno_tool_enter(), i = 0;
    if (!err) err = uno_tool_check(name, "name");
    if (!err) err = uno_tool_check(cat_index, "cat_index");
    while (!err && i < uno_categories_count() && strcmp(uno_category_at(i)->name, name) != 0) i++;
    if (!err && i == uno_categories_count()) err = uno_tool_bad_name("category", name);
    if (!err) *cat_index = i;
    return uno_tool_leave(__func__, err);
}

static int members(const char *call, int (*of)(const struct uno_category *, int, int *), int cat_index, int len,
                   int *indices)
{
    int err = uno_tool_enter();
    if (!err) err = check_category(cat_index);
    if (!err) err = uno_tool_check_list(len, indices);
    if (!err) of(uno_category_at(cat_index), len, indices);
    return uno_tool_leave(call, err);
}

int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return members(__func__, uno_category_cvars, cat_index, len, indices);
}

int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    return members(__func__, uno_category_pvars, cat_index, len, indices);
}

int MPI_T_category_get_events(int cat_index, int len, int indices[])
{
    return members(__func__, uno_category_events, cat_index, len, indices);
}

int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    return members(__func__, uno_category_kids, cat_index, len, indices);
}

int MPI_T_category_changed(int *update_number)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(update_number, "update_number");
    if (!err) *update_number = 0;    // they never change
    return uno_tool_leave(__func__, err);
}
