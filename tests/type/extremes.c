// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// Datatypes with extreme numbers: bounds that do not fit 63 bits are an error, never a bound that has wrapped, and a
// type whose description is small stays small, however large what it describes is. The sanitizer suite looks for
// arithmetic that overflows on the way.
#include "check.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FITS(x) ((x) >= INT64_MIN && (x) <= INT64_MAX)

__extension__ typedef __int128 wide;

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) % n;
}

static MPI_Count number(bool negative)
{
    static const MPI_Count some[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     1 << 20,
                                     INT_MAX,
                                     (MPI_Count)1 << 31,
                                     (MPI_Count)1 << 40,
                                     INT64_MAX / 16,
                                     INT64_MAX / 4,
                                     INT64_MAX / 2,
                                     INT64_MAX - 1,
                                     INT64_MAX};
    MPI_Count x = some[draw(sizeof some / sizeof *some)];
    if (negative && draw(2)) x = draw(4) ? -x : INT64_MIN + (MPI_Count)draw(3);
    return x;
}

// What the bounds of the blocks are, in numbers that cannot wrap.
struct bounds {
    wide lb, ub, most;    // the greatest number on the way
    bool any;
};

static void look(struct bounds *b, wide x)
{
    if (x < 0) x = -x;
    if (x > b->most) b->most = x;
}

static void block(struct bounds *b, MPI_Datatype kid, wide disp, wide len)
{
    MPI_Count lb, extent;
    if (len == 0) return;
    MPI_Type_get_extent_c(kid, &lb, &extent);
    wide last = (len - 1) * extent, low = disp + (last < 0 ? last : 0), high = disp + (last > 0 ? last : 0);
    look(b, last), look(b, low), look(b, high), look(b, low + lb), look(b, high + lb + extent);
    if (!b->any || low + lb < b->lb) b->lb = low + lb;
    if (!b->any || high + lb + extent > b->ub) b->ub = high + lb + extent;
    b->any = true;
}

static void compare(int err, MPI_Datatype t, struct bounds *b, wide elements, MPI_Datatype kid)
{
    MPI_Count lb, extent, kid_size;
    MPI_Type_size_c(kid, &kid_size);
    look(b, b->ub - b->lb), look(b, elements > INT64_MAX ? elements : elements * kid_size);
    if (err) {
        CHECK(err == MPI_ERR_VALUE_TOO_LARGE && b->most > INT64_MAX / 4);
        return;
    }
    CHECK(kid_size == 0 || (FITS(elements) && FITS(elements * kid_size)));
    CHECK(MPI_Type_get_extent_c(t, &lb, &extent) == MPI_SUCCESS);
    if (kid_size > 0 && elements > 0) CHECK(lb == b->lb && extent == b->ub - b->lb);
}

// Everything that can be asked about a type and that computes with its numbers.
static void ask(MPI_Datatype t)
{
    MPI_Count size, lb, extent, n = number(false), counts[3];
    MPI_Status status;
    MPI_Datatype copy;
    int keyval;
    CHECK(MPI_Type_get_true_extent_c(t, &lb, &extent) == MPI_SUCCESS && extent >= 0);
    CHECK(MPI_Type_size_c(t, &size) == MPI_SUCCESS && size >= 0);
    CHECK(MPI_Type_commit(&t) == MPI_SUCCESS && MPI_Type_dup(t, &copy) == MPI_SUCCESS);
    int err = MPI_Pack_size_c(n, t, MPI_COMM_SELF, &extent);
    CHECK(FITS((wide)n * size) ? !err && extent >= n * size : err == MPI_ERR_VALUE_TOO_LARGE);
    MPI_Pack_external_size_c("external32", n, t, &extent);
    memset(&status, 0, sizeof status);
    if (MPI_Status_set_elements_c(&status, t, n) == MPI_SUCCESS) {
        CHECK(MPI_Get_elements_c(&status, t, &extent) == MPI_SUCCESS);
        CHECK(MPI_Get_count_c(&status, t, &extent) == MPI_SUCCESS);
    }
    CHECK(MPI_Type_get_envelope_c(t, &counts[0], &counts[1], &counts[2], &extent, &keyval) == MPI_SUCCESS);
    CHECK(MPI_Type_set_attr(t, INT_MIN + (int)draw(600), &state) == MPI_ERR_KEYVAL);
    MPI_Type_free(&copy);
}

