// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 set=file_close_sync=0
// Real accesses of more than 2^31 bytes in one call: alone with a large count and with a large datatype, nonblocking,
// and together through the ranks that move data for all. The bytes are one piece of memory seen many times over, of a
// length that neither 2^31 nor what Linux moves at once is a multiple of; what comes back has memory of its own.
#define _GNU_SOURCE
#include "file.h"

#include <sys/mman.h>
#include <sys/statvfs.h>

#define MIB ((size_t)1 << 20)

enum { TILE = 1 << 20, SMALL = 4096 };    // bytes of rank 0 and of rank 1 in turn

static const size_t period = 65 * MIB + SMALL, bytes = 2050 * MIB + SMALL;
static int rank, pattern;    // a file in memory: a period of bytes
static char *back;

static void *reserve(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

// Bytes that look like n bytes of data.
static char *repeat(size_t n)
{
    char *all = reserve(n);
    for (size_t at = 0; at < n; at += period) {
        size_t len = n - at < period ? n - at : period;
        CHECK(mmap(all + at, len, PROT_READ, MAP_SHARED | MAP_FIXED, pattern, 0) != MAP_FAILED);
    }
    return all;
}

static void fill_pattern(uint64_t salt)
{
    uint64_t *p = mmap(NULL, period, PROT_READ | PROT_WRITE, MAP_SHARED, pattern, 0);
    CHECK(p != MAP_FAILED);
    for (size_t i = 0; i < period / sizeof *p; i++) p[i] = (i + salt) * 0x9e3779b97f4a7c15u;
    munmap(p, period);
}

// Whether there is room for 2 GiB in a file and again in memory, as rank 0 sees it.
static int has_room(void)
{
    const char *folder = getenv("TMPDIR");
    struct statvfs fs;
    unsigned long long kib = 0;
    char line[200];
    FILE *info = fopen("/proc/meminfo", "r");
    CHECK(statvfs(folder ? folder : "/tmp", &fs) == 0 && info);
    while (fgets(line, sizeof line, info) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1) continue;
    fclose(info);
    int room = kib >> 20 >= 8 && (unsigned long long)fs.f_bavail * fs.f_frsize >> 20 >= 3000;
    MPI_Bcast(&room, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return room;
}

static void check_moved(const MPI_Status *status, size_t n)
{
    MPI_Count got = -1;
    int count = 0;
    CHECK(MPI_Get_elements_c(status, MPI_BYTE, &got) == MPI_SUCCESS && got == (MPI_Count)n);
    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(count == (n > INT32_MAX ? MPI_UNDEFINED : (int)n));
}

static void alone(MPI_File fh, char *data)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype type;
    if (rank != 0) return;
    fill_pattern(1);
    CHECK(MPI_File_write_at_c(fh, 3, data, (MPI_Count)bytes, MPI_BYTE, &status) == MPI_SUCCESS);
    check_moved(&status, bytes);
    CHECK(MPI_File_read_at_c(fh, 3, back, (MPI_Count)bytes, MPI_BYTE, &status) == MPI_SUCCESS);
    check_moved(&status, bytes);
    CHECK(memcmp(back, data, bytes) == 0);
    fill_pattern(2);
    MPI_Type_contiguous((int)(bytes / 2), MPI_SHORT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_iwrite_at(fh, 0, data, 1, type, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_moved(&status, bytes);
    CHECK(MPI_File_iread_at(fh, 0, back, 1, type, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_moved(&status, bytes);
    CHECK(memcmp(back, data, bytes) == 0);
    MPI_Type_free(&type);
}

// Rank 0 has 1 MiB, rank 1 the next 4 KiB, and so on.
static void together(MPI_File fh, char *data)
{
    MPI_Status status;
    MPI_Datatype tile, type;
    size_t n = rank == 0 ? bytes : bytes / TILE * SMALL;
    MPI_Type_contiguous(rank == 0 ? TILE : SMALL, MPI_BYTE, &tile);
    MPI_Type_create_resized(tile, 0, TILE + SMALL, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(fh, rank * TILE, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    if (rank == 0) fill_pattern(3);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_write_all_c(fh, data, (MPI_Count)n, MPI_BYTE, &status) == MPI_SUCCESS);
    check_moved(&status, n);
    CHECK(MPI_File_read_at_all_c(fh, 0, back, (MPI_Count)n, MPI_BYTE, &status) == MPI_SUCCESS);
    check_moved(&status, n);
    CHECK(memcmp(back, data, n) == 0);
    MPI_Type_free(&tile);
    MPI_Type_free(&type);
}

static MPI_File open_buffered(const char *path)
{
    MPI_Info info;
    MPI_File fh;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, info, &fh) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return fh;
}

int main(int argc, char **argv)
{
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!has_room()) skip("a file of 2 GiB and as much memory need 8 GiB of free memory and 3 GiB in TMPDIR or /tmp");
    const char *path = make_path("large");
    int pid = getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pattern = rank == 0 ? memfd_create("pattern", 0) : -1;
    CHECK(rank != 0 || (pattern >= 0 && ftruncate(pattern, (off_t)period) == 0));
    int fd = pattern;
    MPI_Bcast(&fd, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", pid, fd);
    if (rank != 0) CHECK((pattern = open(name, O_RDWR)) >= 0);
    char *data = repeat(bytes);
    back = reserve(bytes);
    MPI_File fh = open_buffered(path);
    alone(fh, data);
    MPI_Barrier(MPI_COMM_WORLD);
    together(fh, data);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
