// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,5
// Open modes and who opens: creation by many at once, appending, deletion at the close, unique opening, one's own and
// subcommunicators at the same time, intercommunicators; what the file's handle tells of it.
#include "file.h"

static int rank, size;
static const char *path;

static int open_on(MPI_Comm comm, const char *name, int amode, MPI_File *fh)
{
    *fh = MPI_FILE_NULL;
    return MPI_File_open(comm, name, amode, MPI_INFO_NULL, fh);
}

static off_t bytes_of(const char *name)
{
    struct stat st;
    return stat(name, &st) == 0 ? st.st_size : -1;
}

// Of many that create exclusively, each alone, one wins; the others hear that it is there, and nothing is opened.
static void exclusive(void)
{
    char name[300];
    MPI_File fh;
    const int amode = MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL;
    for (int turn = 0; turn < 20; turn++) {
        snprintf(name, sizeof name, "%s.%d", path, turn);
        int err = open_on(MPI_COMM_SELF, name, amode, &fh), won = err == MPI_SUCCESS, winners = 0;
        CHECK(won || (says(err, MPI_ERR_FILE_EXISTS, name) && fh == MPI_FILE_NULL));
        MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(winners == 1);
        if (won) CHECK(MPI_File_close(&fh) == MPI_SUCCESS && unlink(name) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(open_on(MPI_COMM_WORLD, name, amode | MPI_MODE_DELETE_ON_CLOSE, &fh) == MPI_SUCCESS);    // all together
        CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(bytes_of(name) == -1);
    }
}

// All pointers stand at the end of what was there, and views put them back to their begin.
static void appending(void)
{
    int v = rank, got = -1;
    MPI_Offset n = -1;
    MPI_File fh;
    if (rank == 0) CHECK(truncate(path, 12) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(open_on(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_APPEND, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(fh, &n) == MPI_SUCCESS && n == 12);
    CHECK(MPI_File_get_position_shared(fh, &n) == MPI_SUCCESS && n == 12);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_write_ordered(fh, &v, sizeof v, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(bytes_of(path) == 12 + (off_t)sizeof v * size);
    CHECK(MPI_File_seek(fh, rank * (MPI_Offset)sizeof v, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_read(fh, &got, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == rank);
    CHECK(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(fh, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// What is there is kept by creation; only writing is allowed where only that was asked for.
static void creation(void)
{
    int amode = -1;
    MPI_File fh;
    off_t before = bytes_of(path);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(open_on(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_get_amode(fh, &amode) == MPI_SUCCESS);
    CHECK(amode == (MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN));
    CHECK(bytes_of(path) == before);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS || size > 1);    // one of them
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(says(open_on(MPI_COMM_WORLD, path, MPI_MODE_RDWR, &fh), MPI_ERR_NO_SUCH_FILE, path));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(open_on(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, &fh) == MPI_SUCCESS);
    CHECK(bytes_of(path) == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// Halves of the world with files of their own, and a file of each rank alone, all open at once.
static void parts(void)
{
    char name[300], own[300];
    int half = rank % 2, v = -1, n = 0, order = -1;
    MPI_Comm comm;
    MPI_Group group, members;
    MPI_File fh, alone;
    MPI_Comm_split(MPI_COMM_WORLD, half, -rank, &comm);    // the other way round
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &order);
    snprintf(name, sizeof name, "%s.half%d", path, half);
    snprintf(own, sizeof own, "%s.own%d", path, rank);
    const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(open_on(comm, name, amode, &fh) == MPI_SUCCESS && open_on(MPI_COMM_SELF, own, amode, &alone) == MPI_SUCCESS);
    CHECK(MPI_File_get_group(fh, &group) == MPI_SUCCESS && MPI_Comm_group(comm, &members) == MPI_SUCCESS);
    MPI_Group_compare(group, members, &v);
    CHECK(v == MPI_IDENT);
    MPI_Comm_free(&comm);    // the file keeps what it needs
    CHECK(MPI_File_write_ordered(fh, &rank, sizeof rank, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(alone, &rank, sizeof rank, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_sync(fh) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        CHECK(MPI_File_read_at_all(fh, 4 * i, &v, sizeof v, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(v == half + 2 * (n - 1 - i) && (i != order || v == rank));
    }
    CHECK(MPI_File_read_at(alone, 0, &v, sizeof v, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && v == rank);
    MPI_Group_free(&group);
    MPI_Group_free(&members);
    CHECK(MPI_File_close(&alone) == MPI_SUCCESS && MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(bytes_of(name) == -1 && bytes_of(own) == -1);
}

static void intercomm(void)
{
    MPI_Comm half, both;
    MPI_File fh;
    if (size == 1) return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    CHECK(says(open_on(both, path, MPI_MODE_RDONLY, &fh), MPI_ERR_COMM, "inter"));
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

// Names that cannot be files.
static void names(void)
{
    char name[5000], loop[300];
    MPI_File fh;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK(says(open_on(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, &fh), MPI_ERR_BAD_FILE, "xxx"));
    snprintf(loop, sizeof loop, "%s.loop", path);
    if (rank == 0) CHECK(symlink(loop, loop) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(says(open_on(MPI_COMM_WORLD, loop, MPI_MODE_RDONLY, &fh), MPI_ERR_BAD_FILE, loop));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(loop);
    snprintf(name, sizeof name, "%s/below", path);
    CHECK(says(open_on(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, &fh), MPI_ERR_BAD_FILE, "Not a directory"));
    CHECK(says(open_on(MPI_COMM_WORLD, "", MPI_MODE_RDONLY, &fh), MPI_ERR_NO_SUCH_FILE, "No such file"));
    CHECK(says(open_on(MPI_COMM_WORLD, "/tmp", MPI_MODE_RDWR, &fh), MPI_ERR_BAD_FILE, "Is a directory"));
    CHECK(fh == MPI_FILE_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = make_path("modes");
    exclusive();
    appending();
    creation();
    parts();
    intercomm();
    names();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
