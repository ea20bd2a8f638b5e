// SPDX-License-Identifier: BSD-3-Clause
// What lets a file in this folder be compiled twice: as it stands for the calls whose counts are int, and with
// UNO_LARGE=1 for those of MPI_Count, whose names end in _c. The definition of MPI_Send in send.c is that of MPI_Send_c
// too: large.h renames it, the types below widen, and __func__ says by which name the user called.
// Always holds: no variables in these files, and nothing in them is called by other files but the entry points.
#pragma once
#include <mpi.h>

#ifndef UNO_LARGE
#define UNO_LARGE 0
#endif

#if UNO_LARGE
#include "api/twice/large.h"
typedef MPI_Count uno_count;    // counts, and displacements in the chapter on datatypes
typedef MPI_Aint uno_displ;     // displacements of blocks in collectives
typedef MPI_Count uno_aint;     // bytes and addresses
#else
typedef int uno_count;
typedef int uno_displ;
typedef MPI_Aint uno_aint;
#endif

// A number of the library as the caller's type has it: MPI_UNDEFINED when it does not fit.
static inline uno_count uno_fit(MPI_Count n)
{
    return n == (uno_count)n ? (uno_count)n : MPI_UNDEFINED;
}
