// SPDX-License-Identifier: BSD-3-Clause
// What an older mpi.h lacks. The suite compiles against any of them: a function that is absent here becomes a call that
// says so when it is run, and rows that are nothing without it are named in `unisono-bench list` with the reason.
// Open MPI 5 announces MPI 3.1 and has these chapters of MPI 4, so it is asked by its own version.
#ifndef BENCH_COMPAT_H
#define BENCH_COMPAT_H
#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_MPI4 1
#else
#define HAVE_MPI4 0
#endif

// Process failure (the forum's User Level Failure Mitigation), an extension with a header that differs. Intel MPI has
// its error classes, and not all of its functions.
#if defined(__has_include)
#if __has_include(<mpi_ext.h>)
#include <mpi_ext.h>
#elif __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
#if defined(MPIX_ERR_PROC_FAILED) && !defined(I_MPI_VERSION)
#define HAVE_FT 1
#else
#define HAVE_FT 0
#endif

int bench_absent(const char *call);    // ends the job with a line naming the call

#if !HAVE_MPI4
#define MPI_Barrier_init(...) bench_absent("MPI_Barrier_init")
#define MPI_Bcast_init(...) bench_absent("MPI_Bcast_init")
#define MPI_Reduce_init(...) bench_absent("MPI_Reduce_init")
#define MPI_Allreduce_init(...) bench_absent("MPI_Allreduce_init")
#define MPI_Reduce_scatter_init(...) bench_absent("MPI_Reduce_scatter_init")
#define MPI_Reduce_scatter_block_init(...) bench_absent("MPI_Reduce_scatter_block_init")
#define MPI_Scan_init(...) bench_absent("MPI_Scan_init")
#define MPI_Exscan_init(...) bench_absent("MPI_Exscan_init")
#define MPI_Gather_init(...) bench_absent("MPI_Gather_init")
#define MPI_Gatherv_init(...) bench_absent("MPI_Gatherv_init")
#define MPI_Scatter_init(...) bench_absent("MPI_Scatter_init")
#define MPI_Scatterv_init(...) bench_absent("MPI_Scatterv_init")
#define MPI_Allgather_init(...) bench_absent("MPI_Allgather_init")
#define MPI_Allgatherv_init(...) bench_absent("MPI_Allgatherv_init")
#define MPI_Alltoall_init(...) bench_absent("MPI_Alltoall_init")
#define MPI_Alltoallv_init(...) bench_absent("MPI_Alltoallv_init")
#define MPI_Alltoallw_init(...) bench_absent("MPI_Alltoallw_init")
#define MPI_Neighbor_allgather_init(...) bench_absent("MPI_Neighbor_allgather_init")
#define MPI_Neighbor_allgatherv_init(...) bench_absent("MPI_Neighbor_allgatherv_init")
#define MPI_Neighbor_alltoall_init(...) bench_absent("MPI_Neighbor_alltoall_init")
#define MPI_Neighbor_alltoallv_init(...) bench_absent("MPI_Neighbor_alltoallv_init")
#define MPI_Neighbor_alltoallw_init(...) bench_absent("MPI_Neighbor_alltoallw_init")
#endif
#endif
