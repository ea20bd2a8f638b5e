// SPDX-License-Identifier: BSD-3-Clause
// The file object (file.h). Called by src/api/file*.c.
// Always holds: a call of all members ends with the same success or failure on all, so none waits for one that gave up.
#define _GNU_SOURCE
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errh.h"
#include "core/helper.h"
#include "core/info.h"
#include "core/progress.h"
#include "io/async.h"
#include "io/datarep.h"
#include "io/joint.h"
#include "io/pointer.h"
#include "io/posix.h"
#include "p2p/team.h"

static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_File), .magic = UNO_FILE_MAGIC};
struct MPI_ABI_Errhandler *uno_file_errhandler = &uno_errors_return;

struct MPI_ABI_File *uno_file(MPI_File h)
{
    return uno_head_is(h, UNO_FILE_MAGIC) ? h : NULL;
}

static int64_t worst_of(const struct MPI_ABI_Comm *c, int err)
{
    return err ? (int64_t)err << 32 | c->rank : 0;
}

static int say_verdict(const char *path, int64_t worst, char *out, size_t n)
{
    if (worst) snprintf(out, n, "%s: the call failed on rank %d", path, (int)(uint32_t)worst);
    return (int)(worst >> 32);
}

static int verdict(const char *path, int64_t worst)
{
    char why[MPI_MAX_ERROR_STRING];
    int err = say_verdict(path, worst, why, sizeof why);
    return err ? uno_fail(err, "%s", why) : MPI_SUCCESS;
}

int64_t uno_file_worst(const struct MPI_ABI_File *f, int err)
{
    return worst_of(f->comm, err);
}

int uno_file_verdict(const struct MPI_ABI_File *f, int64_t worst)
{
    return verdict(f->path, worst);
}

int uno_file_verdict_text(const struct MPI_ABI_File *f, int64_t worst, char *out, size_t n)
{
    return say_verdict(f->path, worst, out, n);
}

static int agree(struct MPI_ABI_Comm *c, const char *path, int err)
{
    struct uno_team all = uno_team_all(c, 0);
    int64_t worst = worst_of(c, err);
    int failed = uno_team_most(&all, &worst);
    if (err || failed) return err ? err : failed;
    return verdict(path, worst);
}

int uno_file_agree(struct MPI_ABI_File *f, int err)
{
    return agree(f->comm, f->path, err);
}

// Values with their names, for the message.
struct values {
    int64_t value[2];
    const char *name[2];
};

static int same(struct MPI_ABI_Comm *c, const char *path, int err, const struct values *v)
{
    const int64_t *value = v->value;
    struct uno_team all = uno_team_all(c, 0);
    // The least value is told by the most of the complements, which no value lacks as the least one lacks a negative.
    int64_t most[UNO_TEAM_VALUES] = {worst_of(c, err), value[0], ~value[0], value[1], ~value[1]};
    int lost = uno_team_most_of(&all, most, UNO_TEAM_VALUES);
    if (err || lost) return err ? err : lost;
    if (most[0]) return verdict(path, most[0]);
    for (int i = 0; i < 2; i++)
        if (most[2 * i + 1] != ~most[2 * i + 2])
            return uno_fail(MPI_ERR_NOT_SAME, "%s is not the same on all ranks (%lld .. %lld, %lld here)", v->name[i],
                            (long long)~most[2 * i + 2], (long long)most[2 * i + 1], (long long)value[i]);
    return MPI_SUCCESS;
}

int uno_file_same(struct MPI_ABI_File *f, int err, int64_t value, const char *name)
{
    return same(f->comm, f->path, err, &(struct values){{value, 0}, {name, ""}});
}

int uno_file_same_place(struct MPI_ABI_File *f, int64_t offset, int whence)
{
    return same(f->comm, f->path, MPI_SUCCESS, &(struct values){{offset, whence}, {"offset", "whence"}});
}

// ---- opening and closing ----

static int flags_of(int amode)
{
    int flags = O_CLOEXEC;
    if (amode & MPI_MODE_RDONLY) flags |= O_RDONLY;
    if (amode & MPI_MODE_WRONLY) flags |= O_WRONLY;
    if (amode & MPI_MODE_RDWR) flags |= O_RDWR;
    if (amode & MPI_MODE_CREATE) flags |= O_CREAT;
    if (amode & MPI_MODE_EXCL) flags |= O_EXCL;
    return flags;
}

// A communicator of the same members, for the file alone.
static int make_comm(struct MPI_ABI_File *f, struct MPI_ABI_Comm *c)
{
    struct uno_team all = uno_team_all(c, 0);
    int err = uno_team_comm(&all, c->group, &f->comm);
    if (err) return err;
    size_t n = strlen(f->path), most = sizeof f->comm->name - 1;
    snprintf(f->comm->name, sizeof f->comm->name, "%s", n > most ? f->path + n - most : f->path);
    f->comm->owner = f;
    uno_errh_hold(uno_file_errhandler);
    uno_errh_drop(f->comm->errhandler);
    f->comm->errhandler = uno_file_errhandler;
    return MPI_SUCCESS;
}

