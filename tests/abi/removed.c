// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// The names that MPI-3 removed, given back by MPI_REMOVED: what they do is what MPI-1 said.
#define MPI_REMOVED
#include "check.h"

static int calls;

static void count_calls(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF && *code == MPI_ERR_RANK);
    calls++;
}

static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub)
{
    MPI_Aint low = -1, high = -1, extent = -1;
    CHECK(MPI_Type_lb(type, &low) == MPI_SUCCESS && low == lb);
    CHECK(MPI_Type_ub(type, &high) == MPI_SUCCESS && high == ub);
    CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS && extent == ub - lb);
}

// One block of two ints at 8, and markers before, between and after.
static void markers(void)
{
    int len[] = {1, 2, 1, 1};
    MPI_Aint disp[] = {-16, 8, 64, 32};
    MPI_Datatype low[] = {MPI_LB, MPI_INT}, high[] = {MPI_UB, MPI_INT}, all[] = {MPI_LB, MPI_INT, MPI_UB, MPI_UB}, t, s;
    CHECK(MPI_Type_struct(2, len, disp, low, &t) == MPI_SUCCESS);
    check_bounds(t, -16, 16);
    MPI_Type_free(&t);
    CHECK(MPI_Type_struct(2, len, disp, high, &t) == MPI_SUCCESS);
    check_bounds(t, 8, -16);
    MPI_Type_free(&t);
    CHECK(MPI_Type_struct(4, len, disp, all, &t) == MPI_SUCCESS);
    check_bounds(t, -16, 64);
    int size = 0, one = 1, out[8] = {0}, in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    MPI_Aint zero = 0;
    CHECK(MPI_Type_size(t, &size) == MPI_SUCCESS && size == 8);
    CHECK(MPI_Type_struct(1, &one, &zero, &t, &s) == MPI_SUCCESS);    // bounds of a part stay
    check_bounds(s, -16, 64);
    MPI_Type_commit(&s);
    MPI_Sendrecv(in, 1, s, 0, 0, out, 8, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(out[0] == 2 && out[1] == 3 && out[2] == 0);
    MPI_Type_free(&s);
    MPI_Type_free(&t);
    CHECK(MPI_Type_struct(0, NULL, NULL, NULL, &t) == MPI_SUCCESS);
    check_bounds(t, 0, 0);
    MPI_Type_free(&t);
}

static void other_types(void)
{
    int len[] = {1, 2};
    MPI_Aint disp[] = {0, 8}, at, next;
    MPI_Datatype t;
    int array[2];
    CHECK(MPI_Type_hvector(3, 1, 16, MPI_INT, &t) == MPI_SUCCESS);
    check_bounds(t, 0, 36);
    MPI_Type_free(&t);
    CHECK(MPI_Type_hindexed(2, len, disp, MPI_INT, &t) == MPI_SUCCESS);
    check_bounds(t, 0, 16);
    int nints, naddrs, ntypes, combiner, kind = 0;
    MPI_Type_get_envelope(t, &nints, &naddrs, &ntypes, &combiner);
    switch (combiner) {
    case MPI_COMBINER_HINDEXED_INTEGER: kind = 2; break;
    case MPI_COMBINER_HINDEXED: kind = 1; break;
    case MPI_COMBINER_HVECTOR_INTEGER:
    case MPI_COMBINER_STRUCT_INTEGER: kind = 3; break;
    default: break;
    }
    CHECK(kind == 1);
    MPI_Type_free(&t);
    CHECK(MPI_Address(array, &at) == MPI_SUCCESS && MPI_Address(array + 1, &next) == MPI_SUCCESS);
    CHECK(next - at == sizeof(int));
}

static void handlers(void)
{
    MPI_Errhandler handler, got;
    MPI_Handler_function *function = count_calls;
    CHECK(MPI_Errhandler_create(function, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_SELF, &got) == MPI_SUCCESS && got == handler);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 9, 0, MPI_COMM_SELF) == MPI_ERR_RANK && calls == 1);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(&calls, 1, MPI_LB, MPI_PROC_NULL, 0, MPI_COMM_SELF) == MPI_ERR_TYPE);
}

// Refused, as by the functions that they stand for.
static void null_pointers(void)
{
    MPI_Datatype type = MPI_INT;
    MPI_Aint at = 0;
    int one = 1;
    CHECK(MPI_Type_lb(type, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_ub(type, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_extent(type, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_struct(1, NULL, &at, &type, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_struct(1, &one, NULL, &type, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_struct(1, &one, &at, NULL, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_struct(1, &one, &at, &type, NULL) == MPI_ERR_ARG);
    CHECK(type == MPI_INT);
}

static void attributes(void)
{
    int key, value = 3, *got = NULL, flag = 0;
    CHECK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Attr_put(MPI_COMM_SELF, key, &value) == MPI_SUCCESS);
    CHECK(MPI_Attr_get(MPI_COMM_SELF, key, &got, &flag) == MPI_SUCCESS && flag && got == &value);
    CHECK(MPI_Attr_delete(MPI_COMM_SELF, key) == MPI_SUCCESS && MPI_Keyval_free(&key) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    markers();
    other_types();
    handlers();
    null_pointers();
    attributes();
    MPI_Finalize();
    return 0;
}
