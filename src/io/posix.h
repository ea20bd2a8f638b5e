// SPDX-License-Identifier: BSD-3-Clause
// System calls on files that go on after short counts and interrupts, and errno as an error class. No lock is needed.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/fail.h"

#define UNO_POSIX_RUNS 1024    // IOV_MAX on Linux
#define UNO_POSIX_PAGE 4096    // what accesses past the cache are aligned to; no disk wants more

// Whole transfers of any size. *moved has the bytes that went before an error or, when reading, the end of the file.
// `path` is for the message.
int uno_posix_write(int fd, const char *path, const void *data, size_t n, off_t at, size_t *moved) UNO_MUST_USE;
int uno_posix_writev(int fd, const char *path, struct iovec *list, int runs, off_t at,
                     size_t *moved) UNO_MUST_USE;    // changes the list; at most UNO_POSIX_RUNS of them
int uno_posix_read(int fd, const char *path, void *data, size_t n, off_t at, size_t *moved) UNO_MUST_USE;

// One call that moved all n bytes. False: it did not, and all of them are to be moved again, which tells why.
bool uno_posix_at_once(int fd, bool write, void *data, size_t n, off_t at);

// Past the system's cache: the file behind fd opened once more for that, -1 where the file system has no such way; and
// what of n bytes lies in whole pages aligned in memory and in the file. How many bytes went, 0 whatever the reason:
// the others are to be moved by the usual way.
int uno_posix_open_direct(int fd);
size_t uno_posix_direct(int fd, bool write, void *data, size_t n, off_t at);

// Whether n bytes could be read without waiting for a disk, and were.
bool uno_posix_read_now(int fd, void *data, size_t n, off_t at);

// A lock of the open file description on [at, at + n), waited for; undone with the same range.
int uno_posix_lock(int fd, const char *path, bool write, off_t at, off_t n) UNO_MUST_USE;
void uno_posix_unlock(int fd, off_t at, off_t n);

// Whether the file lies in memory alone.
bool uno_posix_in_memory(int fd);

// As open(2) and unlink(2), by the file driver that the path names (driver.c, unisono/files.h) or else by the system.
int uno_driver_open(const char *path, int flags, unsigned mode);
int uno_driver_remove(const char *path);

// The error class of an errno, with a message `PATH: cannot WHAT: text of errno`.
int uno_posix_fail(int number, const char *path, const char *what);
