// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Tool support": events, their registrations and callbacks, and the one source of their time. The work is
// in src/tool/event.c. An event's data are values of MPI_COUNT, one behind the other.
#include <string.h>

#include "api/tool.h"
#include "base/wait.h"
#include "core/info.h"

static int check_event(int event_index)
{
    return uno_tool_check_index(event_index, "event_index", uno_events_count());
}

static int check_registration(MPI_T_event_registration r)
{
    return uno_registration_is_live(r) ? MPI_SUCCESS
                                       : uno_tool_bad_handle(MPI_T_ERR_INVALID_HANDLE, "event_registration", r);
}

static int check_instance(MPI_T_event_instance i)
{
    return uno_instance_is_live(i) ? MPI_SUCCESS : uno_tool_bad_handle(MPI_T_ERR_INVALID_HANDLE, "event_instance", i);
}

static int check_safety(MPI_T_cb_safety safety)
{
    if (uno_safety_index(safety) >= 0) return MPI_SUCCESS;
    return uno_fail(MPI_T_ERR_INVALID, "cb_safety %d is none of MPI_T_CB_REQUIRE_*", (int)safety);
}

static int elements_of(const struct uno_event *e)
{
    int n = 1;
    for (const char *c = e->elements; *c; c++) n += *c == '|';
    return n;
}

static int give_info(MPI_Info *info)
{
    MPI_Info fresh = uno_info_new();
    if (!fresh) return uno_tool_no_memory("an info object");
    *info = fresh;
    return MPI_SUCCESS;
}

// ---- what there is ----

int MPI_T_event_get_num(int *num_events)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(num_events, "num_events");
    if (!err) *num_events = uno_events_count();
    return uno_tool_leave(__func__, err);
}

static void give_elements(const struct uno_event *e, MPI_Datatype *types, MPI_Aint *displacements, int *num)
{
    int n = elements_of(e), room = num ? *num : 0;
    for (int i = 0; i < n && i < room; i++) {
        if (types) types[i] = MPI_COUNT;
        if (displacements) displacements[i] = i * (MPI_Aint)sizeof(MPI_Count);
    }
    uno_tool_out(num, n);
}

int MPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity, MPI_Datatype array_of_datatypes[],
                         MPI_Aint array_of_displacements[], int *num_elements, MPI_T_enum *enumtype, MPI_Info *info,
                         char *desc, int *desc_len, int *bind)
{
    int err = uno_tool_enter();
    if (!err) err = check_event(event_index);
    if (!err && num_elements && *num_elements < 0)
        err = uno_fail(MPI_T_ERR_INVALID, "num_elements %d is negative", *num_elements);
    if (!err && info) err = give_info(info);
    if (!err) {
        const struct uno_event *e = uno_event_at(event_index);
        uno_tool_give(e->name, name, name_len);
        uno_tool_give(e->help, desc, desc_len);
        uno_tool_out(verbosity, uno_category_of(e->name)->verbosity);
        uno_tool_out(bind, MPI_T_BIND_NO_OBJECT);
        give_elements(e, array_of_datatypes, array_of_displacements, num_elements);
        if (enumtype) *enumtype = uno_enum_of(e->name, e->elements);
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_get_index(const char *name, int *event_index)
{
    int err = uno_tool_enter(), i = 0;
    if (!err) err = uno_tool_check(name, "name");
    if (!err) err = uno_tool_check(event_index, "event_index");
    while (!err && i < uno_events_count() && strcmp(uno_event_at(i)->name, name) != 0) i++;
    if (!err && i == uno_events_count()) err = uno_tool_bad_name("event", name);
    if (!err) *event_index = i;
    return uno_tool_leave(__func__, err);
}

int MPI_T_source_get_num(int *num_sources)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(num_sources, "num_sources");
    if (!err) *num_sources = 1;
    return uno_tool_leave(__func__, err);
}

int MPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                          MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                          MPI_Info *info)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check_index(source_index, "source_index", 1);
    if (!err && info) err = give_info(info);
    if (!err) {
        uno_tool_give("unisono", name, name_len);
        uno_tool_give("the library; its time is that of MPI_Wtime, in nanoseconds", desc, desc_len);
        if (ordering) *ordering = MPI_T_SOURCE_ORDERED;
        if (ticks_per_second) *ticks_per_second = 1000000000;
        if (max_ticks) *max_ticks = INT64_MAX;
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check_index(source_index, "source_index", 1);
    if (!err) err = uno_tool_check(timestamp, "timestamp");
    if (!err) *timestamp = (MPI_Count)uno_now_ns();
    return uno_tool_leave(__func__, err);
}

// ---- registrations ----

int MPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                             MPI_T_event_registration *event_registration)
{
    (void)obj_handle;    // no event is bound to an object
    int err = uno_tool_enter();
    if (!err) err = check_event(event_index);
    if (!err) err = uno_tool_check_info(info);
    if (!err) err = uno_tool_check(event_registration, "event_registration");
    MPI_T_event_registration r = err ? NULL : uno_registration_new(uno_event_at(event_index));
    if (!err && !r) err = uno_tool_no_memory("a registration");
    if (!err) *event_registration = r;
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                            MPI_T_event_free_cb_function free_cb_function)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) {
        event_registration->free_fn = free_cb_function;
        event_registration->free_data = user_data;
        uno_registration_free(event_registration);
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) err = uno_tool_check_info(info);    // there are no hints
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) err = uno_tool_check(info_used, "info_used");
    if (!err) err = give_info(info_used);
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info,
                                  void *user_data, MPI_T_event_cb_function event_cb_function)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) err = check_safety(cb_safety);
    if (!err) err = uno_tool_check_info(info);
    if (!err)
        event_registration->callback[uno_safety_index(cb_safety)] =
            (struct uno_tool_callback){event_cb_function, user_data};
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) err = check_safety(cb_safety);
    if (!err) err = uno_tool_check_info(info);    // there are no hints
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                  MPI_Info *info_used)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) err = check_safety(cb_safety);
    if (!err) err = uno_tool_check(info_used, "info_used");
    if (!err) err = give_info(info_used);
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                    MPI_T_event_dropped_cb_function dropped_cb_function)
{
    int err = uno_tool_enter();
    if (!err) err = check_registration(event_registration);
    if (!err) event_registration->dropped_fn = dropped_cb_function;
    return uno_tool_leave(__func__, err);
}

// ---- inside a callback ----

int MPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(buffer, "buffer");
    if (!err) err = check_instance(event_instance);
    if (!err) err = uno_tool_check_index(element_index, "element_index", elements_of(event_instance->event));
    if (!err) memcpy(buffer, &event_instance->value[element_index], sizeof(MPI_Count));
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(buffer, "buffer");
    if (!err) err = check_instance(event_instance);
    if (!err) memcpy(buffer, event_instance->value, (size_t)elements_of(event_instance->event) * sizeof(MPI_Count));
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(event_timestamp, "event_timestamp");
    if (!err) err = check_instance(event_instance);
    if (!err) *event_timestamp = (MPI_Count)event_instance->ns;
    return uno_tool_leave(__func__, err);
}

int MPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(source_index, "source_index");
    if (!err) err = check_instance(event_instance);
    if (!err) *source_index = 0;
    return uno_tool_leave(__func__, err);
}
