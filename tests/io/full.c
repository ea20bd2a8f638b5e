// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,4
// A disk that fills up: a tmpfs of 256 KiB in a mount namespace of the test's own. Every form says so with class and
// path, and the file holds nothing but what was given.
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

enum { ROOM = 256 << 10, TILE = 1000, BYTES = 400 * TILE };

static int rank, size;
static char folder[] = "/tmp/unisono-full-XXXXXX";

// Rank 0 mounts it, the others follow into its namespace. An errno value.
static int mount_small(void)
{
    int pid = getpid(), err = 0;
    char ns[64];
    if (rank == 0) {
        CHECK(mkdtemp(folder) != NULL);
        if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", folder, "tmpfs", 0, "size=256k"))
            err = errno;
    }
    MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(ns, sizeof ns, "/proc/%d/ns/mnt", pid);
    int fd = err || rank == 0 ? -1 : open(ns, O_RDONLY);
    if (!err && rank > 0 && (fd < 0 || setns(fd, CLONE_NEWNS))) err = errno;
    if (fd >= 0) close(fd);
    MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return err;
}

static unsigned char value(int who, int i)
{
    return (unsigned char)(1 + (who * 40 + i / 5) % 250);
}

static MPI_File open_tiles(const char *path)
{
    MPI_Datatype type;
    MPI_File fh;
    int tile = TILE, begin = TILE * rank, period = TILE * size;
    MPI_Type_create_subarray(1, &period, &tile, &begin, MPI_ORDER_C, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
    return fh;
}

static void check_content(const char *path)
{
    size_t n;
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned char *all = slurp(path, &n);
    CHECK(n <= (size_t)BYTES * (size_t)size);
    size_t there = 0;
    for (size_t i = 0; i < n; i++) {
        int who = (int)(i / TILE) % size, at = (int)(i / TILE) / size * TILE + (int)(i % TILE);
        CHECK(all[i] == 0 || all[i] == value(who, at));
        there += all[i] != 0;
    }
    CHECK(there > ROOM / 2 && there <= ROOM);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static unsigned char data[BYTES];
    MPI_Request r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int refused = mount_small();
    if (refused) {
        if (rank == 0) rmdir(folder);
        char why[120];
        snprintf(why, sizeof why, "no tmpfs of its own can be mounted: %s", strerror(refused));
        skip(why);
    }
    for (int i = 0; i < BYTES; i++) data[i] = value(rank, i);
    for (int form = 0; form < 4; form++) {
        char path[100];
        snprintf(path, sizeof path, "%s/file%d", folder, form);
        MPI_File fh = open_tiles(path);
        int err = MPI_SUCCESS;
        switch (form) {
        case 0: err = MPI_File_write_all(fh, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE); break;
        case 1: err = MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE); break;
        case 2:
            CHECK(MPI_File_iwrite_at_all(fh, 0, data, BYTES, MPI_BYTE, &r) == MPI_SUCCESS);
            err = MPI_Wait(&r, MPI_STATUS_IGNORE);
            break;
        case 3:
            err = MPI_File_write_all_begin(fh, data, BYTES, MPI_BYTE);
            if (!err) err = MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE);
            break;
        }
        CHECK(says(err, MPI_ERR_NO_SPACE, form == 0 || form == 3 ? "" : path));
        if (rank == 0) CHECK(says(err, MPI_ERR_NO_SPACE, path) && says(err, MPI_ERR_NO_SPACE, "No space left"));
        check_content(path);
        CHECK(says(MPI_File_preallocate(fh, 2 * ROOM), MPI_ERR_NO_SPACE, rank == 0 ? path : ""));
        CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) CHECK(unlink(path) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) CHECK(umount2(folder, MNT_DETACH) == 0 && rmdir(folder) == 0);
    MPI_Finalize();
    return 0;
}
