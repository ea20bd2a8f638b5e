// SPDX-License-Identifier: BSD-3-Clause
// MPI-5.0, "Application binary interface": what a program may ask about the ABI, and what a Fortran binding says
// once about its LOGICAL and its types, for others to ask for. Callable at any time, by any thread. Always holds:
// the values of a LOGICAL size, and the Fortran info, are set at most once.
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "api/check.h"
#include "core/info.h"

#define LOGICAL_SIZES 5    // 1, 2, 4, 8, 16 bytes

static struct {
    pthread_mutex_t lock;
    struct MPI_ABI_Info *info;    // NULL until set
    struct {
        bool set;
        char is_true[16], is_false[16];
    } logical[LOGICAL_SIZES];
} fortran = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int refuse(const char *call, int err)
{
    uno_enter(call);
    return uno_raise_self(call, err);
}

int MPI_Abi_get_info(MPI_Info *info)
{
    static const char call[] = "MPI_Abi_get_info";
    static const char *const keys[] = {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"};
    if (uno_check_pointer(info, "info")) return refuse(call, MPI_ERR_ARG);
    struct MPI_ABI_Info *made = uno_info_new();
    int err = made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (int i = 0; i < 3 && !err; i++) err = uno_info_set(made, keys[i], "8");
    if (err) {
        if (made) uno_info_drop(made);
        return refuse(call, uno_fail(err, "no memory for an info object"));
    }
    *info = made;
    return MPI_SUCCESS;
}

int MPI_Abi_get_fortran_info(MPI_Info *info)
{
    static const char call[] = "MPI_Abi_get_fortran_info";
    if (uno_check_pointer(info, "info")) return refuse(call, MPI_ERR_ARG);
    pthread_mutex_lock(&fortran.lock);
    struct MPI_ABI_Info *copy = fortran.info ? uno_info_copy(fortran.info) : NULL;
    bool lost = fortran.info && !copy;
    pthread_mutex_unlock(&fortran.lock);
    if (lost) return refuse(call, uno_fail(MPI_ERR_NO_MEM, "no memory for an info object"));
    *info = copy ? copy : MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int MPI_Abi_set_fortran_info(MPI_Info info)
{
    static const char call[] = "MPI_Abi_set_fortran_info";
    struct MPI_ABI_Info *given = uno_info(info);
    if (!given) return refuse(call, uno_fail(MPI_ERR_INFO, "info is not a live handle"));
    struct MPI_ABI_Info *copy = uno_info_copy(given);
    if (!copy) return refuse(call, uno_fail(MPI_ERR_NO_MEM, "no memory for an info object"));
    pthread_mutex_lock(&fortran.lock);
    bool again = fortran.info;
    if (!again) fortran.info = copy;
    pthread_mutex_unlock(&fortran.lock);
    if (!again) return MPI_SUCCESS;
    uno_info_drop(copy);
    return refuse(call, uno_fail(MPI_ERR_ABI, "the Fortran info was set already (once is allowed)"));
}

// The index of a size of LOGICAL, -1 when there is no such size.
static int logical_index(int size)
{
    for (int i = 0; i < LOGICAL_SIZES; i++)
        if (size == 1 << i) return i;
    uno_fail(MPI_ERR_ARG, "logical_size %d is no size of a LOGICAL (1, 2, 4, 8, 16 allowed)", size);
    return -1;
}

int MPI_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false, int *is_set)
{
    static const char call[] = "MPI_Abi_get_fortran_booleans";
    int i = logical_index(logical_size);
    if (i < 0 || uno_check_pointer(logical_true, "logical_true") || uno_check_pointer(logical_false, "logical_false") ||
        uno_check_pointer(is_set, "is_set"))
        return refuse(call, MPI_ERR_ARG);
    pthread_mutex_lock(&fortran.lock);
    *is_set = fortran.logical[i].set;
    if (*is_set) {
        memcpy(logical_true, fortran.logical[i].is_true, (size_t)logical_size);
        memcpy(logical_false, fortran.logical[i].is_false, (size_t)logical_size);
    }
    pthread_mutex_unlock(&fortran.lock);
    return MPI_SUCCESS;
}

int MPI_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
    static const char call[] = "MPI_Abi_set_fortran_booleans";
    int i = logical_index(logical_size);
    if (i < 0 || uno_check_pointer(logical_true, "logical_true") || uno_check_pointer(logical_false, "logical_false"))
        return refuse(call, MPI_ERR_ARG);
    pthread_mutex_lock(&fortran.lock);
    bool again = fortran.logical[i].set;
    if (!again) {
        memcpy(fortran.logical[i].is_true, logical_true, (size_t)logical_size);
        memcpy(fortran.logical[i].is_false, logical_false, (size_t)logical_size);
        fortran.logical[i].set = true;
    }
    pthread_mutex_unlock(&fortran.lock);
    if (!again) return MPI_SUCCESS;
    return refuse(call, uno_fail(MPI_ERR_ABI, "the values of a LOGICAL of %d bytes were set already", logical_size));
}
