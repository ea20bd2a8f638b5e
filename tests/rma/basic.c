// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=2,4 set=shm_cma=0
// run: np=1,2,4 set=rma_path=2
// Every way to make a window, every synchronisation: put, get, accumulate, fetch and op, compare and swap reach the
// right bytes, plain and strided types, sizes from nothing to beyond every piece.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { INTS = 100000, REGIONS = 3 };
static const int border[REGIONS + 1] = {0, 1000, 20001, INTS};
static int me, n;

enum flavor { CREATE, ALLOCATE, DYNAMIC, FLAVORS };
enum way { FENCE, PSCW, LOCK, LOCK_ALL, WAYS };

struct area {
    MPI_Win win;
    int *mem;
    MPI_Aint base[16];    // displacement of each member's memory
    int unit;
};

static void make(struct area *a, enum flavor flavor)
{
    MPI_Aint bytes = INTS * (MPI_Aint)sizeof(int), mine = 0;
    if (flavor == ALLOCATE) {
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &a->mem, &a->win);
    } else {
        a->mem = malloc((size_t)bytes);
        if (flavor == CREATE) MPI_Win_create(a->mem, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &a->win);
    }
    if (flavor == DYNAMIC) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &a->win);
        for (int i = 0; i < REGIONS; i++)    // they touch: an operation may go across
            CHECK(MPI_Win_attach(a->win, a->mem + border[i], (border[i + 1] - border[i]) * (MPI_Aint)sizeof(int)) ==
                  MPI_SUCCESS);
        MPI_Get_address(a->mem, &mine);
    }
    a->unit = flavor == DYNAMIC ? (int)sizeof(int) : 1;
    MPI_Allgather(&mine, 1, MPI_AINT, a->base, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) a->mem[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void drop(struct area *a, enum flavor flavor)
{
    for (int i = 0; flavor == DYNAMIC && i < REGIONS; i++)
        CHECK(MPI_Win_detach(a->win, a->mem + border[i]) == MPI_SUCCESS);
    MPI_Win_free(&a->win);
    CHECK(a->win == MPI_WIN_NULL);
    if (flavor != ALLOCATE) free(a->mem);
}

static MPI_Group group_of(int rank)
{
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &one);
    MPI_Group_free(&world);
    return one;
}

static void open_epoch(struct area *a, enum way way, int to, int from)
{
    if (way == FENCE) MPI_Win_fence(0, a->win);
    if (way == LOCK) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, a->win);
    if (way == LOCK_ALL) MPI_Win_lock_all(0, a->win);
    if (way != PSCW) return;
    MPI_Group origin = group_of(from), target = group_of(to);
    MPI_Win_post(origin, 0, a->win);
    MPI_Win_start(target, 0, a->win);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
}

static void close_epoch(struct area *a, enum way way, int to)
{
    if (way == FENCE) MPI_Win_fence(0, a->win);
    if (way == LOCK) MPI_Win_unlock(to, a->win);
    if (way == LOCK_ALL) MPI_Win_unlock_all(a->win);
    if (way == PSCW) {
        MPI_Win_complete(a->win);
        MPI_Win_wait(a->win);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static MPI_Aint disp(const struct area *a, int rank, int i)
{
    return a->base[rank] + (MPI_Aint)i * a->unit;
}

static void put_and_get(struct area *a, enum way way, int count)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, *out = malloc(INTS * sizeof *out), *in = malloc(INTS * sizeof *in);
    for (int i = 0; i < count; i++) out[i] = me * 1000003 + i;
    open_epoch(a, way, to, from);
    MPI_Put(out, count, MPI_INT, to, disp(a, to, 3), count, MPI_INT, a->win);
    close_epoch(a, way, to);
    for (int i = 0; i < count; i++) CHECK(a->mem[i + 3] == from * 1000003 + i);
    CHECK(a->mem[2] == -1 && a->mem[count + 3] == -1);
    open_epoch(a, way, to, from);
    MPI_Get(in, count, MPI_INT, to, disp(a, to, 3), count, MPI_INT, a->win);
    close_epoch(a, way, to);
    for (int i = 0; i < count; i++) CHECK(in[i] == me * 1000003 + i);
    for (int i = 0; i < count; i++) a->mem[i + 3] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
}

// Every second int of the origin goes to every third of the target.
static void strided(struct area *a, enum way way, int count)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, *out = malloc(INTS * sizeof *out), *in = malloc(INTS * sizeof *in);
    MPI_Datatype two, three;
    MPI_Type_vector(count, 1, 2, MPI_INT, &two);
    MPI_Type_vector(count, 1, 3, MPI_INT, &three);
    MPI_Type_commit(&two);
    MPI_Type_commit(&three);
    for (int i = 0; i < 2 * count; i++) out[i] = me * 7919 + i, in[i] = -5;
    open_epoch(a, way, to, from);
    MPI_Put(out, 1, two, to, disp(a, to, 1), 1, three, a->win);
    close_epoch(a, way, to);
    for (int i = 0; i < count; i++) CHECK(a->mem[1 + 3 * i] == from * 7919 + 2 * i && a->mem[2 + 3 * i] == -1);
    MPI_Barrier(MPI_COMM_WORLD);
    open_epoch(a, way, to, from);
    MPI_Accumulate(out, 1, two, to, disp(a, to, 1), 1, three, MPI_SUM, a->win);
    close_epoch(a, way, to);
    open_epoch(a, way, to, from);
    MPI_Get(in, 1, two, to, disp(a, to, 1), 1, three, a->win);
    close_epoch(a, way, to);
    for (int i = 0; i < count; i++)
        CHECK(in[2 * i] == 2 * (me * 7919 + 2 * i) && (i == count - 1 || in[2 * i + 1] == -5));
    for (int i = 0; i < 3 * count; i++) a->mem[i + 1] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&two);
    MPI_Type_free(&three);
    free(out);
    free(in);
}

