// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp threads
// run: np=0
// A port of one's own: a process that accepts and connects, by requests or by two threads, and a job whose halves, or
// overlapping groups, meet. What both ends are used for is kept apart; where nobody accepts, the time-out holds.
#include <mpi_ext.h>
#include <pthread.h>
#include <string.h>

#include "../check.h"

enum { LARGE = 200000 };

static int rank, size;
static char port[MPI_MAX_PORT_NAME];

// Both ends in one process: what goes into one comes out of the other, whatever the tag.
static void check_ends(MPI_Comm a, MPI_Comm b)
{
    int in[2] = {-1, -1}, out[2] = {1, 2}, n, inter, result;
    static char large[2][LARGE], got[2][LARGE];
    MPI_Comm c[2] = {a, b};
    MPI_Request r[4];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_test_inter(c[i], &inter);
        MPI_Comm_remote_size(c[i], &n);
        CHECK(inter && n == 1);
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 5, c[i], &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, 0, 5, c[i], &r[2 + i]);
    }
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 2 && in[1] == 1);
    for (int i = 0; i < 2; i++) {
        memset(large[i], 'a' + i, LARGE);
        MPI_Isend(large[i], LARGE, MPI_CHAR, 0, 6, c[i], &r[i]);
    }
    for (int i = 0; i < 2; i++) MPI_Irecv(got[i], LARGE, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, c[i], &r[2 + i]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    CHECK(got[0][0] == 'b' && got[1][LARGE - 1] == 'a');
    for (int i = 0; i < 2; i++) MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_SUM, c[i], &r[i]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 2 && in[1] == 1);
    MPI_Comm dup[2], merged;
    for (int i = 0; i < 2; i++) MPI_Comm_idup(c[i], &dup[i], &r[i]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_compare(dup[0], a, &result);
    CHECK(result == MPI_CONGRUENT);
    for (int i = 0; i < 2; i++) MPI_Isend(&out[i], 1, MPI_INT, 0, 7, dup[i], &r[i]);
    for (int i = 0; i < 2; i++) MPI_Recv(&in[i], 1, MPI_INT, 0, 7, dup[i], MPI_STATUS_IGNORE);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 2 && in[1] == 1);
    for (int i = 0; i < 2; i++) MPI_Comm_disconnect(&dup[i]);
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    CHECK(MPI_Intercomm_merge(a, 0, &merged) == MPI_ERR_COMM);
}

// Ends c[0 .. n) of one communicator, some of them NULL here: what all ends agree on, and what is made of all.
static void check_agreement(const MPI_Comm *c, int n, int sum_of_sizes)
{
    int flag[2] = {7, 7}, in[2] = {-1, -1}, out[2] = {rank, rank}, all;
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request r[4];
    for (int i = 0; i < n; i++) {
        r[i] = MPI_REQUEST_NULL;
        if (c[i] == MPI_COMM_NULL) continue;
        flag[i] = i == 0 ? 6 : 3;
        MPIX_Comm_iagree(c[i], &flag[i], &r[i]);
    }
    CHECK(MPI_Waitall(n, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) CHECK(flag[i] == (c[i] == MPI_COMM_NULL ? 7 : 2));
    for (int i = 0; i < n; i++)
        if (c[i] != MPI_COMM_NULL) MPIX_Comm_ishrink(c[i], &made[i], &r[i]);
    CHECK(MPI_Waitall(n, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        int local, remote;
        r[i] = r[2 + i] = MPI_REQUEST_NULL;
        if (c[i] == MPI_COMM_NULL) continue;
        MPI_Comm_size(made[i], &local);
        MPI_Comm_remote_size(made[i], &remote);
        CHECK(local + remote == sum_of_sizes);
        MPI_Comm_rank(made[i], &all);
        MPI_Irecv(&in[i], 1, MPI_INT, all, 4, made[i], &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, all, 4, made[i], &r[2 + i]);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    MPI_Waitall(n, r + 2, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) CHECK(c[i] == MPI_COMM_NULL || in[i] >= 0);
    for (int i = 0; i < n; i++)
        if (made[i] != MPI_COMM_NULL) MPI_Comm_free(&made[i]);
}

// Both ends of one process: what one of them revokes, the other hears of; they still agree then.
static void check_revoked(MPI_Comm a, MPI_Comm b)
{
    const MPI_Comm c[2] = {a, b};
    int got, flag = 0;
    MPI_Request r;
    MPI_Comm_set_errhandler(b, MPI_ERRORS_RETURN);
    MPI_Irecv(&got, 1, MPI_INT, 0, 8, b, &r);
    CHECK(MPIX_Comm_revoke(a) == MPI_SUCCESS);
    int err = MPI_Wait(&r, MPI_STATUS_IGNORE), class;
    MPI_Error_class(err, &class);
    CHECK(class == MPIX_ERR_REVOKED);
    MPIX_Comm_is_revoked(b, &flag);
    CHECK(flag);
    check_agreement(c, 2, 2);
}

static void by_requests(void)
{
    MPI_Comm a, b;
    MPI_Request r[2];
    MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &a, &r[0]);
    MPIX_Comm_iconnect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &b, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    check_ends(a, b);
    check_agreement((const MPI_Comm[]){a, b}, 2, 2);
    check_revoked(a, b);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &a, &r[0]);
    MPIX_Comm_iconnect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &b, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_disconnect(&a);
    MPI_Comm_disconnect(&b);
}

static void *accept_one(void *out)
{
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, out);
    return NULL;
}

