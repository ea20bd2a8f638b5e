// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=4,8
// run: np=2,3 set=shm_cma=0
// Random views, offsets, counts, memory layouts, forms and hints against a plain array in memory. Each round cuts a
// period of the file into segments, gives each to a rank or to nobody, and all ranks write some of theirs; the file
// must be the array, byte for byte. Then all read, also beyond the end. `oracle ROUNDS SEED` for longer runs: a round
// of n ranks is 2 n accesses.
#include "file.h"

enum { BYTES = 1 << 19, PERIOD = 1 << 13, SEGMENTS = 300, RANKS = 16, FORMS = 10, FILLER = 0xee };

static int rank, size, form;
static unsigned seed = 12345;
static unsigned char array[BYTES], memory[3 * BYTES + 16];
static int length;    // of the file, as it should be

// The same numbers on all ranks.
static int draw(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)below);
}

struct round {
    int number, unit, disp, period, segments;
    int begin[SEGMENTS + 1], owner[SEGMENTS];    // in the period, in bytes; owner -1: nobody
    int has[RANKS];                              // bytes per period
    short map[RANKS][PERIOD];                    // from a byte of the rank's stream to its place in the period
    MPI_Datatype etype;
};

static void make_round(struct round *r)
{
    static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    static const int lengths[] = {2, 20, 500};
    int t = draw(4), most = lengths[draw(3)], first = draw(size);
    r->unit = 1 << t;
    r->etype = etypes[t];
    r->disp = draw(3) ? draw(60) : draw(BYTES / 4);
    r->segments = size + (draw(4) ? draw(12) : draw(SEGMENTS - size));
    r->begin[0] = 0;
    memset(r->has, 0, sizeof r->has);
    for (int s = 0; s < r->segments; s++) {
        int n = (1 + draw(most)) * r->unit;
        if (r->begin[s] + n > PERIOD - 8 * (size + 1)) n = r->unit;
        if (r->begin[s] + n > PERIOD) r->segments = s;
        if (s == r->segments) break;
        r->owner[s] = s < size ? (first + s) % size : draw(size + 1) - 1;    // each has some
        r->begin[s + 1] = r->begin[s] + n;
        if (r->owner[s] < 0) continue;
        int *has = &r->has[r->owner[s]];
        for (int i = 0; i < n; i++) r->map[r->owner[s]][(*has)++] = (short)(r->begin[s] + i);
    }
    r->period = r->begin[r->segments];
}

static MPI_Datatype view_of(const struct round *r, int who)
{
    int n = 0, len[SEGMENTS];
    MPI_Aint at[SEGMENTS];
    MPI_Datatype some, type;
    for (int s = 0; s < r->segments; s++) {
        if (r->owner[s] != who) continue;
        at[n] = r->begin[s];
        len[n++] = (r->begin[s + 1] - r->begin[s]) / r->unit;
    }
    MPI_Type_create_hindexed(n, len, at, r->etype, &some);
    MPI_Type_create_resized(some, 0, r->period, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&some);
    return type;
}

// Where a byte of rank who's stream is in the file.
static int place(const struct round *r, int who, int i)
{
    return r->disp + i / r->has[who] * r->period + r->map[who][i % r->has[who]];
}

static unsigned char value(int round, int who, int i)
{
    return (unsigned char)(round * 31 + who * 7 + i * 3 + (i >> 8) + 1);
}

// Part of a stream, whole etypes: bytes [from, from + n).
struct part {
    int from, n;
};

static struct part draw_part(const struct round *r, int who)
{
    int tiles = (BYTES - r->disp) / r->period, all = tiles * r->has[who] / r->unit, small = 1 << draw(20);
    struct part p = {0, 0};
    if (all == 0) return p;
    p.from = draw(all < small ? all : small);
    int left = all - p.from;
    small = 1 << draw(20);
    p.n = draw((left < small ? left : small) + 1) * r->unit;
    p.from *= r->unit;
    return p;
}

