// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// Bad input to every function of the datatypes chapter: the standard's class, a message that names the argument, and
// nothing written. Types that are not committed, freed or null, in all kinds of communication. Callbacks that refuse.
#include "check.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

static MPI_Datatype t;    // what a constructor that must fail would write
static int one[2] = {1, 1}, neg[2] = {1, -1};
static MPI_Aint far[2] = {0, 64};
static MPI_Count wide[2] = {1, 1}, wneg[2] = {1, -1};
static MPI_Datatype two[2];

// err must be of this class and its message hold these words.
static void is(int err, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int got, len;
    MPI_Error_class(err, &got);
    MPI_Error_string(err, text, &len);
    if (got != class || !strstr(text, words))
        fprintf(stderr, "class %d, wanted %d; '%s' in: %s\n", got, class, words, text);
    CHECK(got == class && strstr(text, words));
    CHECK(t == MPI_DATATYPE_NULL);
}

static void counts(void)
{
    is(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_contiguous_c(-1, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_vector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_vector(1, -2, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength -2");
    is(MPI_Type_vector_c(1, -2, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength -2");
    is(MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_create_hvector_c(1, -2, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength -2");
    is(MPI_Type_indexed(-1, one, one, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_indexed(2, neg, one, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    is(MPI_Type_indexed_c(2, wneg, wide, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    is(MPI_Type_indexed(2, one, NULL, MPI_INT, &t), MPI_ERR_ARG, "array_of_displacements");
    is(MPI_Type_create_hindexed(2, neg, far, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    is(MPI_Type_create_hindexed_c(2, wneg, wide, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    is(MPI_Type_create_indexed_block(2, -3, one, MPI_INT, &t), MPI_ERR_ARG, "blocklength -3");
    is(MPI_Type_create_indexed_block_c(-1, 1, wide, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_create_hindexed_block(2, -3, far, MPI_INT, &t), MPI_ERR_ARG, "blocklength -3");
    is(MPI_Type_create_hindexed_block_c(2, 1, NULL, MPI_INT, &t), MPI_ERR_ARG, "array_of_displacements");
    is(MPI_Type_create_struct(-1, one, far, two, &t), MPI_ERR_COUNT, "-1");
    is(MPI_Type_create_struct(2, neg, far, two, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    is(MPI_Type_create_struct(2, one, far, NULL, &t), MPI_ERR_ARG, "array_of_types");
    is(MPI_Type_create_struct_c(2, wneg, wide, two, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
}

// A type that is null, or was freed, or is no type at all, and NULL for the result.
static void types(MPI_Datatype bad, const char *words)
{
    MPI_Datatype d = MPI_DATATYPE_NULL, pair[2] = {MPI_INT, bad};
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Count c[4];
    MPI_Aint a[2];
    int i[4];
    is(MPI_Type_contiguous(1, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_vector(1, 1, 1, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_hvector(1, 1, 1, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_indexed(1, one, one, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_hindexed(1, one, far, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_indexed_block(1, 1, one, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_hindexed_block(1, 1, far, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_struct(2, one, far, pair, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_resized(bad, 0, 8, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_dup(bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_subarray(1, one, one, (int[]){0}, MPI_ORDER_C, bad, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_create_darray(1, 0, 1, one, (int[]){MPI_DISTRIBUTE_BLOCK}, one, one, MPI_ORDER_C, bad, &t),
       MPI_ERR_TYPE, words);
    is(MPI_Type_get_value_index(bad, MPI_INT, &t), MPI_ERR_TYPE, words);
    is(MPI_Type_size(bad, i), MPI_ERR_TYPE, words);
    is(MPI_Type_size_c(bad, c), MPI_ERR_TYPE, words);
    is(MPI_Type_size_x(bad, c), MPI_ERR_TYPE, words);
    is(MPI_Type_get_extent(bad, a, a + 1), MPI_ERR_TYPE, words);
    is(MPI_Type_get_extent_c(bad, c, c + 1), MPI_ERR_TYPE, words);
    is(MPI_Type_get_true_extent(bad, a, a + 1), MPI_ERR_TYPE, words);
    is(MPI_Type_get_envelope(bad, i, i + 1, i + 2, i + 3), MPI_ERR_TYPE, words);
    is(MPI_Type_get_envelope_c(bad, c, c + 1, c + 2, c + 3, i), MPI_ERR_TYPE, words);
    is(MPI_Type_get_contents(bad, 4, 2, 1, i, a, &d), MPI_ERR_TYPE, words);
    is(MPI_Type_set_name(bad, "x"), MPI_ERR_TYPE, words);
    if (bad != MPI_DATATYPE_NULL) is(MPI_Type_get_name(bad, name, i), MPI_ERR_TYPE, words);
    d = bad;
    is(MPI_Type_commit(&d), MPI_ERR_TYPE, words);
    is(MPI_Type_free(&d), MPI_ERR_TYPE, words);
    CHECK(d == bad);
    MPI_Status s;
    memset(&s, 0, sizeof s);
    is(MPI_Get_count(&s, bad, i), MPI_ERR_TYPE, words);
    is(MPI_Get_elements(&s, bad, i), MPI_ERR_TYPE, words);
    is(MPI_Get_elements_c(&s, bad, c), MPI_ERR_TYPE, words);
    is(MPI_Status_set_elements(&s, bad, 1), MPI_ERR_TYPE, words);
}

// In communication: bad is not committed, freed or null.
static void communication(MPI_Datatype bad, const char *words)
{
    static char buf[256], more[256];
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    int pos = 0, size;
    MPI_Aint place = 0;
    MPI_Comm c = MPI_COMM_SELF;
    is(MPI_Send(buf, 1, bad, 0, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Isend(buf, 1, bad, 0, 0, c, &r), MPI_ERR_TYPE, words);
    is(MPI_Ssend(buf, 1, bad, 0, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Bsend(buf, 1, bad, 0, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Rsend(buf, 1, bad, 0, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Send_init(buf, 1, bad, 0, 0, c, &r), MPI_ERR_TYPE, words);
    is(MPI_Recv(buf, 1, bad, 0, 0, c, &s), MPI_ERR_TYPE, words);
    is(MPI_Irecv(buf, 1, bad, 0, 0, c, &r), MPI_ERR_TYPE, words);
    is(MPI_Recv_init(buf, 1, bad, 0, 0, c, &r), MPI_ERR_TYPE, words);
    is(MPI_Psend_init(buf, 1, 1, bad, 0, 0, c, MPI_INFO_NULL, &r), MPI_ERR_TYPE, words);
    is(MPI_Precv_init(buf, 1, 1, bad, 0, 0, c, MPI_INFO_NULL, &r), MPI_ERR_TYPE, words);
    is(MPI_Sendrecv(buf, 1, MPI_INT, 0, 0, more, 1, bad, 0, 0, c, &s), MPI_ERR_TYPE, words);
    is(MPI_Sendrecv(buf, 1, bad, 0, 0, more, 1, MPI_INT, 0, 0, c, &s), MPI_ERR_TYPE, words);
    is(MPI_Sendrecv_replace(buf, 1, bad, 0, 0, 0, 0, c, &s), MPI_ERR_TYPE, words);
    is(MPI_Bcast(buf, 1, bad, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Allgather(buf, 1, MPI_INT, more, 1, bad, c), MPI_ERR_TYPE, words);
    is(MPI_Alltoall(buf, 1, bad, more, 1, MPI_INT, c), MPI_ERR_TYPE, words);
    is(MPI_Gather(buf, 1, bad, more, 1, MPI_INT, 0, c), MPI_ERR_TYPE, words);
    is(MPI_Pack(buf, 1, bad, more, 256, &pos, c), MPI_ERR_TYPE, words);
    is(MPI_Unpack(buf, 256, &pos, more, 1, bad, c), MPI_ERR_TYPE, words);
    is(MPI_Pack_size(1, bad, c, &size), MPI_ERR_TYPE, words);
    is(MPI_Pack_external("external32", buf, 1, bad, more, 256, &place), MPI_ERR_TYPE, words);
    is(MPI_Unpack_external("external32", buf, 256, &place, more, 1, bad), MPI_ERR_TYPE, words);
    is(MPI_Pack_external_size("external32", 1, bad, &place), MPI_ERR_TYPE, words);
    CHECK(pos == 0 && place == 0 && r == MPI_REQUEST_NULL);
}

static int subarray(int ndims, int size, int sub, int start, int order)
{
    return MPI_Type_create_subarray(ndims, (int[]){4, size}, (int[]){2, sub}, (int[]){1, start}, order, MPI_INT, &t);
}

static int darray(int size, int rank, const int *distribs, const int *dargs, const int *psizes, int order)
{
    return MPI_Type_create_darray(size, rank, 2, (int[]){8, 9}, distribs, dargs, psizes, order, MPI_INT, &t);
}

static void arrays(void)
{
    const int dflt[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    const int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
              none[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    is(subarray(0, 4, 2, 1, MPI_ORDER_C), MPI_ERR_ARG, "ndims 0");
    is(subarray(-1, 4, 2, 1, MPI_ORDER_C), MPI_ERR_ARG, "ndims -1");
    is(subarray(2, 0, 2, 1, MPI_ORDER_C), MPI_ERR_ARG, "array_of_sizes[1] is 0");
    is(subarray(2, -4, 2, 1, MPI_ORDER_C), MPI_ERR_ARG, "array_of_sizes[1] is -4");
    is(subarray(2, 4, 0, 1, MPI_ORDER_C), MPI_ERR_ARG, "array_of_subsizes[1] is 0");
    is(subarray(2, 4, 5, 0, MPI_ORDER_FORTRAN), MPI_ERR_ARG, "array_of_subsizes[1] is 5");
    is(subarray(2, 4, 2, 3, MPI_ORDER_C), MPI_ERR_ARG, "array_of_starts[1] is 3");
    is(subarray(2, 4, 2, -1, MPI_ORDER_C), MPI_ERR_ARG, "array_of_starts[1] is -1");
    is(subarray(2, 4, 2, 1, 0), MPI_ERR_ARG, "order 0");
    is(subarray(2, 4, 2, 1, MPI_DISTRIBUTE_BLOCK), MPI_ERR_ARG, "order");
    is(MPI_Type_create_subarray(1, NULL, one, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "array_of_sizes");
    is(MPI_Type_create_subarray_c(1, wide, wide, NULL, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "array_of_starts");
    is(darray(5, 0, block, dflt, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "size 5");
    is(darray(6, 6, block, dflt, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "rank 6");
    is(darray(6, -1, block, dflt, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "rank -1");
    is(darray(0, 0, block, dflt, (int[]){2, 0}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_psizes[1] is 0");
    is(darray(6, 0, none, dflt, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_psizes[1] is 3");
    is(darray(6, 0, (int[]){7, 7}, dflt, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_distribs[0] is 7");
    is(darray(6, 0, block, (int[]){3, 1}, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_dargs[0] is 3");
    is(darray(6, 0, block, (int[]){4, 0}, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_dargs[1] is 0");
    is(darray(6, 0, block, dflt, (int[]){2, 3}, 3), MPI_ERR_ARG, "order 3");
    is(darray(6, 0, block, NULL, (int[]){2, 3}, MPI_ORDER_C), MPI_ERR_ARG, "array_of_dargs");
    is(MPI_Type_create_darray(1, 0, 1, (int[]){0}, block, dflt, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
       "array_of_gsizes[0] is 0");
}

static void too_large(void)
{
    MPI_Datatype d;
    MPI_Count huge = INT64_MAX / 4;
    is(MPI_Type_contiguous_c(huge, MPI_DOUBLE, &t), MPI_ERR_VALUE_TOO_LARGE, "63 bits");
    is(MPI_Type_vector_c(2, 1, huge, MPI_DOUBLE, &t), MPI_ERR_VALUE_TOO_LARGE, "63 bits");
    is(MPI_Type_indexed_c(2, wide, (MPI_Count[]){0, huge}, MPI_DOUBLE, &t), MPI_ERR_VALUE_TOO_LARGE, "63 bits");
    is(MPI_Type_create_resized_c(MPI_INT, INT64_MAX, 1, &t), MPI_ERR_VALUE_TOO_LARGE, "63 bits");
    is(MPI_Type_create_subarray_c(2, (MPI_Count[]){huge, 9}, wide, (MPI_Count[]){0, 0}, MPI_ORDER_C, MPI_INT, &t),
       MPI_ERR_VALUE_TOO_LARGE, "63 bits");
    // More elements than an int counts, of nothing at all and far apart.
    MPI_Count size, pos = 0, lb, extent;
    char buf[8] = "abc", back[8] = "";
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_contiguous_c((MPI_Count)5 << 32, empty, &d);
    MPI_Type_commit(&d);
    MPI_Pack_size_c((MPI_Count)3 << 31, d, MPI_COMM_SELF, &size);
    CHECK(size == 0);
    CHECK(MPI_Pack_c(buf, (MPI_Count)3 << 31, d, back, 0, &pos, MPI_COMM_SELF) == MPI_SUCCESS && pos == 0);
    CHECK(MPI_Sendrecv_c(buf, (MPI_Count)3 << 31, d, 0, 0, back, (MPI_Count)3 << 31, d, 0, 0, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Type_free(&d);
    MPI_Type_free(&empty);
    MPI_Type_create_resized_c(MPI_CHAR, 0, (MPI_Count)1 << 40, &empty);
    MPI_Type_contiguous_c((MPI_Count)1 << 21, empty, &d);    // 2^21 chars over 2^61 bytes
    MPI_Type_get_extent_c(d, &lb, &extent);
    CHECK(lb == 0 && extent == (MPI_Count)1 << 61);
    MPI_Type_size_c(d, &size);
    CHECK(size == 1 << 21);
    MPI_Type_commit(&empty);
    CHECK(MPI_Pack_c(buf, 1, empty, back, 1, &pos, MPI_COMM_SELF) == MPI_SUCCESS && pos == 1 && back[0] == 'a');
    MPI_Type_free(&d);
    MPI_Type_free(&empty);
}

// Too little room for the contents, and types that have none; outputs that are NULL.
static void questions(void)
{
    MPI_Datatype list, large, d[2], f90, named = MPI_INT;
    int i[8], size;
    MPI_Aint a[4];
    MPI_Count c[8];
    MPI_Type_create_hindexed(2, one, far, MPI_INT, &list);
    MPI_Type_create_hindexed_c(2, wide, (MPI_Count[]){0, 64}, MPI_INT, &large);
    MPI_Type_create_f90_real(6, 30, &f90);
    is(MPI_Type_get_contents(list, 2, 2, 1, i, a, d), MPI_ERR_ARG, "array_of_integers has room for 2 of 3");
    is(MPI_Type_get_contents(list, 3, 1, 1, i, a, d), MPI_ERR_ARG, "array_of_addresses has room for 1 of 2");
    is(MPI_Type_get_contents(list, 3, 2, 0, i, a, d), MPI_ERR_ARG, "array_of_datatypes has room for 0 of 1");
    is(MPI_Type_get_contents(list, 3, 2, 1, NULL, a, d), MPI_ERR_ARG, "array_of_integers");
    is(MPI_Type_get_contents_c(large, 0, 0, 4, 1, NULL, NULL, c, d), MPI_ERR_ARG,
       "array_of_large_counts has room for 4 of 5");
    is(MPI_Type_get_contents(large, 8, 4, 2, i, a, d), MPI_ERR_TYPE, "MPI_Type_get_contents_c");
    is(MPI_Type_get_envelope(large, i, i + 1, i + 2, i + 3), MPI_ERR_TYPE, "MPI_Type_get_envelope_c");
    is(MPI_Type_get_contents(MPI_INT, 8, 4, 2, i, a, d), MPI_ERR_TYPE, "predefined");
    is(MPI_Type_get_contents_c(MPI_DOUBLE_INT, 8, 4, 8, 2, i, a, c, d), MPI_ERR_TYPE, "predefined");
    is(MPI_Type_get_envelope(list, NULL, i, i, i), MPI_ERR_ARG, "NULL");
    is(MPI_Type_free(&named), MPI_ERR_TYPE, "MPI_INT is predefined");
    CHECK(named == MPI_INT);
    d[0] = f90;
    is(MPI_Type_free(&d[0]), MPI_ERR_TYPE, "predefined");
    is(MPI_Type_free(NULL), MPI_ERR_ARG, "datatype");
    is(MPI_Type_commit(NULL), MPI_ERR_ARG, "datatype");
    is(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG, "size");
    is(MPI_Type_get_extent(MPI_INT, NULL, a), MPI_ERR_ARG, "lb");
    is(MPI_Type_get_true_extent(MPI_INT, a, NULL), MPI_ERR_ARG, "true_extent");
    is(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, "newtype");
    is(MPI_Type_dup(MPI_INT, NULL), MPI_ERR_ARG, "newtype");
    is(MPI_Get_address(&size, NULL), MPI_ERR_ARG, "address");
    is(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &size), MPI_ERR_ARG, "MPI_STATUS_IGNORE");
    is(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &t), MPI_ERR_ARG, "3 bytes");
    is(MPI_Type_match_size(99, 4, &t), MPI_ERR_ARG, "class 99");
    is(MPI_Type_create_f90_real(99, 9, &t), MPI_ERR_ARG, "precision 99");
    is(MPI_Type_create_f90_complex(MPI_UNDEFINED, 99999, &t), MPI_ERR_ARG, "range 99999");
    is(MPI_Type_create_f90_integer(77, &t), MPI_ERR_ARG, "range 77");
    MPI_Type_free(&list);
    MPI_Type_free(&large);
}

static int refuse;    // error of the callbacks
static int keep_it;

static int copy(MPI_Datatype old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra;
    *(void **)out = in;
    *flag = keep_it;
    return refuse;
}

static int drop(MPI_Datatype old, int key, void *value, void *extra)
{
    (void)old, (void)key, (void)value, (void)extra;
    return refuse;
}

// A copy that is not kept, one that fails the dup, a delete that fails the free.
static void callbacks(void)
{
    MPI_Datatype d, e;
    int key, flag, value = 7, size;
    void *got;
    MPI_Type_create_keyval(copy, drop, &key, NULL);
    MPI_Type_contiguous(3, MPI_INT, &d);
    MPI_Type_set_attr(d, key, &value);
    CHECK(MPI_Type_dup(d, &e) == MPI_SUCCESS);
    MPI_Type_get_attr(e, key, &got, &flag);
    CHECK(!flag);
    MPI_Type_free(&e);
    keep_it = 1;
    refuse = MPI_ERR_OTHER;
    is(MPI_Type_dup(d, &t), MPI_ERR_OTHER, "");
    CHECK(MPI_Type_free(&d) == MPI_ERR_OTHER && d != MPI_DATATYPE_NULL);
    CHECK(MPI_Type_delete_attr(d, key) == MPI_ERR_OTHER);
    CHECK(MPI_Type_size(d, &size) == MPI_SUCCESS && size == 12);
    refuse = MPI_SUCCESS;
    MPI_Type_get_attr(d, key, &got, &flag);
    CHECK(flag && *(int *)got == 7);
    CHECK(MPI_Type_free(&d) == MPI_SUCCESS && d == MPI_DATATYPE_NULL);
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
    CHECK(MPI_Type_free_keyval(&key) == MPI_ERR_KEYVAL);
}

int main(void)
{
    MPI_Datatype freed, stale, raw;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    t = MPI_DATATYPE_NULL;
    two[0] = two[1] = MPI_INT;
    MPI_Type_vector(2, 1, 3, MPI_INT, &raw);    // lives longer: its memory is not that of the freed one
    MPI_Type_vector(2, 1, 3, MPI_INT, &freed);
    MPI_Type_commit(&freed);
    stale = freed;
    MPI_Type_free(&freed);
    counts();
    types(MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL");
    types(stale, "was it freed?");
    types((MPI_Datatype)(uintptr_t)767, "is not a datatype");
    types((MPI_Datatype)MPI_COMM_WORLD, "is not a datatype");
    communication(MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL");
    communication(raw, "not committed");
    MPI_Type_free(&raw);
    communication(stale, "was it freed?");
    arrays();
    too_large();
    questions();
    callbacks();
    MPI_Finalize();
    return 0;
}