// Rank 0 creates the file and tells errno; then the others open what is there.
static int open_all(struct MPI_ABI_File *f)
{
    struct uno_team all = uno_team_all(f->comm, 0);
    int flags = flags_of(f->amode), number = 0;
    if (f->comm->rank == 0) {
        f->fd = uno_driver_open(f->path, flags, f->wish.permissions);
        number = f->fd < 0 ? errno : 0;
    }
    int err = uno_team_bcast(&all, &number, sizeof number);
    if (!err && !number && f->comm->rank != 0) {
        f->fd = uno_driver_open(f->path, flags & ~(O_CREAT | O_EXCL), 0);
        number = f->fd < 0 ? errno : 0;
    }
    if (!err && number) err = uno_posix_fail(number, f->path, "open the file");
    struct stat st;
    if (!err && fstat(f->fd, &st) == 0 && S_ISDIR(st.st_mode)) err = uno_posix_fail(EISDIR, f->path, "open the file");
    f->in_memory = !err && uno_posix_in_memory(f->fd);
    if (!err) uno_file_hints_apply(f);
    return uno_file_agree(f, err);
}

// Where the shared pointer is asked for by messages, rank 0 answers while it computes.
static int serve_pointer(struct MPI_ABI_File *f)
{
    if (f->comm->size == 1 || f->share.base) return MPI_SUCCESS;
    int err = f->comm->rank == 0 ? uno_helper_need(true) : MPI_SUCCESS;
    f->served = f->comm->rank == 0 && !err;
    return uno_file_agree(f, err);
}

static void forget(struct MPI_ABI_File *f)
{
    if (f->view) uno_view_drop(f->view);
    if (f->served) uno_helper_need(false);
    uno_pointer_drop(f);
    if (f->comm) {
        f->comm->owner = NULL;
        uno_comm_drop(f->comm);
    }
    if (f->info) uno_info_drop(f->info);
    if (f->fd >= 0) close(f->fd);
    if (f->direct >= 0) close(f->direct);
    free(f->path);
    free(f->leader);
    free(f->intent);
    free(f->turn);
    pthread_mutex_destroy(&f->range);
    uno_pool_put(&pool, f);
    if (pool.live == 0) uno_async_close();
}

static int to_end(struct MPI_ABI_File *f)
{
    MPI_Offset size = 0;
    int err = uno_file_get_size(f, &size);
    if (err) return err;
    f->position = (uint64_t)size;
    return f->comm->rank == 0 ? uno_pointer_set(f, (uint64_t)size) : MPI_SUCCESS;
}

static int set_up(struct MPI_ABI_File *f, struct MPI_ABI_Comm *c, const struct MPI_ABI_Info *info)
{
    struct uno_view_spec bytes = {0, MPI_BYTE, MPI_BYTE, &uno_datarep_native, true};
    int err = uno_file_hints_take(f, info);
    if (!err) err = uno_view_make(&bytes, &f->view);
    err = agree(c, f->path, err);
    if (!err) err = make_comm(f, c);
    if (!err) err = open_all(f);
    if (!err) err = uno_joint_prepare(f);
    if (!err) err = uno_pointer_make(f);
    if (!err) err = serve_pointer(f);
    if (!err && f->amode & MPI_MODE_APPEND) err = uno_file_agree(f, to_end(f));
    return err;
}

int uno_file_open(struct MPI_ABI_Comm *c, const char *path, int amode, const struct MPI_ABI_Info *info,
                  struct MPI_ABI_File **file)
{
    struct MPI_ABI_File *f = uno_pool_get(&pool);
    int err = f ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a file");
    if (f) {
        f->fd = f->direct = -1;
        f->amode = amode;
        f->split = MPI_REQUEST_NULL;
        pthread_mutex_init(&f->range, NULL);
        f->path = strdup(path);
        if (!f->path) err = uno_fail(MPI_ERR_NO_MEM, "no memory for a file");
    }
    err = same(c, path, err, &(struct values){{amode, 0}, {"amode", ""}});
    if (!err) err = set_up(f, c, info);
    if (err) {
        if (f) forget(f);
        return err;
    }
    *file = f;
    return MPI_SUCCESS;
}

static bool is_idle(void *arg)
{
    return ((struct MPI_ABI_File *)arg)->pending == 0;
}

int uno_file_close(struct MPI_ABI_File *f)
{
    struct uno_waiting why = {.comm = f->comm, .peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED};
    if (f->pending) uno_wait_until(is_idle, f, &why);
    int err = uno_file_settle(f);
    // What some systems tell of lost writes only here.
    if (close(f->fd) < 0 && !err) err = uno_posix_fail(errno, f->path, "close the file");
    f->fd = -1;
    err = uno_file_agree(f, err);
    if (f->amode & MPI_MODE_DELETE_ON_CLOSE) {
        int gone = f->comm->rank == 0 ? uno_file_delete(f->path) : MPI_SUCCESS;
        err = uno_file_agree(f, err ? err : gone);
    }
    forget(f);
    return err;
}

int uno_file_delete(const char *path)
{
    return uno_driver_remove(path) < 0 ? uno_posix_fail(errno, path, "delete the file") : MPI_SUCCESS;
}

// ---- view ----

int uno_file_set_view(struct MPI_ABI_File *f, int err, const struct uno_view_spec *spec)
{
    struct uno_view *view = NULL;
    MPI_Count extent = 0;
    if (!err) err = uno_view_make(spec, &view);
    if (!err) err = uno_datarep_extent(view->rep, view->etype, &extent);
    err = same(f->comm, f->path, err,
               &(struct values){{extent, spec->rep ? (int64_t)spec->rep->kind : 0}, {"extent of etype", "datarep"}});
    if (!err && f->comm->rank == 0) err = uno_pointer_set(f, 0);
    if (!err) err = uno_file_agree(f, MPI_SUCCESS);
    if (err) {
        if (view) uno_view_drop(view);
        return err;
    }
    uno_view_drop(f->view);
    f->view = view;
    f->position = 0;
    return MPI_SUCCESS;
}
