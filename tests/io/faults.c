// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3
// What goes wrong below: a full disk, a device that fails, missing rights, a file that is truncated or removed beneath
// us; short counts and interrupts; offsets beyond 2^31; 100,000 tiny runs. The library's calls meet the functions
// below.
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static int rank, size, fail_after = -1;    // calls that succeed before the fault; -1: none comes
static int fault = EIO, lost;              // errno of the fault; that of all syncs, 0: they work
static int shorten, calls, syncs;
static MPI_Offset claimed = -1;    // bytes from the begin on that the system claims to have moved; -1: it works

static int faulty(size_t *n)
{
    calls++;
    if (shorten && calls % 3 == 0) {
        errno = EINTR;
        return 1;
    }
    if (shorten && *n > 7) *n = *n / 2 + 1;
    if (fail_after == 0) {
        errno = fault;
        return 1;
    }
    if (fail_after > 0) fail_after--;
    return 0;
}

// Moves nothing, and says that it moved what Linux would: 0x7ffff000 bytes at most, here sometimes less.
static ssize_t claim(size_t n, off64_t at)
{
    CHECK(at == claimed);
    size_t k = n < 0x7ffff000 ? n : 0x7ffff000;
    if (++calls % 3 == 0) k = k / 2 + 1;
    claimed += (off64_t)k;
    return (ssize_t)k;
}

int fsync(int fd)
{
    syncs++;
    errno = lost;
    return lost ? -1 : (int)syscall(SYS_fsync, fd);
}

// In place of libc's, for the library too.
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    if (claimed >= 0) return claim(n, at);
    return faulty(&n) ? -1 : syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t pread64(int fd, void *data, size_t n, off64_t at)
{
    if (claimed >= 0) return claim(n, at);
    return faulty(&n) ? -1 : syscall(SYS_pread64, fd, data, n, at);
}

static MPI_File open_as(const char *path, int amode)
{
    MPI_File fh;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    return fh;
}

