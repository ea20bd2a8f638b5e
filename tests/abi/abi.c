// run: np=0,2
// SPDX-License-Identifier: BSD-3-Clause
// The ABI chapter: versions, sizes, Fortran information that is set once, and all of it outside MPI_Init ..
// MPI_Finalize too.
#include "check.h"

#include <string.h>

static void sizes(void)
{
    int major = 0, minor = -1, flag = 0;
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
    CHECK(MPI_Abi_get_info(&info) == MPI_SUCCESS);
    static const char *const keys[] = {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"};
    for (int i = 0; i < 3; i++) {
        int len = sizeof value;
        CHECK(MPI_Info_get_string(info, keys[i], &len, value, &flag) == MPI_SUCCESS);
        CHECK(flag && !strcmp(value, "8"));
    }
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void fortran(void)
{
    int yes = 1, no = 0, got_yes = 7, got_no = 7, set = 7, flag = 0, len = 8;
    char value[8];
    MPI_Info info;
    CHECK(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &set) == MPI_SUCCESS && !set);
    CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &set) == MPI_SUCCESS && set && got_yes == 1 &&
          got_no == 0);
    CHECK(MPI_Abi_get_fortran_booleans(8, &got_yes, &got_no, &set) == MPI_SUCCESS && !set);
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_integer_size", "4") == MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    CHECK(MPI_Info_get_string(info, "mpi_integer_size", &len, value, &flag) == MPI_SUCCESS && flag &&
          !strcmp(value, "4"));
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

// Only between Init and Finalize: errors would end the program otherwise.
static void wrong(void)
{
    int yes = 1, no = 0, set;
    MPI_Info info;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_ERR_ABI);
    CHECK(MPI_Abi_get_fortran_booleans(3, &yes, &no, &set) == MPI_ERR_ARG);
    CHECK(MPI_Abi_get_fortran_booleans(32, &yes, &no, &set) == MPI_ERR_ARG);
    CHECK(MPI_Abi_get_fortran_booleans(4, NULL, &no, &set) == MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_info(MPI_INFO_NULL) == MPI_ERR_INFO);
    CHECK(MPI_Abi_get_info(NULL) == MPI_ERR_ARG);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_ERR_ABI);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    sizes();
    fortran();
    MPI_Init(&argc, &argv);
    sizes();
    wrong();
    MPI_Finalize();
    sizes();
    return 0;
}
