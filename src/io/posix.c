// SPDX-License-Identifier: BSD-3-Clause
// System calls on files (posix.h). Called by src/io.
#define _GNU_SOURCE
#include "io/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/pvar.h"

#define MOST ((size_t)0x7ffff000)    // bytes that Linux moves in one call

static _Atomic uint64_t writes, written, reads, bytes_read;
static const struct uno_pvar counts[] = {UNO_PVAR_COUNTER("file_writes", &writes, "write system calls on files"),
                                         UNO_PVAR_SUM("file_write_bytes", &written, "bytes they wrote"),
                                         UNO_PVAR_COUNTER("file_reads", &reads, "read system calls on files"),
                                         UNO_PVAR_SUM("file_read_bytes", &bytes_read, "bytes they read"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static const struct {
    int number, class;
} table[] = {
    {ENOENT, MPI_ERR_NO_SUCH_FILE},
    {EEXIST, MPI_ERR_FILE_EXISTS},
    {EACCES, MPI_ERR_ACCESS},
    {EPERM, MPI_ERR_ACCESS},
    {EROFS, MPI_ERR_READ_ONLY},
    {ENOSPC, MPI_ERR_NO_SPACE},
    {EFBIG, MPI_ERR_NO_SPACE},
    {EDQUOT, MPI_ERR_QUOTA},
    {ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {ENOTDIR, MPI_ERR_BAD_FILE},
    {EISDIR, MPI_ERR_BAD_FILE},
    {ELOOP, MPI_ERR_BAD_FILE},
    {ESPIPE, MPI_ERR_BAD_FILE},
    {EBUSY, MPI_ERR_FILE_IN_USE},
    {ETXTBSY, MPI_ERR_FILE_IN_USE},
    {ENOMEM, MPI_ERR_NO_MEM},
    {EOPNOTSUPP, MPI_ERR_UNSUPPORTED_OPERATION},
};

int uno_posix_fail(int number, const char *path, const char *what)
{
    int class = MPI_ERR_IO;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].number == number) class = table[i].class;
    errno = number;
    return uno_fail_errno(class, "%s: cannot %s", path, what);
}

bool uno_posix_in_memory(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static int fail_at(const char *path, const char *verb, size_t n, off_t at)
{
    int number = errno;
    char what[80];
    snprintf(what, sizeof what, "%s %zu bytes at offset %lld", verb, n, (long long)at);
    return uno_posix_fail(number, path, what);
}

int uno_posix_write(int fd, const char *path, const void *data, size_t n, off_t at, size_t *moved)
{
    *moved = 0;
    while (*moved < n) {
        size_t left = n - *moved;
        ssize_t k = pwrite(fd, (const char *)data + *moved, left < MOST ? left : MOST, at + (off_t)*moved);
        if (k < 0 && errno == EINTR) continue;
        if (k == 0) errno = EIO;    // no progress and no reason
        if (k <= 0) return fail_at(path, "write", left, at + (off_t)*moved);
        uno_count_add(&writes, 1);
        uno_count_add(&written, (uint64_t)k);
        *moved += (size_t)k;
    }
    return MPI_SUCCESS;
}

// Takes k bytes off the front of the list; the runs that are left.
static int skip_runs(struct iovec **list, int runs, size_t k)
{
    for (; runs > 0 && k >= (*list)->iov_len; runs--) k -= (*list)++->iov_len;
    if (runs > 0) {
        (*list)->iov_base = (char *)(*list)->iov_base + k;
        (*list)->iov_len -= k;
    }
    return runs;
}

int uno_posix_writev(int fd, const char *path, struct iovec *list, int runs, off_t at, size_t *moved)
{
    *moved = 0;
    while ((runs = skip_runs(&list, runs, 0)) > 0) {
        ssize_t k = pwritev(fd, list, runs, at + (off_t)*moved);
        if (k < 0 && errno == EINTR) continue;
        if (k == 0) errno = EIO;    // no progress and no reason
        if (k <= 0) {
            size_t left = 0;
            for (int i = 0; i < runs; i++) left += list[i].iov_len;
            return fail_at(path, "write", left, at + (off_t)*moved);
        }
        uno_count_add(&writes, 1);
        uno_count_add(&written, (uint64_t)k);
        *moved += (size_t)k;
        runs = skip_runs(&list, runs, (size_t)k);
    }
    return MPI_SUCCESS;
}

int uno_posix_read(int fd, const char *path, void *data, size_t n, off_t at, size_t *moved)
{
    *moved = 0;
    while (*moved < n) {
        size_t left = n - *moved;
        ssize_t k = pread(fd, (char *)data + *moved, left < MOST ? left : MOST, at + (off_t)*moved);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return fail_at(path, "read", left, at + (off_t)*moved);
        if (k == 0) break;
        uno_count_add(&reads, 1);
        uno_count_add(&bytes_read, (uint64_t)k);
        *moved += (size_t)k;
    }
    return MPI_SUCCESS;
}

int uno_posix_open_direct(int fd)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : open(name, (flags & O_ACCMODE) | O_DIRECT | O_CLOEXEC);
}

size_t uno_posix_direct(int fd, bool write, void *data, size_t n, off_t at)
{
    if (((uintptr_t)data | (uintptr_t)at) % UNO_POSIX_PAGE) return 0;
    n = (n < MOST ? n : MOST) / UNO_POSIX_PAGE * UNO_POSIX_PAGE;
    ssize_t k = n == 0 ? 0 : write ? pwrite(fd, data, n, at) : pread(fd, data, n, at);
    if (k <= 0) return 0;
    uno_count_add(write ? &writes : &reads, 1);
    uno_count_add(write ? &written : &bytes_read, (uint64_t)k);
    return (size_t)k;
}

bool uno_posix_at_once(int fd, bool write, void *data, size_t n, off_t at)
{
    if ((write ? pwrite(fd, data, n, at) : pread(fd, data, n, at)) != (ssize_t)n) return false;
    uno_count_add(write ? &writes : &reads, 1);
    uno_count_add(write ? &written : &bytes_read, n);
    return true;
}

bool uno_posix_read_now(int fd, void *data, size_t n, off_t at)
{
    struct iovec one = {data, n};
    return preadv2(fd, &one, 1, at, RWF_NOWAIT) == (ssize_t)n;
}

int uno_posix_lock(int fd, const char *path, bool write, off_t at, off_t n)
{
    struct flock l = {.l_type = write ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    while (fcntl(fd, F_OFD_SETLKW, &l) < 0)
        if (errno != EINTR) return fail_at(path, "lock", (size_t)n, at);
    return MPI_SUCCESS;
}

void uno_posix_unlock(int fd, off_t at, off_t n)
{
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    fcntl(fd, F_OFD_SETLK, &l);    // cannot fail on a range that is locked
}