static void by_threads(void)
{
    MPI_Comm a, b;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, accept_one, &a) == 0);
    CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &b) == MPI_SUCCESS);
    pthread_join(thread, NULL);
    check_ends(a, b);
    MPI_Comm_disconnect(&b);
    MPI_Comm_disconnect(&a);
}

static void nobody_accepts(void)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Info info;
    char text[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.05");
    int err = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &c);
    MPI_Error_string(err, text, &n);
    CHECK(err == MPI_ERR_PORT && c == MPI_COMM_NULL && strstr(text, "nobody accepted"));
    MPI_Info_free(&info);
}

// Ranks of one job on both sides, rank 0's port: the even ones and the odd ones.
static void halves(const char *of_first)
{
    MPI_Comm half, c, merged;
    int others, sum, one = 1, n;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank % 2 == 0)
        MPI_Comm_accept(of_first, MPI_INFO_NULL, 0, half, &c);
    else
        MPI_Comm_connect(of_first, MPI_INFO_NULL, 0, half, &c);
    MPI_Comm_remote_size(c, &others);
    CHECK(others == (rank % 2 ? (size + 1) / 2 : size / 2));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == others);
    MPI_Intercomm_merge(c, rank % 2, &merged);
    MPI_Comm_size(merged, &n);
    CHECK(n == size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&c);
    MPI_Comm_free(&half);
}

// All but the last rank on one side, all but the first on the other: those between are on both.
static void overlapping(const char *of_first)
{
    MPI_Comm side[2], c[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request r[4];
    int n = 0, in[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, rank, &side[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &side[1]);
    if (rank < size - 1) MPIX_Comm_iaccept(of_first, MPI_INFO_NULL, 0, side[0], &c[0], &r[n++]);
    if (rank > 0) MPIX_Comm_iconnect(of_first, MPI_INFO_NULL, 0, side[1], &c[1], &r[n++]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    for (int s = 0; s < 2; s++) {
        if (side[s] == MPI_COMM_NULL) continue;
        for (int i = 0; i < size - 1; i++) {    // each rank of a side with each of the other
            int out = 1000 * s + 100 * rank + i;
            MPI_Request q;
            MPI_Isend(&out, 1, MPI_INT, i, 3, c[s], &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
    }
    for (int s = 0; s < 2; s++) {
        if (side[s] == MPI_COMM_NULL) continue;
        for (int i = 0; i < size - 1; i++) {
            int world = s == 0 ? i + 1 : i, me = s == 0 ? rank : rank - 1;
            MPI_Recv(&in[s], 1, MPI_INT, i, 3, c[s], MPI_STATUS_IGNORE);
            CHECK(in[s] == 1000 * (1 - s) + 100 * world + me);
        }
    }
    check_agreement(c, 2, 2 * (size - 1));
    for (int s = 0; s < 2; s++) {
        if (side[s] == MPI_COMM_NULL) continue;
        MPI_Comm_disconnect(&c[s]);
        MPI_Comm_free(&side[s]);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Open_port(MPI_INFO_NULL, port);
    for (int i = 0; i < 3; i++) {
        by_requests();
        by_threads();
    }
    nobody_accepts();
    by_requests();    // the connect that gave up is out of the way
    char of_first[MPI_MAX_PORT_NAME];
    memcpy(of_first, port, sizeof of_first);
    MPI_Bcast(of_first, sizeof of_first, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (size > 1) halves(of_first);
    if (size > 1) overlapping(of_first);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Close_port(port);
    MPI_Finalize();
    return 0;
}
