// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operation on every type it is defined for, against one element at a time in plain C: counts 0 to
// 130, inputs at odd addresses, result in place and at a third address. Halves are checked against the float unit for
// all values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/float.h"
#include "base/half.h"
#include "core/op.h"
#include "core/op_kernel.h"

#define COUNT_MAX 130

static const MPI_Op ops[] = {MPI_SUM,  MPI_MIN, MPI_MAX,  MPI_PROD,   MPI_BAND,   MPI_BOR,     MPI_BXOR,
                             MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

// A number of any type on the way through the naive loop: wide enough for all, exact for the small values used here.
typedef long double number;

static number load_unit(enum uno_basic basic, const void *p)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        uno_i128 i128;
        float f;
        double d;
        long double l;
        uno_f128 q;
    } v;
    memcpy(&v, p, sizeof v.i64);
    switch (basic) {
    case UNO_BASIC_CHAR: return (char)v.i8;
    case UNO_BASIC_WCHAR: return (wchar_t)v.i32;
    case UNO_BASIC_I8: return v.i8;
    case UNO_BASIC_I16: return v.i16;
    case UNO_BASIC_I32: return v.i32;
    case UNO_BASIC_I64: return v.i64;
    case UNO_BASIC_U8:
    case UNO_BASIC_BYTE:
    case UNO_BASIC_BOOL:
    case UNO_BASIC_L8: return v.u8;
    case UNO_BASIC_U16:
    case UNO_BASIC_L16: return v.u16;
    case UNO_BASIC_U32:
    case UNO_BASIC_L32: return v.u32;
    case UNO_BASIC_U64:
    case UNO_BASIC_L64: return v.u64;
    case UNO_BASIC_F16: return uno_half_to_float(v.u16);
    case UNO_BASIC_F32: return v.f;
    case UNO_BASIC_F64: return v.d;
    default: break;
    }
    memcpy(&v, p, 16);
    if (basic == UNO_BASIC_F80) return v.l;
    if (basic == UNO_BASIC_F128) return (number)v.q;
    return (number)v.i128;
}

static void store_unit(enum uno_basic basic, void *p, number x)
{
    switch (basic) {
    case UNO_BASIC_F16: memcpy(p, &(uint16_t){uno_half_from_float((float)x)}, 2); return;
    case UNO_BASIC_F32: memcpy(p, &(float){(float)x}, 4); return;
    case UNO_BASIC_F64: memcpy(p, &(double){(double)x}, 8); return;
    case UNO_BASIC_F80: memcpy(p, &x, 10); return;
    case UNO_BASIC_F128: memcpy(p, &(uno_f128){x}, 16); return;
    default: break;
    }
    // Integers of all widths: two's complement, little-endian.
    uno_i128 i = (uno_i128)x;
    static const uint8_t width[UNO_BASIC_END] = {
        [UNO_BASIC_I8] = 1,    [UNO_BASIC_U8] = 1,   [UNO_BASIC_BYTE] = 1,
        [UNO_BASIC_BOOL] = 1,  [UNO_BASIC_L8] = 1,   [UNO_BASIC_I16] = 2,
        [UNO_BASIC_U16] = 2,   [UNO_BASIC_L16] = 2,  [UNO_BASIC_I32] = 4,
        [UNO_BASIC_U32] = 4,   [UNO_BASIC_L32] = 4,  [UNO_BASIC_I64] = 8,
        [UNO_BASIC_U64] = 8,   [UNO_BASIC_L64] = 8,  [UNO_BASIC_I128] = 16,
        [UNO_BASIC_L128] = 16, [UNO_BASIC_CHAR] = 1, [UNO_BASIC_WCHAR] = sizeof(wchar_t)};
    memcpy(p, &i, width[basic]);
}

// What a type is made of: `units` numbers of `unit`, `step` bytes apart; index: a pair, whose index stands at `at`.
struct form {
    enum uno_basic unit, index;
    int units;
    size_t step, at;
};

