// SPDX-License-Identifier: BSD-3-Clause
// run: np=1
// run: np=2 env=UNISONO_UNEXPECTED_MAX=8k
// MPI_T around MPI: nothing works before MPI_T_init_thread; control variables are written before MPI_Init and read by
// it, win over the environment, and are closed afterwards; strings, enumerations and categories; errors with reasons.
#include "../check.h"

#include <string.h>

static MPI_T_cvar_handle control(const char *name, int *count)
{
    int index;
    MPI_T_cvar_handle h;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &h, count) == MPI_SUCCESS);
    return h;
}

static int scope_of(const char *name)
{
    int index, scope;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope) == MPI_SUCCESS);
    return scope;
}

static void closed(void)
{
    int n = 7;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED && n == 7);
    CHECK(MPI_T_pvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_event_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_category_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
}

// The reason comes with MPI_Error_string.
static void reason(int err, int want, const char *says)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;
    CHECK(err == want);
    MPI_Error_string(err, text, &n);
    CHECK(strstr(text, says) != NULL);
}

static void numbers(void)
{
    int n, value = 0;
    MPI_Count wide = 0;
    MPI_T_cvar_handle cache = control("coll_cache", &n);
    CHECK(n == 1 && MPI_T_cvar_read(cache, &value) == MPI_SUCCESS && value == 8);
    value = 3;
    CHECK(MPI_T_cvar_write(cache, &value) == MPI_SUCCESS);
    value = 1001;
    reason(MPI_T_cvar_write(cache, &value), MPI_T_ERR_INVALID, "1001 is out of range (0 .. 1000 allowed)");
    CHECK(MPI_T_cvar_read(cache, &value) == MPI_SUCCESS && value == 3);
    MPI_T_cvar_handle most = control("unexpected_max", &n);
    CHECK(n == 1 && MPI_T_cvar_read(most, &wide) == MPI_SUCCESS);
    CHECK(wide == (getenv("UNISONO_UNEXPECTED_MAX") ? 8192 : 16 << 20));
    wide = 1 << 20;
    CHECK(MPI_T_cvar_write(most, &wide) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_free(&cache) == MPI_SUCCESS && MPI_T_cvar_handle_free(&most) == MPI_SUCCESS);
}

static void texts(void)
{
    int n;
    MPI_T_cvar_handle h = control("tcp_port_range", &n);
    char *room = malloc((size_t)n), *text = calloc((size_t)n + 1, 1);
    CHECK(n > 64 && MPI_T_cvar_read(h, room) == MPI_SUCCESS && room[0] == '\0');
    strcpy(text, "20000-30000");
    CHECK(MPI_T_cvar_write(h, text) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(h, room) == MPI_SUCCESS && !strcmp(room, "20000-30000"));
    memset(text, 'x', (size_t)n);
    reason(MPI_T_cvar_write(h, text), MPI_T_ERR_INVALID, "tcp_port_range has more than");
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
    free(room);
    free(text);
}

