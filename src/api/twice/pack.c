// SPDX-License-Identifier: BSD-3-Clause
// Entry points that pack into and out of memory: the native form (core/pack.c) and external32 (core/external.c).
// Always holds: a buffer too small is an error before a byte is written; the position moves on success only.
#include <string.h>

#include "api/check.h"
#include "api/twice/twice.h"
#include "core/external.h"
#include "core/pack.h"

// One call: `packed` has `room` bytes, of which `position` are used.
struct args {
    const char *call;
    void *user, *packed;
    MPI_Count count, room, position;
    MPI_Datatype datatype;
    bool in, external;
};

static int check_args(const struct args *a, MPI_Count *bytes)
{
    int err = uno_check_count(a->count);
    if (!err) err = uno_check_type(a->datatype);
    if (err) return err;
    const struct MPI_ABI_Datatype *t = uno_type(a->datatype);
    if ((err = uno_check_buffer(a->user, a->count, t))) return err;
    if (a->room < 0) return uno_fail(MPI_ERR_ARG, "the buffer's size %lld is negative", (long long)a->room);
    if (a->position < 0 || a->position > a->room)
        return uno_fail(MPI_ERR_ARG, "position %lld is out of range (0 .. %lld allowed)", (long long)a->position,
                        (long long)a->room);
    if (__builtin_mul_overflow(a->count, a->external ? uno_external_size(t) : t->size, bytes) ||
        *bytes > a->room - a->position)
        return uno_fail(MPI_ERR_TRUNCATE, "the buffer has %lld bytes left, %lld elements of %lld bytes need more",
                        (long long)(a->room - a->position), (long long)a->count, (long long)t->size);
    if (*bytes == 0 || (a->packed && a->packed != MPI_IN_PLACE)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_BUFFER, "%s is %s", a->in ? "inbuf" : "outbuf", a->packed ? "MPI_IN_PLACE" : "NULL");
}

// Moves the data; the number of bytes is the result, an error is in *err.
static MPI_Count transfer(const struct args *a, int *err)
{
    MPI_Count bytes = 0;
    *err = check_args(a, &bytes);
    if (*err || bytes == 0) return 0;
    const struct MPI_ABI_Datatype *t = uno_type(a->datatype);
    char *packed = (char *)a->packed + a->position;
    if (a->external)
        return a->in ? uno_external_unpack(packed, a->user, a->count, t)
                     : uno_external_pack(a->user, a->count, t, packed);
    struct uno_packer p;
    uno_packer_init(&p, a->user, a->count, t);
    return (MPI_Count)(a->in ? uno_unpack(&p, packed, (size_t)bytes) : uno_pack(&p, packed, (size_t)bytes));
}

// Runs a native call on a communicator; *position has the new place on success.
static int native(const struct args *a, MPI_Comm comm, MPI_Count *position)
{
    uno_enter(a->call);
    int err = uno_check_comm(comm);
    MPI_Count moved = err ? 0 : transfer(a, &err);
    if (err) return uno_raise_comm(comm, a->call, err);
    *position = a->position + moved;
    uno_leave();
    return MPI_SUCCESS;
}

static int check_datarep(const char *datarep)
{
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(datarep, "datarep");
    if (err || strcmp(datarep, "external32") == 0) return err;
    return uno_fail(MPI_ERR_ARG, "datarep %.32s is not known (external32 allowed)", datarep);
}

static int external(const char *datarep, const struct args *a, MPI_Count *position)
{
    uno_enter(a->call);
    int err = check_datarep(datarep);
    MPI_Count moved = err ? 0 : transfer(a, &err);
    if (err) return uno_raise_self(a->call, err);
    *position = a->position + moved;
    uno_leave();
    return MPI_SUCCESS;
}

// The position -1, which check_args refuses, stands for a position argument that is NULL.
#define PLACE(position) ((position) ? *(position) : -1)

int MPI_Pack(const void *inbuf, uno_count incount, MPI_Datatype datatype, void *outbuf, uno_count outsize,
             uno_count *position, MPI_Comm comm)
{
    MPI_Count place;
    struct args a = {__func__, (void *)(uintptr_t)inbuf, outbuf, incount, outsize, PLACE(position), datatype, false,
                     false};
    int err = native(&a, comm, &place);
    if (!err) *position = uno_fit(place);
    return err;
}

int MPI_Unpack(const void *inbuf, uno_count insize, uno_count *position, void *outbuf, uno_count outcount,
               MPI_Datatype datatype, MPI_Comm comm)
{
    MPI_Count place;
    struct args a = {__func__, outbuf, (void *)(uintptr_t)inbuf, outcount, insize, PLACE(position), datatype,
                     true,     false};
    int err = native(&a, comm, &place);
    if (!err) *position = uno_fit(place);
    return err;
}

int MPI_Pack_external(const char datarep[], const void *inbuf, uno_count incount, MPI_Datatype datatype, void *outbuf,
                      uno_aint outsize, uno_aint *position)
{
    MPI_Count place;
    struct args a = {__func__, (void *)(uintptr_t)inbuf, outbuf, incount, outsize, PLACE(position), datatype, false,
                     true};
    int err = external(datarep, &a, &place);
    if (!err) *position = place;
    return err;
}

int MPI_Unpack_external(const char datarep[], const void *inbuf, uno_aint insize, uno_aint *position, void *outbuf,
                        uno_count outcount, MPI_Datatype datatype)
{
    MPI_Count place;
    struct args a = {__func__, outbuf, (void *)(uintptr_t)inbuf, outcount, insize, PLACE(position), datatype,
                     true,     true};
    int err = external(datarep, &a, &place);
    if (!err) *position = place;
    return err;
}

// Bytes that count elements take packed.
static int size_of(MPI_Count count, MPI_Datatype datatype, bool as_external, MPI_Count *bytes)
{
    int err = uno_check_count(count);
    if (!err) err = uno_check_type(datatype);
    if (err) return err;
    const struct MPI_ABI_Datatype *t = uno_type(datatype);
    if (!__builtin_mul_overflow(count, as_external ? uno_external_size(t) : t->size, bytes)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_VALUE_TOO_LARGE, "the packed size does not fit 63 bits");
}

static int native_size(const char *call, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    MPI_Count bytes;
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) err = size_of(count, datatype, false, &bytes);
    if (err) return uno_raise_comm(comm, call, err);
    *size = bytes;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Pack_size(uno_count incount, MPI_Datatype datatype, MPI_Comm comm, uno_count *size)
{
    MPI_Count bytes;
    int err = native_size(__func__, incount, datatype, comm, size ? &bytes : NULL);
    if (!err) *size = uno_fit(bytes);
    return err;
}

static int external_size(const char *call, const char *datarep, MPI_Count count, MPI_Datatype datatype, MPI_Count *size)
{
    MPI_Count bytes;
    uno_enter(call);
    int err = check_datarep(datarep);
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) err = size_of(count, datatype, true, &bytes);
    if (err) return uno_raise_self(call, err);
    *size = bytes;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Pack_external_size(const char datarep[], uno_count incount, MPI_Datatype datatype, uno_aint *size)
{
    return external_size(__func__, datarep, incount, datatype, (MPI_Count *)size);
}
