// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: what a handle points to, and the look-up that every call with a buffer makes.
//
// The send path asks one question, (flags & UNO_TYPE_READY) == UNO_TYPE_READY: alive, committed and plain in one test.
// A type that fails it goes to the slow path, which tells an error from a type that needs its pack program
// (core/pack.h).
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/pool.h"

#define UNO_TYPE_MAGIC 0x55545950u
#define UNO_TYPE_FIRST 512    // predefined datatypes are 512 .. 767 in the ABI
#define UNO_TYPE_END 768

enum {
    UNO_TYPE_LIVE = 1,
    UNO_TYPE_COMMITTED = 2,
    UNO_TYPE_PLAIN = 4,    // n elements are n * size consecutive bytes at the buffer's address
    UNO_TYPE_PREDEFINED = 8,
    UNO_TYPE_MARKED = 16,    // lb and extent were set by the user (resized), and outrank those of unmarked parts
    UNO_TYPE_READY = UNO_TYPE_LIVE | UNO_TYPE_COMMITTED | UNO_TYPE_PLAIN,
};

// The machine type behind a predefined datatype: what reductions are compiled for. Pair types are value and int index.
enum uno_basic {
    UNO_BASIC_NONE = 0,    // derived from more than one basic type, or PACKED
    UNO_BASIC_I8,
    UNO_BASIC_I16,
    UNO_BASIC_I32,
    UNO_BASIC_I64,
    UNO_BASIC_U8,
    UNO_BASIC_U16,
    UNO_BASIC_U32,
    UNO_BASIC_U64,
    UNO_BASIC_I128,    // Fortran INTEGER(16)
    UNO_BASIC_F16,
    UNO_BASIC_F32,
    UNO_BASIC_F64,
    UNO_BASIC_F80,
    UNO_BASIC_F128,
    UNO_BASIC_C16,
    UNO_BASIC_C32,
    UNO_BASIC_C64,
    UNO_BASIC_C80,
    UNO_BASIC_C128,    // complex of two such floats
    UNO_BASIC_BOOL,    // C and C++ bool, one byte
    UNO_BASIC_L8,
    UNO_BASIC_L16,
    UNO_BASIC_L32,
    UNO_BASIC_L64,
    UNO_BASIC_L128,    // Fortran logicals
    UNO_BASIC_CHAR,    // MPI_CHAR, MPI_CHARACTER: the standard defines no arithmetic
    UNO_BASIC_WCHAR,
    UNO_BASIC_BYTE,    // by the standard bitwise only
    UNO_BASIC_FLOAT_INT,
    UNO_BASIC_DOUBLE_INT,
    UNO_BASIC_LONG_INT,
    UNO_BASIC_2INT,
    UNO_BASIC_SHORT_INT,
    UNO_BASIC_LONG_DOUBLE_INT,
    UNO_BASIC_2REAL,
    UNO_BASIC_2DOUBLE,
    UNO_BASIC_END
};

struct uno_pack;         // the compiled program of a type that is not plain (core/pack.h)
struct uno_type_made;    // how it was constructed: envelope and contents (core/type_made.h)
struct uno_attrs;        // cached attributes (core/attr.h)

struct MPI_ABI_Datatype {
    struct uno_head head;
    uint32_t flags;
    uint16_t basic;    // enum uno_basic: of predefined types, and of derived ones built from a single basic type
    uint16_t alignment;
    int32_t users;           // handles that the user holds; LIVE while there is one (head.refs counts these too)
    MPI_Count size;          // bytes of data
    MPI_Count lb, extent;    // MPI_UNDEFINED never: overflow is an error at construction
    MPI_Count true_lb, true_extent;
    MPI_Count leaves;               // basic elements (a pair counts two)
    MPI_Datatype handle;            // what the user holds: the predefined constant, or this pointer
    const struct uno_pack *pack;    // the program (core/pack_program.h), NULL until needed
    struct uno_type_made *made;
    struct uno_attrs *attrs;
    char name[MPI_MAX_OBJECT_NAME];
};

extern struct uno_pool uno_type_pool;
extern struct MPI_ABI_Datatype
    uno_predefined_types[UNO_TYPE_END - UNO_TYPE_FIRST];    // flags 0 where no type has that value

static inline struct MPI_ABI_Datatype *uno_type(MPI_Datatype t)
{
    uintptr_t v = (uintptr_t)t;
    if (v >= UNO_HANDLE_FIRST) return t;
    v -= UNO_TYPE_FIRST;    // handles of other kinds find MPI_DATATYPE_NULL's entry: not live
    return &uno_predefined_types[v < UNO_TYPE_END - UNO_TYPE_FIRST ? v : 0];
}

// Whether t is a handle of a live datatype (committed or not). Numbers outside the table are not.
bool uno_type_is_live(MPI_Datatype t);

// A type in use by a pending operation outlives MPI_Type_free.
void uno_type_hold(struct MPI_ABI_Datatype *t);
void uno_type_drop(struct MPI_ABI_Datatype *t);
