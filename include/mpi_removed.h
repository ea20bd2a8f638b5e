/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_removed.h - the names that MPI-3 removed, for programs written before it: #include it, or compile with
 * -DMPI_REMOVED, which makes mpi.h include it. For C and C++, any dialect. Nothing of it is in the library: names
 * become today's, and what has no equivalent is a function in the program itself.
 *
 * MPI_LB and MPI_UB are markers for MPI_Type_struct alone: the new type's lower (upper) bound is the least (greatest)
 * displacement of such a marker. Every other call refuses them. */
#ifndef MPI_REMOVED_H_INCLUDED
#define MPI_REMOVED_H_INCLUDED

#include <mpi.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_Address MPI_Get_address
#define MPI_Errhandler_create MPI_Comm_create_errhandler
#define MPI_Errhandler_get MPI_Comm_get_errhandler
#define MPI_Errhandler_set MPI_Comm_set_errhandler
#define MPI_Type_extent MPI_ABI_Type_extent
#define MPI_Type_hindexed MPI_Type_create_hindexed
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_lb MPI_ABI_Type_lb
#define MPI_Type_struct MPI_ABI_Type_struct
#define MPI_Type_ub MPI_ABI_Type_ub

#define PMPI_Address PMPI_Get_address
#define PMPI_Errhandler_create PMPI_Comm_create_errhandler
#define PMPI_Errhandler_get PMPI_Comm_get_errhandler
#define PMPI_Errhandler_set PMPI_Comm_set_errhandler
#define PMPI_Type_extent MPI_ABI_Type_extent
#define PMPI_Type_hindexed PMPI_Type_create_hindexed
#define PMPI_Type_hvector PMPI_Type_create_hvector
#define PMPI_Type_lb MPI_ABI_Type_lb
#define PMPI_Type_struct MPI_ABI_Type_struct
#define PMPI_Type_ub MPI_ABI_Type_ub

#define MPI_Handler_function MPI_Comm_errhandler_function

#define MPI_LB ((MPI_Datatype)1022)
#define MPI_UB ((MPI_Datatype)1023)

/* Never returned by MPI_Type_get_envelope; cases of their own in a switch. */
#define MPI_COMBINER_HINDEXED_INTEGER (-MPI_COMBINER_HINDEXED)
#define MPI_COMBINER_HVECTOR_INTEGER (-MPI_COMBINER_HVECTOR)
#define MPI_COMBINER_STRUCT_INTEGER (-MPI_COMBINER_STRUCT)

MPI_ABI_INLINE int MPI_ABI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

MPI_ABI_INLINE int MPI_ABI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}

MPI_ABI_INLINE int MPI_ABI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    int err = MPI_Type_get_extent(datatype, displacement, &extent); /* the lower bound; NULL is refused */
    if (err == MPI_SUCCESS) *displacement += extent;
    return err;
}

/* Gives *type, made without its markers, the bounds that they say. */
MPI_ABI_INLINE int MPI_ABI_Type_mark(int count, const MPI_Aint disp[], const MPI_Datatype types[], MPI_Datatype *type)
{
    MPI_Aint lb, ub, extent;
    MPI_Datatype plain = *type;
    int i, low = 0, high = 0, err = MPI_Type_get_extent(plain, &lb, &extent);
    if (err != MPI_SUCCESS) return err;
    ub = lb + extent;
    for (i = 0; i < count; i++) {
        if (types[i] == MPI_LB && (!low++ || disp[i] < lb)) lb = disp[i];
        if (types[i] == MPI_UB && (!high++ || disp[i] > ub)) ub = disp[i];
    }
    if (!low && !high) return MPI_SUCCESS;
    err = MPI_Type_create_resized(plain, lb, ub - lb, type);
    if (err == MPI_SUCCESS) err = MPI_Type_free(&plain);
    return err;
}

/* A marker stands for a block of no bytes while the type is made. */
MPI_ABI_INLINE int MPI_ABI_Type_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                                       const MPI_Datatype types[], MPI_Datatype *newtype)
{
    size_t n = count > 0 ? (size_t)count : 0, i;
    MPI_Datatype *real;
    int *len, err = MPI_ERR_NO_MEM;
    if (!blocklengths || !displacements || !types) /* which of them is refused is known there */
        return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
    real = (MPI_Datatype *)malloc((n + 1) * sizeof *real);
    len = (int *)malloc((n + 1) * sizeof *len);
    if (real && len) {
        for (i = 0; i < n; i++) {
            int marker = types[i] == MPI_LB || types[i] == MPI_UB;
            real[i] = marker ? MPI_BYTE : types[i];
            len[i] = marker ? 0 : blocklengths[i];
        }
        err = MPI_Type_create_struct(count, len, displacements, real, newtype);
    }
    free(real);
    free(len);
    return err == MPI_SUCCESS ? MPI_ABI_Type_mark(count, displacements, types, newtype) : err;
}

#ifdef __cplusplus
}
#endif
#endif
