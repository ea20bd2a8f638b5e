// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4,5 chan=shm,tcp
// Intercommunicators: creation, messages across, duplication, creation and splitting from one, merging, and wrong
// input.
#include "../check.h"

static int rank, size, color;
static MPI_Comm half;

// Every rank sends its number to rank 0 of the other side, and 0 answers.
static void talk(MPI_Comm inter, int base)
{
    int r, n, remote, v;
    MPI_Comm_rank(inter, &r);
    MPI_Comm_size(inter, &n);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Request q;
    int out = base + r;
    MPI_Isend(&out, 1, MPI_INT, 0, 5, inter, &q);
    if (r == 0) {
        for (int i = 0; i < remote; i++) {
            MPI_Recv(&v, 1, MPI_INT, i, 5, inter, MPI_STATUS_IGNORE);
            CHECK(v == base + i);
            MPI_Send(&v, 1, MPI_INT, i, 6, inter);
        }
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Recv(&v, 1, MPI_INT, 0, 6, inter, MPI_STATUS_IGNORE);
    CHECK(v == base + r);
}

static MPI_Comm make(void)
{
    MPI_Comm inter;
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &half);
    int err = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, color ? 0 : 1, 42, &inter);
    CHECK(err == MPI_SUCCESS);
    return inter;
}

static void accessors(MPI_Comm inter)
{
    int flag, n, remote, result, mine = (size + 1 - color) / 2;
    MPI_Group g, h;
    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_size(inter, &n);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(flag && n == mine && remote == size - mine);
    MPI_Comm_group(half, &g);
    MPI_Comm_group(inter, &h);
    MPI_Group_compare(g, h, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&h);
    MPI_Comm_remote_group(inter, &h);
    int r, zero = 0;
    MPI_Group_rank(h, &r);
    CHECK(r == MPI_UNDEFINED);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(h, 1, &zero, world, &r);
    CHECK(r == 1 - color);
    MPI_Group_free(&g);
    MPI_Group_free(&h);
    MPI_Group_free(&world);
}

static void derived(MPI_Comm inter)
{
    MPI_Comm c, d, e;
    int result, n;
    CHECK(MPI_Comm_dup(inter, &c) == MPI_SUCCESS);
    MPI_Comm_compare(inter, c, &result);
    CHECK(result == MPI_CONGRUENT);
    talk(c, 100);
    MPI_Request q;
    CHECK(MPI_Comm_idup(c, &d, &q) == MPI_SUCCESS);
    talk(c, 150);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    talk(d, 200);
    MPI_Comm_dup(d, &e);
    talk(e, 250);
    MPI_Comm_free(&e);
    MPI_Comm_free(&c);
    // Rank 0 of either side alone.
    int r;
    MPI_Comm_rank(inter, &r);
    MPI_Comm_split(inter, r == 0 ? 3 : MPI_UNDEFINED, 0, &c);
    CHECK((c != MPI_COMM_NULL) == (r == 0));
    if (r == 0) {
        MPI_Comm_remote_size(c, &n);
        CHECK(n == 1);
        talk(c, 300);
        MPI_Comm_free(&c);
    }
    MPI_Comm_split(inter, color, 0, &c);    // no color on both sides
    CHECK(c == MPI_COMM_NULL);
    MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
    talk(c, 350);
    MPI_Comm_free(&c);
    MPI_Comm_split(inter, 1, -r, &c);
    int back;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &back);
    CHECK(back == n - 1 - r);
    talk(c, 400);
    MPI_Comm_free(&c);
    MPI_Group g, first;
    int zero = 0;
    MPI_Comm_group(d, &g);
    MPI_Group_incl(g, 1, &zero, &first);
    MPI_Comm_create(d, first, &c);
    CHECK((c != MPI_COMM_NULL) == (r == 0));
    if (r == 0) {
        talk(c, 500);
        MPI_Comm_free(&c);
    }
    MPI_Comm_create(d, color ? first : MPI_GROUP_EMPTY, &c);
    CHECK(c == MPI_COMM_NULL);
    MPI_Group_free(&g);
    MPI_Group_free(&first);
    MPI_Comm_free(&d);
}

static void merged(MPI_Comm inter)
{
    for (int high = 0; high < 3; high++) {
        MPI_Comm c;
        int r, n, mine, flag, local, remote;
        CHECK(MPI_Intercomm_merge(inter, high == 2 ? 1 : color == high, &c) == MPI_SUCCESS);
        MPI_Comm_rank(c, &r);
        MPI_Comm_size(c, &n);
        MPI_Comm_test_inter(c, &flag);
        MPI_Comm_rank(inter, &mine);
        MPI_Comm_size(inter, &local);
        MPI_Comm_remote_size(inter, &remote);
        CHECK(n == size && !flag);
        if (high < 2)
            CHECK(r == (color == high ? remote : 0) + mine);
        else
            CHECK(r == mine || r == remote + mine);
        int in = -1;
        MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 0, &in, 1, MPI_INT, (r + n - 1) % n, 0, c, MPI_STATUS_IGNORE);
        CHECK(in == (r + n - 1) % n);
        MPI_Comm_free(&c);
    }
}

static void wrong_input(MPI_Comm inter)
{
    MPI_Comm c, d;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    CHECK(MPI_Intercomm_merge(c, 0, &d) == MPI_ERR_COMM);
    CHECK(MPI_Intercomm_create(c, size, MPI_COMM_WORLD, 0, 0, &d) == MPI_ERR_RANK);
    CHECK(MPI_Intercomm_create(c, rank, MPI_COMM_WORLD, size, 0, &d) == MPI_ERR_RANK);
    CHECK(MPI_Intercomm_create(c, rank, MPI_COMM_NULL, 0, 0, &d) == MPI_ERR_COMM);
    CHECK(MPI_Intercomm_create(c, rank, MPI_COMM_WORLD, 0, -1, &d) == MPI_ERR_TAG);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &d) == MPI_ERR_COMM);
    CHECK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &d) == MPI_ERR_COMM);
    // Both sides the same processes: found out by both.
    CHECK(MPI_Intercomm_create(c, 0, MPI_COMM_WORLD, 0, 0, &d) == MPI_ERR_COMM);
    MPI_Comm_free(&c);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    color = rank % 2;
    for (int i = 0; i < 3; i++) {
        MPI_Comm inter = make();
        accessors(inter);
        talk(inter, 0);
        derived(inter);
        merged(inter);
        if (i == 2) wrong_input(inter);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    MPI_Finalize();
    return 0;
}
