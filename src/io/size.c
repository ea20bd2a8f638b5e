// SPDX-License-Identifier: BSD-3-Clause
// The size of a file, and bringing it to the disk (file.h). Called by src/api/file.c and when a file is closed.
// Always holds: rank 0 changes the size for all, once all are there.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/param.h"
#include "io/file.h"
#include "io/posix.h"

static struct uno_param close_syncs = UNO_PARAM_BOOL(
    "file_close_sync", 1, "MPI_File_close brings what was written to the disk (fsync), as the standard has it");
UNO_PARAM_DECLARE(close_syncs);

int uno_file_get_size(const struct MPI_ABI_File *f, MPI_Offset *size)
{
    struct stat st;
    if (fstat(f->fd, &st) < 0) return uno_posix_fail(errno, f->path, "tell the size of the file");
    *size = st.st_size;
    return MPI_SUCCESS;
}

int uno_file_set_size(struct MPI_ABI_File *f, MPI_Offset size)
{
    int err = MPI_SUCCESS;
    if (f->comm->rank == 0 && ftruncate(f->fd, size) < 0)
        err = uno_posix_fail(errno, f->path, "set the size of the file");
    return uno_file_agree(f, err);
}

// Where the system cannot reserve space the file grows all the same; bytes that are there are not touched.
static int preallocate(struct MPI_ABI_File *f, MPI_Offset size)
{
    struct stat st;
    int result;
    do result = size ? fallocate(f->fd, 0, 0, size) : 0;
    while (result < 0 && errno == EINTR);
    if (result == 0) return MPI_SUCCESS;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return uno_posix_fail(errno, f->path, "reserve space for the file");
    if (fstat(f->fd, &st) == 0 && (st.st_size >= size || ftruncate(f->fd, size) == 0)) return MPI_SUCCESS;
    return uno_posix_fail(errno, f->path, "extend the file");
}

int uno_file_preallocate(struct MPI_ABI_File *f, MPI_Offset size)
{
    return uno_file_agree(f, f->comm->rank == 0 ? preallocate(f, size) : MPI_SUCCESS);
}

// What this process wrote, to the disk.
static int bring_to_disk(struct MPI_ABI_File *f)
{
    f->written = false;
    // EINVAL: something that has nothing to bring to a disk.
    if (fsync(f->fd) == 0 || errno == EINVAL) return MPI_SUCCESS;
    return uno_posix_fail(errno, f->path, "sync the file");
}

int uno_file_sync(struct MPI_ABI_File *f)
{
    return uno_file_agree(f, f->amode & MPI_MODE_RDONLY ? MPI_SUCCESS : bring_to_disk(f));
}

int uno_file_settle(struct MPI_ABI_File *f)
{
    bool goes = f->amode & MPI_MODE_DELETE_ON_CLOSE;
    return f->written && close_syncs.num && !goes ? bring_to_disk(f) : MPI_SUCCESS;
}