static int vector(MPI_Datatype kid, MPI_Datatype *t)
{
    struct bounds b = {0};
    MPI_Count n = number(false), len = number(false), stride = number(true);
    int err, several = (int)draw(2);
    if (several)
        err = MPI_Type_create_hvector_c(n, len, stride, kid, t);
    else
        err = MPI_Type_contiguous_c(len, kid, t);
    if (!several) n = 1;
    if (n > 0) block(&b, kid, 0, len), block(&b, kid, (wide)(n - 1) * stride, len);
    compare(err, *t, &b, (wide)n * len, kid);
    return err;
}

static int hindexed(MPI_Datatype kid, MPI_Datatype *t)
{
    struct bounds b = {0};
    MPI_Count len[3], disp[3];
    wide all = 0;
    for (int i = 0; i < 3; i++) {
        len[i] = number(false);
        disp[i] = number(true);
        block(&b, kid, disp[i], len[i]);
        all += len[i];
    }
    int err = MPI_Type_create_hindexed_c(3, len, disp, kid, t);
    compare(err, *t, &b, all, kid);
    return err;
}

static int darray(MPI_Datatype kid, MPI_Datatype *t)
{
    static const int kind[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    MPI_Count sizes[2] = {number(false), number(false)}, subs[2], starts[2];
    int procs[2], distrib[2], darg[2];
    for (int d = 0; d < 2; d++) {
        distrib[d] = kind[draw(3)];
        procs[d] = distrib[d] == MPI_DISTRIBUTE_NONE ? 1 : draw(3) ? 1 + (int)draw(4) : 40000;
        darg[d] = draw(2) ? MPI_DISTRIBUTE_DFLT_DARG : draw(2) ? INT_MAX : 1 + (int)draw(9);
        subs[d] = sizes[d] > 1 ? sizes[d] - (MPI_Count)draw(2) : 1;
        starts[d] = sizes[d] - subs[d];
    }
    int n = procs[0] * procs[1], order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    if (draw(2)) return MPI_Type_create_subarray_c(2, sizes, subs, starts, order, kid, t);
    return MPI_Type_create_darray_c(n, (int)draw((uint64_t)n), 2, sizes, distrib, darg, procs, order, kid, t);
}

static int other(MPI_Datatype kid, MPI_Datatype *t)
{
    MPI_Count len[2] = {number(false), number(false)}, disp[2] = {number(true), number(true)};
    switch (draw(5)) {
    case 0: return MPI_Type_create_resized_c(kid, disp[0], disp[1], t);
    case 1: return MPI_Type_create_struct_c(2, len, disp, (MPI_Datatype[]){kid, MPI_DOUBLE}, t);
    case 2: return MPI_Type_vector_c(len[0], len[1], disp[0], kid, t);
    case 3: return MPI_Type_create_indexed_block_c(2, len[0], disp, kid, t);
    default: return MPI_Type_create_hindexed_block_c(2, len[0], disp, kid, t);
    }
}

static void fuzz(void)
{
    static int (*const make[])(MPI_Datatype, MPI_Datatype *) = {vector, hindexed, darray, other};
    int made = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        MPI_Datatype t = MPI_INT;
        for (int depth = 1 + (int)draw(4); depth > 0; depth--) {
            MPI_Datatype kid = t, next = MPI_DATATYPE_NULL;
            if (make[draw(4)](kid, &next) != MPI_SUCCESS) {
                refused++;
                continue;
            }
            if (kid != MPI_INT) MPI_Type_free(&kid);
            t = next;
            made++;
            ask(t);
        }
        if (t != MPI_INT) MPI_Type_free(&t);
    }
    CHECK(made > 1000 && refused > 1000);
}

static void refused(int err, const char *value)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    CHECK(err == MPI_ERR_VALUE_TOO_LARGE && MPI_Error_string(err, text, &len) == MPI_SUCCESS);
    CHECK(strstr(text, "63 bits") && strstr(text, value));
}

