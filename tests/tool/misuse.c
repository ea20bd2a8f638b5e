// SPDX-License-Identifier: BSD-3-Clause
// run: np=1
// MPI_T, wrongly used: indices and names that do not exist, handles of other sessions, freed or taken away by
// MPI_T_finalize, values out of range, events outside their callback. The codes are those of the standard, the reasons
// name the argument and its value, and outputs stay as they were.
#include "../check.h"

#include <limits.h>
#include <string.h>

#define UNTOUCHED 4711

static int out = UNTOUCHED;

// The code, a reason that says so, and an output that was left alone.
static void refused(int err, int want, const char *says)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;
    CHECK(err == want && out == UNTOUCHED);
    MPI_Error_string(err, text, &n);
    if (!strstr(text, says)) fprintf(stderr, "\"%s\" does not say \"%s\"\n", text, says);
    CHECK(strstr(text, says) != NULL);
}

// ---- what does not exist ----

static void wrong_variable(int i, const char *says)
{
    MPI_T_cvar_handle control = MPI_T_CVAR_HANDLE_NULL;
    refused(MPI_T_cvar_get_info(i, NULL, NULL, &out, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX,
            says);
    refused(MPI_T_cvar_handle_alloc(i, NULL, &control, &out), MPI_T_ERR_INVALID_INDEX, says);
    CHECK(control == MPI_T_CVAR_HANDLE_NULL);
}

static void wrong_counter(MPI_T_pvar_session s, int i, const char *says)
{
    MPI_T_pvar_handle counter = MPI_T_PVAR_HANDLE_NULL;
    refused(MPI_T_pvar_get_info(i, NULL, NULL, &out, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_pvar_handle_alloc(s, i, NULL, &counter, &out), MPI_T_ERR_INVALID_INDEX, says);
    CHECK(counter == MPI_T_PVAR_HANDLE_NULL);
}

static void wrong_event(int i, const char *says)
{
    MPI_T_event_registration r = NULL;
    MPI_Count ticks = UNTOUCHED;
    refused(MPI_T_event_get_info(i, NULL, NULL, &out, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_source_get_info(i, NULL, &out, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_source_get_timestamp(i, &ticks), MPI_T_ERR_INVALID_INDEX, says);
    CHECK(r == NULL && ticks == UNTOUCHED);
}

static void wrong_category(int i, const char *says)
{
    refused(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, &out, NULL, NULL), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_category_get_num_events(i, &out), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_category_get_cvars(i, 1, &out), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_category_get_pvars(i, 1, &out), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_category_get_events(i, 1, &out), MPI_T_ERR_INVALID_INDEX, says);
    refused(MPI_T_category_get_categories(i, 1, &out), MPI_T_ERR_INVALID_INDEX, says);
}

static void indices(MPI_T_pvar_session s)
{
    int n[4];
    char says[32];
    CHECK(MPI_T_cvar_get_num(&n[0]) == MPI_SUCCESS && MPI_T_pvar_get_num(&n[1]) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_num(&n[2]) == MPI_SUCCESS && MPI_T_category_get_num(&n[3]) == MPI_SUCCESS);
    for (int k = 0; k < 3; k++) {
        int at[4];
        for (int i = 0; i < 4; i++) at[i] = k == 0 ? -1 : k == 1 ? n[i] : INT_MAX;
        snprintf(says, sizeof says, "%d", at[0]);
        wrong_variable(at[0], says);
        snprintf(says, sizeof says, "%d", at[1]);
        wrong_counter(s, at[1], says);
        snprintf(says, sizeof says, "%d", at[2]);
        wrong_event(at[2], says);
        snprintf(says, sizeof says, "%d", at[3]);
        wrong_category(at[3], says);
    }
}

static void names(void)
{
    static const char *const wrong[] = {"", "no_such_thing", "COLL_CACHE", "coll_cache "};
    for (int i = 0; i < 4; i++) {
        refused(MPI_T_cvar_get_index(wrong[i], &out), MPI_T_ERR_INVALID_NAME, wrong[i]);
        refused(MPI_T_pvar_get_index(wrong[i], MPI_T_PVAR_CLASS_COUNTER, &out), MPI_T_ERR_INVALID_NAME, wrong[i]);
        refused(MPI_T_event_get_index(wrong[i], &out), MPI_T_ERR_INVALID_NAME, wrong[i]);
        refused(MPI_T_category_get_index(wrong[i], &out), MPI_T_ERR_INVALID_NAME, wrong[i]);
    }
    refused(MPI_T_pvar_get_index("wait_sleeps", MPI_T_PVAR_CLASS_LEVEL, &out), MPI_T_ERR_INVALID_NAME, "wait_sleeps");
    refused(MPI_T_pvar_get_index("wait_sleeps", -1, &out), MPI_T_ERR_INVALID, "-1");
}

// ---- variables ----

static MPI_T_cvar_handle control(const char *name)
{
    MPI_T_cvar_handle h;
    int index, n;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &h, &n) == MPI_SUCCESS);
    return h;
}

static MPI_T_pvar_handle counter(MPI_T_pvar_session s, const char *name)
{
    MPI_T_pvar_handle h;
    int index, n;
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(s, index, NULL, &h, &n) == MPI_SUCCESS);
    return h;
}

