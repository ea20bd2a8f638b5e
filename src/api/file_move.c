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

// The shared pointer goes back where the access would end beyond what files can hold.
static int find_shared(struct uno_access *a)
{
    uint64_t undone;
    int err = uno_pointer_add(a->file, a->bytes, &a->pos);
    if (err) return err;
    err = uno_view_fits(a->view, a->pos, a->bytes);
    if (err && uno_pointer_add(a->file, -a->bytes, &undone)) uno_log(2, "the shared pointer was not put back");
    return err;
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
    case UNO_FILE_SHARED: return err ? err : find_shared(a);
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

static void tell_status(MPI_Status *status, MPI_Count moved)
{
    if (status == MPI_STATUS_IGNORE) return;
    int kept = status->MPI_ERROR;
    memset(status, 0, sizeof *status);
    uno_status_empty(status);
    status->MPI_ERROR = kept;
    uno_status_set_bytes(status, moved);
}

// Whether it was an access of the usual kind, and is done. All others, and what is wrong, are for the general way.
static bool is_done_at_once(const struct uno_file_call *c, MPI_Status *status)
{
    const int usual = UNO_TYPE_PLAIN | UNO_TYPE_COMMITTED;
    const MPI_Count most = 1 << 30;    // of a count and a size: no product overflows
    struct MPI_ABI_File *f = uno_file(c->fh);
    if (!f || c->all || c->place != UNO_FILE_AT || check_mode(f, c) || !uno_type_is_live(c->type)) return false;
    const struct MPI_ABI_Datatype *t = uno_type(c->type);
    if ((t->flags & usual) != usual || c->count <= 0 || c->count > most || t->size > most) return false;
    if (!c->buf || c->buf == MPI_IN_PLACE || uno_check_running()) return false;
    size_t n = (size_t)(c->count * t->size);
    if (!uno_access_at_once(f, c->write, (void *)(uintptr_t)c->buf, n, c->offset)) return false;
    tell_status(status, (MPI_Count)n);
    return true;
}

int uno_file_move(const struct uno_file_call *c, MPI_Status *status)
{
    struct uno_access a;
    uno_enter(c->call);
    if (is_done_at_once(c, status)) return uno_finish_file(c->fh, c->call, MPI_SUCCESS);
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
    if (!err) tell_status(status, a.moved);
    return uno_finish_file(c->fh, c->call, err);
}

static int start(const struct uno_file_call *c, MPI_Request *request)
{
    struct uno_access a;
    int err = uno_check_pointer(request, "request");
    if (!err) err = uno_file_set_up(c, &a);
    if (err) return err;
    a.agreed = c->all && a.file->comm->size > 1;
    err = uno_async_start(&a, request);
    if (err) uno_access_end(&a);
    return err;
}

int uno_file_start(const struct uno_file_call *c, MPI_Request *request)
{
    uno_enter(c->call);
    int err = uno_check_file(c->fh);
    if (err) return uno_raise_file(c->fh, c->call, err);
    err = start(c, request);
    if (err && c->all && uno_file(c->fh)->comm->size > 1) err = uno_async_refused(uno_file(c->fh), err);
    return uno_finish_file(c->fh, c->call, err);
}
