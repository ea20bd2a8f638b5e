// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp threads
// MPI_THREAD_MULTIPLE: threads make, use and free communicators at once, each on a parent of its own; groups with tags
// on one parent.
#include "../check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 25 };
static int rank, size;
static MPI_Comm parent[THREADS];

static void ring(MPI_Comm c, int v)
{
    int r, n, in = -1;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    int out = 100 * v + r, left = (r + n - 1) % n;
    MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 1, &in, 1, MPI_INT, left, 1, c, MPI_STATUS_IGNORE);
    CHECK(in == 100 * v + left);
}

static void *work(void *arg)
{
    int me = (int)((MPI_Comm *)arg - parent), key, *value, flag;
    MPI_Comm c, d;
    MPI_Group world, some;
    MPI_Request r;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm_dup(parent[me], &c);
        ring(c, me);
        MPI_Comm_idup(c, &d, &r);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        MPI_Comm_set_attr(c, key, &key);
        MPI_Comm_get_attr(c, key, &value, &flag);
        CHECK(flag && value == &key);
        MPI_Comm_free_keyval(&key);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        ring(d, me + 10);
        MPI_Comm_free(&c);
        MPI_Comm_split(d, i % 2, -rank, &c);
        ring(c, me + 20);
        MPI_Comm_free(&c);
        MPI_Group_incl(world, 1, &(int){i % size}, &some);
        if (rank == i % size) {
            MPI_Comm_create_group(MPI_COMM_WORLD, some, me, &c);    // one parent, told apart by the tag
            ring(c, me);
            MPI_Comm_free(&c);
        }
        MPI_Group_free(&some);
        MPI_Comm_create_group(MPI_COMM_WORLD, world, THREADS + me, &c);
        ring(c, me + 30);
        MPI_Comm_free(&c);
        MPI_Comm_free(&d);
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "k", "v");
        MPI_Info_free(&info);
    }
    MPI_Group_free(&world);
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &parent[i]);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&t[i], NULL, work, &parent[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&parent[i]);
    MPI_Finalize();
    return 0;
}