static void full(void)
{
    char data[100] = {0};
    MPI_Request r;
    MPI_File fh = open_as("/dev/full", MPI_MODE_WRONLY);
    int err = MPI_File_write_at(fh, 0, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_NO_SPACE, "/dev/full: cannot write 100 bytes at offset 0: No space left on device"));
    CHECK(MPI_File_iwrite_at(fh, 0, data, 100, MPI_BYTE, &r) == MPI_SUCCESS);
    CHECK(says(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE, "MPI_Wait: /dev/full: cannot write 100 bytes"));
    // One rank's full disk is everybody's error.
    err = MPI_File_write_at_all(fh, 0, data, rank == 0 ? 100 : 0, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_NO_SPACE, rank == 0 ? "/dev/full" : "failed on rank"));
    CHECK(MPI_File_write_at_all_begin(fh, 0, data, rank == 0 ? 100 : 0, MPI_BYTE) == MPI_SUCCESS);
    err = MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_NO_SPACE, rank == 0 ? "/dev/full" : "failed on rank"));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void broken(const char *path)
{
    char data[64] = "data";
    MPI_Offset place = -1;
    MPI_Datatype spread;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    MPI_Type_create_resized(MPI_CHAR, 0, size + 1, &spread);
    MPI_Type_commit(&spread);
    CHECK(MPI_File_set_view(fh, rank, MPI_CHAR, spread, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    fail_after = 5;
    int err = MPI_File_write(fh, data, 64, MPI_CHAR, MPI_STATUS_IGNORE);
    fail_after = -1;
    CHECK(says(err, MPI_ERR_IO, "Input/output error") && says(err, MPI_ERR_IO, path));
    CHECK(MPI_File_get_position(fh, &place) == MPI_SUCCESS && place == 5);    // what is known to be there
    fail_after = 0;
    err = MPI_File_read_at(fh, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    fail_after = -1;
    CHECK(says(err, MPI_ERR_IO, "cannot read"));
    CHECK(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    MPI_Type_free(&spread);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// What the system may say has its class, and its text and the path in the message.
static void reasons(const char *path)
{
    static const struct {
        int number, class;
    } all[] = {{EIO, MPI_ERR_IO},          {ENOSPC, MPI_ERR_NO_SPACE}, {EDQUOT, MPI_ERR_QUOTA},
               {EFBIG, MPI_ERR_NO_SPACE},  {EROFS, MPI_ERR_READ_ONLY}, {EACCES, MPI_ERR_ACCESS},
               {EPERM, MPI_ERR_ACCESS},    {ENOMEM, MPI_ERR_NO_MEM},   {EBUSY, MPI_ERR_FILE_IN_USE},
               {ESPIPE, MPI_ERR_BAD_FILE}, {ESTALE, MPI_ERR_IO},       {EOPNOTSUPP, MPI_ERR_UNSUPPORTED_OPERATION}};
    char data[8] = {0};
    MPI_Request r;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = strerror(all[i].number);
        fault = all[i].number;
        fail_after = 0;
        int err = MPI_File_write_at(fh, 9, data, 8, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK(says(err, all[i].class, text) && says(err, all[i].class, path));
        CHECK(says(err, all[i].class, "MPI_File_write_at: ") && says(err, all[i].class, "8 bytes at offset 9"));
        err = MPI_File_read_at_all(fh, 100 * rank, data, 8, MPI_BYTE, MPI_STATUS_IGNORE);    // each its own
        CHECK(says(err, all[i].class, text) && says(err, all[i].class, path));
        CHECK(MPI_File_iwrite(fh, data, 8, MPI_BYTE, &r) == MPI_SUCCESS);
        err = MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(says(err, all[i].class, text) && says(err, all[i].class, path) && r == MPI_REQUEST_NULL);
        fail_after = -1;
    }
    fault = EIO;
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// Data that does not reach the disk is told by the sync, or else by the close, which closes all the same; what one rank
// lost is everybody's error.
static void lost_later(const char *path)
{
    char data[8] = {0};
    int last = rank == size - 1;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    CHECK(MPI_File_write_at(fh, 8 * rank, data, 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    lost = last ? EIO : 0;
    CHECK(says(MPI_File_sync(fh), MPI_ERR_IO, last ? "cannot sync the file: Input/output error" : "failed on rank"));
    CHECK(MPI_File_write_at(fh, 8 * rank, data, 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    lost = last ? EDQUOT : 0;
    int err = MPI_File_close(&fh);
    CHECK(says(err, MPI_ERR_QUOTA, path) && says(err, MPI_ERR_QUOTA, last ? "sync the file" : "failed on rank"));
    CHECK(fh == MPI_FILE_NULL);
    lost = 0;
}

// Short counts and interrupts lose nothing.
static void halves(const char *path)
{
    enum { N = 10000 };
    static int data[N], back[N];
    MPI_Status status;
    int n = -1;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    for (int i = 0; i < N; i++) data[i] = rank * N + i;
    shorten = 1;
    CHECK(MPI_File_write_at_all(fh, rank * (MPI_Offset)sizeof data, data, N, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(fh, rank * (MPI_Offset)sizeof data, back, N, MPI_INT, &status) == MPI_SUCCESS);
    shorten = 0;
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == N && memcmp(data, back, sizeof data) == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void beneath(const char *path)
{
    char data[32] = "beneath";
    MPI_Status status;
    int n = -1;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(truncate(path, 10) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at(fh, 5, data, 20, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &n) == MPI_SUCCESS && n == 5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(unlink(path) == 0);
    CHECK(MPI_File_write_at_all(fh, 32 * rank, data, 32, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    CHECK(says(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, path));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) close(open(path, O_CREAT | O_RDWR, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void far(const char *path)
{
    long value = 7 + rank, back = 0;
    MPI_Offset at = ((MPI_Offset)5 << 31) + 8 * rank, n = 0;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    CHECK(MPI_File_write_at_all(fh, at, &value, 1, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(fh, at, &back, 1, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS && back == value);
    CHECK(MPI_File_seek(fh, 0, MPI_SEEK_END) == MPI_SUCCESS && MPI_File_get_position(fh, &n) == MPI_SUCCESS);
    CHECK(n == ((MPI_Offset)5 << 31) + 8 * size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// More than 2^32 bytes in one call, in memory that is never touched.
static void huge(const char *path)
{
    enum { PIECES = 5 };
    const size_t piece = ((size_t)1 << 30) - 4, n = PIECES * piece;
    MPI_Count got = -1;
    MPI_Status status;
    MPI_Datatype half, type;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    char *data = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    MPI_Type_contiguous((int)(piece / 4), MPI_INT, &half);
    MPI_Type_contiguous(PIECES, half, &type);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < 4; turn++) {
        claimed = 0;
        int err = MPI_SUCCESS;
        switch (turn) {
        case 0: err = MPI_File_write_at(fh, 0, data, 1, type, &status); break;
        case 1: err = MPI_File_read_at_all(fh, 0, data, 1, type, &status); break;
        case 2: err = MPI_File_write_at_c(fh, 0, data, (MPI_Count)n, MPI_BYTE, &status); break;
        case 3: err = MPI_File_read_at_c(fh, 0, data, (MPI_Count)n, MPI_BYTE, &status); break;
        }
        CHECK(err == MPI_SUCCESS && claimed == (MPI_Offset)n);
        CHECK(MPI_Get_elements_c(&status, MPI_BYTE, &got) == MPI_SUCCESS && got == (MPI_Count)n);
    }
    claimed = -1;
    MPI_Type_free(&half);
    MPI_Type_free(&type);
    munmap(data, n);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

// Closing brings to the disk what was written since the last sync.
static void closing(const char *path)
{
    int v = rank;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    syncs = 0;
    CHECK(MPI_File_read_at(fh, 0, &v, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS && syncs == 0);
    fh = open_as(path, MPI_MODE_RDWR);
    CHECK(MPI_File_write_at(fh, 4 * rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_sync(fh) == MPI_SUCCESS && syncs == 1);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS && syncs == 1);
    fh = open_as(path, MPI_MODE_RDWR);
    CHECK(MPI_File_write_at(fh, 4 * rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS && syncs == 2);
}

// 100,000 runs of 2 bytes per rank, each followed by those of the other ranks and 2 bytes that nobody may touch.
static void tiny(const char *path)
{
    enum { RUNS = 100000 };
    static short data[RUNS], back[RUNS];
    MPI_Datatype spread;
    MPI_File fh = open_as(path, MPI_MODE_RDWR);
    MPI_Type_create_resized(MPI_SHORT, 0, 2 * (size + 1), &spread);
    MPI_Type_commit(&spread);
    CHECK(MPI_File_set_view(fh, 2 * rank, MPI_SHORT, spread, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int i = 0; i < RUNS; i++) data[i] = (short)(i * 7 + rank);
    CHECK(MPI_File_write_all(fh, data, RUNS, MPI_SHORT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    calls = 0;
    CHECK(MPI_File_read_at(fh, 0, back, RUNS, MPI_SHORT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(data, back, sizeof data) == 0 && calls < RUNS / 100);    // gaps are read along
    MPI_Type_free(&spread);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) {
        size_t n;
        unsigned char *all = slurp(path, &n);
        for (size_t i = 2 * (size_t)size; i + 1 < n; i += 2 * ((size_t)size + 1)) CHECK(all[i] == 0 && all[i + 1] == 0);
        free(all);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Rights: root may do everything, so this needs another user.
static void rights(const char *path)
{
    MPI_File fh = MPI_FILE_NULL;
    char folder[300], inside[320];
    if (rank == 0) CHECK(chmod(path, 0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (geteuid() == 0) CHECK(seteuid(65534) == 0);
    int err = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_ACCESS, "Permission denied") && says(err, MPI_ERR_ACCESS, path));
    CHECK(fh == MPI_FILE_NULL);
    if (getuid() == 0) CHECK(seteuid(0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(folder, sizeof folder, "%s.folder", path);
    snprintf(inside, sizeof inside, "%s/file", folder);
    if (rank == 0) CHECK(mkdir(folder, 0700) == 0 && close(open(inside, O_CREAT | O_RDWR, 0644)) == 0);
    if (rank == 0) CHECK(chmod(inside, 0444) == 0 && chmod(folder, 0555) == 0);    // to look at, not to change
    MPI_Barrier(MPI_COMM_WORLD);
    if (geteuid() == 0) CHECK(seteuid(65534) == 0);
    err = MPI_File_open(MPI_COMM_WORLD, inside, MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_ACCESS, "Permission denied") && says(err, MPI_ERR_ACCESS, inside));
    CHECK(says(MPI_File_delete(inside, MPI_INFO_NULL), MPI_ERR_ACCESS, inside));
    strcat(inside, ".new");
    err = MPI_File_open(MPI_COMM_WORLD, inside, MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
    CHECK(says(err, MPI_ERR_ACCESS, inside) && fh == MPI_FILE_NULL);
    if (getuid() == 0) CHECK(seteuid(0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    inside[strlen(inside) - 4] = 0;
    if (rank == 0) CHECK(chmod(folder, 0700) == 0 && unlink(inside) == 0 && rmdir(folder) == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = make_path("faults");
    full();
    broken(path);
    reasons(path);
    lost_later(path);
    halves(path);
    beneath(path);
    far(path);
    huge(path);
    closing(path);
    tiny(path);
    rights(path);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
