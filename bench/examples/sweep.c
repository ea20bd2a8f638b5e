// SPDX-License-Identifier: BSD-3-Clause
// A discrete-ordinates transport sweep in the manner of SNAP: a 2-D grid of ranks, each with nx x ny columns of nz
// cells; eight octants sweep the grid corner to corner in blocks of cells along z, taking the upstream faces in and
// handing the downstream faces on; inner iterations end with a reduction of the change. Plain blocking point-to-point:
// what `unisono-bench project` projects from. usage: sweep [nx ny nz angles iterations]
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4 };

struct domain {
    int nx, ny, nz, angles, iterations;
    int west, east, south, north;
    MPI_Comm grid;
    double *flux, *old;            // nx * ny * nz
    double *in_x, *in_y, *in_z;    // faces entering a block; in_z stays on the rank
};

// Diamond-difference-like update of one block; the faces go from entering to leaving in place.
static void compute_block(struct domain *d, int from, int to, double weight)
{
    for (int a = 0; a < d->angles; a++)
        for (int z = from; z < to; z++)
            for (int y = 0; y < d->ny; y++)
                for (int x = 0; x < d->nx; x++) {
                    double *fx = &d->in_x[((z - from) * d->ny + y) * d->angles + a];
                    double *fy = &d->in_y[((z - from) * d->nx + x) * d->angles + a];
                    double *fz = &d->in_z[(y * d->nx + x) * d->angles + a];
                    int cell = (z * d->ny + y) * d->nx + x;
                    double source = 1.0 + 0.5 * d->old[cell];    // fixed, and scattered in from the iteration before
                    double psi = (source + 0.3 * (*fx + *fy + *fz)) / 2.5;
                    d->flux[cell] += weight * psi;
                    *fx = 2 * psi - *fx;
                    *fy = 2 * psi - *fy;
                    *fz = 2 * psi - *fz;
                }
}

static void octant(struct domain *d, int corner)
{
    int from_x = corner & 1 ? d->east : d->west, to_x = corner & 1 ? d->west : d->east;
    int from_y = corner & 2 ? d->north : d->south, to_y = corner & 2 ? d->south : d->north;
    int depth = d->nz / BLOCKS, face_x = depth * d->ny * d->angles, face_y = depth * d->nx * d->angles;
    for (int i = 0; i < d->nx * d->ny * d->angles; i++) d->in_z[i] = 0;
    for (int b = 0; b < BLOCKS; b++) {
        int k = corner & 4 ? BLOCKS - 1 - b : b;
        if (from_x == MPI_PROC_NULL)
            for (int i = 0; i < face_x; i++) d->in_x[i] = 0;
        if (from_y == MPI_PROC_NULL)
            for (int i = 0; i < face_y; i++) d->in_y[i] = 0;
        MPI_Recv(d->in_x, face_x, MPI_DOUBLE, from_x, corner, d->grid, MPI_STATUS_IGNORE);
        MPI_Recv(d->in_y, face_y, MPI_DOUBLE, from_y, corner, d->grid, MPI_STATUS_IGNORE);
        compute_block(d, k * depth, (k + 1) * depth, 1.0 / (8 * d->angles));
        MPI_Send(d->in_x, face_x, MPI_DOUBLE, to_x, corner, d->grid);
        MPI_Send(d->in_y, face_y, MPI_DOUBLE, to_y, corner, d->grid);
    }
}

static double change(struct domain *d)
{
    double mine = 0, all = 0;
    for (int i = 0; i < d->nx * d->ny * d->nz; i++) {
        double off = d->flux[i] - d->old[i];
        mine += off * off;
        d->old[i] = d->flux[i];
        d->flux[i] = 0;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, d->grid);
    return all;
}

static double *cells(int n)
{
    double *p = calloc((size_t)n, sizeof *p);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

int main(int argc, char **argv)
{
    struct domain d = {.nx = 16, .ny = 16, .nz = 32, .angles = 8, .iterations = 20};
    int *given[] = {&d.nx, &d.ny, &d.nz, &d.angles, &d.iterations};
    for (int i = 1; i < argc && i <= 5; i++) *given[i - 1] = atoi(argv[i]);
    if (d.nx < 1 || d.ny < 1 || d.angles < 1 || d.iterations < 1 || d.nz < BLOCKS || d.nz % BLOCKS) {
        fprintf(stderr, "usage: sweep [nx ny nz angles iterations], nz a multiple of %d\n", BLOCKS);
        return 2;
    }
    MPI_Init(&argc, &argv);
    int rank, size, dims[2] = {0, 0}, open[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open, 0, &d.grid);
    MPI_Comm_rank(d.grid, &rank);
    MPI_Cart_shift(d.grid, 0, 1, &d.west, &d.east);
    MPI_Cart_shift(d.grid, 1, 1, &d.south, &d.north);
    d.flux = cells(d.nx * d.ny * d.nz);
    d.old = cells(d.nx * d.ny * d.nz);
    d.in_x = cells(d.nz * d.ny * d.angles);
    d.in_y = cells(d.nz * d.nx * d.angles);
    d.in_z = cells(d.nx * d.ny * d.angles);
    double start = MPI_Wtime(), last = 0;
    for (int i = 0; i < d.iterations; i++) {
        for (int corner = 0; corner < 8; corner++) octant(&d, corner);
        last = change(&d);
    }
    if (rank == 0)
        printf("sweep: %dx%d ranks, %d iterations, %.4f s, last change %.3g\n", dims[0], dims[1], d.iterations,
               MPI_Wtime() - start, last);
    double *owned[] = {d.flux, d.old, d.in_x, d.in_y, d.in_z};
    for (int i = 0; i < 5; i++) free(owned[i]);
    MPI_Comm_free(&d.grid);
    MPI_Finalize();
    return 0;
}
