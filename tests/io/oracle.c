// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=4,8
// run: np=2,3 set=shm_cma=0
// run: np=2,6 env=TMPDIR=/dev/shm
// Random views, offsets, counts, memory layouts, forms, hints and data representations (one is the test's own, which
// turns bits round) against a plain array in memory. Each round cuts a period of the file into segments, gives each to
// a rank or to nobody, and all ranks write some of theirs; the file must be the array, byte for byte. Then all read,
// also beyond the end. By the shared pointer all write and read in what rank 0 sees. `oracle ROUNDS SEED` for longer
// runs (tools/judges files): a round of n ranks is 2 n accesses.
#include "forms.h"

enum { BYTES = 1 << 19, PERIOD = 1 << 13, SEGMENTS = 300, RANKS = 16, FILLER = 0xee, MASK = 0x5a };
enum rep { NATIVE, EXTERNAL, MASKED, REPS };

static int rank, size;
static struct form form;    // of what is being moved
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
    enum rep rep;
};
static const char *const reps[REPS] = {"native", "external32", "masked"};

static void make_round(struct round *r)
{
    static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    static const int lengths[] = {2, 20, 500};
    int t = draw(4), most = lengths[draw(3)], first = draw(size);
    r->unit = 1 << t;
    r->rep = draw(2) ? NATIVE : (enum rep)draw(REPS);
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

// The same of its value in the file, which begins with the greatest digit or with the least.
static int digit_place(const struct round *r, int who, int i)
{
    return place(r, who, r->rep == EXTERNAL ? i + r->unit - 1 - i % r->unit * 2 : i);
}

static int mask_of(const struct round *r)
{
    return r->rep == MASKED ? MASK : 0;
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

// ---- the representation of the test's own ----

static const struct use {
    const struct round *round;
    int kind, bytes;
} * in_use;    // what is being moved

static int masked_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    int bytes;
    CHECK(extra == &seed && MPI_Type_size(type, &bytes) == MPI_SUCCESS);
    *extent = bytes;
    return MPI_SUCCESS;
}

static int convert(unsigned char *user, unsigned char *file, MPI_Count count, MPI_Offset first, int in)
{
    int unit = in_use->round->unit;
    for (MPI_Count i = 0; i < count * unit; i++) {
        unsigned char *u = &user[in_memory(in_use->round, in_use->kind, in_use->bytes, (int)(first * unit + i))];
        if (in)
            *u = file[i] ^ MASK;
        else
            file[i] = *u ^ MASK;
    }
    return MPI_SUCCESS;
}

static int masked_read(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    CHECK(extra == &seed && type != MPI_DATATYPE_NULL);
    return convert(user, file, count, position, 1);
}

static int masked_write(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    CHECK(extra == &seed && type != MPI_DATATYPE_NULL);
    return convert(user, file, count, position, 0);
}

// Moves a part by the form of the round; how many bytes went. Pointers stand where it begins, or are not used.
static int move(MPI_File fh, const struct round *r, struct part p, int kind)
{
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    struct use use = {r, kind, p.n};
    struct args a = {fh, p.from / r->unit, memory, p.n / r->unit, MPI_DATATYPE_NULL, &request};
    int got = -1;
    MPI_Offset end = -1;
    a.type = layout_of(r, kind, &a.count);
    in_use = &use;
    CHECK(MPI_File_seek(fh, a.offset, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(access_begin(&form, &a, &status) == MPI_SUCCESS && access_end(&form, &a, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &got) == MPI_SUCCESS && MPI_File_get_position(fh, &end) == MPI_SUCCESS);
    if (form.at == OWN && form.how == BLOCKING) CHECK(end == a.offset + got / r->unit);
    if (form.at != OWN) CHECK(end == a.offset);
    MPI_Type_free(&a.type);
    return got;
}

// What each rank moves, in what it sees or (all >= 0) in what rank `all` sees. By the shared pointer the parts follow
// each other.
static void draw_parts(const struct round *r, int all, struct part *parts)
{
    if (form.at < SHARED) {
        for (int who = 0; who < size; who++) parts[who] = draw_part(r, all < 0 ? who : all);
        return;
    }
    struct part whole = draw_part(r, all);
    for (int who = 0; who < size; who++) {
        parts[who].from = whole.from;
        parts[who].n = draw(whole.n / r->unit / (1 + draw(size)) + 1) * r->unit;
        whole.from += parts[who].n;
        whole.n -= parts[who].n;
    }
}

static void seek_shared(MPI_File fh, const struct round *r, const struct part *parts)
{
    if (form.at < SHARED) return;
    CHECK(MPI_File_seek_shared(fh, parts[0].from / r->unit, MPI_SEEK_SET) == MPI_SUCCESS);
}

static int byte_in_file(const struct round *r, int who, int i)
{
    return value(r->number, who, i) ^ mask_of(r);
}

static int is_at(const struct round *r, struct part p, int who, const unsigned char *file, int bytes)
{
    for (int i = 0; i < p.n; i++) {
        int at = digit_place(r, 0, p.from + i);
        if (at >= bytes || file[at] != byte_in_file(r, who, i)) return 0;
    }
    return 1;
}

// Parts that were written by the shared pointer at once follow each other in some order, which the file tells.
static void find_order(const struct round *r, struct part *parts, const unsigned char *file, int bytes)
{
    int from = parts[0].from, placed[RANKS] = {0};
    for (int n = 0; n < size; n++) {
        int who = 0;
        for (; who < size; who++) {
            if (placed[who]) continue;
            parts[who].from = from;
            if (is_at(r, parts[who], who, file, bytes)) break;
        }
        CHECK(who < size);
        placed[who] = 1;
        from += parts[who].n;
    }
}

// The array as it should be now.
static void note_written(const struct round *r, int all, const struct part *parts)
{
    for (int who = 0; who < size; who++) {
        for (int i = 0; i < parts[who].n; i++) {
            int at = digit_place(r, all < 0 ? who : all, parts[who].from + i);
            array[at] = (unsigned char)byte_in_file(r, who, i);
            if (at >= length) length = at + 1;
        }
    }
}

static void write_round(MPI_File fh, const struct round *r, const char *path)
{
    struct part parts[RANKS];
    int kind = draw(3), all = form.at < SHARED ? -1 : 0, ordered = form.at != SHARED;
    unsigned char *file = NULL;
    size_t n = 0;
    draw_parts(r, all, parts);
    seek_shared(fh, r, parts);
    struct part mine = parts[rank];
    for (int i = 0; i < mine.n; i++) memory[in_memory(r, kind, mine.n, i)] = value(r->number, rank, i);
    CHECK(move(fh, r, mine, kind) == mine.n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!ordered || rank == r->number % size) file = slurp(path, &n);
    if (!ordered) find_order(r, parts, file, (int)n);
    note_written(r, all, parts);
    if (file) CHECK((int)n == length && memcmp(file, array, n) == 0);
    free(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Each through its own view, or all through the view of rank `all` (-1: no).
static void read_round(MPI_File fh, const struct round *r, int all)
{
    struct part parts[RANKS];
    int kind = draw(3), who = all < 0 ? rank : all, got = -1, there = 0;
    draw_parts(r, all, parts);
    seek_shared(fh, r, parts);
    struct part p = parts[rank];
    memset(memory, FILLER, sizeof memory);
    for (int turn = 0; turn < size; turn++) {    // by the shared pointer each after the other, else all in the first
        if (form.at != SHARED ? turn == 0 : turn == rank) got = move(fh, r, p, kind);
        if (form.at == SHARED) MPI_Barrier(MPI_COMM_WORLD);
    }
    while (there < p.n && place(r, who, p.from + there) < length) there++;
    if (r->rep != NATIVE) there -= there % r->unit;    // what is converted is whole
    CHECK(got == there);
    for (int i = 0; i < p.n; i++) {
        unsigned char *m = &memory[in_memory(r, kind, p.n, i)];
        CHECK(*m == (i < there ? array[digit_place(r, who, p.from + i)] ^ mask_of(r) : FILLER));
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

static void see(MPI_File fh, const struct round *r, MPI_Datatype type)
{
    CHECK(MPI_File_set_view(fh, r->disp, r->etype, type, reps[r->rep], MPI_INFO_NULL) == MPI_SUCCESS);
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
    CHECK(MPI_Register_datarep("masked", masked_read, masked_write, masked_extent, &seed) == MPI_SUCCESS);
    MPI_File fh = open_with_hints(path);
    for (r.number = 0; r.number < rounds; r.number++) {
        make_round(&r);
        form = form_of(draw(FORMS), 1, draw(2));
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
        see(fh, &r, form.at < SHARED ? own : first);
        write_round(fh, &r, path);
        form = form_of(draw(FORMS), 0, draw(2));
        int all = form.at < SHARED && draw(4) ? -1 : 0;
        see(fh, &r, all < 0 ? own : first);
        read_round(fh, &r, all);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Type_free(&own);
        MPI_Type_free(&first);
    }
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