static void controls(void)
{
    int value = -1;
    MPI_T_cvar_handle h = control("coll_cache"), was = h, launcher = control("bind_to");
    refused(MPI_T_cvar_write(h, &value), MPI_T_ERR_INVALID, "-1 is out of range");
    refused(MPI_T_cvar_write(launcher, &value), MPI_T_ERR_CVAR_SET_NEVER, "bind_to");
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
    refused(MPI_T_cvar_read(was, &out), MPI_T_ERR_INVALID_HANDLE, "freed");
    refused(MPI_T_cvar_write(was, &value), MPI_T_ERR_INVALID_HANDLE, "freed");
    refused(MPI_T_cvar_handle_free(&was), MPI_T_ERR_INVALID_HANDLE, "freed");
    CHECK(MPI_T_cvar_handle_free(&launcher) == MPI_SUCCESS);
}

typedef int call_fn(MPI_T_pvar_session, MPI_T_pvar_handle);

static int read_it(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    return MPI_T_pvar_read(s, h, &out);
}

static int write_it(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    unsigned long long n = 0;
    return MPI_T_pvar_write(s, h, &n);
}

static int read_and_reset(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    return MPI_T_pvar_readreset(s, h, &out);
}

static int free_it(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    return MPI_T_pvar_handle_free(s, &h);
}

static call_fn *const calls[] = {MPI_T_pvar_start, MPI_T_pvar_stop, MPI_T_pvar_reset, read_it,
                                 write_it,         read_and_reset,  free_it};
#define CALLS ((int)(sizeof calls / sizeof *calls))

// A handle belongs to its session, and both are gone once they are freed.
static void sessions(MPI_T_pvar_session s)
{
    MPI_T_pvar_session other;
    MPI_T_pvar_handle h = counter(s, "wait_sleeps");
    CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    MPI_T_pvar_handle foreign = counter(other, "wait_sleeps"), freed = counter(s, "wait_sleeps"), was = freed;
    CHECK(MPI_T_pvar_handle_free(s, &freed) == MPI_SUCCESS);
    for (int i = 0; i < CALLS; i++) {
        refused(calls[i](s, foreign), MPI_T_ERR_INVALID_HANDLE, "another session");
        refused(calls[i](s, was), MPI_T_ERR_INVALID_HANDLE, "freed");
        refused(calls[i](s, MPI_T_PVAR_HANDLE_NULL), MPI_T_ERR_INVALID_HANDLE, "handle");
        refused(calls[i](MPI_T_PVAR_SESSION_NULL, h), MPI_T_ERR_INVALID_SESSION, "session");
    }
    // All handles at once can be started, stopped and reset, and nothing else.
    for (int i = 3; i < CALLS; i++) refused(calls[i](s, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_HANDLE, "handle");
    MPI_T_pvar_session gone = other;
    CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS && other == MPI_T_PVAR_SESSION_NULL);
    for (int i = 0; i < CALLS; i++) refused(calls[i](gone, foreign), MPI_T_ERR_INVALID_SESSION, "freed");
    refused(MPI_T_pvar_handle_alloc(gone, 0, NULL, &h, &out), MPI_T_ERR_INVALID_SESSION, "freed");
    refused(MPI_T_pvar_session_free(&gone), MPI_T_ERR_INVALID_SESSION, "freed");
}

