// SPDX-License-Identifier: BSD-3-Clause
// Data accesses on files from raw arguments to the status or request: what all forms in twice/file_*.c share.
// Always holds: members of a collective access agree on its outcome, also when one has a wrong argument.
#include <string.h>

#include "api/file.h"
#include "io/access.h"
#include "io/async.h"
#include "io/collect.h"
#include "io/pointer.h"

static int check_mode(const struct MPI_ABI_File *f, const struct uno_file_call *c)
{
    if (c->write && f->amode & MPI_MODE_RDONLY)
        return uno_fail(MPI_ERR_READ_ONLY, "fh was opened with MPI_MODE_RDONLY");
    if (!c->write && f->amode & MPI_MODE_WRONLY) return uno_fail(MPI_ERR_ACCESS, "fh was opened with MPI_MODE_WRONLY");
    bool random = c->place < UNO_FILE_SHARED && f->amode & MPI_MODE_SEQUENTIAL;
    return random ? uno_check_random(c->fh) : MPI_SUCCESS;
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
    case UNO_FILE_ORDERED: return uno_pointer_order(f, err, a->bytes, &a->pos);
    }
    return err;
}

int uno_file_set_up(const struct uno_file_call *c, struct uno_access *a)
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

int uno_file_move(const struct uno_file_call *c, MPI_Status *status)
{
    struct uno_access a;
    uno_enter(c->call);
    int err = uno_check_file(c->fh);
    if (err) return uno_raise_file(c->fh, c->call, err);
    err = uno_file_set_up(c, &a);
    bool begun = !err;
    if (c->place == UNO_FILE_ORDERED)    // agreed on; the parts follow each other
        err = err ? err : uno_file_agree(a.file, uno_access_alone(&a));
    else if (c->all)
        err = uno_collect_run(uno_file(c->fh), begun ? &a : NULL, err);
    else if (begun)
        err = uno_access_alone(&a);
    if (begun) {
        // After less than was asked for the pointer stands behind what there was.
        if (c->place == UNO_FILE_OWN && a.done < a.bytes) a.file->position = a.pos + a.done - a.done % unit_of(&a);
        uno_access_end(&a);
    }
    if (!err && status != MPI_STATUS_IGNORE) {
        int kept = status->MPI_ERROR;
        memset(status, 0, sizeof *status);
        uno_status_empty(status);
        status->MPI_ERROR = kept;
        uno_status_set_bytes(status, a.moved);
    }
    return uno_finish_file(c->fh, c->call, err);
}

static int start(const struct uno_file_call *c, MPI_Request *request)
{
    struct uno_access a;
    int err = uno_file_set_up(c, &a);
    if (err) return err;
    err = uno_async_start(&a, request);
    if (err) uno_access_end(&a);
    return err;
}

int uno_file_start(const struct uno_file_call *c, MPI_Request *request)
{
    uno_enter(c->call);
    int err = uno_check_file(c->fh);
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = start(c, request);
    return uno_finish_file(c->fh, c->call, err);
}
