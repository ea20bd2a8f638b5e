// SPDX-License-Identifier: BSD-3-Clause
// Data accesses (access.h). Called by src/api/file_move.c and by the I/O thread.
// Writing goes run by run of the view: what lies between the runs is not touched. Reading takes runs that lie close
// together in one call. Data goes straight between buffer and file where its runs are long, else through a block.
// Always holds: the library's lock is not held, and nothing here looks at the file object but at its descriptor.
#include "io/access.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/pack.h"
#include "core/pack_kernel.h"
#include "core/world.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/posix.h"

#define STRAIGHT ((size_t)32 << 10)    // runs in memory of so many bytes are not copied
#define BLOCK ((size_t)256 << 10)      // bytes of the block in between, which stays in the cache
// Writers of a file in memory wait for each other. What each writes at once goes in pieces, so that all end together:
// a rank that has nothing to do until the others end falls asleep, and waking it takes as long as a write of 1 MiB.
#define TURN ((size_t)256 << 10)
#define GAP 2048                   // bytes between runs up to which reading them too is cheaper than a call
#define FAR ((uint64_t)1 << 61)    // no sum of two such offsets leaves 63 bits
#define MOST ((size_t)1 << 40)     // bytes of one run that are looked for at once

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
    a->direct = f->wish.direct ? f->direct : -1;
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
    m->room = (m->room + UNO_POSIX_PAGE - 1) / UNO_POSIX_PAGE * UNO_POSIX_PAGE;
    m->block = m->a->direct < 0 ? malloc(m->room) : aligned_alloc(UNO_POSIX_PAGE, m->room);
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

static int write_once(const struct uno_access *a, const char *data, size_t n, int64_t at, size_t *moved)
{
    const struct MPI_ABI_File *f = a->file;
    size_t rest, k = a->direct < 0 ? 0 : uno_posix_direct(a->direct, true, (char *)(uintptr_t)data, n, at);
    int err = uno_posix_write(f->fd, f->path, data + k, n - k, at + (int64_t)k, &rest);
    *moved = k + rest;
    return err;
}

static int read_once(const struct uno_access *a, char *data, size_t n, int64_t at, size_t *moved)
{
    const struct MPI_ABI_File *f = a->file;
    size_t rest, k = a->direct < 0 ? 0 : uno_posix_direct(a->direct, false, data, n, at);
    int err = uno_posix_read(f->fd, f->path, data + k, n - k, at + (int64_t)k, &rest);
    *moved = k + rest;
    return err;
}

static int write_bytes(const struct uno_access *a, const char *data, size_t n, int64_t at, size_t *moved)
{
    size_t most = a->file->in_memory && a->file->comm->size > 1 ? TURN : n, k;
    int err = MPI_SUCCESS;
    for (*moved = 0; *moved < n && !err; *moved += k) {
        size_t left = n - *moved;
        err = write_once(a, data + *moved, left < most ? left : most, at + (int64_t)*moved, &k);
    }
    return err;
}

// n bytes of a run at `at`, straight from the user's memory or through the block.
static int write_run(struct mover *m, size_t n, int64_t at)
{
    size_t straight, moved = 0;
    const char *user = uno_packer_run(&m->mem, m->mem.pos, &straight);
    if (straight >= n || straight >= STRAIGHT) {
        if (n > straight) n = straight;
        int err = write_bytes(m->a, user, n, at, &moved);
        went(m, moved);
        return err;
    }
    int err = get_block(m);
    if (err) return err;
    size_t from = m->mem.pos;
    n = uno_pack(&m->mem, m->block, n < m->room ? n : m->room);
    err = write_once(m->a, m->block, n, at, &moved);
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
    size_t straight, moved = 0;
    char *user = uno_packer_run(&m->mem, m->mem.pos, &straight);
    bool copied = straight < n && straight < STRAIGHT;
    int err = copied ? get_block(m) : MPI_SUCCESS;
    if (err) return err;
    if (copied && n > m->room) n = m->room;
    if (!copied && n > straight) n = straight;
    err = read_once(m->a, copied ? m->block : user, n, at, &moved);
    *end = moved < n;
    if (copied) {
        size_t from = m->mem.pos;
        uno_unpack(&m->mem, m->block, moved);
        uno_packer_seek(&m->mem, from);
    }
    went(m, moved);
    return err;
}

static struct uno_view_rows file_rows(const struct mover *m, size_t ahead)
{
    const struct uno_access *a = m->a;
    return uno_view_rows(a->view, a->pos + a->done + ahead, left(m) - ahead);
}

// Of these rows, how many end within so many bytes from their begin.
static size_t rows_within(const struct uno_view_rows *r, size_t bytes)
{
    if (bytes < r->len) return 0;
    size_t n = r->n > 1 ? (bytes - r->len) / (size_t)r->apart + 1 : 1;
    return n < r->n ? n : r->n;
}

