// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3
// Data representations: external32 and internal in the file's bytes, extents, and one of the user's that adds a key to
// each value and takes 5 bytes for an int.
#include "file.h"

static int rank, size, read_calls, write_calls, key = 0x21;
static const char *path;

static MPI_File open_with(MPI_Datatype etype, const char *rep)
{
    MPI_File fh;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(fh, 0, etype, etype, rep, MPI_INFO_NULL) == MPI_SUCCESS);
    return fh;
}

static void close_file(MPI_File fh)
{
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Doubles, each rank 3 of 3 * size in turn: gaps are allowed where sizes stay.
static void external(const char *rep)
{
    double value[3] = {1.5 + rank, -2.25, 1e100}, back[3] = {0};
    int all = 3 * size, mine = 3, start = 3 * rank, n = -1;
    MPI_Status status;
    MPI_Datatype part;
    MPI_Type_create_subarray(1, &all, &mine, &start, MPI_ORDER_C, MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    MPI_File fh = open_with(MPI_DOUBLE, rep);
    CHECK(MPI_File_set_view(fh, 0, MPI_DOUBLE, part, rep, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(fh, value, 3, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(fh, 0, back, 3, MPI_DOUBLE, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_DOUBLE, &n) == MPI_SUCCESS && n == 3 && memcmp(value, back, sizeof back) == 0);
    MPI_Type_free(&part);
    close_file(fh);
    size_t bytes;
    unsigned char *file = slurp(path, &bytes), turned[8];
    CHECK(bytes == 24 * (size_t)size);
    for (int i = 0; i < 8; i++) turned[i] = ((unsigned char *)value)[7 - i];
    CHECK(memcmp(file + 24 * rank, turned, 8) == 0);
    free(file);
}

static void narrow_long(void)
{
    long value[4] = {1, -2, 3 + rank, 70000}, back[5] = {0};
    MPI_Aint extent = 0;
    MPI_Status status;
    int n = -1;
    MPI_File fh = open_with(MPI_LONG, "external32");
    CHECK(MPI_File_get_type_extent(fh, MPI_LONG, &extent) == MPI_SUCCESS && extent == 4);
    CHECK(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent) == MPI_SUCCESS && extent == 8);
    CHECK(MPI_File_write_at_all(fh, 4 * rank, value, 4, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_seek(fh, -4, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(fh, back, 5, MPI_LONG, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_LONG, &n) == MPI_SUCCESS && n == 4);
    CHECK(back[0] == 1 && back[1] == -2 && back[2] == 3 + size - 1 && back[3] == 70000);
    close_file(fh);
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    int bytes;
    CHECK(extra == &key);
    MPI_Type_size(type, &bytes);
    *extent = bytes + 1;
    return MPI_SUCCESS;
}

static int read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    const unsigned char *at = file;
    CHECK(type == MPI_INT && extra == &key);
    for (int i = 0; i < count; i++, at += 5) {
        CHECK(at[0] == key);
        memcpy((int *)user + position + i, at + 1, 4);
    }
    read_calls++;
    return MPI_SUCCESS;
}

static int write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    unsigned char *at = file;
    CHECK(type == MPI_INT && extra == &key);
    for (int i = 0; i < count; i++, at += 5) {
        at[0] = (unsigned char)key;
        memcpy(at + 1, (const int *)user + position + i, 4);
    }
    write_calls++;
    return MPI_SUCCESS;
}

static void registered(void)
{
    int value[3] = {rank, rank + 10, rank + 20}, back[3] = {0};
    MPI_Aint extent = 0;
    MPI_Request r;
    CHECK(MPI_Register_datarep("keyed", read_fn, write_fn, extent_of, &key) == MPI_SUCCESS);
    CHECK(says(MPI_Register_datarep("keyed", read_fn, write_fn, extent_of, &key), MPI_ERR_DUP_DATAREP, "keyed"));
    CHECK(says(MPI_Register_datarep("native", read_fn, write_fn, extent_of, &key), MPI_ERR_DUP_DATAREP, "native"));
    MPI_File fh = open_with(MPI_INT, "keyed");
    CHECK(MPI_File_get_type_extent(fh, MPI_INT, &extent) == MPI_SUCCESS && extent == 5);
    CHECK(MPI_File_write_at_all(fh, 3 * rank, value, 3, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && write_calls > 0);
    CHECK(MPI_File_iread_at(fh, 3 * rank, back, 3, MPI_INT, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && read_calls > 0 && memcmp(value, back, sizeof back) == 0);
    close_file(fh);
    size_t bytes;
    unsigned char *file = slurp(path, &bytes);
    CHECK(bytes == 15 * (size_t)size && file[15 * rank] == key && file[15 * rank + 1] == rank);
    free(file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = make_path("datarep");
    external("external32");
    external("internal");
    narrow_long();
    registered();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
