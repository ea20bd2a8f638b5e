// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// Files: opening, sizes, positions, explicit offsets, individual pointers, views, info, groups, atomicity.
#include "file.h"

static int rank, size;
static const char *path;

static MPI_File open_as(int amode)
{
    MPI_File fh;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    return fh;
}

static void sizes(void)
{
    MPI_Offset n = -1;
    int amode = 0, flag = 7;
    MPI_Group group, world;
    MPI_File fh = open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK(MPI_File_set_size(fh, 100) == MPI_SUCCESS && MPI_File_get_size(fh, &n) == MPI_SUCCESS && n == 100);
    CHECK(MPI_File_preallocate(fh, 50) == MPI_SUCCESS && MPI_File_get_size(fh, &n) == MPI_SUCCESS && n == 100);
    CHECK(MPI_File_preallocate(fh, 200) == MPI_SUCCESS && MPI_File_get_size(fh, &n) == MPI_SUCCESS && n == 200);
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS && MPI_File_get_size(fh, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_File_get_amode(fh, &amode) == MPI_SUCCESS && amode == (MPI_MODE_RDWR | MPI_MODE_CREATE));
    MPI_File_get_group(fh, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &amode);
    CHECK(amode == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(MPI_File_get_atomicity(fh, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_File_set_atomicity(fh, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(fh, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPI_File_sync(fh) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS && fh == MPI_FILE_NULL);
}

static void offsets(void)
{
    int value[4] = {rank, rank + 100, rank + 200, rank + 300}, got[4] = {0}, n = -1;
    MPI_Status status;
    MPI_Offset place = -1;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    CHECK(MPI_File_write_at(fh, 16 * rank, value, 4, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 4);
    MPI_Barrier(MPI_COMM_WORLD);
    int other = (rank + 1) % size;
    CHECK(MPI_File_read_at_all(fh, 16 * other, got, 4, MPI_INT, &status) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) CHECK(got[i] == other + 100 * i);
    // At the end of the file there is less than was asked for.
    CHECK(MPI_File_seek(fh, -8, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_read(fh, got, 4, MPI_INT, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 2 && got[0] == size - 1 + 200 && got[1] == size - 1 + 300);
    CHECK(MPI_File_get_position(fh, &place) == MPI_SUCCESS && place == 16 * size);
    CHECK(MPI_File_seek(fh, 4, MPI_SEEK_SET) == MPI_SUCCESS && MPI_File_seek(fh, 4, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(fh, got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[0] == 200);
    CHECK(MPI_File_get_position(fh, &place) == MPI_SUCCESS && place == 12);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// Each rank sees its own column of blocks; a strided layout in memory as well.
static void views(void)
{
    MPI_Datatype column, sparse;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    MPI_Offset disp = -1;
    char rep[MPI_MAX_DATAREP_STRING];
    short memory[2 * 60], back[2 * 60];
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    int one = 3, start = 3 * rank, all = 3 * size;
    MPI_Type_create_subarray(1, &all, &one, &start, MPI_ORDER_C, MPI_SHORT, &column);
    MPI_Type_vector(60, 1, 2, MPI_SHORT, &sparse);
    MPI_Type_commit(&column);
    MPI_Type_commit(&sparse);
    CHECK(MPI_File_set_view(fh, 7, MPI_SHORT, column, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&column);
    for (int i = 0; i < 120; i++) memory[i] = (short)(1000 * rank + i);
    CHECK(MPI_File_write_all(fh, memory, 1, sparse, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    memset(back, 0xff, sizeof back);
    CHECK(MPI_File_read_at(fh, 0, back, 1, sparse, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 119; i++) CHECK(back[i] == (i % 2 ? -1 : memory[i]));
    CHECK(MPI_File_get_byte_offset(fh, 4, &disp) == MPI_SUCCESS && disp == 7 + 2 * (all + 3 * rank + 1));
    MPI_Datatype etype, filetype;
    CHECK(MPI_File_get_view(fh, &disp, &etype, &filetype, rep) == MPI_SUCCESS);
    CHECK(disp == 7 && etype == MPI_SHORT && !strcmp(rep, "native"));
    MPI_Type_free(&filetype);
    MPI_Type_free(&sparse);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    size_t n;
    unsigned char *bytes = slurp(path, &n);
    CHECK(n == 7 + (size_t)size * 60 * 2);
    for (int i = 0; i < 7; i++) CHECK(bytes[i] == 0);    // what nobody wrote
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < 60; i++) {
            short v;
            memcpy(&v, bytes + 7 + 2 * (i / 3 * all + 3 * r + i % 3), 2);
            CHECK(v == 1000 * r + 2 * i);
        }
    }
    free(bytes);
}

// A filetype whose data lies behind its extent.
static void behind(void)
{
    int one = 1, v = 5;
    MPI_Aint at = 100;
    MPI_Datatype far, type;
    MPI_Offset place = -1;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &far);
    MPI_Type_create_resized(far, 0, sizeof v, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_size(fh, 120) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_seek(fh, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(fh, &place) == MPI_SUCCESS && place == 5);
    MPI_Type_free(&far);
    MPI_Type_free(&type);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// A filetype whose copies lie between its own runs.
static void interlocked(void)
{
    int two[2] = {1, 1}, v[4] = {1, 2, 3, 4}, back[4] = {0};
    MPI_Aint at[2] = {0, 100};
    MPI_Datatype pair, type;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    MPI_Type_create_hindexed(2, two, at, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 8, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(fh, 1000 * rank, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int atomic = 0; atomic < 2; atomic++) {
        CHECK(MPI_File_set_atomicity(fh, atomic) == MPI_SUCCESS);
        CHECK(MPI_File_write_at_all(fh, 0, v, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_write_at_all(fh, 0, v, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(fh, 0, back, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(v, back, sizeof v) == 0);
    }
    CHECK(MPI_File_set_view(fh, 1000 * rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    int where[4] = {0, 100, 8, 108};
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_File_read_at(fh, where[i], back, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && back[0] == v[i]);
    }
    MPI_Type_free(&pair);
    MPI_Type_free(&type);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void hints(void)
{
    MPI_Info info, used;
    char value[MPI_MAX_INFO_VAL + 1];
    int len = sizeof value, flag = 0;
    MPI_File fh;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "striping_factor", "none");
    MPI_Info_set(info, "romio_ds_write", "enable");
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_get_info(fh, &used) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(used, "cb_buffer_size", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && !strcmp(value, "1048576"));
    len = sizeof value;
    MPI_Info_get_string(used, "striping_factor", &len, value, &flag);
    CHECK(!flag);
    len = sizeof value;
    MPI_Info_get_string(used, "romio_ds_write", &len, value, &flag);
    CHECK(flag && !strcmp(value, "disable"));    // never
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static int handled;

static void handler(MPI_File *fh, int *code, ...)
{
    CHECK(*fh != MPI_FILE_NULL && *code == MPI_ERR_COUNT);
    handled++;
}

// Errors go to the file's handler, those of requests too.
static void handlers(void)
{
    int v;
    MPI_Errhandler e, was;
    MPI_File fh = open_as(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_get_errhandler(fh, &was);
    CHECK(was == MPI_ERRORS_RETURN);
    CHECK(MPI_File_create_errhandler(handler, &e) == MPI_SUCCESS && MPI_File_set_errhandler(fh, e) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(fh, 0, &v, -1, MPI_INT, MPI_STATUS_IGNORE) == MPI_ERR_COUNT && handled == 1);
    CHECK(MPI_File_call_errhandler(fh, MPI_ERR_COUNT) == MPI_SUCCESS && handled == 2);
    MPI_Errhandler_free(&e);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(path, F_OK) != 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = make_path("basic");
    sizes();
    offsets();
    views();
    behind();
    interlocked();
    hints();
    handlers();
    MPI_Finalize();
    return 0;
}
