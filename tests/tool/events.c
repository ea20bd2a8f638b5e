// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// Events: unexpected messages are told, with their data, time and source, to callbacks of enough safety and to no
// other; what cannot be told is counted; a registration may be freed inside its own callback.
#include "../check.h"

#include <string.h>

enum { SOURCE, TAG, BYTES, PROCESS, ELEMENTS };

struct seen {
    int calls, freed, safety;
    MPI_Count value[ELEMENTS], first, last, dropped;
};

static int rank, peer;

static void on_event(MPI_T_event_instance i, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    struct seen *s = data;
    MPI_Count when, element;
    int source = -1;
    s->calls++;
    s->safety = (int)safety;
    CHECK(MPI_T_event_copy(i, s->value) == MPI_SUCCESS);
    for (int k = 0; k < ELEMENTS; k++) CHECK(MPI_T_event_read(i, k, &element) == MPI_SUCCESS && element == s->value[k]);
    CHECK(MPI_T_event_read(i, ELEMENTS, &element) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_timestamp(i, &when) == MPI_SUCCESS && when >= s->last);
    if (!s->first) s->first = when;
    s->last = when;
    CHECK(MPI_T_event_get_source(i, &source) == MPI_SUCCESS && source == 0);
    (void)r;
}

static void on_freed(MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    MPI_Count when;
    CHECK(MPI_T_event_handle_free(r, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_source_get_timestamp(0, &when) == MPI_SUCCESS);
    ((struct seen *)data)->freed++;
    (void)safety;
}

static void free_myself(MPI_T_event_instance i, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    ((struct seen *)data)->calls++;
    CHECK(MPI_T_event_handle_free(r, data, on_freed) == MPI_SUCCESS);
    CHECK(((struct seen *)data)->freed == 0);    // not while it runs
    (void)i;
    (void)safety;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration r, int source, MPI_T_cb_safety safety, void *data)
{
    CHECK(source == 0 && safety != MPI_T_CB_REQUIRE_NONE);
    ((struct seen *)data)->dropped += count;
    (void)r;
}

static MPI_T_event_registration listen_to(const char *name, MPI_T_cb_safety safety, MPI_T_event_cb_function *fn,
                                          struct seen *seen)
{
    MPI_T_event_registration r;
    int index;
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(r, safety, MPI_INFO_NULL, seen, fn) == MPI_SUCCESS);
    return r;
}

// A message with this tag comes, and is received, once the other rank has sent it.
static void one_unexpected(int tag)
{
    MPI_Status s;
    char out[100] = {0}, in[100];
    MPI_Send(out, sizeof out, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
    MPI_Probe(peer, tag, MPI_COMM_WORLD, &s);
    MPI_Recv(in, sizeof in, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &s);
    MPI_Barrier(MPI_COMM_SELF);
}

static int is_last(const struct seen *s, int tag)
{
    return s->value[SOURCE] == peer && s->value[TAG] == tag && s->value[BYTES] == 100 && s->value[PROCESS] == peer;
}

static void told(void)
{
    struct seen queued = {0}, taken = {0};
    MPI_Count before, after;
    MPI_T_event_registration q = listen_to("unexpected_queued", MPI_T_CB_REQUIRE_THREAD_SAFE, on_event, &queued);
    MPI_T_event_registration t = listen_to("unexpected_taken", MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_event, &taken);
    CHECK(MPI_T_source_get_timestamp(0, &before) == MPI_SUCCESS);
    one_unexpected(1);
    CHECK(MPI_T_source_get_timestamp(0, &after) == MPI_SUCCESS);
    CHECK(queued.calls >= 1 && queued.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    CHECK(taken.calls >= 1 && is_last(&taken, 1) && taken.first >= before && taken.last <= after);
    CHECK(queued.first >= before && queued.first <= taken.last);
    CHECK(MPI_T_event_handle_free(q, &queued, on_freed) == MPI_SUCCESS && queued.freed == 1);
    CHECK(MPI_T_event_handle_free(t, NULL, NULL) == MPI_SUCCESS);
    int calls = queued.calls;
    one_unexpected(2);
    CHECK(queued.calls == calls);
}

// A callback that may only run where everything is allowed hears of nothing, and of how much.
static void dropped(void)
{
    struct seen seen = {0};
    MPI_T_event_registration r = listen_to("unexpected_taken", MPI_T_CB_REQUIRE_NONE, on_event, &seen);
    CHECK(MPI_T_event_set_dropped_handler(r, on_dropped) == MPI_SUCCESS);
    one_unexpected(3);
    one_unexpected(4);
    CHECK(seen.calls == 0 && seen.dropped >= 2);
    MPI_Count so_far = seen.dropped;
    CHECK(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &seen, on_event) ==
          MPI_SUCCESS);
    one_unexpected(5);
    CHECK(seen.calls >= 1 && is_last(&seen, 5) && seen.dropped == so_far);
    CHECK(MPI_T_event_handle_free(r, NULL, NULL) == MPI_SUCCESS);
}

static void freed_inside(void)
{
    struct seen seen = {0};
    listen_to("unexpected_taken", MPI_T_CB_REQUIRE_MPI_RESTRICTED, free_myself, &seen);
    one_unexpected(6);
    one_unexpected(7);
    CHECK(seen.calls == 1 && seen.freed == 1);
}

static void described(void)
{
    MPI_Datatype types[ELEMENTS];
    MPI_Aint places[ELEMENTS];
    int index, n = ELEMENTS, number, name_len, order = 0;
    char name[64];
    MPI_T_enum words;
    MPI_Info info;
    MPI_T_source_order ordering;
    MPI_Count ticks, most;
    CHECK(MPI_T_event_get_index("unexpected_queued", &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &n, &words, &info, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(n == ELEMENTS && MPI_Info_free(&info) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) CHECK(types[i] == MPI_COUNT && places[i] == i * (MPI_Aint)sizeof(MPI_Count));
    CHECK(MPI_T_enum_get_info(words, &number, NULL, NULL) == MPI_SUCCESS && number == ELEMENTS);
    name_len = sizeof name;
    CHECK(MPI_T_enum_get_item(words, TAG, NULL, name, &name_len) == MPI_SUCCESS && !strcmp(name, "tag"));
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &ordering, &ticks, &most, NULL) == MPI_SUCCESS);
    CHECK(ordering == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > ticks && order == 0);
}

static void hints(void)
{
    struct seen seen = {0};
    MPI_Info info = MPI_INFO_NULL;
    int n = -1;
    MPI_T_event_registration r = listen_to("process_failed", MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_event, &seen);
    CHECK(MPI_T_event_handle_set_info(r, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(r, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 0 && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(r, (MPI_T_cb_safety)7, &info) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    described();
    told();
    dropped();
    freed_inside();
    hints();
    MPI_Finalize();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);    // frees the registration of hints
    return 0;
}
