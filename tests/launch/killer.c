// SPDX-License-Identifier: BSD-3-Clause
// Ranks that die at random moments, in any call, several at once, in the middle of revoke, shrink and agree, and the
// rest that goes on: `killer SEED ROUNDS [host]`. In each round one or more of the living are to die within a few
// milliseconds; all work on the communicator until an operation says so, agree on who is dead, check that they do, and
// go on with a smaller one. With `host`, a victim kills the process that guards its host instead, and so all ranks
// there. With TEST_SPAWN the last ranks are another job's (grown.h). Every rank draws the same numbers. What a call
// returns with success must be right. The last line: "kills N left M".
#include "../grown.h"

#include <mpi_ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define MOST 64
#define LARGE 40000

static int rank, size, host;
static uint64_t state;
static int *in, *out;
static const char *doing = "nothing";

static void fail(const char *what, int line)
{
    fprintf(stderr, "rank %d, line %d, in %s: %s\n", rank, line, doing, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

#undef CHECK
#define CHECK(cond) ((cond) ? (void)0 : fail(#cond, __LINE__))

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % below;
}

static void die(int sig)
{
    (void)sig;
    if (host) kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
}

// 0, or the class of a failure: nothing else may come.
static int class_of(int err)
{
    int class = 0;
    if (err == MPI_SUCCESS) return 0;
    MPI_Error_class(err, &class);
    if (class == MPI_ERR_IN_STATUS) return class;
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPIX_ERR_PROC_FAILED_PENDING) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(err, text, &len);
        fail(text, __LINE__);
    }
    return class;
}

static int sum(MPI_Comm c, int n, int k, int count)
{
    doing = "MPI_Allreduce";
    for (int i = 0; i < count; i++) in[i] = k + i;
    int err = class_of(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, c));
    for (int i = 0; !err && i < count; i += 997) CHECK(out[i] == n * (k + i));
    return err;
}

static int ring(MPI_Comm c, int n, int me, int k, int count)
{
    doing = "MPI_Sendrecv";
    for (int i = 0; i < count; i++) in[i] = me + k;
    int from = (me + n - 1) % n;
    int err =
        class_of(MPI_Sendrecv(in, count, MPI_INT, (me + 1) % n, k, out, count, MPI_INT, from, k, c, MPI_STATUS_IGNORE));
    for (int i = 0; !err && i < count; i += 997) CHECK(out[i] == from + k);
    return err;
}

static int any(MPI_Comm c, int n, int me, int k)
{
    doing = "receives from any source";
    if (me != k % n) return class_of(MPI_Send(&me, 1, MPI_INT, k % n, k, c));
    int err = 0;
    for (int i = 1; i < n && !err; i++) {
        MPI_Request r;
        int got = -1;
        err = class_of(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, k, c, &r));
        if (!err) err = class_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
        if (err == MPIX_ERR_PROC_FAILED_PENDING) {
            MPI_Cancel(&r);
            MPIX_Comm_failure_ack(c);
            class_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        if (!err) CHECK(got >= 0 && got < n && got != me);
    }
    return err;
}

static int spread(MPI_Comm c, int n, int me, int k, int count)
{
    doing = "MPI_Bcast";
    for (int i = 0; i < count; i++) in[i] = me == k % n ? k - i : 0;
    int err = class_of(MPI_Bcast(in, count, MPI_INT, k % n, c));
    for (int i = 0; !err && i < count; i += 997) CHECK(in[i] == k - i);
    return err;
}

static int later(MPI_Comm c, int n, int k)
{
    doing = "MPI_Iallreduce";
    MPI_Request r;
    in[0] = k;
    int err = class_of(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, c, &r));
    if (!err) err = class_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (!err) CHECK(out[0] == n * k);
    return err;
}

static int everybody(MPI_Comm c, int n, int me, int k, int count)
{
    doing = "MPI_Alltoall";
    for (int i = 0; i < n * count; i++) in[i] = me * 100 + i / count + k;
    int err = class_of(MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, c));
    for (int i = 0; !err && i < n; i++) CHECK(out[i * count] == i * 100 + me + k);
    return err;
}

static int duplicate(MPI_Comm c)
{
    doing = "MPI_Comm_dup";
    MPI_Comm d;
    int err = class_of(MPI_Comm_dup(c, &d));
    if (err) return err;
    err = class_of(MPI_Barrier(d));
    MPI_Comm_free(&d);
    return err;
}

// ---- windows ----

static int *mine;    // of this process in the window: what others store, what they count