static void choices(void)
{
    int index, n, value, number = 0;
    char name[32];
    MPI_T_enum words;
    CHECK(MPI_T_cvar_get_index("tcp_auth", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_enum_get_info(words, &number, NULL, NULL) == MPI_SUCCESS && number == 3);
    n = sizeof name;
    CHECK(MPI_T_enum_get_info(words, NULL, name, &n) == MPI_SUCCESS && !strcmp(name, "tcp_auth"));
    n = sizeof name;
    CHECK(MPI_T_enum_get_item(words, 2, &value, name, &n) == MPI_SUCCESS && value == 2 && !strcmp(name, "yes"));
    CHECK(MPI_T_enum_get_item(words, 3, &value, name, &n) == MPI_T_ERR_INVALID_INDEX);
    MPI_T_cvar_handle h = control("tcp_auth", &n);
    CHECK(MPI_T_cvar_write(h, &value) == MPI_SUCCESS && MPI_T_cvar_read(h, &value) == MPI_SUCCESS && value == 2);
    value = 3;
    reason(MPI_T_cvar_write(h, &value), MPI_T_ERR_INVALID, "3 is none of auto|no|yes");
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
}

// A buffer that is too small gets what fits; the length needed comes back.
static void strings(void)
{
    char name[8] = "???????";
    int index, n = 4;
    CHECK(MPI_T_cvar_get_index("coll_cache", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_info(index, name, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(n == 11 && !strcmp(name, "col"));
    n = 0;
    strcpy(name, "?");
    CHECK(MPI_T_cvar_get_info(index, name, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(n == 11 && name[0] == '?');
    CHECK(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(name[0] == '?');
    reason(MPI_T_cvar_get_index("no_such_thing", &index), MPI_T_ERR_INVALID_NAME, "no_such_thing");
}

static void launcher(void)
{
    int n, value = 0;
    CHECK(scope_of("coll_cache") == MPI_T_SCOPE_ALL_EQ);
    CHECK(scope_of("wait_spin_us") == MPI_T_SCOPE_LOCAL);
    static const char *const its[] = {"bind_to", "host_silence", "checkpoint_keep", "allocation", "launch_fanout"};
    for (size_t i = 0; i < sizeof its / sizeof *its; i++) {
        MPI_T_cvar_handle h = control(its[i], &n);
        CHECK(scope_of(its[i]) == MPI_T_SCOPE_READONLY);
        CHECK(MPI_T_cvar_write(h, &value) == MPI_T_ERR_CVAR_SET_NEVER);
        CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
    }
}

typedef int members_fn(int, int, int[]);

// Every variable and event is in one category below the first, and nowhere twice.
static void partition(int total, members_fn *members, int (*how_many)(int category))
{
    int categories, seen[512] = {0}, list[512];
    CHECK(total <= 512 && MPI_T_category_get_num(&categories) == MPI_SUCCESS);
    for (int c = 0; c < categories; c++) {
        int n = how_many(c);
        list[0] = -1;
        CHECK(members(c, n, list) == MPI_SUCCESS && (n > 0 || list[0] == -1));
        for (int i = 0; i < n; i++) seen[list[i]]++;
    }
    for (int i = 0; i < total; i++) CHECK(seen[i] == 1);
}

static int controls_in(int c)
{
    int n;
    CHECK(MPI_T_category_get_info(c, NULL, NULL, NULL, NULL, &n, NULL, NULL) == MPI_SUCCESS);
    return n;
}

static int counters_in(int c)
{
    int n;
    CHECK(MPI_T_category_get_info(c, NULL, NULL, NULL, NULL, NULL, &n, NULL) == MPI_SUCCESS);
    return n;
}

static int events_in(int c)
{
    int n;
    CHECK(MPI_T_category_get_num_events(c, &n) == MPI_SUCCESS);
    return n;
}

static void categories(void)
{
    int n, kids, top, update, list[64];
    CHECK(MPI_T_cvar_get_num(&n) == MPI_SUCCESS);
    partition(n, MPI_T_category_get_cvars, controls_in);
    CHECK(MPI_T_pvar_get_num(&n) == MPI_SUCCESS);
    partition(n, MPI_T_category_get_pvars, counters_in);
    CHECK(MPI_T_event_get_num(&n) == MPI_SUCCESS && n >= 5);
    partition(n, MPI_T_category_get_events, events_in);
    CHECK(MPI_T_category_get_index("unisono", &top) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_info(top, NULL, NULL, NULL, NULL, NULL, NULL, &kids) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num(&n) == MPI_SUCCESS && kids == n - 1);
    CHECK(MPI_T_category_get_categories(top, kids, list) == MPI_SUCCESS && list[0] != top);
    CHECK(MPI_T_category_changed(&update) == MPI_SUCCESS && update == 0);
    CHECK(MPI_T_category_get_index("elsewhere", &n) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_cvars(n + 1000, 1, list) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_cvars(top, -1, list) == MPI_T_ERR_INVALID);
}

// What is asked for is no level: the next one is given, and that is one.
static void levels(void)
{
    static const int asked[][2] = {{MPI_THREAD_SINGLE + 1, MPI_THREAD_FUNNELED},
                                   {MPI_THREAD_FUNNELED + 1, MPI_THREAD_SERIALIZED},
                                   {MPI_THREAD_SERIALIZED + 1, MPI_THREAD_MULTIPLE},
                                   {MPI_THREAD_MULTIPLE + 1, MPI_THREAD_MULTIPLE},
                                   {-1, MPI_THREAD_MULTIPLE}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int provided = -1;
        CHECK(MPI_T_init_thread(asked[i][0], &provided) == MPI_SUCCESS && provided == asked[i][1]);
        CHECK(MPI_T_finalize() == MPI_SUCCESS);
    }
}

static void afterwards(void)
{
    int n, value = 9;
    MPI_T_cvar_handle h = control("coll_cache", &n);
    CHECK(MPI_T_cvar_write(h, &value) == MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK(MPI_T_cvar_read(h, &value) == MPI_SUCCESS && value == 3);
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
    MPI_Count wide;
    h = control("unexpected_max", &n);
    CHECK(MPI_T_cvar_read(h, &wide) == MPI_SUCCESS && wide == 1 << 20);
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided = -1;
    closed();
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS && provided == MPI_THREAD_FUNNELED);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    levels();
    numbers();
    texts();
    choices();
    strings();
    launcher();
    categories();
    CHECK(MPI_Init_thread(&argc, &argv, 99, &provided) == MPI_SUCCESS && provided == MPI_THREAD_FUNNELED);
    CHECK(MPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_FUNNELED);
    afterwards();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    closed();
    MPI_Finalize();
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    afterwards();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    closed();
    return 0;
}
