// SPDX-License-Identifier: BSD-3-Clause
// A view: the part of a file that a process sees, as one stream of bytes. The stream is the data of the filetype,
// tiled from `disp` on; a place in it is a number of bytes. Nothing is listed: a run is found by one descent into the
// filetype's program, so a view costs the same whether its filetype has one run or a million.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "core/type.h"

struct uno_datarep;

struct uno_view {
    int refs;    // the file, and each access under way; under the lock
    MPI_Offset disp;
    struct MPI_ABI_Datatype *etype, *filetype;    // as the user gave them; held
    struct MPI_ABI_Datatype *layout;              // the filetype as it lies in the file; held
    const struct uno_datarep *rep;
    MPI_Count unit;    // bytes of an etype in the file
    bool plain;        // one endless run
    bool strict;       // no byte of the file is in the filetype twice
    bool orderly;      // ... nor in its copies, which begin each where the last one ended, or later
    uint64_t lead;     // bytes before the first run in the layout, when plain or even
    size_t even;       // the layout is runs of so many bytes, evenly apart; 0: it is not
    int64_t apart;     // then from one to the next
    uint64_t rows;     // and how many there are before the next copy of the layout begins; 0: that is apart as well
};

struct uno_view_spec {
    MPI_Offset disp;
    MPI_Datatype etype, filetype;    // committed
    const struct uno_datarep *rep;
    bool writable;    // the filetype must not hold a byte twice
};

// 0, or an error class with the reason kept.
int uno_view_make(const struct uno_view_spec *spec, struct uno_view **view) UNO_MUST_USE;
void uno_view_drop(struct uno_view *v);

// From place pos of the stream on: where its byte is in the file, and how many (1 .. most) follow each other there.
size_t uno_view_run(const struct uno_view *v, uint64_t pos, size_t most, int64_t *at);

// Runs of one length with gaps of one length between them.
struct uno_view_rows {
    int64_t at, apart;
    size_t len, n;
};

// The same for as many runs as lie evenly apart, whole ones unless there is only one: `most` bytes of them at most.
struct uno_view_rows uno_view_rows(const struct uno_view *v, uint64_t pos, size_t most);

// MPI_ERR_ARG when n bytes of the stream from pos on reach beyond 63 bits in the file, or the view holds none.
int uno_view_fits(const struct uno_view *v, uint64_t pos, uint64_t n) UNO_MUST_USE;

// How many runs so many bytes of the stream take, about: by the filetype alone.
uint64_t uno_view_runs(const struct uno_view *v, uint64_t bytes);

// The first place of the stream, of [low, high), that lies at or behind byte `at` of the file; high: none. It ascends.
uint64_t uno_view_find(const struct uno_view *v, uint64_t low, uint64_t high, int64_t at);

// The first place of all that begins an etype there.
uint64_t uno_view_place(const struct uno_view *v, int64_t at);

// Whether the n bytes of the stream from pos on ascend in the file, each one there once.
bool uno_view_ascends(const struct uno_view *v, uint64_t pos, uint64_t n);
