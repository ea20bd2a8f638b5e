// SPDX-License-Identifier: BSD-3-Clause
// Family io, continued: files that the ranks fill together in tiles, as mpi-tile-io does; what a call costs beside the
// system's own; a write that goes on beside computation. Size is what one rank moves in one call. Tiles are read back
// and checked.
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TILE, TILE_OWN, SMALL, SMALL_OWN, ONE };
#define HOW "tile,tile-own,small,small-own,one"
enum { ROW = 4096, SMALL_ROW = 256, TURNS = 8 };

struct tile {
    MPI_File file;
    MPI_Datatype view;
    char path[512];
    int open, fd;
};

static int open_file(struct run *r, size_t bytes)
{
    struct tile *f = calloc(1, sizeof *f);
    r->priv = f;
    f->fd = -1;
    f->view = MPI_DATATYPE_NULL;
    if (!f || bench_buffers(r, bytes + 8, bytes + 8)) return -1;
    bench_io_path(r, f->path, sizeof f->path);
    int code = MPI_File_open(r->comm, f->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f->file);
    if (!bench_ok(r, code, "MPI_File_open")) return -1;
    f->open = 1;
    bench_fill(r->sbuf, bytes, (unsigned long)r->rank + 1);
    return 0;
}

static void end(struct run *r)
{
    struct tile *f = r->priv;
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    if (f->open) MPI_File_close(&f->file);
    if (f->view != MPI_DATATYPE_NULL) MPI_Type_free(&f->view);
    if (r->rank == 0) unlink(f->path);
    free(f);
    r->priv = NULL;
}

