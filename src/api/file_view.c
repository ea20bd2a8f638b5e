// SPDX-License-Identifier: BSD-3-Clause
// Views and file pointers. Entry points of the chapter on I/O.
// Always holds: outputs are written on success only; positions are told in etypes of the view.
#include <string.h>

#include "api/file.h"
#include "core/info.h"
#include "io/datarep.h"
#include "io/pointer.h"

// ---- views ----

// Where a sequential file stands is where its shared pointer does.
static int resolve_disp(struct MPI_ABI_File *f, MPI_Offset *disp)
{
    bool sequential = f->amode & MPI_MODE_SEQUENTIAL;
    if (*disp == MPI_DISPLACEMENT_CURRENT && sequential) {
        int64_t at;
        uint64_t pos = 0;
        int err = uno_pointer_add(f, 0, &pos);
        if (!err) err = uno_view_fits(f->view, pos, 1);
        if (err) return err;
        uno_view_run(f->view, pos, 1, &at);
        *disp = at;
        return MPI_SUCCESS;
    }
    if (*disp == MPI_DISPLACEMENT_CURRENT)
        return uno_fail(MPI_ERR_ARG, "disp is MPI_DISPLACEMENT_CURRENT (only with MPI_MODE_SEQUENTIAL allowed)");
    return *disp < 0 ? uno_fail(MPI_ERR_ARG, "disp %lld is negative", (long long)*disp) : MPI_SUCCESS;
}

static int check_view(struct MPI_ABI_File *f, const char *datarep, struct uno_view_spec *spec, MPI_Info info)
{
    int err = resolve_disp(f, &spec->disp);
    if (!err) err = uno_check_type(spec->etype);
    if (!err) err = uno_check_type(spec->filetype);
    if (!err) err = uno_check_pointer(datarep, "datarep");
    if (!err) err = uno_check_info(info);
    if (err) return err;
    spec->rep = uno_datarep_find(datarep);
    spec->writable = !(f->amode & MPI_MODE_RDONLY);
    if (spec->rep) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_UNSUPPORTED_DATAREP,
                    "datarep %.64s is not known (native, internal, external32 and registered ones allowed)", datarep);
}

int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                      MPI_Info info)
{
    static const char call[] = "MPI_File_set_view";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (err) return uno_raise_file(fh, call, err);
    struct MPI_ABI_File *f = uno_file(fh);
    struct uno_view_spec spec = {.disp = disp, .etype = etype, .filetype = filetype};
    err = check_view(f, datarep, &spec, info);
    if (!err) err = uno_file_hints_take(f, uno_info(info));
    err = uno_file_set_view(f, err, &spec);
    return uno_finish_file(fh, call, err);
}

// A handle more for the user, who frees it.
static MPI_Datatype give_type(struct MPI_ABI_Datatype *t)
{
    if (t->flags & UNO_TYPE_PREDEFINED) return t->handle;
    uno_type_hold(t);
    t->users++;
    t->flags |= UNO_TYPE_LIVE;
    return t->handle;
}

int MPI_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep)
{
    static const char call[] = "MPI_File_get_view";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(disp, "disp");
    if (!err) err = uno_check_pointer(etype, "etype");
    if (!err) err = uno_check_pointer(filetype, "filetype");
    if (!err) err = uno_check_pointer(datarep, "datarep");
    if (!err) {
        const struct uno_view *v = uno_file(fh)->view;
        *disp = v->disp;
        *etype = give_type(v->etype);
        *filetype = give_type(v->filetype);
        strcpy(datarep, v->rep->name);
    }
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset *disp)
{
    static const char call[] = "MPI_File_get_byte_offset";
    uint64_t pos = 0;
    int64_t at = 0;
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(disp, "disp");
    if (!err && (offset < 0 || __builtin_mul_overflow((uint64_t)offset, (uint64_t)uno_file(fh)->view->unit, &pos)))
        err = uno_fail(MPI_ERR_ARG, "offset %lld is out of range", (long long)offset);
    if (!err) err = uno_view_fits(uno_file(fh)->view, pos, 1);
    if (!err) {
        uno_view_run(uno_file(fh)->view, pos, 1, &at);
        *disp = at;
    }
    return uno_finish_file(fh, call, err);
}

// ---- pointers ----

// Where a seek leads: bytes of the stream.
static int find_place(struct MPI_ABI_File *f, MPI_Offset offset, int whence, uint64_t current, uint64_t *place)
{
    MPI_Offset from = 0, bytes, size;
    int err = MPI_SUCCESS;
    if (whence == MPI_SEEK_CUR) {
        from = (MPI_Offset)current;
    } else if (whence == MPI_SEEK_END) {
        err = uno_file_get_size(f, &size);
        if (!err) from = (MPI_Offset)uno_view_place(f->view, size);
    } else if (whence != MPI_SEEK_SET) {
        err = uno_fail(MPI_ERR_ARG, "whence %d is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END", whence);
    }
    if (err) return err;
    if (__builtin_mul_overflow(offset, f->view->unit, &bytes) || __builtin_add_overflow(from, bytes, &from) || from < 0)
        return uno_fail(MPI_ERR_ARG, "offset %lld leads before the view's begin, or beyond 63 bits", (long long)offset);
    *place = (uint64_t)from;
    return MPI_SUCCESS;
}

int MPI_File_seek(MPI_File fh, MPI_Offset offset, int whence)
{
    static const char call[] = "MPI_File_seek";
    uno_enter(call);
    int err = uno_check_random(fh);
    if (!err) err = find_place(uno_file(fh), offset, whence, uno_file(fh)->position, &uno_file(fh)->position);
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_position(MPI_File fh, MPI_Offset *offset)
{
    static const char call[] = "MPI_File_get_position";
    uno_enter(call);
    int err = uno_check_random(fh);
    if (!err) err = uno_check_pointer(offset, "offset");
    if (!err) *offset = (MPI_Offset)uno_file(fh)->position / uno_file(fh)->view->unit;
    return uno_finish_file(fh, call, err);
}

// Collective. All are here before rank 0 sets the pointer, and it is set before one goes on.
static int seek_shared(struct MPI_ABI_File *f, MPI_Offset offset, int whence)
{
    uint64_t current = 0, place = 0;
    int err = uno_file_same_place(f, offset, whence);
    if (!err && f->comm->rank == 0) {
        err = uno_pointer_add(f, 0, &current);
        if (!err) err = find_place(f, offset, whence, current, &place);
        if (!err) err = uno_pointer_set(f, place);
    }
    return uno_file_agree(f, err);
}

int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    static const char call[] = "MPI_File_seek_shared";
    uno_enter(call);
    int err = uno_check_random(fh);
    if (!err) err = seek_shared(uno_file(fh), offset, whence);
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_position_shared(MPI_File fh, MPI_Offset *offset)
{
    static const char call[] = "MPI_File_get_position_shared";
    uint64_t current = 0;
    uno_enter(call);
    int err = uno_check_random(fh);
    if (!err) err = uno_check_pointer(offset, "offset");
    if (!err) err = uno_pointer_add(uno_file(fh), 0, &current);
    if (!err) *offset = (MPI_Offset)current / uno_file(fh)->view->unit;
    return uno_finish_file(fh, call, err);
}