static struct form form_of(const struct MPI_ABI_Datatype *t)
{
    switch (t->basic) {
    case UNO_BASIC_C16: return (struct form){UNO_BASIC_F16, 0, 2, 2, 0};
    case UNO_BASIC_C32: return (struct form){UNO_BASIC_F32, 0, 2, 4, 0};
    case UNO_BASIC_C64: return (struct form){UNO_BASIC_F64, 0, 2, 8, 0};
    case UNO_BASIC_C80: return (struct form){UNO_BASIC_F80, 0, 2, 16, 0};
    case UNO_BASIC_C128: return (struct form){UNO_BASIC_F128, 0, 2, 16, 0};
    case UNO_BASIC_FLOAT_INT: return (struct form){UNO_BASIC_F32, UNO_BASIC_I32, 1, 0, 4};
    case UNO_BASIC_DOUBLE_INT: return (struct form){UNO_BASIC_F64, UNO_BASIC_I32, 1, 0, 8};
    case UNO_BASIC_LONG_INT: return (struct form){UNO_BASIC_I64, UNO_BASIC_I32, 1, 0, 8};
    case UNO_BASIC_2INT: return (struct form){UNO_BASIC_I32, UNO_BASIC_I32, 1, 0, 4};
    case UNO_BASIC_SHORT_INT: return (struct form){UNO_BASIC_I16, UNO_BASIC_I32, 1, 0, 4};
    case UNO_BASIC_LONG_DOUBLE_INT: return (struct form){UNO_BASIC_F80, UNO_BASIC_I32, 1, 0, 16};
    case UNO_BASIC_2REAL: return (struct form){UNO_BASIC_F32, UNO_BASIC_F32, 1, 0, 4};
    case UNO_BASIC_2DOUBLE: return (struct form){UNO_BASIC_F64, UNO_BASIC_F64, 1, 0, 8};
    default: return (struct form){t->basic, 0, 1, 0, 0};
    }
}

static number scalar(MPI_Op op, number x, number y)
{
    if (op == MPI_SUM) return x + y;
    if (op == MPI_PROD) return x * y;
    if (op == MPI_MIN) return x < y ? x : y;
    if (op == MPI_MAX) return x > y ? x : y;
    if (op == MPI_LAND) return x != 0 && y != 0;
    if (op == MPI_LOR) return x != 0 || y != 0;
    if (op == MPI_LXOR) return (x != 0) != (y != 0);
    uno_i128 i = (uno_i128)x, k = (uno_i128)y;
    return (number)(op == MPI_BAND ? i & k : op == MPI_BOR ? i | k : i ^ k);
}

static void naive(MPI_Op op, const struct MPI_ABI_Datatype *t, const char *a, char *b)
{
    struct form f = form_of(t);
    if (op == MPI_NO_OP) return;
    if (op == MPI_REPLACE) {
        memcpy(b, a, (size_t)t->extent);
        return;
    }
    number x = load_unit(f.unit, a), y = load_unit(f.unit, b);
    if (f.index) {
        number i = load_unit(f.index, a + f.at), k = load_unit(f.index, b + f.at);
        bool first = op == MPI_MINLOC ? x < y : x > y;
        store_unit(f.unit, b, first ? x : y);
        store_unit(f.index, b + f.at, x == y ? (i < k ? i : k) : first ? i : k);
    } else if (f.units == 2 && op == MPI_PROD) {
        number xi = load_unit(f.unit, a + f.step), yi = load_unit(f.unit, b + f.step);
        store_unit(f.unit, b, x * y - xi * yi);
        store_unit(f.unit, b + f.step, x * yi + xi * y);
    } else {
        for (int u = 0; u < f.units; u++) {
            size_t at = (size_t)u * f.step;
            store_unit(f.unit, b + at, scalar(op, load_unit(f.unit, a + at), load_unit(f.unit, b + at)));
        }
    }
}

static uint32_t noise(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33);
}

// Small values, so that every result is exact in every type and no product leaves eight bits.
static void fill(const struct MPI_ABI_Datatype *t, char *p)
{
    struct form f = form_of(t);
    bool flag = f.unit >= UNO_BASIC_BOOL && f.unit <= UNO_BASIC_L128;
    bool natural = (f.unit >= UNO_BASIC_U8 && f.unit <= UNO_BASIC_U64) || f.unit == UNO_BASIC_BYTE;
    for (int u = 0; u < f.units; u++)
        store_unit(f.unit, p + (size_t)u * f.step,
                   flag      ? noise() % 2
                   : natural ? noise() % 12
                             : (number)(noise() % 15) - 7);
    if (f.index) store_unit(f.index, p + f.at, noise() % 5);
}