static int put_right(MPI_Win w, int n, int me, int k)
{
    int value = k + me;
    return class_of(MPI_Put(&value, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, w));
}

static void check_left(int n, int me, int k)
{
    CHECK(mine[0] == k + (me + n - 1) % n);
}

static int fences(MPI_Win w, int n, int me, int k)
{
    doing = "MPI_Win_fence";
    int err = class_of(MPI_Win_fence(0, w));
    if (!err) err = put_right(w, n, me, k);
    if (!err) err = class_of(MPI_Win_fence(0, w));
    if (!err) check_left(n, me, k);
    return err;
}

// Everybody adds to what rank k holds, alone with it.
static int turns(MPI_Win w, MPI_Comm c, int n, int me, int k)
{
    int got = 0, to = k % n;
    doing = "MPI_Win_lock";
    int err = class_of(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w));
    if (err) return err;
    err = class_of(MPI_Get(&got, 1, MPI_INT, to, 1, 1, MPI_INT, w));
    if (!err) err = class_of(MPI_Win_flush(to, w));
    got++;
    if (!err) err = class_of(MPI_Put(&got, 1, MPI_INT, to, 1, 1, MPI_INT, w));
    int unlocked = class_of(MPI_Win_unlock(to, w));
    if (!err) err = unlocked ? unlocked : class_of(MPI_Barrier(c));
    if (!err && me == to) CHECK(mine[1] == n);
    return err;
}

static int adds(MPI_Win w, MPI_Comm c, int n, int me, int k)
{
    int one = 1, old = -1, to = k % n, next = -1;
    MPI_Request r = MPI_REQUEST_NULL;
    doing = "MPI_Win_lock_all";
    int err = class_of(MPI_Win_lock_all(0, w));
    if (err) return err;
    err = class_of(MPI_Fetch_and_op(&one, &old, MPI_INT, to, 1, MPI_SUM, w));
    if (!err) err = class_of(MPI_Win_flush_all(w));
    if (!err) CHECK(old >= 0 && old < n);
    if (!err) err = class_of(MPI_Rget(&next, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, w, &r));
    if (!err) err = class_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (!err) CHECK(next == 0);
    int unlocked = class_of(MPI_Win_unlock_all(w));
    if (!err) err = unlocked ? unlocked : class_of(MPI_Barrier(c));
    if (!err && me == to) CHECK(mine[1] == n);
    return err;
}

static MPI_Group group_of(MPI_Comm c, int r)
{
    MPI_Group all, one;
    MPI_Comm_group(c, &all);
    MPI_Group_incl(all, 1, &r, &one);
    MPI_Group_free(&all);
    return one;
}

static int epochs(MPI_Win w, MPI_Comm c, int n, int me, int k)
{
    MPI_Group left = group_of(c, (me + n - 1) % n), right = group_of(c, (me + 1) % n);
    doing = "MPI_Win_start";
    int over = 0, err = class_of(MPI_Win_post(left, 0, w));
    if (!err) err = class_of(MPI_Win_start(right, 0, w));
    if (!err) {
        err = put_right(w, n, me, k);
        int completed = class_of(MPI_Win_complete(w));
        if (!err) err = completed;
    }
    doing = k % 2 ? "MPI_Win_wait" : "MPI_Win_test";
    if (!err && k % 2) err = class_of(MPI_Win_wait(w));
    while (!err && !(k % 2) && !over) err = class_of(MPI_Win_test(w, &over));
    if (!err) check_left(n, me, k);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    return err;
}

// A window for one step; an epoch that a death left open goes with it.
static int window(MPI_Comm c, int n, int me, int k)
{
    static int own[2];
    MPI_Win w;
    unsigned how = draw(4), made = draw(2);
    doing = "the making of a window";
    int err = made ? class_of(MPI_Win_allocate(sizeof own, sizeof *own, MPI_INFO_NULL, c, (void *)&mine, &w))
                   : class_of(MPI_Win_create(own, sizeof own, sizeof *own, MPI_INFO_NULL, c, &w));
    if (err) return err;
    if (!made) mine = own;
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    mine[0] = mine[1] = 0;
    err = class_of(MPI_Barrier(c));
    if (!err && how == 0) err = fences(w, n, me, k);
    if (!err && how == 1) err = turns(w, c, n, me, k);
    if (!err && how == 2) err = adds(w, c, n, me, k);
    if (!err && how == 3) err = epochs(w, c, n, me, k);
    doing = "MPI_Win_free";
    int freed = class_of(MPI_Win_free(&w));
    CHECK(w == MPI_WIN_NULL);
    return err ? err : freed;
}

