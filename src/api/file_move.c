// SPDX-License-Identifier: BSD-3-Clause
// Data accesses on files from raw arguments to the status or request: what all forms in twice/file_*.c share.
// Always holds: members of a collective access agree on its outcome, also when one has a wrong argument; a file has
// one split collective under way at most.
#include <string.h>

#include "api/file.h"
#include "io/access.h"
#include "io/async.h"
#include "io/pointer.h"
#include "p2p/p2p.h"

static int check_mode(const struct MPI_ABI_File *f, const struct uno_file_call *c)
{
    if (c->write && f->amode & MPI_MODE_RDONLY)
        return uno_fail(MPI_ERR_READ_ONLY, "fh was opened with MPI_MODE_RDONLY");
    if (!c->write && f->amode & MPI_MODE_WRONLY) return uno_fail(MPI_ERR_ACCESS, "fh was opened with MPI_MODE_WRONLY");
    if (c->place < UNO_FILE_SHARED) return uno_check_random(c->fh);
    return MPI_SUCCESS;
}

static int check_call(const struct uno_file_call *c)
{
    struct MPI_ABI_File *f = uno_file(c->fh);
    int err = check_mode(f, c);
    if (!err) err = uno_check_count(c->count);
    if (!err) err = uno_check_type(c->type);
    if (!err) err = uno_check_buffer(c->buf, c->count, uno_type(c->type));
    if (err || c->place != UNO_FILE_AT) return err;
    uint64_t pos;
    if (c->offset >= 0 && !__builtin_mul_overflow((uint64_t)c->offset, (uint64_t)f->view->unit, &pos))
        return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "offset %lld is out of range (0 or more allowed)", (long long)c->offset);
}

// Where the access begins; pointers move on by what was asked for.
static int find_begin(const struct uno_file_call *c, struct uno_access *a, int err)
{
    struct MPI_ABI_File *f = a->file;
    switch (c->place) {
    case UNO_FILE_AT: a->pos = err ? 0 : (uint64_t)c->offset * (uint64_t)f->view->unit; break;
    case UNO_FILE_OWN:
        a->pos = f->position;
        if (!err) f->position += a->bytes;
        break;
    case UNO_FILE_SHARED: return err ? err : uno_pointer_add(f, a->bytes, &a->pos);
    case UNO_FILE_ORDERED: {
        int agreed = uno_file_agree(f, err);
        return agreed ? agreed : uno_pointer_order(f, a->bytes, &a->pos);
    }
    }
    return err;
}

// The access set up, when 0 is returned: uno_access_end follows.
static int set_up(const struct uno_file_call *c, struct uno_access *a)
{
    *a = (struct uno_access){.file = uno_file(c->fh),
                             .write = c->write,
                             .buf = (void *)(uintptr_t)c->buf,
                             .count = c->count,
                             .type = uno_type(c->type)};
    int err = check_call(c);
    if (!err) err = uno_access_begin(a);
    bool begun = !err;
    err = find_begin(c, a, err);
    if (err && begun) uno_access_end(a);
    return err;
}

static uint64_t unit_of(const struct uno_access *a)
{
    return (uint64_t)a->view->unit;
}

int uno_file_move(struct uno_file_call c, MPI_Status *status)
{
    struct uno_access a;
    uno_enter(c.call);
    int err = uno_check_file(c.fh);
    if (err) return uno_raise_file(c.fh, c.call, err);
    err = set_up(&c, &a);
    if (!err) {
        int depth = uno_lock_drop();
        err = uno_access_run(&a);
        uno_lock_retake(depth);
        // After less than was asked for the pointer stands behind what there was.
        if (c.place == UNO_FILE_OWN && a.done < a.bytes) a.file->position = a.pos + a.done - a.done % unit_of(&a);
        uno_access_end(&a);
    }
    if (c.all) err = uno_file_agree(uno_file(c.fh), err);
    if (!err && status != MPI_STATUS_IGNORE) {
        int kept = status->MPI_ERROR;
        memset(status, 0, sizeof *status);
        uno_status_empty(status);
        status->MPI_ERROR = kept;
        uno_status_set_bytes(status, a.moved);
    }
    return uno_finish_file(c.fh, c.call, err);
}

static int start(const struct uno_file_call *c, MPI_Request *request)
{
    struct uno_access a;
    int err = set_up(c, &a);
    if (err) return err;
    err = uno_async_start(&a, request);
    if (err) uno_access_end(&a);
    return err;
}

int uno_file_start(struct uno_file_call c, MPI_Request *request)
{
    uno_enter(c.call);
    int err = uno_check_file(c.fh);
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = start(&c, request);
    return uno_finish_file(c.fh, c.call, err);
}

// ---- split collectives: MPI_File_read_all_begin and MPI_File_read_all_end ----

int uno_file_split_begin(struct uno_file_call c)
{
    uno_enter(c.call);
    int err = uno_check_file(c.fh);
    if (err) return uno_raise_file(c.fh, c.call, err);
    struct MPI_ABI_File *f = uno_file(c.fh);
    if (f->split != MPI_REQUEST_NULL)
        err = uno_fail(MPI_ERR_OTHER, "%s has no end yet (one split collective at a time allowed)", f->split_call);
    if (!err) err = start(&c, &f->split);
    if (!err) f->split_call = c.call;
    return uno_finish_file(c.fh, c.call, err);
}

// Whether begin and end are of one kind: "..._begin" and "..._end", with or without _c.
static bool pairs(const char *begin, const char *end)
{
    size_t n = strlen(end) - strlen("_end");
    return strncmp(begin, end, n) == 0 && strncmp(begin + n, "_begin", 6) == 0;
}

int uno_file_split_end(const char *call, MPI_File fh, const void *buf, MPI_Status *status)
{
    uno_enter(call);
    int err = uno_check_file(fh);
    if (err) return uno_raise_file(fh, call, err);
    struct MPI_ABI_File *f = uno_file(fh);
    bool begun = f->split != MPI_REQUEST_NULL;
    if (!buf && (!begun || uno_async_buffer(f->split)))
        err = uno_fail(MPI_ERR_BUFFER, "buffer is NULL (the one given to the begin needed)");
    else if (!begun)
        err = uno_fail(MPI_ERR_OTHER, "no split collective was begun");
    else if (!pairs(f->split_call, call))
        err = uno_fail(MPI_ERR_OTHER, "the split collective under way was begun by %s", f->split_call);
    if (!err) err = uno_wait(&f->split, status);
    return uno_finish_file(fh, call, err);
}

int MPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_read_at_all_end", fh, buf, status);
}

int MPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_read_all_end", fh, buf, status);
}

int MPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_read_ordered_end", fh, buf, status);
}

int MPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_write_at_all_end", fh, buf, status);
}

int MPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_write_all_end", fh, buf, status);
}

int MPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return uno_file_split_end("MPI_File_write_ordered_end", fh, buf, status);
}
