// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=1,2,5 set=file_pointer_messages=1
// run: np=1,3 env=TEST_SPAWN=2
// Shared pointers, ordered and split collectives, nonblocking accesses of all kinds.
#include "../grown.h"
#include "file.h"

static int rank, size;
static MPI_File fh;

static void fresh(void)
{
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
}

// Every record that a rank wrote is there once, whole.
static void shared(void)
{
    enum { RECORDS = 20 };
    MPI_Offset n = -1;
    fresh();
    for (int i = 0; i < RECORDS; i++) {
        int record[3] = {rank, i, rank * 1000 + i};
        CHECK(MPI_File_write_shared(fh, record, 3, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Barrier(world);
    CHECK(MPI_File_get_position_shared(fh, &n) == MPI_SUCCESS && n == 3 * RECORDS * size);
    int *all = malloc(sizeof(int) * 3 * RECORDS * (size_t)size), next[64] = {0};
    CHECK(MPI_File_read_at(fh, 0, all, 3 * RECORDS * size, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < RECORDS * size; i++) {
        int *r = all + 3 * i;
        CHECK(r[0] >= 0 && r[0] < size && r[1] == next[r[0]]++ && r[2] == r[0] * 1000 + r[1]);
    }
    free(all);
    CHECK(MPI_File_seek_shared(fh, -3, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(fh, &n) == MPI_SUCCESS && n == 3 * RECORDS * size - 3);
    MPI_Barrier(world);
}

static void ordered(void)
{
    int mine[64], back[64], n = rank + 1;
    fresh();
    for (int i = 0; i < n; i++) mine[i] = 10 * rank + i;
    CHECK(MPI_File_write_ordered(fh, mine, n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_begin(fh, mine, n, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_end(fh, mine, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(world);
    int before = rank * (rank + 1) / 2, total = size * (size + 1) / 2;
    for (int turn = 0; turn < 2; turn++) {
        CHECK(MPI_File_read_at(fh, turn * total + before, back, n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(mine, back, sizeof(int) * (size_t)n) == 0);
    }
    CHECK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    memset(back, 0, sizeof back);
    CHECK(MPI_File_read_ordered(fh, back, n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(mine, back, sizeof(int) * (size_t)n) == 0);
}

static void nonblocking(void)
{
    enum { MANY = 16 };
    int value[MANY], back[MANY], count = -1;
    MPI_Request request[MANY], one;
    MPI_Status status;
    fresh();
    for (int i = 0; i < MANY; i++) {
        value[i] = rank * 100 + i;
        CHECK(MPI_File_iwrite_at(fh, i * size + rank, &value[i], 1, MPI_INT, &request[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(world);
    int other = (rank + 1) % size;
    for (int i = 0; i < MANY; i++)
        CHECK(MPI_File_iread_at_all(fh, i * size + other, &back[i], 1, MPI_INT, &request[i]) == MPI_SUCCESS);
    for (int i = 0, flag = 0; i < MANY; i++, flag = 0)
        while (!flag) CHECK(MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) CHECK(back[i] == other * 100 + i);
    MPI_Offset place = -1;
    CHECK(MPI_File_seek(fh, MANY * size - 1, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_iread(fh, back, 2, MPI_INT, &one) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(fh, &place) == MPI_SUCCESS && place == MANY * size + 1);
    CHECK(MPI_Wait(&one, &status) == MPI_SUCCESS && MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS);
    CHECK(count == 1 && back[0] == (size - 1) * 100 + MANY - 1);
    MPI_Barrier(world);    // all have read what is written anew now
    CHECK(MPI_File_iwrite_shared(fh, &rank, 1, MPI_INT, &one) == MPI_SUCCESS);
    CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(world);
    int seen = 0;
    for (int i = 0; i < size; i++) {
        CHECK(MPI_File_read_at(fh, i, back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(back[0] >= 0 && back[0] < size && !(seen & 1 << back[0]));
        seen |= 1 << back[0];
    }
    MPI_Barrier(world);
}

static void split(void)
{
    int mine = rank, back = -1;
    MPI_Status status;
    fresh();
    CHECK(says(MPI_File_write_at_all_end(fh, &mine, &status), MPI_ERR_OTHER, "begun"));
    CHECK(MPI_File_write_at_all_begin(fh, rank, &mine, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(says(MPI_File_write_all_begin(fh, &mine, 1, MPI_INT), MPI_ERR_OTHER, "MPI_File_write_at_all_begin"));
    CHECK(says(MPI_File_read_all_end(fh, &mine, &status), MPI_ERR_OTHER, "MPI_File_write_at_all_begin"));
    CHECK(MPI_File_write_at_all_end(fh, &mine, &status) == MPI_SUCCESS);
    MPI_Barrier(world);
    CHECK(MPI_File_seek(fh, size - 1 - rank, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_begin_c(fh, &back, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(fh, &back, &status) == MPI_SUCCESS && back == size - 1 - rank);
}

// An access that fails later tells why by its request, on the file's handler.
static void fails_later(const char *path)
{
    MPI_Request r;
    char none[8];
    MPI_File bad;
    CHECK(MPI_File_open(world, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &bad) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(bad, 0x7ffffffffffffff0, none, 8, MPI_BYTE, &r) == MPI_SUCCESS);
    int err = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(err == MPI_SUCCESS || says(err, MPI_ERR_IO, path));    // at the end of all offsets, as the system likes
    CHECK(MPI_File_iread_at(bad, 0x7fffffffffffffff, none, 8, MPI_BYTE, &r) == MPI_SUCCESS);
    CHECK(says(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_ARG, "63 bits"));
    CHECK(MPI_File_close(&bad) == MPI_SUCCESS);
}

// A sequential file goes on with another view where its shared pointer stands.
static void sequential(const char *path)
{
    int v = 100 + rank, header = 7;
    MPI_File seq;
    fresh();
    if (rank == 0) CHECK(MPI_File_write_at(fh, 0, &header, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(fh, 1 + rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_open(world, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &seq) == MPI_SUCCESS);
    if (rank == size - 1) {
        CHECK(MPI_File_read_shared(seq, &header, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && header == 7);
    }
    MPI_Barrier(world);
    CHECK(MPI_File_set_view(seq, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    v = -1;
    CHECK(MPI_File_read_ordered(seq, &v, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && v == 100 + rank);
    CHECK(MPI_File_close(&seq) == MPI_SUCCESS);
}

// Rank 0 computes until the others are done with the shared pointer.
static void busy(const char *path)
{
    char flag[300];
    int value = rank;
    fresh();
    MPI_Barrier(world);
    snprintf(flag, sizeof flag, "%s.%d", path, rank);
    if (rank > 0) {
        CHECK(MPI_File_write_shared(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        close(open(flag, O_CREAT | O_RDWR, 0600));
    }
    for (int r = 1; rank == 0 && r < size; r++) {
        snprintf(flag, sizeof flag, "%s.%d", path, r);
        while (access(flag, F_OK) != 0) continue;
        unlink(flag);
    }
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    grow_world(argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    const char *path = make_path_in(world, "pointers");
    CHECK(MPI_File_open(world, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    shared();
    ordered();
    nonblocking();
    split();
    fails_later(path);
    sequential(path);
    busy(path);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) unlink(path);
    leave_world();
    MPI_Finalize();
    return 0;
}
