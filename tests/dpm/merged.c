// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 env=TEST_SPAWN=2
// run: np=2 env=TEST_SPAWN=1 env=UNISONO_SHARE_MEMFD=0
// run: np=2 env=TEST_SPAWN=2 env=UNISONO_COLL_SHM=0
// run: np=2 env=TEST_SPAWN=2 env=UNISONO_CHAN=tcp
// What processes of two and of three jobs on one host do together is done in shared memory, as inside a job: they are
// one host's, their windows are loads and stores, their collectives use a segment.
#include "../grown.h"

#include <stdbool.h>
#include <string.h>

static int me, n;

static MPI_T_pvar_session session;

static MPI_T_pvar_handle count_from_now(const char *name)
{
    int index, count;
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    return handle;
}

static unsigned long long counted(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    MPI_T_pvar_handle_free(session, &handle);
    return value;
}

static void one_host(MPI_Comm c)
{
    MPI_Comm near, flipped;
    int size, rank;
    CHECK(MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &near) == MPI_SUCCESS);
    MPI_Comm_size(near, &size);
    MPI_Comm_rank(near, &rank);
    CHECK(size == n && rank == n - 1 - me);
    CHECK(MPI_Comm_split_type(c, me ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &flipped) == MPI_SUCCESS);
    CHECK((me == 0) == (flipped == MPI_COMM_NULL));
    if (me) MPI_Comm_size(flipped, &size);
    CHECK(size == n - (me > 0));
    if (me) MPI_Comm_free(&flipped);
    MPI_Comm_free(&near);
}

// Each sees the memory of all others under its own addresses.
static void shared_window(MPI_Comm c)
{
    enum { TURNS = 200 };
    long *base, *first, one = 1;
    MPI_Aint bytes;
    int unit;
    MPI_Win w;
    CHECK(MPI_Win_allocate_shared(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, c, &base, &w) == MPI_SUCCESS);
    base[0] = 100 + me;
    base[1] = 0;
    MPI_Win_fence(0, w);
    for (int r = 0; r < n; r++) {
        long *theirs;
        CHECK(MPI_Win_shared_query(w, r, &bytes, &unit, &theirs) == MPI_SUCCESS);
        CHECK(bytes == 2 * sizeof *base && theirs[0] == 100 + r);
    }
    MPI_Win_shared_query(w, 0, &bytes, &unit, &first);
    MPI_Win_fence(0, w);
    for (int i = 0; i < TURNS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
        long was = first[1];
        if (i % 16 == 0) MPI_Win_sync(w);
        first[1] = was + 1;
        MPI_Win_unlock(0, w);
        MPI_Win_lock_all(0, w);
        MPI_Accumulate(&one, 1, MPI_LONG, n - 1, 0, 1, MPI_LONG, MPI_SUM, w);
        MPI_Win_unlock_all(w);
    }
    MPI_Win_fence(0, w);
    CHECK(first[1] == (long)TURNS * n);
    CHECK(me != n - 1 || base[0] == 100 + me + (long)TURNS * n);
    MPI_Win_free(&w);
}

static void ring_of_posts(MPI_Comm c)
{
    int *base, right = (me + 1) % n, left = (me + n - 1) % n;
    MPI_Win w;
    MPI_Group all, to, from;
    MPI_Comm_group(c, &all);
    MPI_Group_incl(all, 1, &right, &to);
    MPI_Group_incl(all, 1, &left, &from);
    CHECK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, c, &base, &w) == MPI_SUCCESS);
    for (int i = 0; i < 100; i++) {
        int value = 1000 * i + me;
        MPI_Win_post(from, 0, w);
        MPI_Win_start(to, 0, w);
        MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, w);
        MPI_Win_complete(w);
        MPI_Win_wait(w);
        CHECK(*base == 1000 * i + left);
    }
    MPI_Win_free(&w);
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

// memory: they are to use a segment.
static void collectives(MPI_Comm c, bool memory)
{
    enum { LARGE = 300000 };
    int *large = malloc(LARGE * sizeof *large), sum = -1;
    MPI_T_pvar_handle small = count_from_now("coll_shm_small"), in_memory = count_from_now("coll_shm_large");
    for (int i = 0; i < 50; i++) {
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c);
        CHECK(sum == n * (n - 1) / 2);
        MPI_Barrier(c);
        int root = i % n;
        for (int k = 0; k < LARGE && i < 3; k++) large[k] = me == root ? k + i : -1;
        if (i < 3) MPI_Bcast(large, LARGE, MPI_INT, root, c);
        for (int k = 0; k < LARGE && i < 3; k++) CHECK(large[k] == k + i);
    }
    for (int k = 0; k < LARGE; k++) large[k] = me + k;
    MPI_Allreduce(MPI_IN_PLACE, large, LARGE, MPI_INT, MPI_SUM, c);
    for (int k = 0; k < LARGE; k++) CHECK(large[k] == n * (n - 1) / 2 + n * k);
    unsigned long long few = counted(small), many = counted(in_memory);
    CHECK(memory ? few >= 50 && many == 4 : few == 0 && many == 0);
    free(large);
}

static void everything(MPI_Comm c, bool memory)
{
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    one_host(c);
    shared_window(c);
    ring_of_posts(c);
    collectives(c, memory);
}

// The processes of `world` bring up a third job, which sees two others.
static MPI_Comm third_job(char **argv)
{
    MPI_Comm other, all;
    char *words[] = {"third", NULL};
    CHECK(MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, world, &other, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Intercomm_merge(other, 0, &all);
    MPI_Comm_disconnect(&other);
    return all;
}

static void be_third(bool memory)
{
    MPI_Comm parent, all;
    MPI_Comm_get_parent(&parent);
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Comm_disconnect(&parent);
    everything(all, memory);
    MPI_Comm_disconnect(&all);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *chan = getenv("UNISONO_CHAN"), *coll = getenv("UNISONO_COLL_SHM");
    bool memory = !(chan && strcmp(chan, "tcp") == 0) && !(coll && strcmp(coll, "0") == 0);
    int provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    if (argc > 1 && strcmp(argv[1], "third") == 0) {
        be_third(memory);
        return 0;
    }
    grow_world(argv);
    everything(world, memory);
    MPI_Comm all = third_job(argv);
    everything(all, memory);
    MPI_Comm_disconnect(&all);
    leave_world();
    MPI_Finalize();
    return 0;
}
