// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp
// Partitioned requests under one thread: every form of Wait and
// Test, Request_free at each moment, restarts with sender and receiver apart, Parrived, messages of more than 2^31
// bytes and counts, many requests of one tag.
#include "../check.h"

#include <string.h>

enum { FORMS = 8 };
static int rank, size, other;

static void pair(void *out, void *in, int parts, int each, int tag, MPI_Request *s, MPI_Request *r)
{
    CHECK(MPI_Psend_init(out, parts, each, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_INFO_NULL, s) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, parts, each, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_INFO_NULL, r) == MPI_SUCCESS);
}

// Ends both requests q[0] (send) and q[1] (receive) by the form asked for; st: status of the receive.
static void finish(MPI_Request q[2], int form, MPI_Status *st)
{
    MPI_Status all[2];
    int flag = 0, index, some, which[2];
    switch (form) {
    case 0: CHECK(MPI_Wait(&q[0], MPI_STATUS_IGNORE) == 0 && MPI_Wait(&q[1], st) == 0); return;
    case 1: CHECK(MPI_Waitall(2, q, all) == MPI_SUCCESS), *st = all[1]; return;
    case 2:
        for (int n = 0; n < 2; n++) {
            CHECK(MPI_Waitany(2, q, &index, &all[0]) == MPI_SUCCESS && (index == 0 || index == 1));
            if (index == 1) *st = all[0];
        }
        CHECK(MPI_Waitany(2, q, &index, &all[0]) == MPI_SUCCESS && index == MPI_UNDEFINED);
        return;
    case 3:
        for (int n = 0; n < 2; n += some) {
            CHECK(MPI_Waitsome(2, q, &some, which, all) == MPI_SUCCESS && some > 0);
            for (int i = 0; i < some; i++)
                if (which[i] == 1) *st = all[i];
        }
        return;
    case 4:
        for (int i = 0; i < 2; i++)
            for (flag = 0; !flag;) CHECK(MPI_Test(&q[i], &flag, i ? st : MPI_STATUS_IGNORE) == MPI_SUCCESS);
        return;
    case 5:
        while (!flag) CHECK(MPI_Testall(2, q, &flag, all) == MPI_SUCCESS);
        *st = all[1];
        return;
    case 6:
        for (int n = 0; n < 2;) {
            CHECK(MPI_Testany(2, q, &index, &flag, &all[0]) == MPI_SUCCESS);
            if (flag && index == 1) *st = all[0];
            if (flag) n++;
        }
        return;
    default:
        while (!flag) CHECK(MPI_Request_get_status(q[1], &flag, st) == MPI_SUCCESS);
        for (int n = 0; n < 2; n += some) {
            CHECK(MPI_Testsome(2, q, &some, which, all) == MPI_SUCCESS && some >= 0);
        }
    }
}

// parts partitions of `each` bytes, so often that what is still on its way must not be overwritten; every third time
// the receiver starts late, and the partitions are marked in another order each time.
static void forms(int parts, int each)
{
    size_t bytes = (size_t)parts * (size_t)each;
    unsigned char *out = malloc(bytes), *in = malloc(bytes);
    MPI_Request q[2];
    pair(out, in, parts, each, 4, &q[0], &q[1]);
    for (int turn = 0; turn < 3 * FORMS; turn++) {
        MPI_Status st;
        int flag = 0, step = turn % 2 ? parts - 1 : 1, count = 0;
        for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i + (size_t)(turn + rank)), in[i] = 0;
        CHECK(MPI_Parrived(q[1], parts - 1, &flag) == MPI_SUCCESS && flag);    // not active: arrived
        if (turn % 3) CHECK(MPI_Start(&q[1]) == MPI_SUCCESS);
        CHECK(MPI_Start(&q[0]) == MPI_SUCCESS);
        if (parts > 1 && turn % 3) CHECK(MPI_Parrived(q[1], 0, &flag) == MPI_SUCCESS);
        for (int i = 0, k = 0; i < parts; i++, k = (k + step) % parts) CHECK(MPI_Pready(k, q[0]) == MPI_SUCCESS);
        if (turn % 3 == 0) CHECK(MPI_Start(&q[1]) == MPI_SUCCESS);
        finish(q, turn % FORMS, &st);
        MPI_Get_count(&st, MPI_BYTE, &count);
        CHECK(st.MPI_SOURCE == other && st.MPI_TAG == 4 && (size_t)count == bytes);
        int wrong = 0;
        for (size_t i = 0; i < bytes; i++) wrong += in[i] != (unsigned char)(i + (size_t)(turn + other));
        CHECK(wrong == 0);
    }
    CHECK(MPI_Request_free(&q[0]) == MPI_SUCCESS && MPI_Request_free(&q[1]) == MPI_SUCCESS);
    CHECK(q[0] == MPI_REQUEST_NULL && q[1] == MPI_REQUEST_NULL);
    free(out), free(in);
}

