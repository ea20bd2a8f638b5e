// SPDX-License-Identifier: BSD-3-Clause
// Data accesses (access.h). Called by src/api/file_move.c and by the I/O thread.
// Writing goes run by run of the view: what lies between the runs is not touched. Reading takes runs that lie close
// together in one call. Data goes straight between buffer and file where its runs are long, else through a block.
// Always holds: the library's lock is not held, and nothing here looks at the file object but at its descriptor.
#include "io/access.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/pack.h"
#include "core/world.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/posix.h"

#define STRAIGHT ((size_t)32 << 10)    // runs in memory of so many bytes are not copied
#define BLOCK ((size_t)4 << 20)        // bytes of the block in between
#define GAP 2048                       // bytes between runs up to which reading them too is cheaper than a call
#define FAR ((uint64_t)1 << 61)        // no sum of two such offsets leaves 63 bits
#define MOST ((size_t)1 << 40)         // bytes of one run that are looked for at once

struct mover {
    struct uno_access *a;
    struct uno_packer mem;
    char *block;
    size_t room;    // there
};

int uno_access_begin(struct uno_access *a)
{
    MPI_Count size = 0;
    struct MPI_ABI_File *f = a->file;
    int err = uno_datarep_size(f->view->rep, a->type, &size);
    if (err) return err;
    if (__builtin_mul_overflow(size, a->count, (MPI_Count *)&a->bytes))
        return uno_fail(MPI_ERR_COUNT, "count %lld of a datatype of %lld bytes does not fit 63 bits",
                        (long long)a->count, (long long)size);
    if (f->view->unit > 1 && a->bytes % (uint64_t)f->view->unit)
        return uno_fail(MPI_ERR_TYPE, "%lld bytes of data are no multiple of the etype's %lld", (long long)a->bytes,
                        (long long)f->view->unit);
    if (a->write) f->written = true;
    a->view = f->view;
    a->view->refs++;
    uno_type_hold(a->type);
    a->atomic = f->atomic;
    a->sieve = f->wish.sieve;
    return MPI_SUCCESS;
}

void uno_access_end(struct uno_access *a)
{
    uno_view_drop(a->view);
    uno_type_drop(a->type);
}

static int get_block(struct mover *m)
{
    if (m->block) return MPI_SUCCESS;
    uint64_t want = m->a->write ? m->a->bytes : m->a->bytes * 4 + GAP;    // reading takes gaps too
    m->room = m->a->bytes < BLOCK && want < BLOCK ? (size_t)want : BLOCK;
    m->block = malloc(m->room);
    return m->block ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a block of %zu bytes", m->room);
}

static size_t left(const struct mover *m)
{
    uint64_t n = m->mem.total - m->mem.pos;
    return n < MOST ? (size_t)n : MOST;
}

// The next run in the file, from place `ahead` of what is left on.
static size_t file_run(const struct mover *m, size_t ahead, int64_t *at)
{
    const struct uno_access *a = m->a;
    return uno_view_run(a->view, a->pos + a->done + ahead, left(m) - ahead, at);
}

static void went(struct mover *m, size_t n)
{
    uno_packer_seek(&m->mem, m->mem.pos + n);
    m->a->done += n;
}

// n bytes of a run at `at`, straight from the user's memory or through the block.
static int write_run(struct mover *m, size_t n, int64_t at)
{
    const struct MPI_ABI_File *f = m->a->file;
    size_t straight, moved = 0;
    const char *user = uno_packer_run(&m->mem, m->mem.pos, &straight);
    if (straight >= n || straight >= STRAIGHT) {
        if (n > straight) n = straight;
        int err = uno_posix_write(f->fd, f->path, user, n, at, &moved);
        went(m, moved);
        return err;
    }
    int err = get_block(m);
    if (err) return err;
    size_t from = m->mem.pos;
    n = uno_pack(&m->mem, m->block, n < m->room ? n : m->room);
    err = uno_posix_write(f->fd, f->path, m->block, n, at, &moved);
    uno_packer_seek(&m->mem, from);
    went(m, moved);
    return err;
}

static int write_all(struct mover *m)
{
    int err = MPI_SUCCESS;
    while (left(m) > 0 && !err) {
        int64_t at;
        size_t n = file_run(m, 0, &at);
        err = write_run(m, n, at);
    }
    return err;
}

// Part of one run; *end: the file ended.
static int read_run(struct mover *m, size_t n, int64_t at, bool *end)
{
    const struct MPI_ABI_File *f = m->a->file;
    size_t straight, moved = 0;
    char *user = uno_packer_run(&m->mem, m->mem.pos, &straight);
    bool copied = straight < n && straight < STRAIGHT;
    int err = copied ? get_block(m) : MPI_SUCCESS;
    if (err) return err;
    if (copied && n > m->room) n = m->room;
    if (!copied && n > straight) n = straight;
    err = uno_posix_read(f->fd, f->path, copied ? m->block : user, n, at, &moved);
    *end = moved < n;
    if (copied) {
        size_t from = m->mem.pos;
        uno_unpack(&m->mem, m->block, moved);
        uno_packer_seek(&m->mem, from);
    }
    went(m, moved);
    return err;
}

// How far runs that follow closely reach from `at`, where one of n bytes lies: the bytes to read.
static size_t span_of(const struct mover *m, size_t n, int64_t at)
{
    int64_t end = at + (int64_t)n, next;
    for (size_t ahead = n, k; ahead < left(m); ahead += k, end = next + (int64_t)k) {
        k = file_run(m, ahead, &next);
        if (next < end || next - end > GAP || (size_t)(next - at) + k > m->room) break;
    }
    return (size_t)(end - at);
}

