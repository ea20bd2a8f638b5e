// SPDX-License-Identifier: BSD-3-Clause
// Family dtype: derived types sent, packed and made. Size is the payload; every layout moves exactly those bytes, in
// 8-byte pieces (struct: a byte, an int and a double per element; panel: rows of neighbouring columns; rows: 4 KiB) and
// is checked through a packed copy. The matrix has 2048 x 2048 doubles: 16 KiB are one column of it, 1 MiB are 64.
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAG = 41,
    CONTIG = 0,
    VEC,
    INDEXED,
    STRUCT,
    SUBARRAY,
    RESIZED,
    COLUMNS,
    PANEL,
    EIGHTH,
    ROWS,
    QUARTER = 512,
    COLUMN = 2048
};

struct layout {
    MPI_Datatype type;
    int count;
    size_t span;    // bytes from the first to behind the last
    long bytes;     // payload
};

struct mixed {
    char c;
    int i;
    double d;
};

static void make_indexed(long n, MPI_Datatype *type, size_t *span)
{
    int *at = malloc((size_t)n * sizeof *at), place = 0;
    unsigned long state = 9;
    for (long i = 0; i < n; i++) {
        at[i] = place;
        place += 1 + (int)(bench_random(&state) % 3);
    }
    MPI_Type_create_indexed_block((int)n, 1, at, MPI_DOUBLE, type);
    *span = (size_t)place * 8;
    free(at);
}

static void make_struct(MPI_Datatype *type)
{
    const int lengths[3] = {1, 1, 1};
    const MPI_Aint at[3] = {offsetof(struct mixed, c), offsetof(struct mixed, i), offsetof(struct mixed, d)};
    const MPI_Datatype parts[3] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Datatype bare;
    MPI_Type_create_struct(3, lengths, at, parts, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(struct mixed), type);
    MPI_Type_free(&bare);
}

// Columns of the matrix: one after the other, or (panel) row by row. Fewer than one column's rows for small n.
static void make_columns(int which, long n, struct layout *l)
{
    int rows = (int)(n < COLUMN ? n : COLUMN), columns = (int)(n / rows);
    l->bytes = 8L * rows * columns;
    l->span = ((size_t)rows * COLUMN + (size_t)columns) * 8;
    if (which == PANEL) {
        MPI_Type_vector(rows, columns, COLUMN, MPI_DOUBLE, &l->type);
        return;
    }
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, COLUMN, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &l->type);
    MPI_Type_free(&column);
    l->count = columns;
}

// n: 8-byte pieces wanted. Not committed here, so that the row type-make can time that too.
static void make(int which, long n, struct layout *l)
{
    l->count = 1;
    l->bytes = n * 8;
    switch (which) {
    case CONTIG:
        MPI_Type_contiguous((int)n, MPI_DOUBLE, &l->type);
        l->span = (size_t)n * 8;
        break;
    case COLUMNS:
    case PANEL: make_columns(which, n, l); break;
    case EIGHTH:    // one double in each line
        MPI_Type_vector((int)n, 1, 8, MPI_DOUBLE, &l->type);
        l->span = (size_t)n * 64;
        break;
    case ROWS:    // the first quarter of each row
    {
        int length = (int)(n < QUARTER ? n : QUARTER), rows = (int)(n / length);
        MPI_Type_vector(rows, length, COLUMN, MPI_DOUBLE, &l->type);
        l->bytes = 8L * rows * length;
        l->span = (size_t)rows * COLUMN * 8;
        break;
    }
    case VEC:    // as a column of that matrix, but ever longer, as far as that goes without gigabytes
    {
        int stride = n * COLUMN * 8 > 256L << 20 ? (int)((256L << 20) / (n * 8)) : COLUMN;
        MPI_Type_vector((int)n, 1, stride, MPI_DOUBLE, &l->type);
        l->span = (size_t)n * (size_t)stride * 8;
        break;
    }
    case INDEXED: make_indexed(n, &l->type, &l->span); break;
    case STRUCT:
        make_struct(&l->type);
        l->count = (int)(n * 8 / 13 > 0 ? n * 8 / 13 : 1);
        l->bytes = l->count * 13L;
        l->span = (size_t)l->count * sizeof(struct mixed);
        break;
    case SUBARRAY:    // the inner half of a square in each direction
    {
        int side = 1;
        while ((long)(side + 1) * (side + 1) <= n) side++;
        const int whole[2] = {2 * side, 2 * side}, part[2] = {side, side}, at[2] = {side / 2, side / 2};
        MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_DOUBLE, &l->type);
        l->span = 4 * (size_t)side * (size_t)side * 8;
        l->bytes = 8L * side * side;
        break;
    }
    default:
        MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &l->type);
        l->count = (int)n;
        l->span = (size_t)n * 24;
    }
}

static int setup(struct run *r)
{
    struct layout *l = calloc(1, sizeof *l);
    long n = r->bytes / 8 > 0 ? r->bytes / 8 : 1;
    r->priv = l;
    make(r->variant, n, l);
    MPI_Type_commit(&l->type);
    r->payload = (double)l->bytes;
    return bench_buffers(r, l->span + 64, l->span + 64 + (size_t)l->bytes);
}