// How far runs that follow closely reach from `at`, where the first one lies: the bytes to read.
static size_t span_of(const struct mover *m, int64_t at)
{
    int64_t end = at;
    for (size_t ahead = 0; ahead < left(m);) {
        struct uno_view_rows r = file_rows(m, ahead);
        if (r.at < end || (ahead > 0 && r.at - end > GAP)) break;
        size_t skip = (size_t)(r.at - at), n = skip < m->room ? rows_within(&r, m->room - skip) : 0;
        if (n > 1 && r.apart - (int64_t)r.len > GAP) n = 1;
        if (n == 0) break;
        end = r.at + (int64_t)(n - 1) * r.apart + (int64_t)r.len;
        ahead += n * r.len;
        if (n < r.n) break;
    }
    return (size_t)(end - at);
}

// n rows of the block, to where they belong.
static void take_rows(struct mover *m, const struct uno_view_rows *r, const char *from, size_t n)
{
    if (n > 1 && m->mem.type->flags & UNO_TYPE_PLAIN) {
        uno_copy_runs(m->mem.buf + m->mem.pos, (ptrdiff_t)r->len, from, r->apart, r->len, n);
        went(m, n * r->len);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uno_unpack(&m->mem, from + (ptrdiff_t)i * r->apart, r->len);
        m->a->done += r->len;
    }
}

// Many runs with one call.
static int read_span(struct mover *m, size_t span, int64_t at, bool *end)
{
    size_t got = 0;
    int err = read_once(m->a, m->block, span, at, &got);
    while (left(m) > 0 && !*end) {
        struct uno_view_rows r = file_rows(m, 0);
        size_t skip = (size_t)(r.at - at);
        if (r.at < at || skip >= span) break;    // a later span
        size_t n = rows_within(&r, span - skip), whole = skip < got ? rows_within(&r, got - skip) : 0;
        if (n == 0) break;
        if (whole > n) whole = n;
        take_rows(m, &r, m->block + skip, whole);
        *end = whole < n;
        if (!*end) continue;
        skip += whole * (size_t)r.apart;
        size_t rest = skip < got ? got - skip : 0, from = m->mem.pos;    // of the row in which the file ends
        if (rest > r.len) rest = r.len;
        uno_unpack(&m->mem, m->block + skip, rest);
        uno_packer_seek(&m->mem, from);
        went(m, rest);
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
            if (!err) span = span_of(m, at);
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

// The file ended within an element.
static int read_rest(const struct uno_conversion *c, MPI_Count there, MPI_Count size, MPI_Count *moved)
{
    struct uno_conversion rest = *c;
    MPI_Count bytes = there % size, more = 0;
    rest.first += c->n;
    rest.file += there - bytes;
    int err = bytes ? uno_datarep_convert_part(&rest, bytes, &more) : MPI_SUCCESS;
    *moved += more;
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
        MPI_Count there = (MPI_Count)(a->done - before), asked = c.n * size;
        c.n = there / size;
        if (!a->write && !err && c.n > 0) err = uno_datarep_convert(&c);
        if (!err || a->write) a->moved += c.n * a->type->size;
        if (there == asked) continue;
        if (!a->write && !err) err = read_rest(&c, there, size, &a->moved);
        break;
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
    int64_t at = straight_place(a);
    size_t moved;
    int err = a->write ? write_bytes(a, a->buf, a->bytes, at, &moved) : read_once(a, a->buf, a->bytes, at, &moved);
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
    if (a->write || a->bytes == 0 || a->direct >= 0 || !is_straight(a)) return false;
    if (!uno_posix_read_now(a->file->fd, a->buf, a->bytes, straight_place(a))) return false;
    a->done = a->bytes;
    a->moved = (MPI_Count)a->bytes;
    return true;
}

bool uno_access_at_once(struct MPI_ABI_File *f, bool write, void *buf, size_t n, MPI_Offset offset)
{
    const struct uno_view *v = f->view;
    uint64_t pos;
    if (!v->plain || v->rep->kind != UNO_REP_NATIVE || f->atomic || f->wish.direct) return false;
    if (offset < 0 || n == 0 || n > TURN) return false;
    if (__builtin_mul_overflow((uint64_t)offset, (uint64_t)v->unit, &pos) || n % (size_t)v->unit) return false;
    if (pos >= FAR || (uint64_t)v->disp + v->lead >= FAR) return false;
    int64_t at = v->disp + (int64_t)(v->lead + pos);
    if (write) f->written = true;
    int fd = f->fd, depth = uno_lock_drop();
    bool moved = uno_posix_at_once(fd, write, buf, n, at);
    uno_lock_retake(depth);
    return moved;
}
