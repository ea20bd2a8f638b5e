// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5,8 chan=shm,tcp
// run: np=3 threads
// One rank's part of a collective access fails, below or by a wrong argument: every form ends on every rank with the
// same class, the rank that failed says why, the others say which rank that was, and what the others gave is in the
// file. The library's calls meet the functions below.
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { PART = 40000, MANY = 8 };
enum form { AT_ALL, OWN_ALL, I_AT_ALL, I_OWN_ALL, SPLIT_AT, SPLIT_OWN, ORDERED, SPLIT_ORDERED, FORMS };

static int rank, size;
static MPI_File fh;
static const char *path;
static unsigned char data[PART], back[PART];
static int fault;                // errno, 0: none
static off64_t from = -1, to;    // bytes of the file whose accesses fail

static int fails(size_t n, off64_t at)
{
    if (!fault || at + (off64_t)n <= from || at >= to) return 0;
    errno = fault;
    return 1;
}

// In place of libc's, for the library too.
ssize_t pwrite64(int fd, const void *in, size_t n, off64_t at)
{
    return fails(n, at) ? -1 : syscall(SYS_pwrite64, fd, in, n, at);
}

ssize_t pread64(int fd, void *out, size_t n, off64_t at)
{
    return fails(n, at) ? -1 : syscall(SYS_pread64, fd, out, n, at);
}

ssize_t preadv64v2(int fd, const struct iovec *list, int n, off64_t at, int flags)
{
    (void)fd, (void)list, (void)n, (void)at, (void)flags;
    errno = EAGAIN;    // it would wait for a disk
    return -1;
}

static int split(enum form form, int write, MPI_Offset at)
{
    int err;
    switch (form) {
    case SPLIT_AT:
        err = write ? MPI_File_write_at_all_begin(fh, at, data, PART, MPI_BYTE)
                    : MPI_File_read_at_all_begin(fh, at, back, PART, MPI_BYTE);
        if (err) return err;
        return write ? MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE)
                     : MPI_File_read_at_all_end(fh, back, MPI_STATUS_IGNORE);
    case SPLIT_OWN:
        err = write ? MPI_File_write_all_begin(fh, data, PART, MPI_BYTE)
                    : MPI_File_read_all_begin(fh, back, PART, MPI_BYTE);
        if (err) return err;
        return write ? MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE)
                     : MPI_File_read_all_end(fh, back, MPI_STATUS_IGNORE);
    default:
        err = write ? MPI_File_write_ordered_begin(fh, data, PART, MPI_BYTE)
                    : MPI_File_read_ordered_begin(fh, back, PART, MPI_BYTE);
        if (err) return err;
        return write ? MPI_File_write_ordered_end(fh, data, MPI_STATUS_IGNORE)
                     : MPI_File_read_ordered_end(fh, back, MPI_STATUS_IGNORE);
    }
}

