// SPDX-License-Identifier: BSD-3-Clause
// Files: opening, closing, size, info, groups, error handlers, atomicity, sync. Entry points of the chapter on I/O;
// views and pointers are in file_view.c, data accesses in file_move.c and twice/file_*.c.
// Always holds: a collective call with a wrong argument fails on all ranks, once they can speak to each other.
#include "api/file.h"

#include "core/errh.h"
#include "core/info.h"

int uno_check_file(MPI_File fh)
{
    int err = uno_check_running();
    if (err || uno_file(fh)) return err;
    if (fh == MPI_FILE_NULL) return uno_fail(MPI_ERR_FILE, "fh is MPI_FILE_NULL");
    return uno_fail(MPI_ERR_FILE, "fh %p is not a file (was it closed?)", (void *)fh);
}

int uno_check_random(MPI_File fh)
{
    int err = uno_check_file(fh);
    if (err || !(uno_file(fh)->amode & MPI_MODE_SEQUENTIAL)) return err;
    return uno_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                    "fh was opened with MPI_MODE_SEQUENTIAL (reading and writing at the shared pointer allowed)");
}

static int check_amode(int amode)
{
    const int access = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;
    const int all = access | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN |
                    MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;
    if (amode & ~all) return uno_fail(MPI_ERR_AMODE, "amode %d has unknown bits (%d of them)", amode, amode & ~all);
    if (__builtin_popcount((unsigned)(amode & access)) != 1)
        return uno_fail(MPI_ERR_AMODE,
                        "amode %d needs one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR (has %d)", amode,
                        __builtin_popcount((unsigned)(amode & access)));
    if (amode & MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        return uno_fail(MPI_ERR_AMODE, "amode %d has MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL", amode);
    if (amode & MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
        return uno_fail(MPI_ERR_AMODE, "amode %d has MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL", amode);
    return MPI_SUCCESS;
}

int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    static const char call[] = "MPI_File_open";
    uno_enter(call);
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_pointer(filename, "filename");
    if (!err) err = check_amode(amode);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(fh, "fh");
    struct MPI_ABI_File *f = NULL;
    if (!err) err = uno_file_open(uno_comm(comm), filename, amode, uno_info(info), &f);
    if (!err) *fh = f;
    return uno_finish_file(MPI_FILE_NULL, call, err);
}

int MPI_File_close(MPI_File *fh)
{
    static const char call[] = "MPI_File_close";
    uno_enter(call);
    MPI_File handle = fh ? *fh : MPI_FILE_NULL;
    int err = uno_check_pointer(fh, "fh");
    if (!err) err = uno_check_file(handle);
    if (!err && uno_file(handle)->split != MPI_REQUEST_NULL)
        err = uno_fail(MPI_ERR_OTHER, "%s_begin has no end yet", uno_file(handle)->split_call);
    if (err) return uno_raise_file(handle, call, err);
    err = uno_file_close(uno_file(handle));
    *fh = MPI_FILE_NULL;    // it is closed even if that told of an error
    return uno_finish_file(MPI_FILE_NULL, call, err);
}

int MPI_File_delete(const char *filename, MPI_Info info)
{
    static const char call[] = "MPI_File_delete";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(filename, "filename");
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_file_delete(filename);
    return uno_finish_file(MPI_FILE_NULL, call, err);
}

// ---- size ----

int MPI_File_get_size(MPI_File fh, MPI_Offset *size)
{
    static const char call[] = "MPI_File_get_size";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) err = uno_file_get_size(uno_file(fh), size);
    return uno_finish_file(fh, call, err);
}

// What changing the size needs, agreed on: all are here before rank 0 changes it.
static int check_new_size(struct MPI_ABI_File *f, MPI_Offset size)
{
    int err = MPI_SUCCESS;
    if (size < 0) err = uno_fail(MPI_ERR_ARG, "size %lld is negative", (long long)size);
    if (!err && f->amode & MPI_MODE_RDONLY) err = uno_fail(MPI_ERR_READ_ONLY, "fh was opened with MPI_MODE_RDONLY");
    if (!err && f->amode & MPI_MODE_SEQUENTIAL)
        err = uno_fail(MPI_ERR_UNSUPPORTED_OPERATION, "fh was opened with MPI_MODE_SEQUENTIAL");
    return uno_file_same(f, err, size, "size");
}

int MPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    static const char call[] = "MPI_File_set_size";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = check_new_size(uno_file(fh), size);
    if (!err) err = uno_file_set_size(uno_file(fh), size);
    return uno_finish_file(fh, call, err);
}

int MPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    static const char call[] = "MPI_File_preallocate";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = check_new_size(uno_file(fh), size);
    if (!err) err = uno_file_preallocate(uno_file(fh), size);
    return uno_finish_file(fh, call, err);
}

int MPI_File_sync(MPI_File fh)
{
    static const char call[] = "MPI_File_sync";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_file_sync(uno_file(fh));
    return uno_finish_file(fh, call, err);
}

// ---- what it was opened with ----

int MPI_File_get_amode(MPI_File fh, int *amode)
{
    static const char call[] = "MPI_File_get_amode";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(amode, "amode");
    if (!err) *amode = uno_file(fh)->amode;
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_group(MPI_File fh, MPI_Group *group)
{
    static const char call[] = "MPI_File_get_group";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(group, "group");
    if (!err) {
        uno_group_hold(uno_file(fh)->comm->group);
        *group = uno_group_give(uno_file(fh)->comm->group);
    }
    return uno_finish_file(fh, call, err);
}

int MPI_File_set_info(MPI_File fh, MPI_Info info)
{
    static const char call[] = "MPI_File_set_info";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_file_hints_take(uno_file(fh), uno_info(info));
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_info(MPI_File fh, MPI_Info *info_used)
{
    static const char call[] = "MPI_File_get_info";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(info_used, "info_used");
    if (!err) {
        struct MPI_ABI_Info *all = uno_file_hints_all(uno_file(fh));
        if (all)
            *info_used = all;
        else
            err = uno_fail(MPI_ERR_NO_MEM, "no memory for the hints");
    }
    return uno_finish_file(fh, call, err);
}

int MPI_File_set_atomicity(MPI_File fh, int flag)
{
    static const char call[] = "MPI_File_set_atomicity";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_file_same(uno_file(fh), MPI_SUCCESS, flag != 0, "flag");
    if (!err) uno_file(fh)->atomic = flag != 0;
    return uno_finish_file(fh, call, err);
}

int MPI_File_get_atomicity(MPI_File fh, int *flag)
{
    static const char call[] = "MPI_File_get_atomicity";
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) *flag = uno_file(fh)->atomic;
    return uno_finish_file(fh, call, err);
}

// ---- error handlers: that of MPI_FILE_NULL is what files get when they are opened ----

static int check_handled(MPI_File file)
{
    return file == MPI_FILE_NULL ? uno_check_running() : uno_check_file(file);
}

static struct MPI_ABI_Errhandler **handler_of(MPI_File file)
{
    return file == MPI_FILE_NULL ? &uno_file_errhandler : &uno_file(file)->comm->errhandler;
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    static const char call[] = "MPI_File_set_errhandler";
    uno_enter(call);
    int err = check_handled(file);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_FILE);
    if (!err) {
        struct MPI_ABI_Errhandler *e = uno_errh(errhandler), **place = handler_of(file);
        uno_errh_hold(e);
        uno_errh_drop(*place);
        *place = e;
    }
    return uno_finish_file(file, call, err);
}

int MPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
    static const char call[] = "MPI_File_get_errhandler";
    uno_enter(call);
    int err = check_handled(file);
    if (!err) err = uno_check_pointer(errhandler, "errhandler");
    if (!err) {
        struct MPI_ABI_Errhandler *e = *handler_of(file);
        uno_errh_hold(e);
        *errhandler = uno_errh_give(e);
    }
    return uno_finish_file(file, call, err);
}

int MPI_File_call_errhandler(MPI_File fh, int errorcode)
{
    static const char call[] = "MPI_File_call_errhandler";
    uno_enter(call);
    int err = check_handled(fh);
    if (!err) err = uno_called_with(errorcode);
    if (err) return uno_raise_file(fh, call, err);
    uno_raise_file(fh, call, errorcode);
    return MPI_SUCCESS;
}
