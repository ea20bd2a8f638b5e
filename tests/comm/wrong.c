// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp
// Wrong input to every call on communicators: the class, the message, outputs untouched, and all goes on afterwards.
#include "../check.h"

#include <string.h>

static MPI_Comm c, keep, out;

// The error is of that class and its message holds these words.
static void expect(int err, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(err, text, &n);
    if (err != class || !strstr(text, words)) fprintf(stderr, "got %d: %s\nwanted %d: %s\n", err, text, class, words);
    CHECK(err == class && strstr(text, words) != NULL);
    CHECK(out == keep);
}

static void handles(void)
{
    int n;
    MPI_Comm freed;
    MPI_Group remote;
    MPI_Comm_dup(c, &freed);
    MPI_Comm stale = freed;
    MPI_Comm_free(&freed);
    expect(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM, "MPI_Comm_size: comm is MPI_COMM_NULL");
    expect(MPI_Comm_size(NULL, &n), MPI_ERR_COMM, "comm is NULL");
    expect(MPI_Comm_rank(stale, &n), MPI_ERR_COMM, "is not a communicator (was it freed?)");
    expect(MPI_Comm_size((MPI_Comm)MPI_COMM_TYPE_SHARED, &n), MPI_ERR_COMM, "is not a communicator");
    expect(MPI_Comm_dup(stale, &out), MPI_ERR_COMM, "MPI_Comm_dup: comm");
    expect(MPI_Comm_free(NULL), MPI_ERR_ARG, "MPI_Comm_free: comm is NULL");
    expect(MPI_Comm_disconnect(&freed), MPI_ERR_COMM, "MPI_Comm_disconnect: comm is MPI_COMM_NULL");
    expect(MPI_Comm_compare(c, stale, &n), MPI_ERR_COMM, "MPI_Comm_compare: comm");
    expect(MPI_Comm_set_name(stale, "x"), MPI_ERR_COMM, "MPI_Comm_set_name");
    expect(MPI_Comm_remote_group(c, &remote), MPI_ERR_COMM, "an intercommunicator is needed");
    MPI_Comm self = MPI_COMM_SELF;
    expect(MPI_Comm_free(&self), MPI_ERR_COMM, "predefined and cannot be freed");
    CHECK(self == MPI_COMM_SELF);
}

static void pointers(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int n;
    MPI_Request r = MPI_REQUEST_NULL;
    expect(MPI_Comm_rank(c, NULL), MPI_ERR_ARG, "MPI_Comm_rank: rank is NULL on wrong, rank");
    expect(MPI_Comm_test_inter(c, NULL), MPI_ERR_ARG, "flag is NULL");
    expect(MPI_Comm_group(c, NULL), MPI_ERR_ARG, "group is NULL");
    expect(MPI_Comm_dup(c, NULL), MPI_ERR_ARG, "newcomm is NULL");
    expect(MPI_Comm_idup(c, &out, NULL), MPI_ERR_ARG, "MPI_Comm_idup: request is NULL");
    expect(MPI_Comm_idup(c, NULL, &r), MPI_ERR_ARG, "newcomm is NULL");
    CHECK(r == MPI_REQUEST_NULL);
    expect(MPI_Comm_split(c, 0, 0, NULL), MPI_ERR_ARG, "newcomm is NULL");
    expect(MPI_Comm_get_name(c, NULL, &n), MPI_ERR_ARG, "comm_name is NULL");
    expect(MPI_Comm_get_name(c, name, NULL), MPI_ERR_ARG, "resultlen is NULL");
    expect(MPI_Comm_compare(c, c, NULL), MPI_ERR_ARG, "result is NULL");
    expect(MPI_Comm_get_attr(c, MPI_TAG_UB, NULL, &n), MPI_ERR_ARG, "attribute_val is NULL");
    expect(MPI_Comm_get_errhandler(c, NULL), MPI_ERR_ARG, "errhandler is NULL");
    expect(MPI_Comm_get_info(c, NULL), MPI_ERR_ARG, "info_used is NULL");
}

static void groups(void)
{
    MPI_Group g, world;
    int size, last;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &last, &g);
    expect(MPI_Comm_create(c, MPI_GROUP_NULL, &out), MPI_ERR_GROUP, "group is MPI_GROUP_NULL");
    expect(MPI_Comm_create_group(c, MPI_GROUP_NULL, 0, &out), MPI_ERR_GROUP, "group is MPI_GROUP_NULL");
    expect(MPI_Comm_create_group(c, world, -2, &out), MPI_ERR_TAG, "tag is MPI_ANY_TAG");
    if (size > 1) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        expect(MPI_Comm_create(MPI_COMM_SELF, world, &out), MPI_ERR_GROUP, "of group is not a member of comm");
    }
    MPI_Group_free(&g);
    MPI_Group_free(&world);
}

int main(void)
{
    int n, flag;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_set_name(c, "wrong");
    keep = out = MPI_COMM_SELF;
    handles();
    pointers();
    groups();
    expect(MPI_Comm_set_attr(c, 12345, NULL), MPI_ERR_KEYVAL,
           "keyval 12345 is not a live attribute key of a communicator");
    expect(MPI_Comm_get_attr(c, 70000, &n, &flag), MPI_ERR_KEYVAL, "keyval 70000");
    expect(MPI_Comm_set_info(c, (MPI_Info)c), MPI_ERR_INFO, "is not an info object");
    expect(MPI_Comm_dup_with_info(c, (MPI_Info)c, &out), MPI_ERR_INFO, "is not an info object");
    expect(MPI_Comm_split_type(c, 12, 0, MPI_INFO_NULL, &out), MPI_ERR_ARG, "split_type 12 is unknown");
    CHECK(MPI_Comm_dup(c, &out) == MPI_SUCCESS);    // and all goes on
    MPI_Comm_free(&out);
    MPI_Comm_free(&c);
    MPI_Finalize();
    return 0;
}
