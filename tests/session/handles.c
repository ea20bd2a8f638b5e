// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2 chan=shm,tcp
// Handles as integers: predefined ones keep their values, others come back as they were, and differ from each other.
#include "../check.h"

int main(void)
{
    enum { N = 300 };
    static MPI_Comm c[N];
    static int number[N];
    CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257 && MPI_Comm_fromint(257) == MPI_COMM_WORLD);
    CHECK(MPI_Type_toint(MPI_INT) == 521 && MPI_Type_fromint(521) == MPI_INT);
    CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM &&
          MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    MPI_Info info;
    MPI_Info_create(&info);
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < N; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &c[i]);
        number[i] = MPI_Comm_toint(c[i]);
        CHECK(number[i] >= 1024 && number[i] != MPI_Info_toint(info));
        for (int k = 0; k < i; k++) CHECK(number[k] != number[i]);
    }
    for (int i = 0; i < N; i++) CHECK(MPI_Comm_fromint(number[i]) == c[i] && MPI_Comm_toint(c[i]) == number[i]);
    CHECK(MPI_Comm_fromint(2000000000) == NULL && MPI_Comm_fromint(-1) == NULL);
    MPI_Group g;
    MPI_Comm_group(c[0], &g);
    CHECK(MPI_Group_fromint(MPI_Group_toint(g)) == g);
    MPI_Errhandler e;
    MPI_Comm_get_errhandler(c[0], &e);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(e)) == e);
    MPI_Group_free(&g);
    for (int i = 0; i < N; i++) MPI_Comm_free(&c[i]);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