static void run_pair(MPI_Op op, struct MPI_ABI_Datatype *t, int count)
{
    static char a[32 * COUNT_MAX + 64], b[sizeof a], in_place[sizeof a], third[sizeof a], wanted[sizeof a];
    size_t e = (size_t)t->extent, off = (size_t)count % 3;
    bool whole = form_of(t).unit == UNO_BASIC_F80;    // six of its bytes are no part of its value, but go with it
    memset(a, whole ? 0 : 0x55, sizeof a);
    memset(b, whole ? 0 : 0x2a, sizeof b);    // what lies between values is left alone
    for (int i = 0; i < count; i++) {
        fill(t, a + off + (size_t)i * e);
        fill(t, b + off + (size_t)i * e);
    }
    memcpy(wanted, b, sizeof b);
    memcpy(in_place, b, sizeof b);
    memset(third, whole ? 0 : 0x2a, sizeof third);
    for (int i = 0; i < count; i++) naive(op, t, a + off + (size_t)i * e, wanted + off + (size_t)i * e);
    uno_op_apply(uno_op(op), a + off, in_place + off, count, t);
    assert_memory_equal(in_place, wanted, sizeof b);
    uno_op_apply3(uno_op(op), a + off, b + off, third + off, count, t);
    assert_memory_equal(third, wanted, sizeof b);
}

static int pairs_checked(void)
{
    int pairs = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (int v = 0; v < UNO_TYPE_END - UNO_TYPE_FIRST; v++) {
            struct MPI_ABI_Datatype *t = &uno_predefined_types[v];
            if (!(t->flags & UNO_TYPE_LIVE) || uno_op_check(uno_op(ops[o]), t)) continue;
            // A packed copy needs the type's own layout: characters and gaps are covered by the packer's test.
            if (o >= 12 && t->extent != t->size) continue;
            for (int count = 0; count <= COUNT_MAX; count++) run_pair(ops[o], t, count);
            pairs++;
        }
    }
    return pairs;
}

static void all_pairs(void **unused)
{
    (void)unused;
    for (enum uno_isa most = UNO_ISA_BASE, level; most <= UNO_ISA_AVX512; most++) {
        if ((level = uno_reduce_choose(most)) < most) {
            print_message("instruction set %d is not on this processor\n", most);
            break;
        }
        int pairs = pairs_checked();
        print_message("%d pairs of operation and type, instruction set %d\n", pairs, level);
        assert_true(pairs > 250);
    }
    uno_reduce_choose(UNO_ISA_AVX512);
}

// Long results, from every place in a line on, are those of one element after the other.
static void from_anywhere_in_a_line(void **unused)
{
    (void)unused;
    enum { BYTES = 4096, LINE = 64 };
    static _Alignas(LINE) char a[BYTES + LINE], b[sizeof a], wanted[sizeof a], got[sizeof a];
    const struct {
        MPI_Op op;
        MPI_Datatype type;
    } some[] = {{MPI_SUM, MPI_FLOAT}, {MPI_MAX, MPI_INT16_T}, {MPI_PROD, MPI_C_DOUBLE_COMPLEX}, {MPI_MINLOC, MPI_2INT}};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        struct MPI_ABI_Datatype *t = uno_type(some[k].type);
        for (size_t off = 0; off < LINE; off++) {
            size_t e = (size_t)t->extent, count = BYTES / e;
            for (size_t i = 0; i < count; i++) fill(t, a + off + i * e), fill(t, b + off + i * e);
            memcpy(wanted, b, sizeof b);
            for (size_t i = 0; i < count; i++)
                uno_op_apply(uno_op(some[k].op), a + off + i * e, wanted + off + i * e, 1, t);
            memcpy(got, b, sizeof b);
            uno_op_apply(uno_op(some[k].op), a + off, got + off, (MPI_Count)count, t);
            assert_memory_equal(got, wanted, sizeof b);
            memset(got + off, 0, BYTES);
            uno_op_apply3(uno_op(some[k].op), a + off, b + off, got + off, (MPI_Count)count, t);
            assert_memory_equal(got, wanted, sizeof b);
        }
    }
}

// Beyond the standard's table, so that a checking mode can say so; what the table has is not.
static void beyond(void **unused)
{
    (void)unused;
    const MPI_Datatype wide[] = {MPI_CHAR, MPI_WCHAR, MPI_CHARACTER, MPI_BYTE};
    for (size_t o = 0; o < 10; o++) {
        for (size_t t = 0; t < 4; t++) {
            bool bits = ops[o] == MPI_BAND || ops[o] == MPI_BOR || ops[o] == MPI_BXOR;
            assert_int_equal(uno_op_check(uno_op(ops[o]), uno_type(wide[t])), MPI_SUCCESS);
            assert_int_equal(uno_op_standard(uno_op(ops[o]), uno_type(wide[t])), wide[t] == MPI_BYTE && bits);
        }
        assert_true(uno_op_standard(uno_op(ops[o]), uno_type(MPI_SIGNED_CHAR)));
    }
}

