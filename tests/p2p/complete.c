// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// Waiting and testing in all forms, statuses, cancel, free, generalized requests, PROC_NULL, truncation.
#include "../check.h"

#include <string.h>

static int rank, other;

static void any_some_all(void)
{
    enum { N = 6 };
    int in[N], index, n, which[N], flag, ended = 0;
    MPI_Request r[N];
    MPI_Status s[N];
    if (rank == 0) {
        for (int i = 0; i < N; i++) {    // one at a time, in an order of its own
            int k = (i * 5 + 2) % N;
            MPI_Recv(&n, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&k, 1, MPI_INT, 1, k, MPI_COMM_WORLD);
        }
        return;
    }
    for (int i = 0; i < N; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &r[i]);
    CHECK(MPI_Testany(N, r, &index, &flag, s) == MPI_SUCCESS && !flag && index == MPI_UNDEFINED);
    CHECK(MPI_Testall(N, r, &flag, s) == MPI_SUCCESS && !flag);
    CHECK(MPI_Testsome(N, r, &n, which, s) == MPI_SUCCESS && n == 0);
    CHECK(MPI_Request_get_status_any(N, r, &index, &flag, s) == MPI_SUCCESS && !flag);
    for (int i = 0; i < N; i++) {
        int k = (i * 5 + 2) % N;
        MPI_Send(&i, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
        if (i < 2) {
            CHECK(MPI_Waitany(N, r, &index, s) == MPI_SUCCESS && index == k && s[0].MPI_TAG == k);
        } else if (i < 4) {
            CHECK(MPI_Waitsome(N, r, &n, which, s) == MPI_SUCCESS && n == 1 && which[0] == k && s[0].MPI_TAG == k);
        } else {
            do CHECK(MPI_Request_get_status_some(N, r, &n, which, s) == MPI_SUCCESS);
            while (n == 0);
            CHECK(which[0] == k && r[k] != MPI_REQUEST_NULL);
            do CHECK(MPI_Testsome(N, r, &n, which, s) == MPI_SUCCESS);
            while (n == 0);
            CHECK(n == 1 && which[0] == k);
        }
        CHECK(r[k] == MPI_REQUEST_NULL && in[k] == k);
        ended++;
    }
    CHECK(ended == N);
    CHECK(MPI_Waitany(N, r, &index, s) == MPI_SUCCESS && index == MPI_UNDEFINED);
    CHECK(MPI_Waitsome(N, r, &n, which, s) == MPI_SUCCESS && n == MPI_UNDEFINED);
    CHECK(MPI_Testany(N, r, &index, &flag, s) == MPI_SUCCESS && flag && index == MPI_UNDEFINED);
    CHECK(MPI_Waitall(N, r, s) == MPI_SUCCESS);
    CHECK(MPI_Request_get_status_all(N, r, &flag, s) == MPI_SUCCESS && flag && s[3].MPI_SOURCE == MPI_ANY_SOURCE);
}

static void empty_ones(void)
{
    MPI_Request null = MPI_REQUEST_NULL, idle;
    MPI_Status s;
    int flag = 0, count = -1, cancelled = -1, x = 0;
    CHECK(MPI_Wait(&null, &s) == MPI_SUCCESS && s.MPI_SOURCE == MPI_ANY_SOURCE && s.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Get_count(&s, MPI_INT, &count) == MPI_SUCCESS && count == 0);
    CHECK(MPI_Test_cancelled(&s, &cancelled) == MPI_SUCCESS && cancelled == 0);
    CHECK(MPI_Recv_init(&x, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &idle) == MPI_SUCCESS);
    CHECK(MPI_Test(&idle, &flag, &s) == MPI_SUCCESS && flag && s.MPI_SOURCE == MPI_ANY_SOURCE &&
          idle != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&idle, &s) == MPI_SUCCESS);
    CHECK(MPI_Request_get_status(idle, &flag, &s) == MPI_SUCCESS && flag);
    CHECK(MPI_Request_free(&idle) == MPI_SUCCESS && idle == MPI_REQUEST_NULL);
}

static void nowhere(void)
{
    int x = 5, flag = 0, count = -1;
    MPI_Status s;
    MPI_Message m;
    MPI_Request r;
    CHECK(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s) == MPI_SUCCESS && x == 5);
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Get_count(&s, MPI_INT, &count) == MPI_SUCCESS && count == 0);
    CHECK(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &s) == MPI_SUCCESS && flag &&
          s.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &s) == MPI_SUCCESS && m == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Mrecv(&x, 1, MPI_INT, &m, &s) == MPI_SUCCESS && m == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS && s.MPI_SOURCE == MPI_PROC_NULL);
}