static void bounds(void)
{
    MPI_Datatype t;
    MPI_Count one[] = {1, 1}, far[] = {INT64_MIN, INT64_MAX};
    int ones[] = {1, 1};
    refused(MPI_Type_create_hvector_c(2, 1, INT64_MIN, MPI_INT, &t), "-9223372036854775808");
    refused(MPI_Type_create_hvector(2, 1, INT64_MIN, MPI_INT, &t), "-9223372036854775808");
    refused(MPI_Type_create_hindexed_c(2, one, far, MPI_INT, &t), "9223372036854775807");
    refused(MPI_Type_create_hindexed(2, ones, (MPI_Aint[]){INT64_MIN, 8}, MPI_INT, &t), "-9223372036854775808");
    refused(MPI_Type_create_hindexed_block_c(2, 1, far, MPI_INT, &t), "9223372036854775807");
    refused(MPI_Type_create_struct_c(2, one, far, (MPI_Datatype[]){MPI_INT, MPI_CHAR}, &t), "9223372036854775807");
    refused(MPI_Type_create_resized_c(MPI_INT, INT64_MIN, -1, &t), "-9223372036854775808");
    refused(MPI_Type_contiguous_c(INT64_MAX, MPI_INT, &t), "9223372036854775807");
    refused(MPI_Type_create_darray_c(1, 0, 1, (MPI_Count[]){INT64_MAX}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){1},
                                     (int[]){1}, MPI_ORDER_C, MPI_INT, &t),
            "9223372036854775807");
    CHECK(MPI_Type_create_hindexed_block_c(INT64_MAX, 1, far, MPI_INT, &t) == MPI_ERR_COUNT);
}

// A type may repeat its bytes, so that a message of more than 63 bits needs little memory.
static void messages(void)
{
    MPI_Datatype again;
    MPI_Request request;
    double one = 1;
    CHECK(MPI_Type_create_hvector_c((MPI_Count)1 << 40, 1, 0, MPI_DOUBLE, &again) == MPI_SUCCESS);
    MPI_Type_commit(&again);
    CHECK(MPI_Send(&one, INT_MAX, again, MPI_PROC_NULL, 0, MPI_COMM_SELF) == MPI_ERR_COUNT);
    CHECK(MPI_Irecv(&one, INT_MAX, again, 0, 0, MPI_COMM_SELF, &request) == MPI_ERR_COUNT);
    CHECK(MPI_Bcast(&one, INT_MAX, again, 0, MPI_COMM_SELF) == MPI_ERR_COUNT);
    CHECK(MPI_Reduce_local_c(&one, &state, INT64_MAX / 2, MPI_DOUBLE, MPI_SUM) == MPI_ERR_COUNT);
    CHECK(MPI_Send(&one, 1, again, MPI_PROC_NULL, 0, MPI_COMM_SELF) == MPI_SUCCESS);
    MPI_Type_free(&again);
}

// 2^40 elements dealt out in threes: a list of its blocks would not fit any memory.
static void large_cyclic(void)
{
    MPI_Datatype t;
    MPI_Count size, elements, sizes[] = {(MPI_Count)1 << 40, 1000};
    int distrib[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, dargs[] = {3, 7}, procs[] = {4, 2};
    MPI_Status status;
    for (int order = 0; order < 2; order++) {
        int err = MPI_Type_create_darray_c(8, 5, 2, sizes, distrib, dargs, procs,
                                           order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_DOUBLE, &t);
        CHECK(err == MPI_SUCCESS && MPI_Type_commit(&t) == MPI_SUCCESS);
        // 2^40 = 12 n + 4: of the last four, rank 0 has three and rank 1 one. Rank 5 is row 2, column 1.
        wide rows = sizes[0] / 12 * 3, columns = 1000 / 14 * 7 + (1000 % 14 > 7 ? 1000 % 14 - 7 : 0);
        CHECK(MPI_Type_size_c(t, &size) == MPI_SUCCESS && size == rows * columns * 8);
        CHECK(MPI_Status_set_elements_c(&status, t, size / 8 - 1) == MPI_SUCCESS);
        CHECK(MPI_Get_elements_c(&status, t, &elements) == MPI_SUCCESS && elements == size / 8 - 1);
        MPI_Type_free(&t);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    bounds();
    messages();
    large_cyclic();
    fuzz();
    MPI_Finalize();
    return 0;
}
