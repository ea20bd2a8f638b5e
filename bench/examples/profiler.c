// SPDX-License-Identifier: BSD-3-Clause
// A profiling library for any MPI: it interposes on the calls below through PMPI, adds up count, time and bytes per
// call and call site, and rank 0 writes them as JSON at MPI_Finalize (to $PROFILE, default profile.json), summed over
// ranks: what `unisono-bench project` reads. A site is the caller's offset in its object, so it is the same on all
// ranks. One thread at a time is assumed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE    // dladdr
#endif
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 256 };
struct site {
    char call[24], where[72];
    double count, time, bytes;
};
static struct site sites[SITES];
static const void *places[SITES];
static int used;
static double begun;

static void name_site(struct site *s, const void *place)
{
    Dl_info info;
    if (!dladdr(place, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(s->where, sizeof s->where, "%.40s+0x%lx", slash ? slash + 1 : info.dli_fname,
             (unsigned long)((const char *)place - (const char *)info.dli_fbase));
}

static void note(const char *call, const void *place, double start, double bytes)
{
    double took = PMPI_Wtime() - start;
    int i = 0;
    while (i < used && (places[i] != place || strcmp(sites[i].call, call) != 0)) i++;
    if (i == SITES) return;
    if (i == used) {
        places[used++] = place;
        snprintf(sites[i].call, sizeof sites[i].call, "%s", call);
        name_site(&sites[i], place);
    }
    sites[i].count += 1;
    sites[i].time += took;
    sites[i].bytes += bytes;
}

static double bytes_of(int count, MPI_Datatype type)
{
    int width = 0;
    PMPI_Type_size(type, &width);
    return (double)count * width;
}

#define PLACE __builtin_return_address(0)

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    begun = PMPI_Wtime();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    int code = PMPI_Init_thread(argc, argv, wanted, got);
    begun = PMPI_Wtime();
    return code;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    double start = PMPI_Wtime();
    int code = PMPI_Send(buf, count, type, to, tag, comm);
    note("MPI_Send", PLACE, start, to == MPI_PROC_NULL ? 0 : bytes_of(count, type));
    return code;
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    double start = PMPI_Wtime();
    int code = PMPI_Recv(buf, count, type, from, tag, comm, status);
    note("MPI_Recv", PLACE, start, from == MPI_PROC_NULL ? 0 : bytes_of(count, type));
    return code;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *q)
{
    double start = PMPI_Wtime();
    int code = PMPI_Isend(buf, count, type, to, tag, comm, q);
    note("MPI_Isend", PLACE, start, to == MPI_PROC_NULL ? 0 : bytes_of(count, type));
    return code;
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *q)
{
    double start = PMPI_Wtime();
    int code = PMPI_Irecv(buf, count, type, from, tag, comm, q);
    note("MPI_Irecv", PLACE, start, from == MPI_PROC_NULL ? 0 : bytes_of(count, type));
    return code;
}

int MPI_Wait(MPI_Request *q, MPI_Status *status)
{
    double start = PMPI_Wtime();
    int code = PMPI_Wait(q, status);
    note("MPI_Wait", PLACE, start, 0);
    return code;
}

int MPI_Waitall(int n, MPI_Request *q, MPI_Status *status)
{
    double start = PMPI_Wtime();
    int code = PMPI_Waitall(n, q, status);
    note("MPI_Waitall", PLACE, start, 0);
    return code;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    double start = PMPI_Wtime();
    int code = PMPI_Allreduce(in, out, count, type, op, comm);
    note("MPI_Allreduce", PLACE, start, bytes_of(count, type));
    return code;
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    double start = PMPI_Wtime();
    int code = PMPI_Bcast(buf, count, type, root, comm);
    note("MPI_Bcast", PLACE, start, bytes_of(count, type));
    return code;
}

int MPI_Barrier(MPI_Comm comm)
{
    double start = PMPI_Wtime();
    int code = PMPI_Barrier(comm);
    note("MPI_Barrier", PLACE, start, 0);
    return code;
}

// Adds a rank's table to rank 0's.
static void add(const struct site *from, int n)
{
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < used && (strcmp(sites[i].where, from[k].where) != 0 || strcmp(sites[i].call, from[k].call) != 0))
            i++;
        if (i == SITES) continue;
        if (i == used) sites[used++] = (struct site){0};
        struct site sum = from[k];
        sum.count += sites[i].count;
        sum.time += sites[i].time;
        sum.bytes += sites[i].bytes;
        sites[i] = sum;
    }
}

static void write_json(int ranks, double app)
{
    const char *path = getenv("PROFILE");
    FILE *f = fopen(path ? path : "profile.json", "w");
    if (!f) return;
    fprintf(f, "{\"schema\": 1, \"ranks\": %d, \"app_s\": %.6g, \"calls\": [\n", ranks, app);
    for (int i = 0; i < used; i++)
        fprintf(f, "  {\"call\": \"%s\", \"site\": \"%s\", \"count\": %.0f, \"time_s\": %.6g, \"bytes\": %.0f}%s\n",
                sites[i].call, sites[i].where, sites[i].count, sites[i].time, sites[i].bytes, i + 1 < used ? "," : "");
    fprintf(f, "]}\n");
    fclose(f);
}

int MPI_Finalize(void)
{
    double mine = PMPI_Wtime() - begun, app = 0;
    int rank, size, n;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Reduce(&mine, &app, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank > 0) {
        PMPI_Send(&used, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        PMPI_Send(sites, (int)(sizeof *sites) * used, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    for (int p = 1; p < size && rank == 0; p++) {
        static struct site theirs[SITES];
        PMPI_Recv(&n, 1, MPI_INT, p, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        PMPI_Recv(theirs, (int)(sizeof *theirs) * n, MPI_BYTE, p, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add(theirs, n);
    }
    if (rank == 0) write_json(size, app);
    return PMPI_Finalize();
}
