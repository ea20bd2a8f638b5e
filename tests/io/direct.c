// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// The hint direct_io: what is aligned goes past the system's cache, the rest as ever, and every byte arrives; whether
// it is so is told. The library's calls meet the functions below.
#define _GNU_SOURCE
#include "file.h"

#include <sys/syscall.h>

enum { PAGE = 4096, BYTES = 20 * PAGE + 100 };

static int rank, size, past, usual;    // calls past the cache, and others
static _Alignas(4096) unsigned char data[BYTES + PAGE], back[BYTES + PAGE];

static void count_call(int fd)
{
    __atomic_add_fetch(fcntl(fd, F_GETFL) & O_DIRECT ? &past : &usual, 1, __ATOMIC_RELAXED);
}

// In place of libc's, for the library too.
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
    count_call(fd);
    return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    count_call(fd);
    return syscall(SYS_pread64, fd, to, n, at);
}

static MPI_Info hint(const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "direct_io", value);
    return info;
}

static int is_told(MPI_File fh, const char *value)
{
    MPI_Info used;
    char told[MPI_MAX_INFO_VAL];
    int len = sizeof told, flag = 0;
    CHECK(MPI_File_get_info(fh, &used) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(used, "direct_io", &len, told, &flag) == MPI_SUCCESS && flag);
    MPI_Info_free(&used);
    return strcmp(told, value) == 0;
}

static void check_file(const char *path, MPI_Offset at, const unsigned char *want, size_t n)
{
    size_t bytes;
    unsigned char *all = slurp(path, &bytes);
    CHECK((size_t)at + n <= bytes && memcmp(all + at, want, n) == 0);
    free(all);
}

// Writes and reads n bytes of memory from `skip` on, at `at`, by each way; whether the cache was passed.
static int moves_past(MPI_File fh, const char *path, MPI_Offset at, size_t skip, int n)
{
    MPI_Request r;
    MPI_Status status;
    int count = -1, before = past;
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < n; i++) data[skip + (size_t)i] = (unsigned char)(i * 7 + i / 256 + rank + way);
        if (way == 0) CHECK(MPI_File_write_at(fh, at, data + skip, n, MPI_BYTE, &status) == MPI_SUCCESS);
        if (way == 1) CHECK(MPI_File_write_at_all(fh, at, data + skip, n, MPI_BYTE, &status) == MPI_SUCCESS);
        if (way == 2) {
            CHECK(MPI_File_iwrite_at(fh, at, data + skip, n, MPI_BYTE, &r) == MPI_SUCCESS);
            CHECK(MPI_Wait(&r, &status) == MPI_SUCCESS);
        }
        CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == n);
        check_file(path, at, data + skip, (size_t)n);
        memset(back, 0, sizeof back);
        if (way == 0) CHECK(MPI_File_read_at(fh, at, back + skip, n, MPI_BYTE, &status) == MPI_SUCCESS);
        if (way == 1) CHECK(MPI_File_read_at_all(fh, at, back + skip, n, MPI_BYTE, &status) == MPI_SUCCESS);
        if (way == 2) {
            CHECK(MPI_File_iread_at(fh, at, back + skip, n, MPI_BYTE, &r) == MPI_SUCCESS);
            CHECK(MPI_Wait(&r, &status) == MPI_SUCCESS);
        }
        CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == n);
        CHECK(memcmp(back + skip, data + skip, (size_t)n) == 0);
    }
    return past > before;
}

// Pages with gaps between them from memory with gaps: through a block, which is aligned.
static void packed(MPI_File fh)
{
    MPI_Datatype page, pages, spread;
    MPI_Type_vector(4, 1, 2, MPI_BYTE, &spread);
    MPI_Type_contiguous(PAGE, MPI_BYTE, &page);
    MPI_Type_create_resized(page, 0, 2 * PAGE, &pages);
    MPI_Type_free(&page);
    MPI_Type_commit(&pages);
    MPI_Type_commit(&spread);
    CHECK(MPI_File_set_view(fh, (MPI_Offset)rank * 16 * PAGE, MPI_BYTE, pages, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int i = 0; i < 7 * PAGE; i++) data[i] = (unsigned char)(i / 5 + rank);
    int before = past;
    CHECK(MPI_File_write_at(fh, 0, data, PAGE, spread, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(past > before);
    memset(back, 0, sizeof back);
    CHECK(MPI_File_read_at(fh, 0, back, PAGE, spread, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 7 * PAGE; i++) CHECK(i % 7 % 2 ? back[i] == 0 : back[i] == data[i]);
    MPI_Type_free(&pages);
    MPI_Type_free(&spread);
    CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
}

// The file ends within a page.
static void ending(MPI_File fh, const char *path)
{
    MPI_Status status;
    int n = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(truncate(path, 2 * PAGE + 5) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at(fh, PAGE, back, 4 * PAGE, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &n) == MPI_SUCCESS && n == PAGE + 5);
    check_file(path, PAGE, back, PAGE + 5);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_File fh;
    MPI_Info on, off;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    on = hint("true");
    off = hint("false");
    const char *path = make_path("direct");
    const MPI_Offset own = (MPI_Offset)rank * 32 * PAGE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, off, &fh) == MPI_SUCCESS);
    CHECK(is_told(fh, "false") && !moves_past(fh, path, own, 0, BYTES) && usual > 0);
    CHECK(MPI_File_set_info(fh, on) == MPI_SUCCESS);
    int can = is_told(fh, "true");
    CHECK(moves_past(fh, path, own, 0, BYTES) == can);
    CHECK(moves_past(fh, path, own, 0, 2 * PAGE) == can);
    CHECK(!moves_past(fh, path, own, 1, BYTES));        // neither where memory is not aligned
    CHECK(!moves_past(fh, path, own + 8, 0, BYTES));    // nor where the file is not
    CHECK(!moves_past(fh, path, own, 0, PAGE - 1));     // nor less than a page
    if (can) packed(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    ending(fh, path);
    CHECK(MPI_File_set_info(fh, off) == MPI_SUCCESS && is_told(fh, "false"));
    CHECK(!moves_past(fh, path, own, 0, BYTES));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) close(open(path, O_CREAT | O_RDWR, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, on, &fh) == MPI_SUCCESS);
    CHECK(is_told(fh, "true") == can && moves_past(fh, path, own, 0, BYTES) == can);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Info_free(&on);
    MPI_Info_free(&off);
    if (!can) skip("the file system of TMPDIR or /tmp has no way past its cache (all the rest was tested)");
    MPI_Finalize();
    return 0;
}
