// run: np=1,2 chan=shm,tcp
// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and MPI_Unpack: several pieces in one buffer, packed messages, sizes, every kind of mistake; and external32
// byte by byte as the standard fixes it, with the numbers that change their size.
#include "check.h"
#include <limits.h>
#include <string.h>
#include <wchar.h>

static void native(int rank, int size)
{
    char buf[256];
    int pos = 0, n[3] = {rank, 2, 3}, room, total = 0;
    double x[4] = {1, 2, 3, 4}, y[4] = {0};
    MPI_Datatype second;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &second);
    MPI_Type_commit(&second);
    MPI_Pack_size(3, MPI_INT, MPI_COMM_WORLD, &room);
    CHECK(room >= 12);
    total += room;
    MPI_Pack_size(1, second, MPI_COMM_WORLD, &room);
    CHECK(room >= 16);
    total += room;
    MPI_Count room_c;
    MPI_Pack_size_c(1, second, MPI_COMM_WORLD, &room_c);
    CHECK(room_c == room);
    MPI_Pack(n, 3, MPI_INT, buf, total, &pos, MPI_COMM_WORLD);
    MPI_Pack(x, 1, second, buf, total, &pos, MPI_COMM_WORLD);
    CHECK(pos <= total);
    // Packed data travels as MPI_PACKED and arrives as what it was, also as plain types.
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got, at = 0, m[3];
    char in[256];
    MPI_Status s;
    MPI_Sendrecv(buf, pos, MPI_PACKED, to, 0, in, sizeof in, MPI_PACKED, from, 0, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_PACKED, &got);
    CHECK(got == pos);
    MPI_Unpack(in, got, &at, m, 3, MPI_INT, MPI_COMM_WORLD);
    CHECK(m[0] == from && m[1] == 2 && m[2] == 3);
    MPI_Count at_c = at;
    MPI_Unpack_c(in, got, &at_c, y, 1, second, MPI_COMM_WORLD);
    CHECK(at_c == got && y[0] == 1 && y[1] == 0 && y[2] == 3 && y[3] == 0);
    MPI_Count pos_c = 0;
    MPI_Pack_c(x, 4, MPI_DOUBLE, buf, sizeof buf, &pos_c, MPI_COMM_WORLD);
    CHECK(pos_c == 32 && memcmp(buf, x, 32) == 0);
    MPI_Type_free(&second);
}

static void mistakes(void)
{
    char buf[16];
    int pos = 12, x = 1;
    CHECK(MPI_Pack(&x, 2, MPI_INT, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_TRUNCATE && pos == 12);
    CHECK(MPI_Unpack(buf, 16, &pos, &x, 2, MPI_INT, MPI_COMM_WORLD) == MPI_ERR_TRUNCATE && pos == 12);
    pos = -1;
    CHECK(MPI_Pack(&x, 1, MPI_INT, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_ARG);
    pos = 17;
    CHECK(MPI_Pack(&x, 1, MPI_INT, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_ARG);
    pos = 0;
    CHECK(MPI_Pack(&x, 1, MPI_INT, buf, 16, NULL, MPI_COMM_WORLD) == MPI_ERR_ARG);
    CHECK(MPI_Pack(&x, -1, MPI_INT, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Pack(&x, 1, MPI_DATATYPE_NULL, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Pack(NULL, 1, MPI_INT, buf, 16, &pos, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Pack(&x, 1, MPI_INT, buf, 16, &pos, MPI_COMM_NULL) == MPI_ERR_COMM);
    MPI_Aint place = 0;
    CHECK(MPI_Pack_external("external64", &x, 1, MPI_INT, buf, 16, &place) == MPI_ERR_ARG);
    CHECK(MPI_Pack_external("external32", &x, 5, MPI_INT, buf, 16, &place) == MPI_ERR_TRUNCATE && place == 0);
    int size;
    CHECK(MPI_Pack_size(INT_MAX, MPI_DOUBLE, MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == MPI_UNDEFINED);
}

// One value against the bytes that it must become, and back.
static void external(MPI_Datatype t, const void *value, size_t n, const char *bytes, MPI_Aint length)
{
    unsigned char out[64], back[64];
    MPI_Aint size, pos = 0, lb, span;
    MPI_Count pos_c = 0;
    MPI_Type_get_true_extent(t, &lb, &span);
    MPI_Pack_external_size("external32", 1, t, &size);
    CHECK(size == length);
    memset(out, 0xee, sizeof out);
    MPI_Pack_external("external32", value, 1, t, out, length, &pos);
    CHECK(pos == length && memcmp(out, bytes, (size_t)length) == 0 && out[length] == 0xee);
    memset(back, 0xee, sizeof back);
    MPI_Unpack_external_c("external32", out, length, &pos_c, back, 1, t);
    CHECK(pos_c == length && memcmp(back, value, n) == 0 && back[span] == 0xee);
    // And the other form of either.
    memset(out, 0xee, sizeof out);
    memset(back, 0xee, sizeof back);
    pos_c = pos = 1;
    MPI_Pack_external_c("external32", value, 1, t, out, length + 1, &pos_c);
    CHECK(pos_c == length + 1 && memcmp(out + 1, bytes, (size_t)length) == 0 && out[0] == 0xee);
    MPI_Unpack_external("external32", out, length + 1, &pos, back, 1, t);
    CHECK(pos == length + 1 && memcmp(back, value, n) == 0 && back[span] == 0xee);
}

static void externals(void)
{
    struct {
        short v;
        int i;
    } pair;
    memset(&pair, 0xee, sizeof pair);
    pair.v = 0x0102;
    pair.i = -2;
    external(MPI_INT, &(int){0x01020304}, 4, "\1\2\3\4", 4);
    external(MPI_SHORT, &(short){-2}, 2, "\xff\xfe", 2);
    external(MPI_INT64_T, &(int64_t){0x0102030405060708}, 8, "\1\2\3\4\5\6\7\10", 8);
    external(MPI_DOUBLE, &(double){1.5}, 8, "\x3f\xf8\0\0\0\0\0\0", 8);
    external(MPI_FLOAT, &(float){-2}, 4, "\xc0\0\0\0", 4);
    external(MPI_LONG, &(long){-3}, sizeof(long), "\xff\xff\xff\xfd", 4);
    external(MPI_UNSIGNED_LONG, &(unsigned long){0xfffffffdu}, sizeof(long), "\xff\xff\xff\xfd", 4);
    external(MPI_WCHAR, &(wchar_t){0x263a}, sizeof(wchar_t), "\x26\x3a", 2);
    external(MPI_C_BOOL, &(_Bool){1}, 1, "\1", 1);
    external(MPI_C_FLOAT_COMPLEX, (float[]){1, -2}, 8, "\x3f\x80\0\0\xc0\0\0\0", 8);
    external(MPI_SHORT_INT, &pair, sizeof pair, "\1\2\xff\xff\xff\xfe", 6);
    external(MPI_LONG_DOUBLE, &(long double){-1.5L}, 10, "\xbf\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    MPI_Datatype t;
    MPI_Type_vector(2, 2, 3, MPI_SHORT, &t);
    MPI_Type_commit(&t);
    external(t, (short[]){1, 2, (short)0xeeee, 3, 4}, 10, "\0\1\0\2\0\3\0\4", 8);
    MPI_Count size;
    MPI_Pack_external_size_c("external32", (MPI_Count)1 << 40, t, &size);
    CHECK(size == (MPI_Count)1 << 43);
    MPI_Type_free(&t);
}

int main(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    native(rank, size);
    mistakes();
    externals();
    MPI_Finalize();
    return 0;
}
