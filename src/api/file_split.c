// SPDX-License-Identifier: BSD-3-Clause
// Split collectives: MPI_File_read_all_begin and MPI_File_read_all_end, and so on. The begins are in twice/file_*.c.
// Always holds: a file has one split collective under way at most; begin and end each succeed or fail on all members.
#include <string.h>

#include "api/file.h"
#include "io/access.h"
#include "io/async.h"
#include "io/collect.h"
#include "p2p/p2p.h"

int uno_file_split_begin(const struct uno_file_call *c)
{
    uno_enter(c->call);
    int err = uno_check_file(c->fh);
    if (err) return uno_raise_file(c->fh, c->call, err);
    struct MPI_ABI_File *f = uno_file(c->fh);
    if (f->split != MPI_REQUEST_NULL)
        err = uno_fail(MPI_ERR_OTHER, "%s has no end yet (one split collective at a time allowed)", f->split_call);
    struct uno_access a;
    bool begun = false;
    if (!err) {
        err = uno_file_set_up(c, &a);
        begun = !err;
    }
    err = uno_collect_begin(f, begun ? &a : NULL, err, &f->split);
    if (!err) f->split_call = c->call;
    if (err && begun && c->place == UNO_FILE_OWN) f->position = a.pos;
    return uno_finish_file(c->fh, c->call, err);
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
    if (begun) err = uno_file_agree(f, err);
    bool given_up = err && begun && f->comm->broken;    // by a failure: it has no end any more
    if (given_up && uno_wait(&f->split, MPI_STATUS_IGNORE)) uno_log(2, "a split access failed too");
    if (!err) err = uno_file_agree(f, uno_wait(&f->split, status));
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