// The receiver is twenty activations behind, as far as the sender can get; then it catches up.
static void ahead(int each)
{
    enum { TURNS = 20, PARTS = 4 };
    unsigned char *buf = calloc(PARTS, (size_t)each);
    MPI_Request q;
    if (size == 1) return free(buf);
    if (rank == 0) {
        MPI_Psend_init(buf, PARTS, each, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        for (int turn = 0; turn < TURNS; turn++) {
            memset(buf, turn, (size_t)PARTS * (size_t)each);
            MPI_Start(&q);
            MPI_Pready_range(0, PARTS - 1, q);
            CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    } else {
        MPI_Precv_init(buf, PARTS, each, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        int flag;
        for (int i = 0; i < 1000; i++) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        for (int turn = 0; turn < TURNS; turn++) {
            MPI_Start(&q);
            for (int i = PARTS - 1; i >= 0; i--) {
                for (flag = 0; !flag;) CHECK(MPI_Parrived(q, i, &flag) == MPI_SUCCESS);
                CHECK(buf[i * each] == turn && buf[(i + 1) * each - 1] == turn);
            }
            CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    MPI_Request_free(&q);
    free(buf);
}

// Requests freed before they were started or even matched: the next ones of the same tag meet each other.
static void freed(void)
{
    char out[2][64], in[2][64];
    MPI_Request s[2], r[2];
    for (int i = 0; i < 2; i++) pair(out[i], in[i], 2, 32, 9, &s[i], &r[i]);
    MPI_Request_free(&s[0]);
    MPI_Request_free(&r[0]);
    memset(out[1], 40 + rank, sizeof out[1]);
    MPI_Start(&r[1]);
    MPI_Start(&s[1]);
    MPI_Pready_range(0, 1, s[1]);
    MPI_Wait(&s[1], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    CHECK(in[1][0] == 40 + other && in[1][63] == 40 + other);
    MPI_Request_free(&s[1]);
    MPI_Request_free(&r[1]);
}

// A count of more than 2^31, of nothing; then more than 2^31 bytes, from and to one block of memory.
static void beyond(void)
{
    enum { BLOCK = 1 << 20, EACH = 1100 };
    const MPI_Count many = 3000000000;
    MPI_Datatype nothing, block, again;
    MPI_Request s, r;
    MPI_Status st;
    MPI_Count count = -1;
    char *out = malloc(BLOCK), *in = calloc(1, BLOCK);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    CHECK(MPI_Psend_init_c(out, 2, many, nothing, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &s) == MPI_SUCCESS);
    CHECK(MPI_Precv_init_c(in, 2, many, nothing, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    MPI_Start(&s), MPI_Start(&r), MPI_Pready_range(0, 1, s);
    CHECK(MPI_Wait(&s, &st) == MPI_SUCCESS && MPI_Wait(&r, &st) == MPI_SUCCESS);
    MPI_Request_free(&s), MPI_Request_free(&r), MPI_Type_free(&nothing);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 0, &again);
    MPI_Type_commit(&again);
    memset(out, 'a' + rank, BLOCK);
    if (rank == 0) MPI_Psend_init(out, 2, EACH, again, size - 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &s), MPI_Start(&s);
    if (rank == size - 1) MPI_Precv_init(in, 2, EACH, again, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &r), MPI_Start(&r);
    if (rank == 0) MPI_Pready_range(0, 1, s);
    if (rank == size - 1) {
        CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
        MPI_Get_count_c(&st, MPI_BYTE, &count);
        CHECK(count == (MPI_Count)2 * EACH * BLOCK && in[0] == 'a' && in[BLOCK - 1] == 'a');
        MPI_Request_free(&r);
    }
    if (rank == 0) CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Request_free(&s) == MPI_SUCCESS);
    MPI_Type_free(&block), MPI_Type_free(&again);
    free(out), free(in);
}

static void null_process(void)
{
    int flag = 0;
    char x[8] = "1234567";
    MPI_Status st;
    MPI_Request s, r;
    MPI_Psend_init(x, 8, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(x, 8, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    for (int turn = 0; turn < 2; turn++) {
        CHECK(MPI_Start(&s) == MPI_SUCCESS && MPI_Start(&r) == MPI_SUCCESS);
        CHECK(MPI_Pready_range(0, 7, s) == MPI_SUCCESS);
        CHECK(MPI_Parrived(r, 7, &flag) == MPI_SUCCESS && flag);
        CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, &st) == MPI_SUCCESS);
        CHECK(st.MPI_SOURCE == MPI_PROC_NULL && memcmp(x, "1234567", 8) == 0);
    }
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

// The call failed with this class, and the message names the call and what was wrong.
static void refused(int err, int class, const char *call, const char *text)
{
    char said[MPI_MAX_ERROR_STRING];
    int len, got;
    CHECK(err != MPI_SUCCESS && MPI_Error_class(err, &got) == MPI_SUCCESS && got == class);
    CHECK(MPI_Error_string(err, said, &len) == MPI_SUCCESS && strstr(said, call) && strstr(said, text));
}

static void wrong_use(void)
{
    char x[4] = {0}, y[4];
    int flag, list[] = {1, 1};
    MPI_Request q[2], plain;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    pair(x, y, 4, 1, 5, &q[0], &q[1]);
    refused(MPI_Pready(0, q[0]), MPI_ERR_REQUEST, "MPI_Pready", "not active");
    refused(MPI_Pready_range(0, 3, q[0]), MPI_ERR_REQUEST, "MPI_Pready_range", "not active");
    refused(MPI_Parrived(q[0], 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived", "a send");
    refused(MPI_Parrived(q[1], 4, &flag), MPI_ERR_ARG, "MPI_Parrived", "partition 4 is out of range (0 .. 3 allowed)");
    MPI_Startall(2, q);
    refused(MPI_Pready(0, q[1]), MPI_ERR_REQUEST, "MPI_Pready", "a receive");
    refused(MPI_Pready(4, q[0]), MPI_ERR_ARG, "MPI_Pready", "partition 4 is out of range (0 .. 3 allowed)");
    refused(MPI_Pready(-1, q[0]), MPI_ERR_ARG, "MPI_Pready", "partition -1 is out of range");
    refused(MPI_Pready_range(2, 1, q[0]), MPI_ERR_ARG, "MPI_Pready_range", "partition_low 2 is above");
    refused(MPI_Pready_list(2, list, q[0]), MPI_ERR_ARG, "MPI_Pready_list", "partition 1 was marked ready already");
    refused(MPI_Pready_list(-1, list, q[0]), MPI_ERR_COUNT, "MPI_Pready_list", "-1");
    refused(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST, "MPI_Pready", "MPI_REQUEST_NULL");
    refused(MPI_Parrived(q[1], -1, &flag), MPI_ERR_ARG, "MPI_Parrived", "partition -1");
    refused(MPI_Start(&q[0]), MPI_ERR_REQUEST, "MPI_Start", "active already");
    CHECK(MPI_Pready_range(2, 3, q[0]) == MPI_SUCCESS && MPI_Pready(0, q[0]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    refused(MPI_Pready(0, q[0]), MPI_ERR_REQUEST, "MPI_Pready", "not active");
    MPI_Irecv(y, 1, MPI_BYTE, other, 6, MPI_COMM_WORLD, &plain);
    refused(MPI_Pready(0, plain), MPI_ERR_REQUEST, "MPI_Pready", "not a partitioned one");
    MPI_Send(x, 1, MPI_BYTE, other, 6, MPI_COMM_WORLD);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
    MPI_Request_free(&q[0]), MPI_Request_free(&q[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    other = size == 1 ? 0 : 1 - rank;
    static const int shape[][2] = {{1, 8},    {128, 8},  {200, 1},   {3, 1000},
                                   {128, 40}, {1, 6144}, {7, 20000}, {2, 1 << 20}};
    for (int i = 0; i < 8; i++) forms(shape[i][0], shape[i][1]);
    ahead(8);
    ahead(1024);
    ahead(100000);
    freed();
    null_process();
    beyond();
    wrong_use();
    MPI_Finalize();
    return 0;
}