static void end(struct run *r)
{
    struct layout *l = r->priv;
    if (!l) return;
    MPI_Type_free(&l->type);
    free(l);
    r->priv = NULL;
}

// Content goes through a packed copy: fill packed, unpack into the layout; the check packs again.
static void fill(struct run *r)
{
    struct layout *l = r->priv;
    char *packed = malloc((size_t)l->bytes + 64);
    int at = 0;
    bench_fill(packed, (size_t)l->bytes, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, l->span);
    MPI_Unpack(packed, (int)l->bytes, &at, r->sbuf, l->count, l->type, r->comm);
    free(packed);
}

static long check(struct run *r)
{
    struct layout *l = r->priv;
    char *packed = malloc((size_t)l->bytes + 64);
    int at = 0, other = r->k->max_ranks == 2 ? r->peer : r->rank;
    MPI_Pack(r->rbuf, l->count, l->type, packed, (int)l->bytes + 64, &at, r->comm);
    long bad = bench_check(packed, (size_t)l->bytes, (unsigned long)other + 1);
    free(packed);
    return bad;
}

static void lat(struct run *r, long n)
{
    struct layout *l = r->priv;
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) MPI_Send(r->sbuf, l->count, l->type, r->peer, TAG, r->comm);
        MPI_Recv(r->rbuf, l->count, l->type, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
        if (r->rank == 1) MPI_Send(r->sbuf, l->count, l->type, r->peer, TAG, r->comm);
    }
}

enum { WINDOW = 8 };

static int bw_setup(struct run *r)
{
    if (setup(r)) return -1;
    r->payload *= WINDOW;
    return 0;
}

static void bw(struct run *r, long n)
{
    struct layout *l = r->priv;
    MPI_Request q[WINDOW];
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < WINDOW; w++)
            if (r->rank == 0)
                MPI_Isend(r->sbuf, l->count, l->type, 1, TAG, r->comm, &q[w]);
            else if (w == 0)
                MPI_Irecv(r->rbuf, l->count, l->type, 0, TAG, r->comm, &q[w]);
            else {    // the same place again, after the one before has come
                MPI_Wait(&q[w - 1], MPI_STATUS_IGNORE);
                MPI_Irecv(r->rbuf, l->count, l->type, 0, TAG, r->comm, &q[w]);
            }
        MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE);
        if (r->rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, r->comm);
    }
}

static long check_receiver(struct run *r)
{
    return r->rank ? check(r) : -1;
}

static void pack_and_unpack(struct run *r, long n)
{
    struct layout *l = r->priv;
    char *packed = r->rbuf + l->span;
    for (long i = 0; i < n; i++) {
        int at = 0, from = 0;
        MPI_Pack(r->sbuf, l->count, l->type, packed, (int)l->bytes, &at, r->comm);
        MPI_Unpack(packed, (int)l->bytes, &from, r->rbuf, l->count, l->type, r->comm);
    }
}

static int pack_setup(struct run *r)
{
    if (setup(r)) return -1;
    r->payload *= 2;
    return 0;
}

static void type_make(struct run *r, long n)
{
    struct layout l;
    for (long i = 0; i < n; i++) {
        make(r->variant, r->bytes / 8 > 0 ? r->bytes / 8 : 1, &l);
        MPI_Type_commit(&l.type);
        MPI_Type_free(&l.type);
    }
}

#define LAYOUTS .variants = "contig,vector,indexed,struct,subarray,resized,columns,panel,eighth,rows"
const struct kernel bench_ddt_rows[] = {
    {.name = "ddt-lat",
     .family = "dtype",
     .what = "ping-pong of a derived type, half the round trip; size is the payload",
     .min_ranks = 2,
     .max_ranks = 2,
     .flags = ROOT | HALF | VECTOR | ALLVARIANTS,
     LAYOUTS,
     .setup = setup,
     .op = lat,
     .fill = fill,
     .check = check,
     .teardown = end},
    {.name = "ddt-bw",
     .family = "dtype",
     .what = "8 sends of a derived type in flight",
     .min_ranks = 2,
     .max_ranks = 2,
     .flags = ROOT | VECTOR | ALLVARIANTS,
     LAYOUTS,
     .setup = bw_setup,
     .op = bw,
     .fill = fill,
     .check = check_receiver,
     .teardown = end},
    {.name = "pack",
     .family = "dtype",
     .what = "Pack and Unpack in one rank; bytes both ways",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = VECTOR | ALLVARIANTS,
     LAYOUTS,
     .setup = pack_setup,
     .op = pack_and_unpack,
     .fill = fill,
     .check = check,
     .teardown = end},
    {.name = "type-make",
     .family = "dtype",
     .what = "create, commit and free a derived type",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = VECTOR | ALLVARIANTS,
     LAYOUTS,
     .op = type_make},
    {0},
};