// ---- events ----

static void on_event(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    MPI_Count value = UNTOUCHED;
    int *seen = data;
    (void)r;
    (void)safety;
    refused(MPI_T_event_read(e, -1, &value), MPI_T_ERR_INVALID_INDEX, "-1");
    refused(MPI_T_event_read(e, 4, &value), MPI_T_ERR_INVALID_INDEX, "4");
    refused(MPI_T_event_read(e, 0, NULL), MPI_T_ERR_INVALID, "buffer");
    refused(MPI_T_event_copy(e, NULL), MPI_T_ERR_INVALID, "buffer");
    CHECK(value == UNTOUCHED);
    ++*seen;
}

static MPI_T_event_registration registration(void)
{
    MPI_T_event_registration r;
    int index;
    CHECK(MPI_T_event_get_index("unexpected_taken", &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    return r;
}

static void events(void)
{
    MPI_T_event_registration r = registration(), was = r;
    MPI_Info info = MPI_INFO_NULL;
    int seen = 0;
    char c = 0;
    refused(MPI_T_event_register_callback(r, (MPI_T_cb_safety)99, MPI_INFO_NULL, NULL, on_event), MPI_T_ERR_INVALID,
            "99");
    CHECK(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &seen, on_event) ==
          MPI_SUCCESS);
    MPI_Send(&c, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF);
    MPI_Recv(&c, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(seen == 1);
    CHECK(MPI_T_event_handle_free(r, NULL, NULL) == MPI_SUCCESS);
    refused(MPI_T_event_handle_get_info(was, &info), MPI_T_ERR_INVALID_HANDLE, "freed");
    refused(MPI_T_event_set_dropped_handler(was, NULL), MPI_T_ERR_INVALID_HANDLE, "freed");
    refused(MPI_T_event_handle_free(was, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "freed");
    CHECK(info == MPI_INFO_NULL);
}

static void enumerations(void)
{
    MPI_T_enum words;
    int index;
    CHECK(MPI_T_cvar_get_index("tcp_auth", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    refused(MPI_T_enum_get_item(words, -1, &out, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "-1");
    refused(MPI_T_enum_get_item(words, 3, &out, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "3");
    refused(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &out, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "enumtype");
    refused(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &out, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "enumtype");
}

// What the last MPI_T_finalize took away is not there after the next beginning.
static void afterwards(MPI_T_pvar_session s, MPI_T_pvar_handle h, MPI_T_cvar_handle c, MPI_T_event_registration r)
{
    int provided;
    CHECK(MPI_T_pvar_read(s, h, &out) == MPI_T_ERR_NOT_INITIALIZED && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    refused(MPI_T_pvar_read(s, h, &out), MPI_T_ERR_INVALID_SESSION, "session");
    refused(MPI_T_cvar_read(c, &out), MPI_T_ERR_INVALID_HANDLE, "handle");
    refused(MPI_T_event_handle_free(r, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "event_registration");
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session s;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
    controls();
    MPI_Init(&argc, &argv);
    indices(s);
    names();
    sessions(s);
    events();
    enumerations();
    MPI_T_pvar_handle h = counter(s, "wait_sleeps");
    MPI_T_cvar_handle c = control("coll_cache");
    MPI_T_event_registration r = registration();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    afterwards(s, h, c, r);
    MPI_Finalize();
    return 0;
}