static void refused(void **unused)
{
    (void)unused;
    static const struct {
        MPI_Op op;
        MPI_Datatype type;
    } no[] = {{MPI_SUM, MPI_C_BOOL},  {MPI_SUM, MPI_2INT},    {MPI_MIN, MPI_C_DOUBLE_COMPLEX},
              {MPI_BAND, MPI_DOUBLE}, {MPI_LAND, MPI_FLOAT},  {MPI_MINLOC, MPI_INT},
              {MPI_MAX, MPI_LOGICAL}, {MPI_MINLOC, MPI_CHAR}, {MPI_SUM, MPI_PACKED}};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_int_equal(uno_op_check(uno_op(no[i].op), uno_type(no[i].type)), MPI_ERR_OP);
    assert_null(uno_op(MPI_OP_NULL));
    assert_null(uno_op((MPI_Op)(uintptr_t)37));
}

// Sums of large integers wrap, in every instruction set alike.
static void wrapping(void **unused)
{
    (void)unused;
    int32_t a[100], b[100];
    for (int i = 0; i < 100; i++) a[i] = b[i] = INT32_MAX - i;
    uno_op_apply(uno_op(MPI_SUM), a, b, 100, uno_type(MPI_INT));
    for (int i = 0; i < 100; i++) assert_int_equal(b[i], (int32_t)(2u * ((uint32_t)INT32_MAX - (uint32_t)i)));
}

// All halves: to float and back is the identity, and between two neighbours the nearer one is taken, the even one in
// the middle.
static void halves(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float low = uno_half_to_float((uint16_t)h), high = uno_half_to_float((uint16_t)(h + 1));
        // The value by its definition: 10 bits of fraction, bias 15, subnormals below 2^-14.
        float scale = 1.0f / 16777216, value = (float)(h & 0x3ff);
        if (h >> 10) value += 1024;
        for (uint32_t e = h >> 10; e > 1; e--) scale *= 2;
        assert_true(low == value * scale);
        assert_true(uno_half_to_float((uint16_t)(h | 0x8000)) == -low);
        assert_int_equal(uno_half_from_float(low), h);
        if (h + 1 == 0x7c00) continue;
        float middle = low + (high - low) / 2, quarter = low + (high - low) / 4;
        assert_int_equal(uno_half_from_float(middle), h + (h & 1));
        assert_int_equal(uno_half_from_float(quarter), h);
        assert_int_equal(uno_half_from_float(high - (high - low) / 4), h + 1);
        assert_int_equal(uno_half_from_float(-middle), 0x8000 | (h + (h & 1)));
    }
    assert_int_equal(uno_half_from_float(65519.0f), 0x7bff);
    assert_int_equal(uno_half_from_float(65520.0f), 0x7c00);
    assert_int_equal(uno_half_from_float(1e30f), 0x7c00);
    // Blocks agree with single numbers, at odd addresses too.
    static char some[2 * 1001 + 1], again[2 * 1001 + 1];
    static float wide[1001];
    for (uint32_t from = 0; from < 65536; from += 1001) {
        for (uint32_t i = 0; i < 1001; i++) memcpy(some + 1 + 2 * i, &(uint16_t){(uint16_t)(from + i)}, 2);
        uno_half_widen(wide, some + 1, 1001);
        uno_half_narrow(again + 1, wide, 1001);
        for (uint32_t i = 0; i < 1001; i++) {
            float one = uno_half_to_float((uint16_t)(from + i));
            assert_true(one == wide[i] || (one != one && wide[i] != wide[i]));
            uint16_t back;
            memcpy(&back, again + 1 + 2 * i, 2);
            assert_int_equal(back, uno_half_from_float(wide[i]));
        }
    }
    float nan = uno_half_to_float(0x7e01), infinity = uno_half_to_float(0x7c00);
    assert_true(nan != nan);
    assert_true(infinity > 3e38f);
    assert_int_equal(uno_half_from_float(nan) & 0x7e00, 0x7e00);
}

static void product(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    assert_true(*type == MPI_INT);
    for (int i = 0; i < *len; i++) b[i] = 10 * a[i] + b[i];
}

// The user's function gets the lower rank's data first; the third address gets the result.
static void users(void **unused)
{
    (void)unused;
    struct MPI_ABI_Op op = {.fn = product};
    int a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, out[3];
    uno_op_apply3(&op, a, b, out, 3, uno_type(MPI_INT));
    assert_int_equal(out[0], 14);
    assert_int_equal(out[2], 36);
    assert_int_equal(b[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs), cmocka_unit_test(from_anywhere_in_a_line),
                                       cmocka_unit_test(refused),   cmocka_unit_test(beyond),
                                       cmocka_unit_test(wrapping),  cmocka_unit_test(halves),
                                       cmocka_unit_test(users)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
