// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp threads
// Partitioned communication: partition counts that differ on the two sides, order of readiness, threads, restarts,
// matching in order of initialisation, derived types, early arrival, wrong use.
#include "../check.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 3 };
static int rank, size, other;

struct work {
    MPI_Request request;
    int first, partitions;
};

static void *mark(void *arg)
{
    struct work *w = arg;
    for (int i = w->first; i < w->partitions; i += THREADS) CHECK(MPI_Pready(i, w->request) == MPI_SUCCESS);
    return NULL;
}

// bytes in sparts partitions at the sender and rparts at the receiver, three activations; kind: order of readiness
// (3: threads mark while this one is in Wait already).
static void exchange(int bytes, int sparts, int rparts, int kind)
{
    unsigned char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
    MPI_Request s, r;
    CHECK(MPI_Psend_init(out, sparts, bytes / sparts, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &s) ==
          MPI_SUCCESS);
    CHECK(MPI_Precv_init_c(in, rparts, bytes / rparts, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r) ==
          MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < bytes; i++) out[i] = (unsigned char)(i * 11 + rank + turn), in[i] = 0xcc;
        pthread_t t[THREADS];
        struct work w[THREADS];
        if (turn % 2) MPI_Start(&r);
        MPI_Start(&s);
        if (turn % 2 == 0) MPI_Start(&r);
        if (kind == 0) {
            CHECK(MPI_Pready_range(0, sparts - 1, s) == MPI_SUCCESS);
        } else if (kind == 1) {
            for (int i = sparts - 1; i >= 0; i--) CHECK(MPI_Pready_list(1, &i, s) == MPI_SUCCESS);
        } else {
            for (int k = 0; k < THREADS; k++) {
                w[k] = (struct work){s, k, sparts};
                pthread_create(&t[k], NULL, mark, &w[k]);
            }
            for (int k = 0; k < THREADS && kind == 2; k++) pthread_join(t[k], NULL);
        }
        for (int i = 0; i < rparts; i++) {
            int flag = 0;
            while (!flag) CHECK(MPI_Parrived(r, i, &flag) == MPI_SUCCESS);
            int at = bytes / rparts * i;
            CHECK(bytes == 0 || in[at] == (unsigned char)(at * 11 + other + turn));
        }
        MPI_Status st;
        int count = -1;
        CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, &st) == MPI_SUCCESS);
        for (int k = 0; k < THREADS && kind == 3; k++) pthread_join(t[k], NULL);
        MPI_Get_count(&st, MPI_BYTE, &count);
        CHECK(st.MPI_SOURCE == other && st.MPI_TAG == 3 && count == bytes);
        int wrong = 0;    // counted, because a CHECK a byte takes minutes under a sanitizer
        for (int i = 0; i < bytes; i++) wrong += in[i] != (unsigned char)(i * 11 + other + turn);
        CHECK(wrong == 0);
    }
    CHECK(MPI_Request_free(&s) == MPI_SUCCESS && MPI_Request_free(&r) == MPI_SUCCESS);
    free(out), free(in);
}

// Three pairs with one tag: the first receive belongs to the first send, whatever is started first.
static void in_order(void)
{
    int out[3] = {10 + rank, 20 + rank, 30 + rank}, in[3] = {0};
    MPI_Request s[3], r[3];
    for (int i = 0; i < 3; i++) MPI_Psend_init(&out[i], 1, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &s[i]);
    for (int i = 0; i < 3; i++) MPI_Precv_init(&in[i], 1, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]);
    for (int i = 2; i >= 0; i--) {
        MPI_Start(&s[i]);
        MPI_Start(&r[2 - i]);
        MPI_Pready(0, s[i]);
    }
    MPI_Waitall(3, s, MPI_STATUSES_IGNORE);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++) {
        CHECK(in[i] == 10 * (i + 1) + other);
        MPI_Request_free(&s[i]);
        MPI_Request_free(&r[i]);
    }
}

// Columns of a matrix at the sender, rows at the receiver.
static void derived(void)
{
    enum { N = 64 };
    static double a[N][N], b[N][N];
    MPI_Datatype column, resized;
    MPI_Request s, r;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = i * 1000 + j + rank, b[i][j] = -1;
    MPI_Type_vector(N, 1, N, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    MPI_Type_commit(&resized);
    MPI_Psend_init(a, N, 1, resized, other, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(b, 4, N * N / 4, MPI_DOUBLE, other, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&s);
    MPI_Start(&r);
    MPI_Pready_range(0, N - 1, s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) CHECK(b[i][j] == j * 1000 + i + other);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
}

// Seven of eight large partitions arrive while the eighth is not ready.
static void early(void)
{
    enum { PARTS = 8, EACH = 1 << 19 };
    char *out = calloc(PARTS, EACH), *in = calloc(PARTS, EACH);
    MPI_Request s, r;
    int flag;
    MPI_Psend_init(out, PARTS, EACH, MPI_BYTE, other, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(in, PARTS, EACH, MPI_BYTE, other, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Start(&s);
    memset(out, 1 + rank, (size_t)PARTS * EACH);
    MPI_Pready_range(0, PARTS - 2, s);
    for (int i = 0; i < PARTS - 1; i++) {
        for (flag = 0; !flag;) MPI_Parrived(r, i, &flag);
        CHECK(in[i * EACH] == 1 + other && in[(i + 1) * EACH - 1] == 1 + other);
    }
    CHECK(MPI_Parrived(r, PARTS - 1, &flag) == MPI_SUCCESS && !flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready(PARTS - 1, s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in[PARTS * EACH - 1] == 1 + other);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    free(out), free(in);
}

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

static void wrong_use(void)
{
    int x[2] = {0}, flag = 0;
    MPI_Request s, r;
    CHECK(MPI_Psend_init(x, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(x, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    CHECK(class_of(MPI_Pready(0, s)) == MPI_ERR_REQUEST);    // not active
    CHECK(class_of(MPI_Psend_init(x, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Precv_init(x, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r)) ==
          MPI_ERR_RANK);
    CHECK(MPI_Start(&s) == MPI_SUCCESS && MPI_Start(&r) == MPI_SUCCESS);
    CHECK(class_of(MPI_Pready(0, r)) == MPI_ERR_REQUEST && class_of(MPI_Parrived(s, 0, &flag)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Pready(2, s)) == MPI_ERR_ARG && class_of(MPI_Pready(-1, s)) == MPI_ERR_ARG);
    CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&s) == MPI_SUCCESS && MPI_Request_free(&r) == MPI_SUCCESS);
    MPI_Psend_init(x, 2, 1, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(x, 2, 1, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&s);
    MPI_Start(&r);
    CHECK(MPI_Pready(0, s) == MPI_SUCCESS && class_of(MPI_Pready(0, s)) == MPI_ERR_ARG &&
          MPI_Pready(1, s) == MPI_SUCCESS);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    other = size == 1 ? 0 : 1 - rank;
    static const int bytes[] = {0, 24, 1024 * 24, 24 << 16, 24 << 18},
                     parts[][2] = {{1, 1}, {8, 8}, {1, 12}, {24, 3}, {8, 24}};
    for (int b = 0; b < 5; b++)
        for (int p = 0; p < 5; p++)
            for (int kind = 0; kind < 4; kind++) exchange(bytes[b], parts[p][0], parts[p][1], kind);
    in_order();
    derived();
    early();
    wrong_use();
    MPI_Finalize();
    return 0;
}