// The ranks in a grid, each with a tile of `bytes` whose rows are short and lie between those of its neighbours.
static int set_up_tiles(struct run *r)
{
    int row = r->variant == SMALL || r->variant == SMALL_OWN ? SMALL_ROW : ROW, grid[2] = {0, 0};
    if (r->bytes % row) {
        snprintf(r->skip, sizeof r->skip, "%ld bytes are no whole rows of %d", r->bytes, row);
        return -1;
    }
    if (open_file(r, (size_t)r->bytes * (size_t)(r->variant == ONE ? r->size : 1))) return -1;
    struct tile *f = r->priv;
    r->payload = (double)r->bytes * r->size;
    MPI_Dims_create(r->size, 2, grid);
    int rows = (int)(r->bytes / row), whole[2] = {grid[1] * rows, grid[0] * row}, part[2] = {rows, row};
    int begin[2] = {r->rank / grid[0] * rows, r->rank % grid[0] * row};
    MPI_Type_create_subarray(2, whole, part, begin, MPI_ORDER_C, MPI_BYTE, &f->view);
    MPI_Type_commit(&f->view);
    MPI_Datatype view = r->variant == ONE ? MPI_BYTE : f->view;
    int code = MPI_File_set_view(f->file, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
    if (!bench_ok(r, code, "MPI_File_set_view")) return -1;
    if (r->variant != ONE || r->rank == 0)
        MPI_File_write_at(f->file, 0, r->sbuf, (int)(r->variant == ONE ? r->bytes * r->size : r->bytes), MPI_BYTE,
                          MPI_STATUS_IGNORE);
    MPI_File_sync(f->file);
    MPI_Barrier(r->comm);
    MPI_File_sync(f->file);
    return 0;
}

static void write_tiles(struct run *r, long n)
{
    struct tile *f = r->priv;
    int count = (int)r->bytes;
    for (long i = 0; i < n; i++) {
        if (r->variant == TILE || r->variant == SMALL)
            MPI_File_write_at_all(f->file, 0, r->sbuf, count, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (r->variant != ONE)
            MPI_File_write_at(f->file, 0, r->sbuf, count, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (r->rank == 0)
            MPI_File_write_at(f->file, 0, r->sbuf, count * r->size, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

static void read_tiles(struct run *r, long n)
{
    struct tile *f = r->priv;
    int count = (int)r->bytes;
    for (long i = 0; i < n; i++) {
        if (r->variant == TILE || r->variant == SMALL)
            MPI_File_read_at_all(f->file, 0, r->rbuf, count, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (r->variant != ONE)
            MPI_File_read_at(f->file, 0, r->rbuf, count, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (r->rank == 0)
            MPI_File_read_at(f->file, 0, r->rbuf, count * r->size, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

static void fill(struct run *r)
{
    memset(r->rbuf, 0, (size_t)r->bytes);
}

static long check(struct run *r)
{
    struct tile *f = r->priv;
    if (r->variant == ONE && r->rank > 0) return -1;
    if (!strcmp(r->k->name, "io-tile-write"))
        MPI_File_read_at(f->file, 0, r->rbuf, (int)r->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    return bench_check(r->rbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
}

// ---- beside the system's own calls ----

static int set_up_floor(struct run *r)
{
    if (open_file(r, (size_t)r->bytes)) return -1;
    struct tile *f = r->priv;
    f->fd = open(f->path, O_RDWR);
    r->payload = (double)r->bytes;
    MPI_File_write_at(f->file, 0, r->sbuf, (int)r->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    return f->fd < 0 ? -1 : 0;
}

static double call_once(struct run *r, int own)
{
    struct tile *f = r->priv;
    size_t n = (size_t)r->bytes;
    double start = bench_now();
    if (own && r->variant == 0)
        MPI_File_write_at(f->file, 0, r->sbuf, (int)n, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (own)
        MPI_File_read_at(f->file, 0, r->rbuf, (int)n, MPI_BYTE, MPI_STATUS_IGNORE);
    else if ((r->variant == 0 ? pwrite(f->fd, r->sbuf, n, 0) : pread(f->fd, r->rbuf, n, 0)) != (ssize_t)n)
        return -1;
    return bench_now() - start;
}

// In turn, so that what disturbs the machine hits both.
static double floor_sample(struct run *r)
{
    double ours[TURNS], bare[TURNS];
    for (int i = 0; i < TURNS; i++) {
        ours[i] = call_once(r, 1);
        bare[i] = call_once(r, 0);
    }
    double mine = bench_median(ours, TURNS);
    r->extra[0] = bench_median(bare, TURNS);
    r->extra[1] = mine / r->extra[0];
    return mine;
}

// ---- beside computation ----

static double write_beside(struct run *r, double work)
{
    struct tile *f = r->priv;
    MPI_Request q;
    double start = bench_now();
    MPI_File_iwrite_at(f->file, (MPI_Offset)r->rank * r->bytes, r->sbuf, (int)r->bytes, MPI_BYTE, &q);
    if (work > 0) bench_compute(work);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return bench_now() - start;
}

static int set_up_beside(struct run *r)
{
    if (open_file(r, (size_t)r->bytes)) return -1;
    bench_compute_calibrate();
    write_beside(r, 0);
    return 0;
}

static double beside_sample(struct run *r)
{
    double pure = write_beside(r, 0), alone = bench_now();
    bench_compute(pure);
    alone = bench_now() - alone;
    double total = write_beside(r, pure);
    r->extra[0] = pure;
    r->extra[1] = alone;
    r->extra[2] = total / (pure > alone ? pure : alone);
    return total;
}

#define TILES                                                                                                          \
    .family = "io", .min_ranks = 2, .flags = VECTOR | ALLVARIANTS, .variants = HOW, .setup = set_up_tiles,             \
    .fill = fill, .check = check, .teardown = end
const struct kernel bench_tile_rows[] = {
    {.name = "io-tile-write", TILES, .what = "the ranks write tiles of a matrix, or one rank all", .op = write_tiles},
    {.name = "io-tile-read", TILES, .what = "the ranks read tiles of a matrix, or one rank all", .op = read_tiles},
    {.name = "io-floor",
     .family = "io",
     .what = "a call beside the system's own",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = NOBATCH | ALLVARIANTS | VECTOR,
     .variants = "write,read",
     .extras = "posix us,over_posix x",
     .setup = set_up_floor,
     .sample = floor_sample,
     .teardown = end},
    {.name = "io-beside",
     .family = "io",
     .what = "a nonblocking write with as much computation: total",
     .min_ranks = 1,
     .flags = NOBATCH | VECTOR,
     .extras = "pure us,compute us,over_longer x",
     .setup = set_up_beside,
     .sample = beside_sample,
     .teardown = end},
    {0},
};