static void truncated(int bytes)
{
    char *buf = malloc((size_t)bytes);
    int class = 0, count = 0;
    MPI_Status s;
    memset(buf, rank, (size_t)bytes);
    if (rank == 0) {
        CHECK(MPI_Send(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Ssend(buf, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        int err = MPI_Recv(buf, bytes - 5, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s);
        CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
        CHECK(buf[0] == 0 && buf[bytes - 6] == 0 && buf[bytes - 5] == 1);
        MPI_Request r;
        CHECK(MPI_Irecv(buf, bytes / 2, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        err = MPI_Waitall(1, &r, &s);
        CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS);
        CHECK(MPI_Error_class(s.MPI_ERROR, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
        CHECK(MPI_Get_count(&s, MPI_BYTE, &count) == MPI_SUCCESS && count == bytes / 2);
    }
    free(buf);
}

static void cancel_and_free(void)
{
    int x = -1, flag = 0, y = 42 + rank;
    MPI_Request r, f;
    MPI_Status s;
    CHECK(MPI_Irecv(&x, 1, MPI_INT, other, 50, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS && MPI_Wait(&r, &s) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&s, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Irecv(&x, 1, MPI_INT, other, 51, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Isend(&y, 1, MPI_INT, other, 51, MPI_COMM_WORLD, &f) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&f) == MPI_SUCCESS && f == MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS && x == 42 + other);
    CHECK(MPI_Test_cancelled(&s, &flag) == MPI_SUCCESS && !flag);
    enum { BIG = 1 << 20 };
    char *big = calloc(2, BIG);    // a freed send that is still under way
    CHECK(MPI_Isend(big, BIG, MPI_BYTE, other, 52, MPI_COMM_WORLD, &f) == MPI_SUCCESS &&
          MPI_Request_free(&f) == MPI_SUCCESS);
    CHECK(MPI_Recv(big + BIG, BIG, MPI_BYTE, other, 52, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    free(big);
}

static int queried, freed, cancelled_with = -1;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 7;
    status->MPI_TAG = 8;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancelled_with = complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    int n = 3, flag = -1, count = -1;
    MPI_Request r;
    MPI_Status s;
    CHECK(MPI_Grequest_start(query, release, cancel, &n, &r) == MPI_SUCCESS);
    CHECK(MPI_Test(&r, &flag, &s) == MPI_SUCCESS && !flag);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS && cancelled_with == 0);
    CHECK(MPI_Grequest_complete(r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS && s.MPI_SOURCE == 7 && s.MPI_TAG == 8 && r == MPI_REQUEST_NULL);
    CHECK(MPI_Get_count(&s, MPI_INT, &count) == MPI_SUCCESS && count == 3 && queried == 1 && freed == 1);
}

static void status_fields(void)
{
    MPI_Status s;
    int v = 0;
    memset(&s, 0, sizeof s);
    CHECK(MPI_Status_set_source(&s, 4) == MPI_SUCCESS && MPI_Status_get_source(&s, &v) == MPI_SUCCESS && v == 4 &&
          s.MPI_SOURCE == 4);
    CHECK(MPI_Status_set_tag(&s, 5) == MPI_SUCCESS && MPI_Status_get_tag(&s, &v) == MPI_SUCCESS && v == 5);
    CHECK(MPI_Status_set_error(&s, 6) == MPI_SUCCESS && MPI_Status_get_error(&s, &v) == MPI_SUCCESS && v == 6);
    MPI_Count big = 0;
    CHECK(MPI_Status_set_elements_c(&s, MPI_BYTE, (MPI_Count)5 << 32) == MPI_SUCCESS);
    CHECK(MPI_Get_count_c(&s, MPI_BYTE, &big) == MPI_SUCCESS && big == (MPI_Count)5 << 32);
    CHECK(MPI_Get_count(&s, MPI_BYTE, &v) == MPI_SUCCESS && v == MPI_UNDEFINED);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    other = 1 - rank;
    any_some_all();
    empty_ones();
    nowhere();
    truncated(30);
    truncated(3000);
    truncated(100000);
    cancel_and_free();
    generalized();
    status_fields();
    MPI_Finalize();
    return 0;
}
