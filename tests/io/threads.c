// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp threads
// run: np=2 set=file_pointer_messages=1 threads
// run: np=2 set=shm_cma=0 threads
// MPI_THREAD_MULTIPLE: threads of each rank use one file at places of their own, blocking and nonblocking, take turns
// at the shared pointer, and call collectively each on a file of its own, where parts interleave; every byte is there
// once.
#include "file.h"

#include <pthread.h>

enum { THREADS = 3, TURNS = 25, WORDS = 64, TILES = 40, TILE = 16 };

static int rank, size;
static MPI_File all, each[THREADS], record;
static int counted[8 * THREADS * TURNS];    // records by their writer and number

static void own_places(int thread)
{
    int data[WORDS], back[WORDS];
    MPI_Offset at = (MPI_Offset)sizeof data * (rank * THREADS + thread);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request r;
        for (int i = 0; i < WORDS; i++) data[i] = turn * 1000 + thread * 100 + i;
        if (turn % 2) {
            CHECK(MPI_File_iwrite_at(all, at, data, WORDS, MPI_INT, &r) == MPI_SUCCESS);
            CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(MPI_File_read_at(all, at, back, WORDS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write_at(all, at, data, WORDS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(MPI_File_iread_at(all, at, back, WORDS, MPI_INT, &r) == MPI_SUCCESS);
            CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        CHECK(memcmp(data, back, sizeof data) == 0);
    }
}

static void records(int thread)
{
    for (int turn = 0; turn < TURNS; turn++) {
        int number = (rank * THREADS + thread) * TURNS + turn;
        CHECK(MPI_File_write_shared(record, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

// Tiles of the ranks in turn.
static void together(int thread)
{
    char data[TILES * TILE], back[TILES * TILE];
    MPI_Datatype type;
    int tile = TILE, begin = TILE * rank, period = TILE * size;
    MPI_Type_create_subarray(1, &period, &tile, &begin, MPI_ORDER_C, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(each[thread], 0, MPI_CHAR, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int turn = 0; turn < TURNS; turn++) {
        memset(data, turn * 9 + thread * 3 + rank, sizeof data);
        CHECK(MPI_File_write_at_all(each[thread], 0, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(each[thread], 0, back, sizeof back, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(data, back, sizeof data) == 0);
    }
    MPI_Type_free(&type);
}

static void *work(void *arg)
{
    int thread = *(int *)arg;
    own_places(thread);
    records(thread);
    together(thread);
    return NULL;
}

static void check_records(const char *path)
{
    size_t n;
    unsigned char *bytes = slurp(path, &n);
    CHECK(n == sizeof(int) * (size_t)size * THREADS * TURNS);
    for (size_t i = 0; i < n / sizeof(int); i++) {
        int number;
        memcpy(&number, bytes + i * sizeof number, sizeof number);
        CHECK(number >= 0 && number < size * THREADS * TURNS && counted[number]++ == 0);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    int provided, number[THREADS];
    char name[300], shared[300];
    pthread_t thread[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = make_path("threads");
    const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &all) == MPI_SUCCESS);
    snprintf(shared, sizeof shared, "%s.records", path);
    CHECK(MPI_File_open(MPI_COMM_WORLD, shared, amode, MPI_INFO_NULL, &record) == MPI_SUCCESS);
    for (int t = 0; t < THREADS; t++) {
        snprintf(name, sizeof name, "%s.%d", path, t);
        CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &each[t]) == MPI_SUCCESS);
    }
    for (int t = 0; t < THREADS; t++) {
        number[t] = t;
        CHECK(pthread_create(&thread[t], NULL, work, &number[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    check_records(shared);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < THREADS; t++) CHECK(MPI_File_close(&each[t]) == MPI_SUCCESS);
    CHECK(MPI_File_close(&record) == MPI_SUCCESS);
    CHECK(MPI_File_close(&all) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