// All add to rank 0 at once: nothing is lost, and the values fetched are all different.
static void contended(struct area *a)
{
    enum { TURNS = 200 };
    int one = 1, got, last = -1, big[1000], old[1000];
    if (me == 0) memset(a->mem, 0, INTS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, a->win);
    for (int i = 0; i < 1000; i++) big[i] = i;
    for (int i = 0; i < TURNS; i++) {
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, disp(a, 0, 0), MPI_SUM, a->win);
        MPI_Win_flush(0, a->win);
        CHECK(got > last && got < n * TURNS);
        last = got;
        MPI_Accumulate(big, 1000, MPI_INT, 0, disp(a, 0, 10), 1000, MPI_INT, MPI_SUM, a->win);
    }
    for (int done = 0, want; !done;) {    // a counter by compare and swap
        MPI_Fetch_and_op(NULL, &got, MPI_INT, 0, disp(a, 0, 1), MPI_NO_OP, a->win);
        MPI_Win_flush(0, a->win);
        want = got + 1;
        MPI_Compare_and_swap(&want, &got, &old[0], MPI_INT, 0, disp(a, 0, 1), a->win);
        MPI_Win_flush(0, a->win);
        done = old[0] == got;
    }
    MPI_Win_unlock_all(a->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, a->win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, old, 1000, MPI_INT, 0, disp(a, 0, 10), 1000, MPI_INT, MPI_NO_OP, a->win);
    MPI_Get(&got, 1, MPI_INT, 0, disp(a, 0, 1), 1, MPI_INT, a->win);
    MPI_Win_unlock(0, a->win);
    for (int i = 0; i < 1000; i++) CHECK(old[i] == n * TURNS * i);
    CHECK(got == n);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void requests(struct area *a)
{
    int to = (me + 1) % n, *out = malloc(INTS * sizeof *out), *in = calloc(INTS, sizeof *in), count = INTS / 2;
    MPI_Request q[3];
    for (int i = 0; i < count; i++) out[i] = me + i;
    MPI_Win_lock_all(0, a->win);
    MPI_Rput(out, count, MPI_INT, to, disp(a, to, 0), count, MPI_INT, a->win, &q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(to, a->win);
    MPI_Raccumulate(out, count, MPI_INT, to, disp(a, to, 0), count, MPI_INT, MPI_SUM, a->win, &q[0]);
    MPI_Rget(in, count, MPI_INT, to, disp(a, to, 0), count, MPI_INT, a->win, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    CHECK(q[1] == MPI_REQUEST_NULL);
    MPI_Win_flush(to, a->win);
    MPI_Rget_accumulate(out, count, MPI_INT, in, count, MPI_INT, to, disp(a, to, 0), count, MPI_INT, MPI_REPLACE,
                        a->win, &q[2]);
    MPI_Wait(&q[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) CHECK(in[i] == 2 * (me + i));
    MPI_Win_unlock_all(a->win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
}

// No bytes, in every form: elements of different types, and types without any, may meet.
static void nothing(struct area *a)
{
    int to = (me + 1) % n, out = 4, in = -1;
    MPI_Datatype hollow, type[3];
    MPI_Request q;
    MPI_Type_contiguous(0, MPI_INT, &hollow);
    MPI_Type_commit(&hollow);
    type[0] = hollow, type[1] = MPI_INT, type[2] = MPI_DOUBLE;
    MPI_Win_lock_all(0, a->win);
    for (int i = 0; i < 9; i++) {
        MPI_Datatype here = type[i / 3], there = type[i % 3];
        int h = here == hollow ? 2 : 0, t = there == hollow ? 3 : 0;
        MPI_Aint at = disp(a, to, 0);
        CHECK(MPI_Put(&out, h, here, to, at, t, there, a->win) == MPI_SUCCESS);
        CHECK(MPI_Get(&in, h, here, to, at, t, there, a->win) == MPI_SUCCESS);
        CHECK(MPI_Accumulate(&out, h, here, to, at, t, there, MPI_SUM, a->win) == MPI_SUCCESS);
        CHECK(MPI_Get_accumulate(&out, h, here, &in, t, there, to, at, t, there, MPI_SUM, a->win) == MPI_SUCCESS);
        CHECK(MPI_Raccumulate(NULL, h, here, to, at, t, there, MPI_SUM, a->win, &q) == MPI_SUCCESS);
        CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Win_unlock_all(a->win);
    CHECK(in == -1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(a->mem[0] == -1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&hollow);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 2, 17, 1000, 20000, INTS / 4};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (enum flavor f = 0; f < FLAVORS; f++) {
        struct area a;
        make(&a, f);
        for (enum way way = 0; way < WAYS; way++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                put_and_get(&a, way, sizes[i]);
                strided(&a, way, sizes[i] ? sizes[i] : 1);
            }
        nothing(&a);
        contended(&a);
        requests(&a);
        drop(&a, f);
    }
    MPI_Finalize();
    return 0;
}
