// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of files share: checks, and data accesses from raw arguments to the status or request.
#pragma once
#include "api/check.h"
#include "io/file.h"

int uno_check_file(MPI_File fh);      // MPI_ERR_FILE
int uno_check_random(MPI_File fh);    // ... and MPI_ERR_UNSUPPORTED_OPERATION: opened with MPI_MODE_SEQUENTIAL

// Where an access begins, and how its members meet.
enum uno_file_place { UNO_FILE_AT, UNO_FILE_OWN, UNO_FILE_SHARED, UNO_FILE_ORDERED };

struct uno_file_call {
    const char *call;
    MPI_File fh;
    enum uno_file_place place;
    bool write, all;
    MPI_Offset offset;    // in etypes: UNO_FILE_AT
    const void *buf;
    MPI_Count count;
    MPI_Datatype type;
};

// Checks a call and sets its access up: uno_access_end follows when 0 is returned.
struct uno_access;
int uno_file_set_up(const struct uno_file_call *c, struct uno_access *a) UNO_MUST_USE;

// The calls whole, for all forms of their names: blocking, nonblocking, and the two halves of a split collective.
int uno_file_move(const struct uno_file_call *c, MPI_Status *status);
int uno_file_start(const struct uno_file_call *c, MPI_Request *request);
int uno_file_split_begin(const struct uno_file_call *c);
int uno_file_split_end(const char *call, MPI_File fh, const void *buf, MPI_Status *status);

int uno_file_type_extent(const char *call, MPI_File fh, MPI_Datatype datatype, MPI_Count *extent);
