// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// Random views, offsets and counts against a plain array in memory: each round all ranks set views whose bytes do not
// meet, write through them in some form, and the file must be the array, byte for byte; then all read.
#include "file.h"

enum { BYTES = 4096, ROUNDS = 60 };

static int rank, size;
static unsigned seed;

// The same numbers on all ranks.
static unsigned draw(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

// A round: rank r has blocks of `block` etypes, every `gap + block * size`, from its own place on.
struct round {
    int unit, block, gap, tiles, disp, form;
    MPI_Datatype etype;
};

static MPI_Datatype filetype_of(const struct round *r)
{
    MPI_Datatype blocks, placed, type;
    int one = 1, period = r->block * size + r->gap;
    MPI_Aint at = (MPI_Aint)r->unit * r->block * rank;
    if (r->form % 2) {
        int start = r->block * rank;
        MPI_Type_create_subarray(1, &period, &r->block, &start, MPI_ORDER_C, r->etype, &type);
    } else {
        MPI_Type_contiguous(r->block, r->etype, &blocks);
        MPI_Type_create_hindexed(1, &one, &at, blocks, &placed);
        MPI_Type_create_resized(placed, 0, (MPI_Aint)period * r->unit, &type);
        MPI_Type_free(&blocks);
        MPI_Type_free(&placed);
    }
    MPI_Type_commit(&type);
    return type;
}

// Where the i-th byte of rank who's stream is in the file.
static int place(const struct round *r, int who, int i)
{
    int run = r->unit * r->block, period = run * size + r->unit * r->gap;
    return r->disp + i / run * period + run * who + i % run;
}

static unsigned char value(int round, int who, int i)
{
    return (unsigned char)(round * 31 + who * 7 + i * 3 + 1);
}

// Moves n bytes by the form of the round; how many went.
static int move(MPI_File fh, const struct round *r, unsigned char *data, int n, int write)
{
    MPI_Request request;
    MPI_Status status;
    int count = n / r->unit, got = -1, err;
    switch (r->form / 2 + 4 * write) {
    case 0: err = MPI_File_read_at(fh, 0, data, count, r->etype, &status); break;
    case 1: err = MPI_File_read_all(fh, data, count, r->etype, &status); break;
    case 2:
        err = MPI_File_iread(fh, data, count, r->etype, &request);
        if (!err) err = MPI_Wait(&request, &status);
        break;
    case 3:
        err = MPI_File_read_at_all_begin(fh, 0, data, count, r->etype);
        if (!err) err = MPI_File_read_at_all_end(fh, data, &status);
        break;
    case 4: err = MPI_File_write_at(fh, 0, data, count, r->etype, &status); break;
    case 5: err = MPI_File_write_all(fh, data, count, r->etype, &status); break;
    case 6:
        err = MPI_File_iwrite(fh, data, count, r->etype, &request);
        if (!err) err = MPI_Wait(&request, &status);
        break;
    default:
        err = MPI_File_write_at_all_begin(fh, 0, data, count, r->etype);
        if (!err) err = MPI_File_write_at_all_end(fh, data, &status);
    }
    CHECK(err == MPI_SUCCESS && MPI_Get_count(&status, MPI_BYTE, &got) == MPI_SUCCESS);
    return got;
}

static int last_place(const unsigned char *known)
{
    int n = BYTES;
    while (n > 0 && !known[n - 1]) n--;
    return n;
}

static void check_file(const char *path, const unsigned char *array, const unsigned char *known)
{
    size_t n;
    unsigned char *all = slurp(path, &n);
    CHECK((int)n == last_place(known));
    CHECK(memcmp(all, array, n) == 0);
    free(all);
}

int main(int argc, char **argv)
{
    static unsigned char array[BYTES], known[BYTES], data[BYTES], back[BYTES];
    static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    MPI_File fh;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = make_path("oracle");
    seed = 12345;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    for (int round = 0; round < ROUNDS; round++) {
        int t = (int)draw(4), n = 0;
        struct round r = {.unit = 1 << t, .block = 1 + (int)draw(5), .etype = etypes[t]};
        r.gap = (int)draw(4);
        r.tiles = 1 + (int)draw(8);
        r.disp = (int)draw(50);
        r.form = (int)draw(8);
        MPI_Datatype type = filetype_of(&r);
        CHECK(MPI_File_set_atomicity(fh, (int)draw(2)) == MPI_SUCCESS);
        CHECK(MPI_File_set_view(fh, r.disp, r.etype, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        for (int who = 0; who < size; who++) {
            int bytes = (1 + (int)draw((unsigned)(r.block * r.tiles))) * r.unit;
            for (int i = 0; i < bytes; i++) {
                array[place(&r, who, i)] = value(round, who, i);
                known[place(&r, who, i)] = 1;
            }
            if (who == rank) n = bytes;
        }
        for (int i = 0; i < n; i++) data[i] = value(round, rank, i);
        CHECK(move(fh, &r, data, n, 1) == n);
        MPI_Barrier(MPI_COMM_WORLD);
        check_file(path, array, known);
        CHECK(MPI_File_seek(fh, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        CHECK(move(fh, &r, back, n, 0) == n && memcmp(data, back, (size_t)n) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Type_free(&type);
    }
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
