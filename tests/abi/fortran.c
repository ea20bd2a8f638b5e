// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// Handles and statuses as integers of Fortran, under the names that programs had before the ABI.
#include "check.h"

#define ROUND(Class, handle) CHECK(MPI_##Class##_f2c(MPI_##Class##_c2f(handle)) == (handle))

static void handles(void)
{
    MPI_Comm dup;
    MPI_Datatype vector;
    MPI_Fint number = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Comm (*convert)(MPI_Fint) = MPI_Comm_f2c;
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    CHECK(convert(number) == MPI_COMM_WORLD && PMPI_Comm_f2c(PMPI_Comm_c2f(dup)) == dup);
    ROUND(Comm, dup);
    ROUND(Type, vector);
    ROUND(Errhandler, MPI_ERRORS_RETURN);
    ROUND(File, MPI_FILE_NULL);
    ROUND(Group, MPI_GROUP_EMPTY);
    ROUND(Info, MPI_INFO_ENV);
    ROUND(Message, MPI_MESSAGE_NO_PROC);
    ROUND(Op, MPI_SUM);
    ROUND(Request, MPI_REQUEST_NULL);
    ROUND(Session, MPI_SESSION_NULL);
    ROUND(Win, MPI_WIN_NULL);
    MPI_Comm_free(&dup);
    MPI_Type_free(&vector);
}

// A status keeps its count and its cancelled mark through both forms.
static void statuses(void)
{
    MPI_Status status, back;
    MPI_F08_status f08, again;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    int value = 7, got[4], count = 0;
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 5, got, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &status);
    status.MPI_ERROR = 3;
    CHECK(MPI_Status_c2f(&status, f) == MPI_SUCCESS);
    CHECK(f[MPI_F_SOURCE] == 0 && f[MPI_F_TAG] == 5 && f[MPI_F_ERROR] == 3);
    CHECK(MPI_Status_f2f08(f, &f08) == MPI_SUCCESS && MPI_Status_f082f(&f08, f) == MPI_SUCCESS);
    CHECK(MPI_Status_f2c(f, &back) == MPI_SUCCESS && MPI_Status_c2f08(&back, &again) == MPI_SUCCESS);
    CHECK(MPI_Status_f082c(&again, &back) == MPI_SUCCESS);
    CHECK(back.MPI_SOURCE == 0 && back.MPI_TAG == 5 && back.MPI_ERROR == 3);
    CHECK(MPI_Get_count(&back, MPI_INT, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back) == MPI_ERR_ARG);
    CHECK(MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &back) == MPI_ERR_ARG);
    CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, f) == MPI_ERR_ARG);
}

static void complain(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF && *code == MPI_ERR_RANK);
}

static void names_of_types(void)
{
    MPI_Comm_errhandler_fn *comm = complain;
    MPI_Win_errhandler_fn *win = NULL;
    MPI_File_errhandler_fn *file = NULL;
    MPI_Errhandler handler;
    CHECK(!win && !file && MPI_Comm_create_errhandler(comm, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS && MPI_Errhandler_free(&handler) == 0);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 9, 0, MPI_COMM_SELF) == MPI_ERR_RANK);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    handles();
    statuses();
    names_of_types();
    MPI_Finalize();
    return 0;
}
