// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// The life of a datatype: handles, references, names, attributes under dup and free, predefined types by size and
// precision, and every mistake told with the standard's class.
#include "check.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

static int copies, deletes;

static int copy_attr(MPI_Datatype t, int key, void *extra, void *in, void *out, int *flag)
{
    (void)t, (void)key, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attr(MPI_Datatype t, int key, void *value, void *extra)
{
    (void)t, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void references(void)
{
    MPI_Datatype inner, outer, parts[1], twice;
    int i[4], data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
    MPI_Aint a[1];
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(2, inner, &outer);
    // The inner type lives on inside the outer one, and comes out of its contents again, live.
    MPI_Type_free(&inner);
    MPI_Type_get_contents(outer, 1, 0, 1, i, a, parts);
    MPI_Type_get_contents(outer, 1, 0, 1, i, a, &twice);
    CHECK(parts[0] == twice);
    MPI_Type_free(&twice);
    MPI_Type_commit(&parts[0]);
    MPI_Sendrecv(data, 1, parts[0], 0, 0, out, 1, parts[0], 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 3);
    MPI_Datatype stale = parts[0];
    MPI_Type_free(&parts[0]);
    int size;
    CHECK(MPI_Type_size(stale, &size) == MPI_ERR_TYPE);
    // Freed while a receive is pending: the receive ends well.
    MPI_Request r;
    MPI_Type_commit(&outer);
    memset(out, 0, sizeof out);
    MPI_Irecv(out, 1, outer, 0, 5, MPI_COMM_SELF, &r);
    MPI_Type_free(&outer);
    MPI_Send(data, 4, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 2 && out[3] == 3 && out[4] == 0 && out[5] == 4);
}

static void names_and_dup(void)
{
    MPI_Datatype t, d;
    char name[MPI_MAX_OBJECT_NAME];
    int n, key, flag, ni, na, nt, combiner;
    void *value;
    MPI_Type_get_name(MPI_DOUBLE, name, &n);
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && n == 10);
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &n);
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
    MPI_Type_vector(3, 1, 2, MPI_INT, &t);
    MPI_Type_get_name(t, name, &n);
    CHECK(n == 0 && name[0] == 0);
    MPI_Type_set_name(t, "every second");
    MPI_Type_create_keyval(copy_attr, delete_attr, &key, NULL);
    MPI_Type_set_attr(t, key, &copies);
    MPI_Type_commit(&t);
    MPI_Type_dup(t, &d);
    CHECK(copies == 1);
    MPI_Type_get_attr(d, key, &value, &flag);
    CHECK(flag && value == &copies);
    MPI_Type_get_envelope(d, &ni, &na, &nt, &combiner);
    CHECK(combiner == MPI_COMBINER_DUP && ni == 0 && na == 0 && nt == 1);
    MPI_Type_free(&t);
    CHECK(deletes == 1);
    // The duplicate of a committed type is committed.
    int in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    MPI_Sendrecv(in, 1, d, 0, 0, out, 1, d, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(out[0] == 1 && out[1] == 0 && out[4] == 5);
    MPI_Type_free(&d);
    CHECK(deletes == 2);
    MPI_Type_free_keyval(&key);
}

static void predefined(void)
{
    MPI_Datatype t, u;
    int ni, na, nt, combiner, args[2], size;
    MPI_Aint a[1];
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t) == MPI_SUCCESS && t == MPI_REAL8);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &t) == MPI_SUCCESS && t == MPI_COMPLEX16);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &t) == MPI_SUCCESS && t == MPI_INTEGER2);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t) == MPI_ERR_ARG);
    const struct {
        int typeclass, size;
        MPI_Datatype type;
    } known[] = {{MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},  {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
                 {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},  {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
                 {MPI_TYPECLASS_REAL, 16, MPI_REAL16},      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
                 {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        CHECK(MPI_Type_match_size(known[k].typeclass, known[k].size, &t) == MPI_SUCCESS && t == known[k].type);
        MPI_Type_size(t, &size);
        CHECK(size == known[k].size);
    }
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &t);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &u);
    CHECK(t == u);
    MPI_Type_size(t, &size);
    CHECK(size == 8);
    MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner);
    CHECK(combiner == MPI_COMBINER_F90_REAL && ni == 2 && na == 0 && nt == 0);
    MPI_Type_get_contents(t, 2, 0, 0, args, a, NULL);
    CHECK(args[0] == 12 && args[1] == MPI_UNDEFINED);
    double x = 1.5, y = 2;
    CHECK(MPI_Reduce_local(&x, &y, 1, t, MPI_SUM) == MPI_SUCCESS && y == 3.5);
    CHECK(MPI_Type_free(&t) == MPI_ERR_TYPE);
    MPI_Type_create_f90_integer(9, &t);
    MPI_Type_size(t, &size);
    CHECK(size == 4);
    MPI_Type_create_f90_complex(MPI_UNDEFINED, 30, &t);
    MPI_Type_size(t, &size);
    CHECK(size == 8);
    CHECK(MPI_Type_create_f90_integer(100, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &t) == MPI_ERR_ARG);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &t);
    CHECK(t == MPI_DOUBLE_INT);
    const MPI_Datatype pairs[][2] = {{MPI_FLOAT, MPI_FLOAT_INT},
                                     {MPI_LONG, MPI_LONG_INT},
                                     {MPI_INT, MPI_2INT},
                                     {MPI_SHORT, MPI_SHORT_INT},
                                     {MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        CHECK(MPI_Type_get_value_index(pairs[k][0], MPI_INT, &t) == MPI_SUCCESS && t == pairs[k][1]);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_FLOAT, &t);
    CHECK(t == MPI_DATATYPE_NULL);
}

