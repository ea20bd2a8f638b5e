// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": what a status holds. Reading and writing a status takes no lock.
#include "api/check.h"

int MPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    *flag = status->MPI_internal[2] & 1;
    return MPI_SUCCESS;
}

int MPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    status->MPI_internal[2] = flag != 0;
    return MPI_SUCCESS;
}

int MPI_Status_get_source(const MPI_Status *status, int *source)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    if (!source) return uno_refuse_null(MPI_COMM_SELF, __func__, "source");
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int MPI_Status_set_source(MPI_Status *status, int source)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int MPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    if (!tag) return uno_refuse_null(MPI_COMM_SELF, __func__, "tag");
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int MPI_Status_set_tag(MPI_Status *status, int tag)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int MPI_Status_get_error(const MPI_Status *status, int *err)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    if (!err) return uno_refuse_null(MPI_COMM_SELF, __func__, "error");
    *err = status->MPI_ERROR;
    return MPI_SUCCESS;
}

int MPI_Status_set_error(MPI_Status *status, int err)
{
    if (!status) return uno_refuse_null(MPI_COMM_SELF, __func__, "status");
    status->MPI_ERROR = err;
    return MPI_SUCCESS;
}
