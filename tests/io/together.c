// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=4 set=shm_cma=0
// Collective accesses whose parts interleave: who writes what, which hints say otherwise, that nothing between the
// parts is touched, and that an error of the one who writes is everybody's. The library's calls meet the functions
// below.
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { TILE = 1024, TILES = 700, ALL = TILE * TILES };

static int rank, size, fault, shorten, movers;    // movers: ranks that move data for the others
static long writes, reads;                        // system calls of this process
static unsigned char data[ALL], back[ALL];

// In place of libc's, for the library too.
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
    writes++;
    errno = fault;
    return fault ? -1 : syscall(SYS_pwrite64, fd, from, shorten && n > 9 ? n / 2 : n, at);
}

ssize_t pwritev64(int fd, const struct iovec *list, int n, off64_t at)
{
    writes++;
    errno = fault;
    if (shorten && writes % 3 == 0) {
        errno = EINTR;
        return -1;
    }
    if (shorten) return syscall(SYS_pwrite64, fd, list->iov_base, list->iov_len / 2 + 1, at);
    return fault ? -1 : syscall(SYS_pwritev, fd, list, n, at, 0);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    reads++;
    errno = fault;
    return fault ? -1 : syscall(SYS_pread64, fd, to, n, at);
}

static MPI_File open_with(const char *path, const char *key, const char *value)
{
    MPI_Info info;
    MPI_File fh;
    MPI_Info_create(&info);
    if (key) MPI_Info_set(info, key, value);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &fh) == MPI_SUCCESS);
    MPI_Info_free(&info);
    writes = reads = 0;
    return fh;
}

// Rank r sees tile r of each `size` tiles and a gap of one tile.
static void see_tiles(MPI_File fh, int tile)
{
    MPI_Datatype one, type;
    MPI_Type_contiguous(tile, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)tile * (size + 1), &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(fh, (MPI_Offset)rank * tile, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&one);
    MPI_Type_free(&type);
}

static void fill_file(const char *path)
{
    static unsigned char old[1 << 16];
    if (rank == 0) {
        int fd = open(path, O_WRONLY);
        memset(old, 0xaa, sizeof old);
        for (int left = ALL * (size + 1); left > 0; left -= (int)sizeof old) CHECK(write(fd, old, sizeof old) > 0);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_tiles(const char *path, int tile)
{
    size_t n;
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned char *all = slurp(path, &n);
    for (int i = 0; i < ALL * (size + 1); i++) {
        int who = i / tile % (size + 1), at = i / tile / (size + 1) * tile + i % tile;
        CHECK(all[i] == (who == size || at >= ALL ? 0xaa : (unsigned char)(who * 50 + at * 7 + at / 256)));
    }
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static long sum_of(long own)
{
    long all = -1;
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

// Writes tiles and reads them; how many ranks wrote.
static int writers(const char *path, const char *key, const char *value, int tile)
{
    int n = 0;
    fill_file(path);
    MPI_File fh = open_with(path, key, value);
    see_tiles(fh, tile);
    CHECK(MPI_File_write_all(fh, data, ALL, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    long wrote = writes > 0;
    check_tiles(path, tile);
    CHECK(MPI_File_read_at_all(fh, 0, back, ALL, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(data, back, ALL) == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    n = (int)sum_of(wrote);
    return n;
}

// All read through the ranks that move data what others read too, in runs longer than what is moved at once.
static void overlapping(const char *path)
{
    enum { BYTES = 700000, APART = 1000 };
    static unsigned char all[BYTES];
    MPI_Status status;
    MPI_File fh = open_with(path, "romio_cb_read", "enable");
    int moved = -1, end = BYTES + APART * (size - 2);    // the last rank's part meets the end of the file
    if (rank == 0) CHECK(truncate(path, 0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BYTES; i++) all[i] = (unsigned char)((i + APART * rank) * 7 + (i + APART * rank) / 256);
    int mine = rank == size - 1 ? end - APART * rank : BYTES;
    CHECK(MPI_File_write_at_all(fh, APART * rank, all, mine, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(back, 0xaa, BYTES);
    CHECK(MPI_File_read_at_all(fh, APART * rank, back, BYTES, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &moved) == MPI_SUCCESS && moved == mine);
    for (int i = 0; i < BYTES; i++) CHECK(back[i] == (i < mine ? all[i] : 0xaa));
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void hints(const char *path)
{
    MPI_Info used;
    char value[MPI_MAX_INFO_VAL];
    int len = sizeof value, flag = 0;
    MPI_File fh = open_with(path, "romio_cb_write", "enable");
    CHECK(MPI_File_get_info(fh, &used) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(used, "romio_cb_write", &len, value, &flag) == MPI_SUCCESS && flag);
    CHECK(strcmp(value, "enable") == 0);
    len = sizeof value;
    CHECK(MPI_Info_get_string(used, "cb_nodes", &len, value, &flag) == MPI_SUCCESS && flag &&
          (movers = atoi(value)) > 0);
    MPI_Info_free(&used);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

static void errors(const char *path)
{
    MPI_File fh = open_with(path, "romio_cb_read", "enable");
    see_tiles(fh, TILE);
    fault = EIO;
    int err = MPI_File_write_all(fh, data, ALL, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_IO, writes > 0 ? path : "failed on rank"));
    err = MPI_File_read_at_all(fh, 0, back, ALL, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_IO, reads > 0 ? "cannot read" : "failed on rank"));
    if (size > 1) CHECK(MPI_File_write_at_all_begin(fh, 0, data, ALL, MPI_BYTE) == MPI_ERR_IO);
    fault = 0;
    // A wrong argument of one is known before anything is written.
    writes = 0;
    err = MPI_File_write_at_all(fh, 0, data, rank == size - 1 ? -1 : ALL, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(says(err, MPI_ERR_COUNT, rank == size - 1 ? "count -1" : "failed on rank") && writes == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = make_path("together");
    for (int i = 0; i < ALL; i++) data[i] = (unsigned char)(rank * 50 + i * 7 + i / 256);
    hints(path);
    CHECK(writers(path, NULL, NULL, TILE) == movers);
    CHECK(writers(path, "cb_nodes", "1", TILE) == 1);
    CHECK(writers(path, "cb_buffer_size", "100000", TILE) == movers);
    CHECK(writers(path, "romio_cb_read", "enable", TILE) == movers);
    CHECK(writers(path, "romio_cb_write", "disable", TILE) == size);
    CHECK(writers(path, "collective_buffering", "false", TILE) == size);
    CHECK(writers(path, NULL, NULL, 70 * TILE) == size);    // long runs
    CHECK(writers(path, "romio_cb_write", "enable", 70 * TILE) == movers);
    shorten = 1;
    CHECK(writers(path, NULL, NULL, TILE) == movers);
    shorten = 0;
    overlapping(path);
    errors(path);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
