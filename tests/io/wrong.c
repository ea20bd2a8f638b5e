// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3 chan=shm,tcp
// Bad input: every form of reading and writing with every wrong argument, and the other calls on files. Each says
// class, argument and value, begins nothing and moves no pointer; where one rank alone is wrong in a collective call,
// the others learn which.
#include "forms.h"

static int rank, size;
static const char *path;
static MPI_Request request;
static int buffer[4];

static int call(const struct form *f, const struct args *a)
{
    return access_begin(f, a, MPI_STATUS_IGNORE);
}

static MPI_File open_as(int amode)
{
    MPI_File fh;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    return fh;
}

static void check_nothing_moved(MPI_File fh)
{
    MPI_Offset n = -1;
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPI_File_get_position(fh, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_File_get_position_shared(fh, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_File_get_size(fh, &n) == MPI_SUCCESS && n == 64);
}

// Wrong on all ranks, or where the call is collective on the last one alone.
static void refused(const struct form *f, struct args good, struct args bad, int class, const char *says_what)
{
    CHECK(says(call(f, &bad), class, says_what));
    check_nothing_moved(good.fh);
    if (!f->all || size == 1) return;
    int culprit = rank == size - 1, err = call(f, culprit ? &bad : &good);
    if (f->how == NONBLOCKING && !culprit) {
        CHECK(err == MPI_SUCCESS);
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(says(err, class, culprit ? says_what : "failed on rank"));
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek(good.fh, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(good.fh, 0, MPI_SEEK_SET) == MPI_SUCCESS);
}

static void arguments(const struct form *f, MPI_File fh, MPI_Datatype raw)
{
    struct args good = {fh, 0, buffer, 1, MPI_INT, &request}, bad = good;
    bad.count = -1;
    refused(f, good, bad, MPI_ERR_COUNT, "count -1");
    bad = good;
    bad.buf = NULL;
    refused(f, good, bad, MPI_ERR_BUFFER, "NULL");
    bad = good;
    bad.type = MPI_DATATYPE_NULL;
    refused(f, good, bad, MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    bad.type = raw;
    refused(f, good, bad, MPI_ERR_TYPE, "not committed");
    bad.type = MPI_SHORT;
    refused(f, good, bad, MPI_ERR_TYPE, "multiple");
    if (f->at != OFFSET) return;
    bad = good;
    bad.offset = -1;
    refused(f, good, bad, MPI_ERR_ARG, "offset -1");
}

static void handles(const struct form *f, MPI_File closed)
{
    struct args a = {closed, 0, buffer, 1, MPI_INT, &request};
    CHECK(says(call(f, &a), MPI_ERR_FILE, "closed"));
    a.fh = MPI_FILE_NULL;
    CHECK(says(call(f, &a), MPI_ERR_FILE, "MPI_FILE_NULL"));
    a.fh = (MPI_File)MPI_COMM_WORLD;    // a handle of another kind
    CHECK(says(call(f, &a), MPI_ERR_FILE, "not a file"));
    CHECK(request == MPI_REQUEST_NULL);
}

// Against the mode that it was opened with.
static void modes(const struct form *f, MPI_File only_reads, MPI_File only_writes, MPI_File sequential)
{
    struct args a = {f->write ? only_reads : only_writes, 0, buffer, 1, MPI_INT, &request};
    CHECK(says(call(f, &a), f->write ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS,
               f->write ? "MPI_MODE_RDONLY" : "MPI_MODE_WRONLY"));
    a.fh = sequential;
    if (f->write && f->at < SHARED) CHECK(says(call(f, &a), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_MODE_SEQUENTIAL"));
    CHECK(request == MPI_REQUEST_NULL);
}

static void accesses(void)
{
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    MPI_File closed = open_as(MPI_MODE_RDWR), gone = closed, fh, reads, writes, sequential;
    CHECK(MPI_File_close(&closed) == MPI_SUCCESS);
    for (int kind = 0; kind < 4; kind++) {
        struct form forms[FORMS];
        for (int i = 0; i < FORMS; i++) forms[i] = form_of(i, kind & 1, kind >> 1);
        for (int i = 0; i < FORMS; i++) handles(&forms[i], gone);
        fh = open_as(MPI_MODE_RDWR);
        reads = open_as(MPI_MODE_RDONLY);
        writes = open_as(MPI_MODE_WRONLY);
        sequential = open_as(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
        CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        for (int i = 0; i < FORMS; i++) {
            arguments(&forms[i], fh, raw);
            modes(&forms[i], reads, writes, sequential);
        }
        CHECK(MPI_File_close(&sequential) == MPI_SUCCESS && MPI_File_close(&writes) == MPI_SUCCESS);
        CHECK(MPI_File_close(&reads) == MPI_SUCCESS && MPI_File_close(&fh) == MPI_SUCCESS);
    }
    MPI_Type_free(&raw);
}

static void opening(void)
{
    static const struct {
        int amode;
        const char *word;
    } bad[] = {{MPI_MODE_CREATE, "has 0"},
               {MPI_MODE_RDONLY | MPI_MODE_RDWR, "has 2"},
               {MPI_MODE_RDONLY | MPI_MODE_CREATE, "MPI_MODE_CREATE"},
               {MPI_MODE_RDONLY | MPI_MODE_EXCL, "MPI_MODE_EXCL"},
               {MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, "MPI_MODE_SEQUENTIAL"},
               {MPI_MODE_RDWR | 1 << 20, "unknown bits"}};
    MPI_File fh = MPI_FILE_NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int err = MPI_File_open(MPI_COMM_WORLD, path, bad[i].amode, MPI_INFO_NULL, &fh);
        CHECK(says(err, MPI_ERR_AMODE, "amode") && says(err, MPI_ERR_AMODE, bad[i].word));
    }
    int err = MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_NO_SUCH_FILE, "/no/such/folder/file") && says(err, MPI_ERR_NO_SUCH_FILE, "No such file"));
    err = MPI_File_open(MPI_COMM_WORLD, "/tmp", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_BAD_FILE, "/tmp"));
    err = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_FILE_EXISTS, path));
    CHECK(says(MPI_File_open(MPI_COMM_WORLD, NULL, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_ARG, "filename"));
    CHECK(says(MPI_File_open(MPI_COMM_NULL, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_COMM, "MPI_COMM_NULL"));
    if (size > 1) {
        int amode = rank ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
        CHECK(says(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh), MPI_ERR_NOT_SAME, "amode"));
    }
    CHECK(fh == MPI_FILE_NULL);
    CHECK(says(MPI_File_delete("/no/such/file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "/no/such/file"));
    CHECK(says(MPI_File_delete(NULL, MPI_INFO_NULL), MPI_ERR_ARG, "filename"));
}

static int set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *rep)
{
    return MPI_File_set_view(fh, disp, etype, filetype, rep, MPI_INFO_NULL);
}

static void views(void)
{
    MPI_Datatype three, twice, back, raw, crowded;
    int len[2] = {1, 1}, same[2] = {0, 0}, down[2] = {1, 0};
    MPI_Type_contiguous(3, MPI_BYTE, &three);
    MPI_Type_indexed(2, len, same, MPI_INT, &twice);
    MPI_Type_indexed(2, len, down, MPI_INT, &back);
    MPI_Type_contiguous(4, MPI_BYTE, &raw);
    MPI_Type_create_resized(MPI_INT, 0, 2, &crowded);    // its copies lie in each other
    MPI_Type_commit(&crowded);
    MPI_Type_commit(&three);
    MPI_Type_commit(&twice);
    MPI_Type_commit(&back);
    MPI_File fh = open_as(MPI_MODE_RDWR);
    CHECK(says(set_view(fh, 0, MPI_INT, raw, "native"), MPI_ERR_TYPE, "not committed"));
    CHECK(says(set_view(fh, 0, raw, MPI_INT, "native"), MPI_ERR_TYPE, "not committed"));
    CHECK(says(set_view(fh, 0, MPI_INT, MPI_DATATYPE_NULL, "native"), MPI_ERR_TYPE, "MPI_DATATYPE_NULL"));
    CHECK(says(set_view(fh, 0, MPI_INT, three, "native"), MPI_ERR_TYPE, "multiple"));
    CHECK(says(set_view(fh, 0, MPI_INT, twice, "native"), MPI_ERR_TYPE, "twice"));
    CHECK(says(set_view(fh, 0, MPI_INT, crowded, "native"), MPI_ERR_TYPE, "twice"));
    CHECK(says(set_view(fh, 0, MPI_INT, back, "native"), MPI_ERR_TYPE, "ascend"));
    CHECK(says(set_view(fh, -2, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, "disp -2"));
    CHECK(says(set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, "MPI_MODE_SEQUENTIAL"));
    CHECK(says(set_view(fh, 0, MPI_INT, MPI_INT, "none"), MPI_ERR_UNSUPPORTED_DATAREP, "none"));
    CHECK(says(set_view(fh, 0, MPI_INT, MPI_INT, NULL), MPI_ERR_ARG, "datarep"));
    if (size > 1) {
        MPI_Datatype mine = rank ? MPI_INT : MPI_SHORT;
        CHECK(says(set_view(fh, 0, mine, mine, "native"), MPI_ERR_NOT_SAME, "etype"));
        CHECK(says(set_view(fh, 0, MPI_INT, MPI_INT, rank ? "external32" : "native"), MPI_ERR_NOT_SAME, "datarep"));
    }
    int culprit = rank == size - 1;
    CHECK(says(set_view(fh, culprit ? -2 : 0, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG,
               culprit ? "disp -2" : "failed on rank"));
    check_nothing_moved(fh);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    fh = open_as(MPI_MODE_RDONLY);    // what is only read may be there twice
    CHECK(set_view(fh, 0, MPI_INT, twice, "native") == MPI_SUCCESS);
    CHECK(set_view(fh, 0, MPI_INT, crowded, "native") == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Type_free(&crowded);
    MPI_Type_free(&three);
    MPI_Type_free(&twice);
    MPI_Type_free(&back);
    MPI_Type_free(&raw);
}

static void sizes_and_places(void)
{
    MPI_Offset n = 7;
    MPI_Aint extent;
    MPI_File fh = open_as(MPI_MODE_RDWR), reads = open_as(MPI_MODE_RDONLY);
    CHECK(says(MPI_File_set_size(fh, -1), MPI_ERR_ARG, "size -1") &&
          says(MPI_File_preallocate(fh, -1), MPI_ERR_ARG, "size -1"));
    CHECK(says(MPI_File_set_size(reads, 5), MPI_ERR_READ_ONLY, "MPI_File_set_size"));
    CHECK(says(MPI_File_preallocate(reads, 5), MPI_ERR_READ_ONLY, "MPI_MODE_RDONLY"));
    CHECK(says(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG, "offset -1"));
    CHECK(says(MPI_File_seek(fh, -65, MPI_SEEK_END), MPI_ERR_ARG, "offset -65"));
    CHECK(says(MPI_File_seek(fh, 0, 12), MPI_ERR_ARG, "whence 12"));
    CHECK(says(MPI_File_seek_shared(fh, 0, 12), MPI_ERR_ARG, rank ? "failed on rank 0" : "whence 12"));
    CHECK(says(MPI_File_get_byte_offset(fh, -3, &n), MPI_ERR_ARG, "offset -3") && n == 7);
    CHECK(says(MPI_File_get_type_extent(fh, MPI_DATATYPE_NULL, &extent), MPI_ERR_TYPE, "MPI_DATATYPE_NULL"));
    CHECK(
        says(MPI_File_read_at(fh, 0x7fffffffffffffff, buffer, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG, "63 bits"));
    CHECK(says(MPI_File_get_size(fh, NULL), MPI_ERR_ARG, "size") &&
          says(MPI_File_get_amode(fh, NULL), MPI_ERR_ARG, "amode"));
    if (size > 1) {
        CHECK(says(MPI_File_set_size(fh, rank), MPI_ERR_NOT_SAME, "size"));
        CHECK(says(MPI_File_preallocate(fh, 100 + rank), MPI_ERR_NOT_SAME, "size"));
        CHECK(says(MPI_File_seek_shared(fh, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME, "offset"));
        CHECK(says(MPI_File_seek_shared(fh, rank ? INT64_MIN : 0, MPI_SEEK_SET), MPI_ERR_NOT_SAME, "offset"));
        CHECK(says(MPI_File_set_atomicity(fh, rank == 0), MPI_ERR_NOT_SAME, "flag"));
    }
    check_nothing_moved(fh);
    CHECK(MPI_File_close(&reads) == MPI_SUCCESS && MPI_File_close(&fh) == MPI_SUCCESS);
}

// Where a file is written from its begin to its end places may be asked for and not set.
static void sequential(void)
{
    MPI_Offset n = -1;
    MPI_File fh = open_as(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    CHECK(set_view(fh, 8, MPI_INT, MPI_INT, "native") == MPI_SUCCESS);
    CHECK(MPI_File_get_byte_offset(fh, 3, &n) == MPI_SUCCESS && n == 20);
    const int class = MPI_ERR_UNSUPPORTED_OPERATION;
    CHECK(says(MPI_File_seek(fh, 0, MPI_SEEK_SET), class, "MPI_MODE_SEQUENTIAL"));
    CHECK(says(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), class, "MPI_MODE_SEQUENTIAL"));
    CHECK(says(MPI_File_get_position(fh, &n), class, "MPI_MODE_SEQUENTIAL"));
    CHECK(says(MPI_File_get_position_shared(fh, &n), class, "MPI_MODE_SEQUENTIAL") && n == 20);
    CHECK(says(MPI_File_set_size(fh, 64), class, "MPI_MODE_SEQUENTIAL"));
    CHECK(says(MPI_File_preallocate(fh, 64), class, "MPI_MODE_SEQUENTIAL"));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void check_shared_at(MPI_File fh, MPI_Offset place)
{
    MPI_Offset n = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(fh, &n) == MPI_SUCCESS && n == place);
    MPI_Barrier(MPI_COMM_WORLD);
}

// What would end beyond the last byte that a file can have does not move the shared pointer there.
static void far_away(void)
{
    const MPI_Offset far = INT64_MAX - 5;
    MPI_Status *s = MPI_STATUS_IGNORE;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    CHECK(MPI_File_seek_shared(fh, far, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(says(MPI_File_read_shared(fh, buffer, 4, MPI_INT, s), MPI_ERR_ARG, "63 bits"));
    check_shared_at(fh, far);
    CHECK(says(MPI_File_iwrite_shared(fh, buffer, 4, MPI_INT, &request), MPI_ERR_ARG, "63 bits"));
    CHECK(request == MPI_REQUEST_NULL);
    check_shared_at(fh, far);
    CHECK(says(MPI_File_read_ordered(fh, buffer, 4, MPI_INT, s), MPI_ERR_ARG, rank ? "failed on rank 0" : "63 bits"));
    CHECK(
        says(MPI_File_write_ordered_begin(fh, buffer, 4, MPI_INT), MPI_ERR_ARG, rank ? "failed on rank 0" : "63 bits"));
    check_shared_at(fh, far);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void splits(void)
{
    MPI_Status *s = MPI_STATUS_IGNORE;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    CHECK(says(MPI_File_write_all_end(fh, buffer, s), MPI_ERR_OTHER, "begun"));
    CHECK(MPI_File_write_all_begin(fh, buffer, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(says(MPI_File_read_all_begin(fh, buffer, 1, MPI_INT), MPI_ERR_OTHER, "MPI_File_write_all_begin"));
    CHECK(says(MPI_File_read_all_end(fh, buffer, s), MPI_ERR_OTHER, "MPI_File_write_all_begin"));
    CHECK(says(MPI_File_write_all_end(fh, NULL, s), MPI_ERR_BUFFER, "NULL"));
    CHECK(says(MPI_File_close(&fh), MPI_ERR_OTHER, "MPI_File_write_all_begin") && fh != MPI_FILE_NULL);
    CHECK(MPI_File_write_all_end(fh, buffer, s) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    CHECK(says(MPI_File_close(&fh), MPI_ERR_FILE, "MPI_FILE_NULL") && says(MPI_File_close(NULL), MPI_ERR_ARG, "fh"));
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type, (void)extra;
    *extent = 4;
    return MPI_SUCCESS;
}

static int breaks(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type, (void)extent, (void)extra;
    return MPI_ERR_OTHER;
}

// extra: how many bytes it says.
static int says_bytes(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type;
    *extent = *(MPI_Aint *)extra;
    return MPI_SUCCESS;
}

static int refuses(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    (void)user, (void)type, (void)count, (void)file, (void)position, (void)extra;
    return 17;
}

// Representations: their names, and functions of the user's that fail.
static void representations(void)
{
    char name[MPI_MAX_DATAREP_STRING + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK(says(MPI_Register_datarep(name, NULL, NULL, extent_of, NULL), MPI_ERR_ARG, "characters"));
    CHECK(says(MPI_Register_datarep(NULL, NULL, NULL, extent_of, NULL), MPI_ERR_ARG, "datarep"));
    CHECK(says(MPI_Register_datarep("lame", NULL, NULL, NULL, NULL), MPI_ERR_ARG, "dtype_file_extent_fn"));
    CHECK(says(MPI_Register_datarep("external32", NULL, NULL, extent_of, NULL), MPI_ERR_DUP_DATAREP, "external32"));
    CHECK(MPI_Register_datarep("broken", NULL, NULL, breaks, NULL) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep("refusing", refuses, refuses, extent_of, NULL) == MPI_SUCCESS);
    MPI_File fh = open_as(MPI_MODE_RDWR);
    CHECK(says(set_view(fh, 0, MPI_INT, MPI_INT, "broken"), MPI_ERR_OTHER, "broken"));
    static MPI_Aint negative = -8, most = INT64_MAX;
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    CHECK(MPI_Register_datarep("negative", NULL, NULL, says_bytes, &negative) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep("most", NULL, NULL, says_bytes, &most) == MPI_SUCCESS);
    CHECK(says(set_view(fh, 0, MPI_INT, MPI_INT, "negative"), MPI_ERR_CONVERSION, "gave -8 bytes"));
    CHECK(says(set_view(fh, 0, MPI_INT, two, "most"), MPI_ERR_CONVERSION, "2^63"));
    MPI_Type_free(&two);
    CHECK(set_view(fh, 0, MPI_INT, MPI_INT, "refusing") == MPI_SUCCESS);
    CHECK(says(MPI_File_write_at(fh, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION, "17"));
    CHECK(MPI_File_iwrite_at(fh, 0, buffer, 1, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(says(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION, "17"));
    CHECK(says(MPI_File_read_at_all(fh, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION, "17"));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void handlers(void)
{
    MPI_Errhandler e;
    MPI_File fh = open_as(MPI_MODE_RDWR);
    MPI_Comm_create_errhandler(comm_handler, &e);
    CHECK(says(MPI_File_set_errhandler(fh, e), MPI_ERR_ERRHANDLER, "communicators"));
    CHECK(says(MPI_File_set_errhandler(fh, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, "errhandler"));
    MPI_Errhandler_free(&e);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    path = make_path("wrong");
    if (rank == 0) CHECK(truncate(path, 64) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    request = MPI_REQUEST_NULL;
    accesses();
    opening();
    views();
    sizes_and_places();
    sequential();
    far_away();
    splits();
    representations();
    handlers();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
