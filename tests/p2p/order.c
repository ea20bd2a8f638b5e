// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp
// run: np=17 chan=shm
// Random traffic against a reference matcher: every rank sends numbered messages of random sizes and tags to every
// other and to itself; the receiver takes them by exact and wildcard receives and probes, and checks that no message
// overtook another.
#include "../check.h"

#include <string.h>

enum { MESSAGES = 400, TAGS = 4, MEDIUM = 40000, MAX = 600000 };
static int rank, size;

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// What message k from `from` to `to` looks like: both sides compute it.
static void plan(int from, int to, int k, int *tag, int *bytes)
{
    unsigned s = (unsigned)(from * 7919 + to * 104729 + k * 31 + 5);
    next_random(&s);
    *tag = (int)(next_random(&s) % TAGS);
    unsigned kind = next_random(&s) % 8;
    int large = k % 4 ? MEDIUM : MAX;
    *bytes = 8 + (int)(next_random(&s) % (unsigned)(kind < 5 ? 40 : kind < 7 ? 5000 : large - 8));
}

// next[from][tag]: the number of the next message of that tag that must come: the order within (source, tag) is the
// sender's.
static int next_number(int from, int tag, int after)
{
    int t, b, k = after + 1;
    for (; k < MESSAGES; k++) {
        plan(from, rank, k, &t, &b);
        if (t == tag) break;
    }
    return k;
}

static void check_message(const char *buf, const MPI_Status *s, int (*last)[TAGS])
{
    int tag, bytes, count, head[2];
    memcpy(head, buf, sizeof head);
    int from = s->MPI_SOURCE;
    CHECK(head[0] == from);
    CHECK(head[1] == next_number(from, s->MPI_TAG, last[from][s->MPI_TAG]));
    last[from][s->MPI_TAG] = head[1];
    plan(from, rank, head[1], &tag, &bytes);
    MPI_Get_count(s, MPI_BYTE, &count);
    CHECK(tag == s->MPI_TAG && bytes == count);
    for (int i = 8; i < bytes; i++) CHECK(buf[i] == (char)(head[1] + i));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request *send = malloc(sizeof *send * MESSAGES * (size_t)size);
    char **data = malloc(sizeof *data * MESSAGES * (size_t)size), *buf = malloc(MAX);
    int(*last)[TAGS] = malloc(sizeof *last * (size_t)size);
    memset(last, -1, sizeof *last * (size_t)size);
    unsigned seed = (unsigned)rank * 77 + 1;
    int sent = 0, received = 0, total = MESSAGES * size;
    while (sent < total || received < total) {
        if (sent < total && (next_random(&seed) % 3 || received == total)) {
            int to = sent % size, k = sent / size, tag, bytes;
            plan(rank, to, k, &tag, &bytes);
            data[sent] = malloc((size_t)bytes);
            int head[2] = {rank, k};
            memcpy(data[sent], head, sizeof head);
            for (int i = 8; i < bytes; i++) data[sent][i] = (char)(k + i);
            if (k % 5 == 0)
                MPI_Issend(data[sent], bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send[sent]);
            else
                MPI_Isend(data[sent], bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send[sent]);
            sent++;
            continue;
        }
        MPI_Status s;
        int flag = 0;
        MPI_Message m;
        switch (next_random(&seed) % 3) {
        case 0:    // whatever is there
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
            if (flag) MPI_Recv(buf, MAX, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s);
            break;
        case 1:
            MPI_Improbe((int)(next_random(&seed) % (unsigned)size), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &s);
            if (flag) MPI_Mrecv(buf, MAX, MPI_BYTE, &m, &s);
            break;
        default:    // a posted receive that must match some time, or be cancelled at once
            if (sent == total && received < total) {
                MPI_Request r;
                int cancelled = 0;
                MPI_Irecv(buf, MAX, MPI_BYTE, MPI_ANY_SOURCE, (int)(next_random(&seed) % TAGS), MPI_COMM_WORLD, &r);
                MPI_Cancel(&r);
                MPI_Wait(&r, &s);
                MPI_Test_cancelled(&s, &cancelled);
                flag = !cancelled;
            }
        }
        if (!flag) continue;
        check_message(buf, &s, last);
        received++;
    }
    MPI_Waitall(total, send, MPI_STATUSES_IGNORE);
    for (int i = 0; i < total; i++) free(data[i]);
    free(send), free(data), free(buf), free(last);
    MPI_Finalize();
    return 0;
}
