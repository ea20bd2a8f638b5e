// SPDX-License-Identifier: BSD-3-Clause
// Family io: files. Size is what one rank moves in one call; the variant names the access. Rank blocks do not overlap,
// content is checked by reading back what was written (io-write) or was prepared (io-read). The file lies in --file or
// TMPDIR and is removed.
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDIVIDUAL = 0, EXPLICIT, COLLECTIVE, EXPLICIT_ALL, SHARED, ORDERED, NONBLOCK, PRIVATE, SYNCED, POSIX };
#define ACCESS "individual,explicit,collective,explicit-all,shared,ordered,nonblocking,private,fsync,posix"

struct io {
    MPI_File file;
    char path[512];
    int open, fd;    // fd: variant posix, the system's own calls
};

static const char *folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir ? dir : "/tmp";
}

// The same on all ranks.
void bench_io_path(struct run *r, char *path, size_t n)
{
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, r->comm);
    if (r->o->file)
        snprintf(path, n, "%s", r->o->file);
    else
        snprintf(path, n, "%s/unisono-bench.%d", folder(), pid);
}

static MPI_Offset place(struct run *r)
{
    return r->variant == PRIVATE ? 0 : (MPI_Offset)r->rank * r->bytes;
}

static int setup(struct run *r)
{
    struct io *f = calloc(1, sizeof *f);
    r->priv = f;
    if (!f) return -1;
    f->fd = -1;
    int mine = r->variant == PRIVATE;
    bench_io_path(r, f->path, sizeof f->path);
    if (mine) snprintf(f->path + strlen(f->path), 16, ".%d", r->rank);
    r->payload = (double)r->bytes * r->size;
    if (bench_buffers(r, (size_t)r->bytes + 8, (size_t)r->bytes + 8)) return -1;
    int code = MPI_File_open(mine ? MPI_COMM_SELF : r->comm, f->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                             &f->file);
    if (!bench_ok(r, code, "MPI_File_open")) return -1;
    f->open = 1;
    if (r->variant == POSIX && (f->fd = open(f->path, O_RDWR)) < 0) {
        snprintf(r->skip, sizeof r->skip, "the file cannot be opened once more");
        return -1;
    }
    bench_fill(r->sbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
    code = MPI_File_write_at(f->file, place(r), r->sbuf, (int)r->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!bench_ok(r, code, "MPI_File_write_at")) return -1;
    MPI_File_sync(f->file);
    MPI_Barrier(r->comm);
    MPI_File_sync(f->file);
    return 0;
}

static void end(struct run *r)
{
    struct io *f = r->priv;
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    if (f->open) MPI_File_close(&f->file);
    if (r->rank == 0 || r->variant == PRIVATE) unlink(f->path);
    free(f);
    r->priv = NULL;
}

static void moved(ssize_t got, int n)
{
    if (got == n) return;
    fprintf(stderr, "unisono-bench: a system call moved %zd of %d bytes\n", got, n);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_once(struct run *r)
{
    struct io *f = r->priv;
    MPI_Request q;
    int n = (int)r->bytes;
    void *b = r->sbuf;
    if (r->variant == INDIVIDUAL || r->variant == COLLECTIVE) MPI_File_seek(f->file, place(r), MPI_SEEK_SET);
    if (r->variant == SHARED || r->variant == ORDERED) MPI_File_seek_shared(f->file, 0, MPI_SEEK_SET);
    switch (r->variant) {
    case INDIVIDUAL: MPI_File_write(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case COLLECTIVE: MPI_File_write_all(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case EXPLICIT_ALL: MPI_File_write_at_all(f->file, place(r), b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case SHARED: MPI_File_write_shared(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case ORDERED: MPI_File_write_ordered(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case POSIX: moved(pwrite(f->fd, b, (size_t)n, place(r)), n); break;
    case NONBLOCK:
        MPI_File_iwrite_at(f->file, place(r), b, n, MPI_BYTE, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        break;
    default: MPI_File_write_at(f->file, place(r), b, n, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    if (r->variant == SYNCED) MPI_File_sync(f->file);
}

static void read_once(struct run *r)
{
    struct io *f = r->priv;
    MPI_Request q;
    int n = (int)r->bytes;
    void *b = r->rbuf;
    if (r->variant == INDIVIDUAL || r->variant == COLLECTIVE) MPI_File_seek(f->file, place(r), MPI_SEEK_SET);
    if (r->variant == SHARED || r->variant == ORDERED) MPI_File_seek_shared(f->file, 0, MPI_SEEK_SET);
    switch (r->variant) {
    case INDIVIDUAL: MPI_File_read(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case COLLECTIVE: MPI_File_read_all(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case EXPLICIT_ALL: MPI_File_read_at_all(f->file, place(r), b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case SHARED: MPI_File_read_shared(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case ORDERED: MPI_File_read_ordered(f->file, b, n, MPI_BYTE, MPI_STATUS_IGNORE); break;
    case POSIX: moved(pread(f->fd, b, (size_t)n, place(r)), n); break;
    case NONBLOCK:
        MPI_File_iread_at(f->file, place(r), b, n, MPI_BYTE, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        break;
    default: MPI_File_read_at(f->file, place(r), b, n, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

static void io_write(struct run *r, long n)
{
    for (long i = 0; i < n; i++) write_once(r);
}

static void io_read(struct run *r, long n)
{
    for (long i = 0; i < n; i++) read_once(r);
}

static void fill(struct run *r)
{
    memset(r->rbuf, 0, (size_t)r->bytes);
}

// What a shared pointer hands to a rank may be any rank's block; in the others it is the own one.
static long check(struct run *r)
{
    struct io *f = r->priv;
    if (!strcmp(r->k->name, "io-write")) {
        MPI_File_sync(f->file);
        MPI_Barrier(r->comm);
        MPI_File_sync(f->file);
        MPI_File_read_at(f->file, place(r), r->rbuf, (int)r->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    long bad = -1;
    for (int i = 0; i < r->size; i++) {
        bad = bench_check(r->rbuf, (size_t)r->bytes, (unsigned long)((r->rank + i) % r->size) + 1);
        if (bad < 0 || r->variant != SHARED) break;
    }
    return bad;
}

static void io_open(struct run *r, long n)
{
    struct io *f = r->priv;
    MPI_File again;
    for (long i = 0; i < n; i++) {
        MPI_File_open(r->comm, f->path, MPI_MODE_RDWR, MPI_INFO_NULL, &again);
        MPI_File_close(&again);
    }
}

const struct kernel bench_io_rows[] = {
    {.name = "io-write",
     .family = "io",
     .what = "every rank writes its block",
     .min_ranks = 1,
     .flags = VECTOR,
     .variants = ACCESS,
     .setup = setup,
     .op = io_write,
     .fill = fill,
     .check = check,
     .teardown = end},
    {.name = "io-read",
     .family = "io",
     .what = "every rank reads its block",
     .min_ranks = 1,
     .flags = VECTOR,
     .variants = ACCESS,
     .setup = setup,
     .op = io_read,
     .fill = fill,
     .check = check,
     .teardown = end},
    {.name = "io-open",
     .family = "io",
     .what = "open and close a file",
     .min_ranks = 1,
     .flags = NOSIZE,
     .setup = setup,
     .op = io_open,
     .teardown = end},
    {0},
};
