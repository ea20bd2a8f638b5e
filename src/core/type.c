// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes and the look-up of a handle. Constructors are in type_make.c, the program of a type in
// pack_compile.c. Called by everything that takes a datatype.
// Always holds: the entry of a predefined type never changes but for its name and its attributes, and is never freed.
#include "core/type.h"

#include <stdint.h>
#include <wchar.h>

#include "base/float.h"
#include "core/pack_program.h"

struct uno_pool uno_type_pool = {.bytes = sizeof(struct MPI_ABI_Datatype), .magic = UNO_TYPE_MAGIC};

// Value and index of a pair type as C lays them out.
struct float_int {
    float v;
    int i;
};
struct double_int {
    double v;
    int i;
};
struct long_int {
    long v;
    int i;
};
struct short_int {
    short v;
    int i;
};
struct long_double_int {
    long double v;
    int i;
};

#define SLOT(t) [(uintptr_t)(t)-UNO_TYPE_FIRST]
#define ALIVE (UNO_TYPE_LIVE | UNO_TYPE_COMMITTED | UNO_TYPE_PREDEFINED)
#define ENTRY(t, words, bytes, align, b, count)                                                                        \
    SLOT(t) = {.head = {UNO_TYPE_MAGIC, 1, NULL},                                                                      \
               .flags = ALIVE | UNO_TYPE_PLAIN,                                                                        \
               .basic = UNO_BASIC_##b,                                                                                 \
               .alignment = align,                                                                                     \
               .size = bytes,                                                                                          \
               .extent = bytes,                                                                                        \
               .true_extent = bytes,                                                                                   \
               .leaves = count,                                                                                        \
               .handle = t,                                                                                            \
               .name = words}
