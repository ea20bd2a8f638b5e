// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=2 chan=shm set=shm_cma=no
// Every way to send meets every way to receive, at sizes on both sides of each protocol's border; each byte is checked.
#include "../check.h"

#include <string.h>

enum { MAX = 300000 };
static const int sizes[] = {0,    1,    7,    8,    9,    24,    25,    40,    41, 1023,
                            1024, 1025, 6143, 6144, 6145, 16384, 16385, 65537, MAX};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static int rank, size;
static unsigned char *out, *in, *attached;

static unsigned char byte_of(int from, int n, int i)
{
    return (unsigned char)(from * 31 + n * 7 + i * 13 + (i >> 8));
}

static void fill(int n)
{
    for (int i = 0; i < n; i++) out[i] = byte_of(rank, n, i);
    memset(in, 0xee, (size_t)n + 16);
}

static void verify(int from, int n, const MPI_Status *s)
{
    int count = -1;
    CHECK(s->MPI_SOURCE == from && s->MPI_TAG == n % 1000);
    CHECK(MPI_Get_count(s, MPI_BYTE, &count) == MPI_SUCCESS && count == n);
    for (int i = 0; i < n; i++) CHECK(in[i] == byte_of(from, n, i));
    for (int i = n; i < n + 16; i++) CHECK(in[i] == 0xee);
}

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static isend_fn *const starts[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
static isend_fn *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};

// Ring: a nonblocking send of each mode to the right, a posted receive from the left (posted first: ready mode is
// right).
static void nonblocking(int n, int right, int left)
{
    for (int m = 0; m < 4; m++) {
        MPI_Request r[2];
        MPI_Status s[2];
        fill(n);
        CHECK(MPI_Irecv(in, n, MPI_BYTE, m % 2 ? MPI_ANY_SOURCE : left, m / 2 ? MPI_ANY_TAG : n % 1000, MPI_COMM_WORLD,
                        &r[0]) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(starts[m](out, n, MPI_BYTE, right, n % 1000, MPI_COMM_WORLD, &r[1]) == 0);
        CHECK(MPI_Waitall(2, r, s) == MPI_SUCCESS && r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
        verify(left, n, &s[0]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void persistent(int n, int right, int left)
{
    for (int m = 0; m < 4; m++) {
        MPI_Request r[2];
        MPI_Status s[2];
        CHECK(MPI_Recv_init(in, n, MPI_BYTE, left, n % 1000, MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
        CHECK(inits[m](out, n, MPI_BYTE, right, n % 1000, MPI_COMM_WORLD, &r[1]) == MPI_SUCCESS);
        for (int turn = 0; turn < 3; turn++) {
            fill(n);
            CHECK(MPI_Start(&r[0]) == MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(MPI_Startall(1, &r[1]) == MPI_SUCCESS);
            CHECK(MPI_Waitall(2, r, s) == MPI_SUCCESS && r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
            verify(left, n, &s[0]);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        CHECK(MPI_Request_free(&r[0]) == MPI_SUCCESS && MPI_Request_free(&r[1]) == MPI_SUCCESS);
    }
}

// Pairs of ranks: blocking sends against a receive that is posted late (the message is unexpected) or early.
static void blocking(int n)
{
    send_fn *const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend};
    int other = rank ^ 1;
    if (other >= size) return;
    for (int m = 0; m < 3; m++) {
        MPI_Status s;
        fill(n);
        if (rank % 2 == 0) {
            CHECK(sends[m](out, n, MPI_BYTE, other, n % 1000, MPI_COMM_WORLD) == MPI_SUCCESS);
            memset(out, 0xdd, (size_t)n);    // it is this rank's again
        } else {
            if (m == 1) CHECK(MPI_Probe(other, n % 1000, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
            CHECK(MPI_Recv(in, n, MPI_BYTE, other, n % 1000, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
            verify(other, n, &s);
        }
    }
}

static void exchanges(int n, int right, int left)
{
    MPI_Status s;
    MPI_Request r;
    fill(n);
    CHECK(MPI_Sendrecv(out, n, MPI_BYTE, right, n % 1000, in, n, MPI_BYTE, left, n % 1000, MPI_COMM_WORLD, &s) ==
          MPI_SUCCESS);
    verify(left, n, &s);
    fill(n);
    CHECK(MPI_Isendrecv(out, n, MPI_BYTE, right, n % 1000, in, n, MPI_BYTE, left, n % 1000, MPI_COMM_WORLD, &r) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS);
    verify(left, n, &s);
    fill(n);
    memcpy(in, out, (size_t)n);
    CHECK(MPI_Sendrecv_replace(in, n, MPI_BYTE, right, n % 1000, left, n % 1000, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
    verify(left, n, &s);
    fill(n);
    memcpy(in, out, (size_t)n);
    CHECK(MPI_Isendrecv_replace_c(in, n, MPI_BYTE, right, n % 1000, left, n % 1000, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS);
    verify(left, n, &s);
}

static void matched(int n, int right, int left)
{
    MPI_Request r[2];
    MPI_Message m;
    MPI_Status s;
    int flag = 0;
    fill(n);
    CHECK(MPI_Isend_c(out, n, MPI_BYTE, right, n % 1000, MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
    while (!flag) CHECK(MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &s) == MPI_SUCCESS);
    CHECK(m != MPI_MESSAGE_NULL);
    CHECK(MPI_Imrecv(in, n, MPI_BYTE, &m, &r[1]) == MPI_SUCCESS && m == MPI_MESSAGE_NULL);
    CHECK(MPI_Wait(&r[1], &s) == MPI_SUCCESS);
    verify(left, n, &s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    fill(n);
    CHECK(MPI_Isend(out, n, MPI_BYTE, right, n % 1000, MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(MPI_ANY_SOURCE, n % 1000, MPI_COMM_WORLD, &m, &s) == MPI_SUCCESS);
    CHECK(MPI_Mrecv_c(in, n, MPI_BYTE, &m, &s) == MPI_SUCCESS && m == MPI_MESSAGE_NULL);
    verify(left, n, &s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    void *back;
    int length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(MAX + 16);
    in = malloc(MAX + 16);
    attached = malloc(2 * (MAX + MPI_BSEND_OVERHEAD));
    CHECK(MPI_Buffer_attach(attached, 2 * (MAX + MPI_BSEND_OVERHEAD)) == MPI_SUCCESS);
    for (int k = 0; k < SIZES; k++) {
        int n = sizes[k], right = (rank + 1) % size, left = (rank + size - 1) % size;
        nonblocking(n, right, left);
        persistent(n, right, left);
        blocking(n);
        exchanges(n, right, left);
        matched(n, right, left);
    }
    CHECK(MPI_Buffer_detach(&back, &length) == MPI_SUCCESS && back == attached &&
          length == 2 * (MAX + MPI_BSEND_OVERHEAD));
    free(out), free(in), free(attached);
    MPI_Finalize();
    return 0;
}
