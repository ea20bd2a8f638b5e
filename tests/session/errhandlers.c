// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2
// The error handler that is an argument of MPI_Session_init, MPI_Comm_create_from_group and
// MPI_Intercomm_create_from_groups is the one that their errors go to.
#include "../check.h"

#include <string.h>

static int on_comm_calls, on_session_calls, last_code;
static MPI_Comm last_comm;
static MPI_Session last_session;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    on_comm_calls++;
    last_comm = *comm;
    last_code = *code;
}

static void on_session(MPI_Session *session, int *code, ...)
{
    on_session_calls++;
    last_session = *session;
    last_code = *code;
}

static void called(int err, int class, int comms, int sessions)
{
    CHECK(err == class && last_code == class);
    CHECK(on_comm_calls == comms && on_session_calls == sessions);
    on_comm_calls = on_session_calls = 0;
}

int main(void)
{
    MPI_Errhandler for_comm, for_session;
    MPI_Session session;
    MPI_Group world, self;
    MPI_Comm comm = MPI_COMM_NULL;
    char tag[MPI_MAX_STRINGTAG_LEN + 8];
    memset(tag, 'x', sizeof tag);
    tag[sizeof tag - 1] = 0;
    CHECK(MPI_Comm_create_errhandler(on_comm, &for_comm) == MPI_SUCCESS);
    CHECK(MPI_Session_create_errhandler(on_session, &for_session) == MPI_SUCCESS);
    called((last_code = MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, for_session, NULL)), MPI_ERR_ARG, 0, 1);
    CHECK(last_session == MPI_SESSION_NULL);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Session_init(MPI_INFO_NULL, for_session, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &self) == MPI_SUCCESS);

    called(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, for_comm, &comm), MPI_ERR_ARG, 1, 0);
    CHECK(last_comm == MPI_COMM_NULL && comm == MPI_COMM_NULL);
    called(MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, for_comm, &comm), MPI_ERR_GROUP, 1, 0);
    called(MPI_Comm_create_from_group(world, "a", MPI_INFO_NULL, for_comm, NULL), MPI_ERR_ARG, 1, 0);
    CHECK(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_ERR_ARG);
    CHECK(on_comm_calls == 0 && on_session_calls == 0);
    called(MPI_Intercomm_create_from_groups(self, 5, world, 0, "b", MPI_INFO_NULL, for_comm, &comm), MPI_ERR_RANK, 1,
           0);
    called(MPI_Intercomm_create_from_groups(self, 0, world, 99, "b", MPI_INFO_NULL, for_comm, &comm), MPI_ERR_RANK, 1,
           0);
    // One that is not for communicators cannot be called: the session's it is.
    called(MPI_Comm_create_from_group(world, "a", MPI_INFO_NULL, for_session, &comm), MPI_ERR_ERRHANDLER, 0, 1);
    CHECK(last_session == session);

    CHECK(MPI_Comm_create_from_group(world, "a", MPI_INFO_NULL, for_comm, &comm) == MPI_SUCCESS);
    called(MPI_Send(NULL, 0, MPI_INT, 1000, 0, comm), MPI_ERR_RANK, 1, 0);
    CHECK(last_comm == comm && MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS && MPI_Group_free(&self) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&for_comm) == MPI_SUCCESS && MPI_Errhandler_free(&for_session) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    return 0;
}