// ---- files ----

static char path[300];

static int blocks(MPI_File f, int n, int me, int k, int count)
{
    int from = (me + 1) % n;
    MPI_Offset block = (MPI_Offset)count * (MPI_Offset)sizeof(int);
    doing = "MPI_File_write_at_all";
    for (int i = 0; i < count; i++) in[i] = me * k + i;
    int err = class_of(MPI_File_write_at_all(f, me * block, in, count, MPI_INT, MPI_STATUS_IGNORE));
    if (!err) err = class_of(MPI_File_read_at_all(f, from * block, out, count, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; !err && i < count; i += 997) CHECK(out[i] == from * k + i);
    return err;
}

// Member i has every n-th element from i on.
static int stripes(MPI_File f, int n, int me, int k, int count)
{
    MPI_Datatype every;
    MPI_Type_vector(count, 1, n, MPI_INT, &every);
    MPI_Type_commit(&every);
    doing = "MPI_File_write_all";
    for (int i = 0; i < count; i++) in[i] = me * k + i;
    int err = class_of(MPI_File_set_view(f, me * (MPI_Offset)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL));
    if (!err) err = class_of(MPI_File_write_all(f, in, count, MPI_INT, MPI_STATUS_IGNORE));
    if (!err) err = class_of(MPI_File_read_at_all(f, 0, out, count, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; !err && i < count; i++) CHECK(out[i] == in[i]);
    MPI_Type_free(&every);
    return err;
}

static int shared(MPI_File f, MPI_Comm c, int n, int me, int k)
{
    MPI_Offset size = 0;
    int got = -1;
    doing = "MPI_File_write_shared";
    int err = class_of(MPI_File_write_shared(f, &me, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (!err) err = class_of(MPI_Barrier(c));
    if (!err) err = class_of(MPI_File_get_size(f, &size));
    if (!err) CHECK(size == n * (MPI_Offset)sizeof(int));
    doing = "MPI_File_write_ordered";
    me += k;
    if (!err) err = class_of(MPI_File_write_ordered(f, &me, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Offset at = (n + me - k) * (MPI_Offset)sizeof(int);
    if (!err) err = class_of(MPI_File_read_at(f, at, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (!err) CHECK(got == me);
    return err;
}

// All write to one place, each as a whole.
static int atomically(MPI_File f, MPI_Comm c, int me, int count)
{
    MPI_Request r;
    doing = "atomic accesses";
    for (int i = 0; i < count; i++) in[i] = me;
    int err = class_of(MPI_File_set_atomicity(f, 1));
    if (!err) err = class_of(MPI_File_write_at(f, 0, in, count, MPI_INT, MPI_STATUS_IGNORE));
    if (!err) err = class_of(MPI_File_iread_at(f, 0, out, count, MPI_INT, &r));
    if (!err) err = class_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
    for (int i = 1; !err && i < count; i++) CHECK(out[i] == out[0]);
    return err ? err : class_of(MPI_Barrier(c));
}

static int file(MPI_Comm c, int n, int me, int k, int count)
{
    MPI_File f;
    unsigned how = draw(4);
    doing = "MPI_File_open";
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    int err = class_of(MPI_File_open(c, path, mode, MPI_INFO_NULL, &f));
    if (err) return err;
    err = class_of(MPI_File_set_size(f, 0));    // whoever was to delete the last one may have died
    if (err) how = 4;
    if (how == 0) err = blocks(f, n, me, k, count);
    if (how == 1) err = stripes(f, n, me, k, count < 300 ? count : 5000);
    if (how == 2) err = shared(f, c, n, me, k);
    if (how == 3) err = atomically(f, c, me, count);
    doing = "MPI_File_close";
    int closed = class_of(MPI_File_close(&f));
    CHECK(f == MPI_FILE_NULL);
    return err ? err : closed;
}

// ---- the whole ----

static int work(MPI_Comm c, int k)
{
    int n, me;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    int count = draw(3) ? 1 + (int)draw(200) : LARGE;
    switch (draw(12)) {
    case 0: return sum(c, n, k, count);
    case 1: return ring(c, n, me, k, count);
    case 2: return any(c, n, me, k);
    case 3: return spread(c, n, me, k, count);
    case 4: return later(c, n, k);
    case 5: return everybody(c, n, me, k, count < 300 ? count : 5000);
    case 6: return duplicate(c);
    case 7: return window(c, n, me, k);
    case 8: return file(c, n, me, k, count);
    default: doing = "MPI_Barrier"; return class_of(MPI_Barrier(c));
    }
}

// A communicator of the living, all of whom know that they have it.
static MPI_Comm recover(MPI_Comm c)
{
    for (;;) {
        MPI_Comm smaller;
        int flag = 1;
        doing = "MPIX_Comm_revoke";
        CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
        doing = "MPIX_Comm_shrink";
        CHECK(MPIX_Comm_shrink(c, &smaller) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(smaller, MPI_ERRORS_RETURN);
        if (c != world) MPI_Comm_free(&c);
        c = smaller;
        doing = "MPIX_Comm_agree after shrink";
        if (class_of(MPIX_Comm_agree(c, &flag)) == 0) return c;
    }
}

static uint64_t members(MPI_Comm c)
{
    MPI_Group all, some;
    int n, list[MOST], there[MOST];
    uint64_t set = 0;
    MPI_Comm_size(c, &n);
    for (int i = 0; i < n; i++) list[i] = i;
    MPI_Comm_group(world, &all);
    MPI_Comm_group(c, &some);
    MPI_Group_translate_ranks(some, n, list, all, there);
    for (int i = 0; i < n; i++) set |= 1ULL << there[i];
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    return set;
}

// Agreements in a row, which all of the living take part in: they come out alike, or fail alike.
static int agree_often(MPI_Comm c)
{
    int me, n, err = 0;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    doing = "MPIX_Comm_agree";
    for (int k = 0; k < 20 && !err; k++) {
        int flag = me == k % n ? 7 : 3 + 8;
        err = class_of(MPIX_Comm_agree(c, &flag));
        if (!err) CHECK(n == 1 ? flag == 7 : flag == 3);
    }
    return err;
}

// The same on all: who lives, and nobody who lives is among the dead that this rank knows of.
static int same_everywhere(MPI_Comm c)
{
    uint64_t mine = members(c), all[MOST];
    int n;
    MPI_Comm_size(c, &n);
    doing = "MPI_Allgather";
    int err = class_of(MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, c));
    for (int i = 0; !err && i < n; i++) CHECK(all[i] == mine);
    return err;
}

// Whether all of c have come this far without a further death. All get one answer, so all do the same next.
static int all_is_well(MPI_Comm c)
{
    int flag = !agree_often(c) && !same_everywhere(c);
    doing = "MPIX_Comm_agree on the round's end";
    return class_of(MPIX_Comm_agree(c, &flag)) == 0 && flag;
}

// Some of the living are to die within a few milliseconds.
static void arm(uint64_t living)
{
    int victims = host ? 1 : 1 + (int)draw(3);
    for (int i = 0; i < victims; i++) {
        int victim = (int)draw((unsigned)size);
        unsigned us = 1 + draw(4000);
        if (victim != rank || !(living >> rank & 1)) continue;
        struct itimerval t = {.it_value = {0, (suseconds_t)us}};
        setitimer(ITIMER_REAL, &t, NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    grow_world(argv);
    if (!getenv("TEST_SPAWN")) {
        MPI_Comm_free(&world);
        world = MPI_COMM_WORLD;
    }
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (argc < 3 || size > MOST) fail("killer SEED ROUNDS [host]", __LINE__);
    state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
    int rounds = atoi(argv[2]), n = size;
    host = argc > 3;
    in = calloc(MOST * 5000 + LARGE, sizeof *in);
    out = calloc(MOST * 5000 + LARGE, sizeof *out);
    int unique = (int)getpid();
    MPI_Bcast(&unique, 1, MPI_INT, 0, world);
    const char *dir = getenv("KILLER_DIR");
    snprintf(path, sizeof path, "%s/killer-%d", dir ? dir : "/tmp", unique);
    signal(SIGALRM, die);
    MPI_Comm c = world;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);    // a merged one may be freed
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Barrier(c);
    for (int round = 0; round < rounds && n > 1; round++) {
        uint64_t seed = state;
        arm(members(c));
        int steps = 30 + (int)draw(300), err = 0;
        for (int k = 1; k <= steps && !err; k++) err = work(c, k);
        do c = recover(c);
        while (!all_is_well(c));
        MPI_Comm_size(c, &n);
        state = seed * 6364136223846793005ULL + 1442695040888963407ULL;    // the living have stopped at different steps
        CHECK(state != 0);
    }
    int me;
    MPI_Comm_rank(c, &me);
    if (me == 0) printf("kills %d left %d\n", size - n, n);
    if (me == 0) unlink(path);    // whoever was to delete it may have died
    if (c != world) MPI_Comm_free(&c);
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