// The name is made here, before mpi.h's macro t is expanded.
#define PLAIN(t, bytes, align, b) ENTRY(t, #t, bytes, align, b, 1)
#define C_TYPE(t, c, b) ENTRY(t, #t, sizeof(c), _Alignof(c), b, 1)
// Of two names for one handle, the one that the standard calls the other's synonym is not the type's name.
#define C_NAMED(t, words, c, b) ENTRY(t, words, sizeof(c), _Alignof(c), b, 1)
// Two numbers without a gap, and with one.
#define PAIR(t, bytes, align, b) ENTRY(t, #t, bytes, align, b, 2)
#define GAPPED(t, s, b, program)                                                                                       \
    SLOT(t) = {.head = {UNO_TYPE_MAGIC, 1, NULL},                                                                      \
               .flags = ALIVE,                                                                                         \
               .basic = UNO_BASIC_##b,                                                                                 \
               .alignment = _Alignof(struct s),                                                                        \
               .size = sizeof(((struct s *)0)->v) + sizeof(int),                                                       \
               .extent = sizeof(struct s),                                                                             \
               .leaves = 2,                                                                                            \
               .true_extent = offsetof(struct s, i) + sizeof(int),                                                     \
               .handle = t,                                                                                            \
               .pack = &(program),                                                                                     \
               .name = #t}

// The programs of the pairs with a gap: after the value or at the end.
static const ptrdiff_t short_int_at[] = {0, offsetof(struct short_int, i)};
static const size_t short_int_offset[] = {0, sizeof(short), sizeof(short) + sizeof(int)};
static const struct uno_pack short_int = {.kind = UNO_PACK_RUNS,
                                          .bytes = sizeof(short) + sizeof(int),
                                          .n = 2,
                                          .runs = 2,
                                          .disp = short_int_at,
                                          .offset = short_int_offset};
#define ONE_RUN(type)                                                                                                  \
    {                                                                                                                  \
        .kind = UNO_PACK_RUN, .bytes = sizeof(type) + sizeof(int), .n = 1, .runs = 1                                   \
    }
static const struct uno_pack double_int = ONE_RUN(double), long_int = ONE_RUN(long),
                             long_double_int = ONE_RUN(long double);

struct MPI_ABI_Datatype uno_predefined_types[UNO_TYPE_END - UNO_TYPE_FIRST] = {
    C_TYPE(MPI_AINT, MPI_Aint, I64),
    C_TYPE(MPI_COUNT, MPI_Count, I64),
    C_TYPE(MPI_OFFSET, MPI_Offset, I64),
    PLAIN(MPI_PACKED, 1, 1, NONE),
    C_TYPE(MPI_SHORT, short, I16),
    C_TYPE(MPI_INT, int, I32),
    C_TYPE(MPI_LONG, long, I64),
    C_NAMED(MPI_LONG_LONG, "MPI_LONG_LONG_INT", long long, I64),
    C_TYPE(MPI_UNSIGNED_SHORT, unsigned short, U16),
    C_TYPE(MPI_UNSIGNED, unsigned, U32),
    C_TYPE(MPI_UNSIGNED_LONG, unsigned long, U64),
    C_TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, U64),
    C_TYPE(MPI_FLOAT, float, F32),
    C_TYPE(MPI_DOUBLE, double, F64),
    C_TYPE(MPI_LONG_DOUBLE, long double, F80),
    C_NAMED(MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX", float _Complex, C32),
    C_TYPE(MPI_C_DOUBLE_COMPLEX, double _Complex, C64),
    C_TYPE(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex, C80),
    C_TYPE(MPI_CXX_FLOAT_COMPLEX, float _Complex, C32),
    C_TYPE(MPI_CXX_DOUBLE_COMPLEX, double _Complex, C64),
    C_TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, long double _Complex, C80),
    C_TYPE(MPI_C_BOOL, _Bool, BOOL),
    C_TYPE(MPI_CXX_BOOL, _Bool, BOOL),
    C_TYPE(MPI_WCHAR, wchar_t, WCHAR),
    C_TYPE(MPI_INT8_T, int8_t, I8),
    C_TYPE(MPI_UINT8_T, uint8_t, U8),
    C_TYPE(MPI_INT16_T, int16_t, I16),
    C_TYPE(MPI_UINT16_T, uint16_t, U16),
    C_TYPE(MPI_INT32_T, int32_t, I32),
    C_TYPE(MPI_UINT32_T, uint32_t, U32),
    C_TYPE(MPI_INT64_T, int64_t, I64),
    C_TYPE(MPI_UINT64_T, uint64_t, U64),
    C_TYPE(MPI_CHAR, char, CHAR),
    C_TYPE(MPI_SIGNED_CHAR, signed char, I8),
    C_TYPE(MPI_UNSIGNED_CHAR, unsigned char, U8),
    PLAIN(MPI_BYTE, 1, 1, BYTE),
    // Fortran, in the sizes that compilers give the default kinds.
    PLAIN(MPI_LOGICAL, 4, 4, L32),
    PLAIN(MPI_INTEGER, 4, 4, I32),
    PLAIN(MPI_REAL, 4, 4, F32),
    PLAIN(MPI_COMPLEX, 8, 4, C32),
    PLAIN(MPI_DOUBLE_PRECISION, 8, 8, F64),
    PLAIN(MPI_DOUBLE_COMPLEX, 16, 8, C64),
    PLAIN(MPI_CHARACTER, 1, 1, CHAR),
    PLAIN(MPI_LOGICAL1, 1, 1, L8),
    PLAIN(MPI_INTEGER1, 1, 1, I8),
    PLAIN(MPI_LOGICAL2, 2, 2, L16),
    PLAIN(MPI_INTEGER2, 2, 2, I16),
    PLAIN(MPI_REAL2, 2, 2, F16),
    PLAIN(MPI_LOGICAL4, 4, 4, L32),
    PLAIN(MPI_INTEGER4, 4, 4, I32),
    PLAIN(MPI_REAL4, 4, 4, F32),
    PLAIN(MPI_COMPLEX4, 4, 2, C16),
    PLAIN(MPI_LOGICAL8, 8, 8, L64),
    PLAIN(MPI_INTEGER8, 8, 8, I64),
    PLAIN(MPI_REAL8, 8, 8, F64),
    PLAIN(MPI_COMPLEX8, 8, 4, C32),
    PLAIN(MPI_LOGICAL16, 16, 16, L128),
    PLAIN(MPI_INTEGER16, 16, 16, I128),
    PLAIN(MPI_REAL16, 16, 16, F128),
    PLAIN(MPI_COMPLEX16, 16, 8, C64),
    PLAIN(MPI_COMPLEX32, 32, 16, C128),
    // Pairs for MINLOC and MAXLOC.
    PAIR(MPI_FLOAT_INT, sizeof(struct float_int), 4, FLOAT_INT),
    PAIR(MPI_2INT, 8, 4, 2INT),
    PAIR(MPI_2INTEGER, 8, 4, 2INT),
    PAIR(MPI_2REAL, 8, 4, 2REAL),
    PAIR(MPI_2DOUBLE_PRECISION, 16, 8, 2DOUBLE),
    GAPPED(MPI_DOUBLE_INT, double_int, DOUBLE_INT, double_int),
    GAPPED(MPI_LONG_INT, long_int, LONG_INT, long_int),
    GAPPED(MPI_SHORT_INT, short_int, SHORT_INT, short_int),
    GAPPED(MPI_LONG_DOUBLE_INT, long_double_int, LONG_DOUBLE_INT, long_double_int),
};

bool uno_type_is_live(MPI_Datatype t)
{
    if ((uintptr_t)t >= UNO_HANDLE_FIRST) return uno_head_is(t, UNO_TYPE_MAGIC) && t->flags & UNO_TYPE_LIVE;
    uintptr_t v = (uintptr_t)t - UNO_TYPE_FIRST;
    return v < UNO_TYPE_END - UNO_TYPE_FIRST && uno_predefined_types[v].flags & UNO_TYPE_LIVE;
}
