// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3,5 chan=shm,tcp
// Communicators: accessors, names, comparison, duplication, creation, splitting, freeing, and that each has a context
// of its own.
#include "../check.h"

#include <string.h>

static int rank, size;

// A ring of messages on both communicators with the same tag: each must bring its own.
static void separate(MPI_Comm a, MPI_Comm b)
{
    int ra, n, from_a = -1, from_b = -1;
    MPI_Comm_rank(a, &ra);
    MPI_Comm_size(a, &n);
    int right = (ra + 1) % n, left = (ra + n - 1) % n, va = 1000 + ra, vb = 2000 + ra;
    MPI_Request r[4];
    MPI_Irecv(&from_b, 1, MPI_INT, left, 7, b, &r[0]);
    MPI_Irecv(&from_a, 1, MPI_INT, left, 7, a, &r[1]);
    MPI_Isend(&va, 1, MPI_INT, right, 7, a, &r[2]);
    MPI_Isend(&vb, 1, MPI_INT, right, 7, b, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    CHECK(from_a == 1000 + left && from_b == 2000 + left);
}

static void accessors(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int n = -1, flag = -1, result = -1;
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &n) == MPI_SUCCESS && strcmp(name, "MPI_COMM_WORLD") == 0 && n == 14);
    MPI_Comm_get_name(MPI_COMM_SELF, name, &n);
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
    MPI_Comm_get_name(MPI_COMM_NULL, name, &n);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
    MPI_Comm_test_inter(MPI_COMM_WORLD, &flag);
    CHECK(flag == 0);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result);
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Comm_size(MPI_COMM_SELF, &n);
    CHECK(n == 1);
    MPI_Comm parent = MPI_COMM_WORLD;
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);    // not spawned
}

static void duplicate(void)
{
    MPI_Comm c, d;
    char name[MPI_MAX_OBJECT_NAME], big[3 * MPI_MAX_OBJECT_NAME];
    int n, result;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    CHECK(c != MPI_COMM_NULL && c != MPI_COMM_WORLD);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_get_name(c, name, &n);
    CHECK(n == 0 && name[0] == 0);
    MPI_Comm_set_name(c, "mine");
    MPI_Comm_dup(c, &d);
    MPI_Comm_get_name(c, name, &n);
    CHECK(n == 4 && strcmp(name, "mine") == 0);
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    MPI_Comm_set_name(c, big);
    MPI_Comm_get_name(c, name, &n);
    CHECK(n == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == n);
    separate(c, d);
    separate(MPI_COMM_WORLD, d);
    CHECK(MPI_Comm_free(&c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    separate(MPI_COMM_WORLD, d);
    CHECK(MPI_Comm_disconnect(&d) == MPI_SUCCESS && d == MPI_COMM_NULL);
}

// Pending operations outlive the handle.
static void free_early(void)
{
    MPI_Comm c;
    MPI_Request r[2];
    int in = -1, out = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 3, c, &r[0]);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 3, c, &r[1]);
    MPI_Comm_free(&c);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in == (rank + size - 1) % size);
}

static void split(void)
{
    MPI_Comm c, d;
    int r, n;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);    // descending order of ranks
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    int same = (size + 1 - rank % 2) / 2;
    CHECK(n == same && r == n - 1 - rank / 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, 0, &d);
    CHECK((d == MPI_COMM_NULL) == (rank == 0));
    if (d != MPI_COMM_NULL) {
        MPI_Comm_rank(d, &r);
        CHECK(r == rank - 1);    // equal keys: order of ranks
        MPI_Comm_free(&d);
    }
    // A message inside a part reaches the part alone.
    int in = -1, out = rank;
    MPI_Comm_rank(c, &r);
    MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 0, &in, 1, MPI_INT, (r + n - 1) % n, 0, c, MPI_STATUS_IGNORE);
    CHECK(in % 2 == rank % 2);
    MPI_Comm_free(&c);
}

static void create(void)
{
    MPI_Group world, some;
    MPI_Comm c, d;
    int r, n, list[2] = {size - 1, 0};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size > 1 ? 2 : 1, list, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &c);
    int member = rank == 0 || rank == size - 1;
    CHECK((c != MPI_COMM_NULL) == member);
    if (member) {
        MPI_Comm_rank(c, &r);
        MPI_Comm_size(c, &n);
        CHECK(n == (size > 1 ? 2 : 1) && r == (rank == size - 1 ? 0 : 1));
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 11, &d);    // the members alone call it
        separate(c, d);
        MPI_Comm_free(&c);
        MPI_Comm_free(&d);
    }
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c);
    CHECK(c == MPI_COMM_NULL);
    // Disjoint groups in one call.
    int range[1][3] = {{rank % 2, size - 1, 2}};
    MPI_Group_free(&some);
    if (range[0][0] < size) {
        MPI_Group_range_incl(world, 1, range, &some);
        MPI_Comm_create(MPI_COMM_WORLD, some, &c);
        MPI_Comm_size(c, &n);
        CHECK(n == (size + 1 - rank % 2) / 2);
        MPI_Group_free(&some);
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&world);
}

// Many at once: contexts never repeat, and a communicator is known before its first message is looked for.
static void many(void)
{
    enum { N = 200 };
    static MPI_Comm c[N];
    for (int i = 0; i < N; i++) MPI_Comm_dup(i ? c[i - 1] : MPI_COMM_WORLD, &c[i]);
    for (int i = N - 1; i >= 0; i -= 17) {
        int in = -1, out = rank * N + i, left = (rank + size - 1) % size;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, left, 1, c[i], MPI_STATUS_IGNORE);
        CHECK(in == left * N + i);
    }
    for (int i = 0; i < N; i++) MPI_Comm_free(&c[i]);
}

// The sender may have its communicator, and use it, long before the receiver.
static void early_message(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Comm c;
        int v = rank == 0 ? i : -1;
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        if (rank == 0) {
            for (int r = 1; r < size; r++) MPI_Send(&v, 1, MPI_INT, r, i, c);
        } else {
            MPI_Recv(&v, 1, MPI_INT, 0, i, c, MPI_STATUS_IGNORE);
        }
        CHECK(v == i);
        MPI_Comm_free(&c);
    }
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    accessors();
    duplicate();
    free_early();
    split();
    create();
    many();
    early_message();
    MPI_Finalize();
    return 0;
}