// Sizes beyond 2^31 are exact in the large forms and MPI_UNDEFINED in the small; beyond 2^63 they are errors.
static void large(void)
{
    MPI_Datatype t, u;
    MPI_Count n;
    int size;
    MPI_Type_contiguous(INT_MAX, MPI_DOUBLE, &t);
    CHECK(MPI_Type_size(t, &size) == MPI_SUCCESS && size == MPI_UNDEFINED);
    MPI_Type_size_c(t, &n);
    CHECK(n == (MPI_Count)INT_MAX * 8);
    CHECK(MPI_Type_contiguous_c((MPI_Count)1 << 40, t, &u) == MPI_ERR_VALUE_TOO_LARGE);
    CHECK(MPI_Type_vector_c(2, 1, INT64_MAX / 4, MPI_DOUBLE, &u) == MPI_ERR_VALUE_TOO_LARGE);
    CHECK(MPI_Type_create_resized_c(MPI_INT, INT64_MAX, 2, &u) == MPI_ERR_VALUE_TOO_LARGE);
    MPI_Type_free(&t);
    // 5 GiB between two bytes.
    MPI_Type_create_hindexed_block_c(2, 1, (MPI_Count[]){0, (MPI_Count)5 << 30}, MPI_BYTE, &t);
    MPI_Count lb, extent;
    MPI_Type_get_true_extent_c(t, &lb, &extent);
    CHECK(extent == ((MPI_Count)5 << 30) + 1);
    MPI_Type_free(&t);
    // A status that holds more than an int can tell.
    MPI_Status s;
    memset(&s, 0, sizeof s);
    MPI_Status_set_elements_c(&s, MPI_INT, (MPI_Count)3 << 31);
    CHECK(MPI_Get_count(&s, MPI_INT, &size) == MPI_SUCCESS && size == MPI_UNDEFINED);
    MPI_Get_count_c(&s, MPI_INT, &n);
    CHECK(n == (MPI_Count)3 << 31);
    MPI_Get_elements_x(&s, MPI_DOUBLE, &n);
    CHECK(n == (MPI_Count)3 << 30);
    MPI_Get_elements_c(&s, MPI_2INT, &n);
    CHECK(n == (MPI_Count)3 << 31);
}

static void elements(void)
{
    MPI_Datatype t;
    MPI_Status s;
    int n, lens[] = {2, 1};
    MPI_Type_create_struct(2, lens, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_SHORT, MPI_DOUBLE}, &t);
    memset(&s, 0, sizeof s);
    MPI_Status_set_elements(&s, t, 5);    // 12 + two shorts
    MPI_Get_elements(&s, t, &n);
    CHECK(n == 5);
    MPI_Get_count(&s, t, &n);
    CHECK(n == MPI_UNDEFINED);
    MPI_Get_count(&s, MPI_BYTE, &n);
    CHECK(n == 16);
    MPI_Status_set_elements_x(&s, MPI_BYTE, 15);
    MPI_Get_elements(&s, t, &n);
    CHECK(n == MPI_UNDEFINED);
    MPI_Type_free(&t);
}

static void mistakes(void)
{
    MPI_Datatype t, bad = MPI_DATATYPE_NULL, predefined_one = MPI_INT;
    int i = 0, j[2] = {1, -1};
    char text[MPI_MAX_ERROR_STRING];
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &t) == MPI_ERR_COUNT);
    CHECK(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t) == MPI_ERR_TYPE);
    CHECK(MPI_Type_contiguous(1, (MPI_Datatype)(uintptr_t)767, &t) == MPI_ERR_TYPE);
    CHECK(MPI_Type_contiguous(1, NULL, &t) == MPI_ERR_TYPE);
    CHECK(MPI_Type_contiguous(1, MPI_INT, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_vector(1, -1, 1, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_indexed(2, j, j, MPI_INT, &t) == MPI_ERR_ARG);
    MPI_Error_string(MPI_Type_indexed(2, j, j, MPI_INT, &t), text, &i);
    CHECK(strstr(text, "array_of_blocklengths[1] is -1") != NULL);
    CHECK(MPI_Type_indexed(1, NULL, j, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_indexed(-1, j, j, MPI_INT, &t) == MPI_ERR_COUNT);
    CHECK(MPI_Type_create_struct(1, j, (MPI_Aint[]){0}, &bad, &t) == MPI_ERR_TYPE);
    CHECK(MPI_Type_create_subarray(1, (int[]){4}, (int[]){5}, (int[]){0}, MPI_ORDER_C, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){3}, MPI_ORDER_C, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){1}, 7, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_darray(3, 0, 1, (int[]){4}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){1}, (int[]){3},
                                 MPI_ORDER_C, MPI_INT, &t) == MPI_ERR_ARG);
    CHECK(MPI_Type_commit(&bad) == MPI_ERR_TYPE);
    CHECK(MPI_Type_free(&predefined_one) == MPI_ERR_TYPE && predefined_one == MPI_INT);
    CHECK(MPI_Type_get_contents(MPI_INT, 1, 0, 0, &i, NULL, NULL) == MPI_ERR_TYPE);
    CHECK(MPI_Type_get_name(MPI_INT, NULL, &i) == MPI_ERR_ARG);
    MPI_Type_vector(2, 1, 3, MPI_INT, &t);
    CHECK(MPI_Send(j, 1, t, 0, 0, MPI_COMM_SELF) == MPI_ERR_TYPE);    // not committed
    CHECK(MPI_Type_get_contents(t, 2, 0, 1, j, NULL, &bad) == MPI_ERR_ARG);
    MPI_Type_free(&t);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    references();
    names_and_dup();
    predefined();
    large();
    elements();
    mistakes();
    MPI_Finalize();
    return 0;
}