// Moves the own part, at offset PART * rank, by any form. Both pointers stand where they must.
static int move(enum form form, int write)
{
    MPI_Offset at = (MPI_Offset)PART * rank;
    MPI_Request r = MPI_REQUEST_NULL;
    int err;
    CHECK(MPI_File_seek(fh, at, MPI_SEEK_SET) == MPI_SUCCESS &&
          MPI_File_seek_shared(fh, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    switch (form) {
    case AT_ALL:
        return write ? MPI_File_write_at_all(fh, at, data, PART, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_read_at_all(fh, at, back, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    case OWN_ALL:
        return write ? MPI_File_write_all(fh, data, PART, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_read_all(fh, back, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    case ORDERED:
        return write ? MPI_File_write_ordered(fh, data, PART, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_read_ordered(fh, back, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    case I_AT_ALL:
        err = write ? MPI_File_iwrite_at_all(fh, at, data, PART, MPI_BYTE, &r)
                    : MPI_File_iread_at_all(fh, at, back, PART, MPI_BYTE, &r);
        break;
    case I_OWN_ALL:
        err = write ? MPI_File_iwrite_all(fh, data, PART, MPI_BYTE, &r)
                    : MPI_File_iread_all(fh, back, PART, MPI_BYTE, &r);
        break;
    default: return split(form, write, at);
    }
    CHECK(err == MPI_SUCCESS);
    return MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void fill(int turn)
{
    for (int i = 0; i < PART; i++) data[i] = (unsigned char)(turn * 11 + rank * 50 + i * 3 + i / 256);
}

// What this rank gave is there; of the others each looks for itself.
static void check_part(void)
{
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && syscall(SYS_pread64, fd, back, (size_t)PART, (off64_t)PART * rank) == PART);
    CHECK(memcmp(data, back, PART) == 0);
    close(fd);
}

static int speaks(int err, int class, int culprit, const char *reason)
{
    char other[40];
    snprintf(other, sizeof other, "failed on rank %d", culprit);
    return says(err, class, path) && says(err, class, rank == culprit ? reason : other);
}

// The part of one rank fails, whoever moves it.
static void below(int culprit, int number, int class, const char *reason)
{
    for (enum form form = 0; form < FORMS; form++) {
        for (int write = 1; write >= 0; write--) {
            fill(form);
            from = (off64_t)PART * culprit;
            to = from + PART;
            fault = rank == culprit ? number : 0;
            int err = move(form, write);
            fault = 0;
            CHECK(speaks(err, class, culprit, reason));
            if (write && rank != culprit) check_part();
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(move(form, write) == MPI_SUCCESS);    // the next one is not disturbed
            if (write) check_part();
            if (!write) CHECK(memcmp(data, back, PART) == 0);
        }
    }
}

// A wrong argument of one rank ends the requests of the others; that rank has none.
static void wrong_argument(int culprit)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int count = rank == culprit ? -1 : PART, err;
    for (int form = 0; form < 4; form++) {
        switch (form) {
        case 0: err = MPI_File_iwrite_at_all(fh, 0, data, count, MPI_BYTE, &r); break;
        case 1: err = MPI_File_iread_at_all(fh, 0, back, count, MPI_BYTE, &r); break;
        case 2: err = MPI_File_iwrite_all(fh, data, count, MPI_BYTE, &r); break;
        default: err = MPI_File_iread_all(fh, back, count, MPI_BYTE, &r); break;
        }
        if (rank == culprit) {
            CHECK(says(err, MPI_ERR_COUNT, "count -1") && r == MPI_REQUEST_NULL);
            continue;
        }
        CHECK(err == MPI_SUCCESS);
        CHECK(speaks(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_COUNT, culprit, ""));
    }
}

// Many under way at once, of which the part of one rank in one of them fails; tested and waited for in any order.
static void many(int culprit)
{
    MPI_Request r[MANY];
    MPI_Status status[MANY];
    int bad = 3;
    from = (off64_t)PART * (bad * size + culprit);
    to = from + PART;
    fault = rank == culprit ? EIO : 0;
    for (int i = 0; i < MANY; i++) {
        MPI_Offset at = (MPI_Offset)PART * (i * size + rank);
        CHECK(MPI_File_iwrite_at_all(fh, at, data, PART, MPI_BYTE, &r[i]) == MPI_SUCCESS);
    }
    if (rank % 2) {
        int err = MPI_Waitall(MANY, r, status);
        CHECK(err == MPI_ERR_IN_STATUS);
        for (int i = 0; i < MANY; i++) CHECK(status[i].MPI_ERROR == (i == bad ? MPI_ERR_IO : MPI_SUCCESS));
    } else {
        for (int i = MANY - 1; i >= 0; i--) {
            int err = MPI_Wait(&r[i], MPI_STATUS_IGNORE);
            CHECK(i == bad ? speaks(err, MPI_ERR_IO, culprit, "Input/output error") : err == MPI_SUCCESS);
        }
    }
    fault = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

// A rank whose argument was wrong closes the file while the others are still at it.
static void closes(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int err = MPI_File_iwrite_at_all(fh, 0, data, rank == 0 ? -1 : PART, MPI_BYTE, &r);
    CHECK(rank == 0 ? says(err, MPI_ERR_COUNT, "count -1") : err == MPI_SUCCESS);
    if (rank > 0) CHECK(speaks(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_COUNT, 0, ""));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = make_path("agree");
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    below(size - 1, ENOSPC, MPI_ERR_NO_SPACE, "No space left on device");
    below(0, EIO, MPI_ERR_IO, "Input/output error");
    below(1, EDQUOT, MPI_ERR_QUOTA, "quota exceeded");
    below(size / 2, EROFS, MPI_ERR_READ_ONLY, "Read-only file system");
    for (int r = 0; r < size; r++) {
        wrong_argument(r);
        many(r);
    }
    closes();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