// Many runs with one call.
static int read_span(struct mover *m, size_t span, int64_t at, bool *end)
{
    const struct MPI_ABI_File *f = m->a->file;
    size_t got = 0;
    int err = uno_posix_read(f->fd, f->path, m->block, span, at, &got);
    while (left(m) > 0) {
        int64_t here;
        size_t n = file_run(m, 0, &here), skip = (size_t)(here - at);
        if (here < at || skip + n > span) break;    // a later span
        size_t there = skip >= got ? 0 : n < got - skip ? n : got - skip;
        size_t from = m->mem.pos;
        uno_unpack(&m->mem, m->block + skip, there);
        uno_packer_seek(&m->mem, from);
        went(m, there);
        *end = there < n;
        if (*end) break;
    }
    return err;
}

static int read_all(struct mover *m)
{
    int err = MPI_SUCCESS;
    for (bool end = false; left(m) > 0 && !err && !end;) {
        int64_t at;
        size_t n = file_run(m, 0, &at), span = n;
        if (m->a->sieve && n < STRAIGHT && n < left(m)) {
            err = get_block(m);
            if (!err) span = span_of(m, n, at);
        }
        if (!err) err = span > n ? read_span(m, span, at, &end) : read_run(m, n, at, &end);
    }
    return err;
}

// The stream from (to) one piece of memory.
static int move_native(struct uno_access *a, void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    struct mover m = {.a = a};
    uno_packer_init(&m.mem, buf, count, type);
    int err = a->write ? write_all(&m) : read_all(&m);
    free(m.block);
    return err;
}

// Some elements at a time, converted in a block.
static int move_converted(struct uno_access *a)
{
    MPI_Count size = (MPI_Count)a->bytes / a->count, some = (MPI_Count)BLOCK / size + 1;
    if (some > a->count) some = a->count;
    struct uno_conversion c = {.rep = a->view->rep, .user = a->buf, .type = a->type, .in = !a->write};
    c.file = malloc((size_t)(some * size));
    int err = c.file ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a conversion");
    for (c.first = 0; c.first < a->count && !err; c.first += c.n) {
        uint64_t before = a->done;
        c.n = a->count - c.first < some ? a->count - c.first : some;
        if (a->write) err = uno_datarep_convert(&c);
        if (!err) err = move_native(a, c.file, c.n * size, uno_type(MPI_BYTE));
        MPI_Count whole = (MPI_Count)(a->done - before) / size;
        bool end = whole < c.n;
        c.n = whole;
        if (!a->write && !err && c.n > 0) err = uno_datarep_convert(&c);
        if (!err || a->write) a->moved += c.n * a->type->size;
        if (end) break;
    }
    free(c.file);
    return err;
}

static int move(struct uno_access *a)
{
    const struct uno_datarep *r = a->view->rep;
    bool same = r->kind == UNO_REP_NATIVE ||
                (r->kind == UNO_REP_USER && !(a->write ? r->write || r->write_c : r->read || r->read_c) &&
                 (MPI_Count)a->bytes == a->count * a->type->size);
    if (!same) return move_converted(a);
    int err = move_native(a, a->buf, a->count, a->type);
    a->moved = (MPI_Count)a->done;
    return err;
}

static bool is_straight(const struct uno_access *a)
{
    const struct uno_view *v = a->view;
    return v->plain && v->rep->kind == UNO_REP_NATIVE && a->type->flags & UNO_TYPE_PLAIN && !a->atomic &&
           a->pos + a->bytes < FAR && (uint64_t)v->disp + v->lead < FAR;
}

static int64_t straight_place(const struct uno_access *a)
{
    return a->view->disp + (int64_t)(a->view->lead + a->pos);
}

// One run in memory and in the file: what small accesses mostly are.
static int move_straight(struct uno_access *a)
{
    const struct MPI_ABI_File *f = a->file;
    int64_t at = straight_place(a);
    size_t moved;
    int err = a->write ? uno_posix_write(f->fd, f->path, a->buf, a->bytes, at, &moved)
                       : uno_posix_read(f->fd, f->path, a->buf, a->bytes, at, &moved);
    a->done = moved;
    a->moved = (MPI_Count)moved;
    return err;
}

int uno_access_run(struct uno_access *a)
{
    a->done = 0;
    a->moved = 0;
    if (a->bytes == 0) return MPI_SUCCESS;
    if (is_straight(a)) return move_straight(a);
    int err = uno_view_fits(a->view, a->pos, a->bytes);
    if (err || !a->atomic) return err ? err : move(a);
    struct MPI_ABI_File *f = a->file;
    int64_t first, last;
    uno_view_run(a->view, a->pos, 1, &first);
    uno_view_run(a->view, a->pos + a->bytes - 1, 1, &last);
    int64_t n = last - first + 1;
    if (!uno_view_ascends(a->view, a->pos, a->bytes)) {    // all that may follow
        first = a->view->disp;
        n = 0;
    }
    pthread_mutex_lock(&f->range);
    err = uno_posix_lock(f->fd, f->path, a->write, first, n);
    if (!err) {
        err = move(a);
        uno_posix_unlock(f->fd, first, n);
    }
    pthread_mutex_unlock(&f->range);
    return err;
}

int uno_access_alone(struct uno_access *a)
{
    int depth = uno_lock_drop();
    int err = uno_access_run(a);
    uno_lock_retake(depth);
    return err;
}

bool uno_access_read_now(struct uno_access *a)
{
    if (a->write || a->bytes == 0 || !is_straight(a)) return false;
    if (!uno_posix_read_now(a->file->fd, a->buf, a->bytes, straight_place(a))) return false;
    a->done = a->bytes;
    a->moved = (MPI_Count)a->bytes;
    return true;
}