// How n etypes lie in memory: one by one, each followed by a gap, or five by five.
static MPI_Datatype layout_of(const struct round *r, int kind, int *count)
{
    MPI_Datatype some, type;
    if (kind == 2 && *count % 5 == 0) {
        MPI_Type_contiguous(5, r->etype, &some);
        MPI_Type_create_resized(some, 0, 9 * r->unit, &type);
        *count /= 5;
        MPI_Type_free(&some);
    } else {
        MPI_Type_create_resized(r->etype, 0, (kind == 1 ? 3 : 1) * r->unit, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static int in_memory(const struct round *r, int kind, int n, int i)
{
    int e = i / r->unit, at = e;
    if (kind == 1) at = 3 * e;
    if (kind == 2 && n / r->unit % 5 == 0) at = e / 5 * 9 + e % 5;
    return at * r->unit + i % r->unit;
}

static int read_some(MPI_File fh, MPI_Offset at, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int err;
    switch (form) {
    case 0: return MPI_File_read_at(fh, at, memory, count, type, status);
    case 1: return MPI_File_read(fh, memory, count, type, status);
    case 2:
    case 3: return MPI_File_read_all(fh, memory, count, type, status);
    case 4: return MPI_File_read_at_all(fh, at, memory, count, type, status);
    case 5: err = MPI_File_iread_at(fh, at, memory, count, type, &request); break;
    case 6: err = MPI_File_iread_all(fh, memory, count, type, &request); break;
    case 7: err = MPI_File_iread_at_all(fh, at, memory, count, type, &request); break;
    case 8:
        err = MPI_File_read_all_begin(fh, memory, count, type);
        return err ? err : MPI_File_read_all_end(fh, memory, status);
    default:
        err = MPI_File_read_at_all_begin(fh, at, memory, count, type);
        return err ? err : MPI_File_read_at_all_end(fh, memory, status);
    }
    return err ? err : MPI_Wait(&request, status);
}

static int write_some(MPI_File fh, MPI_Offset at, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int err;
    switch (form) {
    case 0: return MPI_File_write_at(fh, at, memory, count, type, status);
    case 1: return MPI_File_write(fh, memory, count, type, status);
    case 2:
    case 3: return MPI_File_write_all(fh, memory, count, type, status);
    case 4: return MPI_File_write_at_all(fh, at, memory, count, type, status);
    case 5: err = MPI_File_iwrite_at(fh, at, memory, count, type, &request); break;
    case 6: err = MPI_File_iwrite_all(fh, memory, count, type, &request); break;
    case 7: err = MPI_File_iwrite_at_all(fh, at, memory, count, type, &request); break;
    case 8:
        err = MPI_File_write_all_begin(fh, memory, count, type);
        return err ? err : MPI_File_write_all_end(fh, memory, status);
    default:
        err = MPI_File_write_at_all_begin(fh, at, memory, count, type);
        return err ? err : MPI_File_write_at_all_end(fh, memory, status);
    }
    return err ? err : MPI_Wait(&request, status);
}

// Moves a part by the form of the round; how many bytes went. The pointer is where the part begins, or is not used.
static int move(MPI_File fh, const struct round *r, struct part p, int kind, int write)
{
    MPI_Status status;
    int count = p.n / r->unit, got = -1;
    MPI_Offset at = p.from / r->unit, end = -1;
    MPI_Datatype type = layout_of(r, kind, &count);
    CHECK(MPI_File_seek(fh, at, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK((write ? write_some : read_some)(fh, at, count, type, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &got) == MPI_SUCCESS && MPI_File_get_position(fh, &end) == MPI_SUCCESS);
    if (form == 1 || form == 2) CHECK(end == at + got / r->unit);
    MPI_Type_free(&type);
    return got;
}

static void write_round(MPI_File fh, const struct round *r, const char *path)
{
    int kind = draw(3);
    struct part mine = {0, 0};
    for (int who = 0; who < size; who++) {
        struct part p = draw_part(r, who);
        for (int i = 0; i < p.n; i++) {
            int at = place(r, who, p.from + i);
            array[at] = value(r->number, who, i);
            if (at >= length) length = at + 1;
            if (who == rank) memory[in_memory(r, kind, p.n, i)] = array[at];
        }
        if (who == rank) mine = p;
    }
    CHECK(move(fh, r, mine, kind, 1) == mine.n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == r->number % size) {
        size_t n;
        unsigned char *all = slurp(path, &n);
        CHECK((int)n == length && memcmp(all, array, n) == 0);
        free(all);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Each through its own view, or all through the view of rank `all` (-1: no).
static void read_round(MPI_File fh, const struct round *r, int all)
{
    int kind = draw(3), who = all < 0 ? rank : all;
    struct part p = {0, 0};
    for (int i = 0; i < size; i++) {
        struct part theirs = draw_part(r, all < 0 ? i : all);
        if (i == rank) p = theirs;
    }
    memset(memory, FILLER, sizeof memory);
    int got = move(fh, r, p, kind, 0), there = 0;
    while (there < p.n && place(r, who, p.from + there) < length) there++;
    CHECK(got == there);
    for (int i = 0; i < p.n; i++) {
        unsigned char *m = &memory[in_memory(r, kind, p.n, i)];
        CHECK(*m == (i < there ? array[place(r, who, p.from + i)] : FILLER));
        *m = FILLER;
    }
    size_t end = (size_t)(3 * p.n + 9 * r->unit), i = 0;    // nothing came to the gaps
    while (i < end && i < sizeof memory && memory[i] == FILLER) i++;
    CHECK(i == end || i == sizeof memory);
}

static MPI_File open_with_hints(const char *path)
{
    static const char *const modes[] = {"automatic", "enable", "disable"};
    static const char *const buffers[] = {"1", "300000", "16777216"};
    static const char *const nodes[] = {"1", "2", "100"};
    MPI_Info info;
    MPI_File fh;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", modes[draw(3)]);
    MPI_Info_set(info, "romio_cb_read", modes[draw(3)]);
    MPI_Info_set(info, "romio_ds_read", modes[draw(3)]);
    MPI_Info_set(info, "cb_buffer_size", buffers[draw(3)]);
    MPI_Info_set(info, "cb_nodes", nodes[draw(3)]);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &fh) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return fh;
}

int main(int argc, char **argv)
{
    static struct round r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS);
    int rounds = argc > 1 ? atoi(argv[1]) : 120;
    if (argc > 2) seed = (unsigned)atoi(argv[2]);
    const char *path = make_path("oracle");
    MPI_File fh = open_with_hints(path);
    for (r.number = 0; r.number < rounds; r.number++) {
        make_round(&r);
        form = draw(FORMS);
        MPI_Datatype own = view_of(&r, rank), first = view_of(&r, 0);
        if (draw(12) == 0) {
            CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
            fh = open_with_hints(path);
        }
        if (draw(8) == 0) {
            CHECK(MPI_File_set_size(fh, 0) == MPI_SUCCESS);
            memset(array, 0, sizeof array);
            length = 0;
        }
        CHECK(MPI_File_set_atomicity(fh, draw(5) == 0) == MPI_SUCCESS);
        CHECK(MPI_File_set_view(fh, r.disp, r.etype, own, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        write_round(fh, &r, path);
        form = draw(FORMS);
        if (draw(4)) {
            read_round(fh, &r, -1);
        } else {
            CHECK(MPI_File_set_view(fh, r.disp, r.etype, first, "native", MPI_INFO_NULL) == MPI_SUCCESS);
            read_round(fh, &r, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Type_free(&own);
        MPI_Type_free(&first);
    }
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
