// SPDX-License-Identifier: BSD-3-Clause
// A discrete-ordinates transport sweep in the manner of SNAP: a 2-D grid of ranks, each with nx x ny columns of nz
// cells; eight octants sweep the grid corner to corner in blocks of cells along z, taking the upstream faces in and
// handing the downstream faces on; inner iterations end with a reduction of the change. Plain blocking point-to-point:
// what `unisono-bench project` projects from; with a sixth argument `part` the same ported to partitioned
// communication, where a layer of a face leaves as soon as it is computed. Both give the same result to the last bit.
// usage: sweep [nx ny nz angles iterations [part]]
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4 };

struct domain {
    int nx, ny, nz, angles, iterations;
    int west, east, south, north;
    MPI_Comm grid;
    double *flux, *old;            // nx * ny * nz
    double *in_x, *in_y, *in_z;    // faces entering a block; in_z stays on the rank
    double *out_x, *out_y;         // port: faces leaving
    MPI_Request face[8][4];        // port: of each octant, from x, from y, to x, to y
};

// Diamond-difference-like update of layer z of a block that begins at `from`; the faces go from entering to leaving in
// place.
static void compute_layer(struct domain *d, int from, int z, double weight)
{
    for (int a = 0; a < d->angles; a++)
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

static int neighbour(const struct domain *d, int corner, int which)
{
    int x = corner & 1, y = corner & 2;
    switch (which) {
    case 0: return x ? d->east : d->west;
    case 1: return y ? d->north : d->south;
    case 2: return x ? d->west : d->east;
    default: return y ? d->south : d->north;
    }
}

// What enters where there is no neighbour.
static void vacuum(struct domain *d, int corner)
{
    int depth = d->nz / BLOCKS, face_x = depth * d->ny * d->angles, face_y = depth * d->nx * d->angles;
    if (neighbour(d, corner, 0) == MPI_PROC_NULL)
        for (int i = 0; i < face_x; i++) d->in_x[i] = 0;
    if (neighbour(d, corner, 1) == MPI_PROC_NULL)
        for (int i = 0; i < face_y; i++) d->in_y[i] = 0;
}

static void octant(struct domain *d, int corner)
{
    int depth = d->nz / BLOCKS, face_x = depth * d->ny * d->angles, face_y = depth * d->nx * d->angles;
    for (int i = 0; i < d->nx * d->ny * d->angles; i++) d->in_z[i] = 0;
    for (int b = 0; b < BLOCKS; b++) {
        int k = corner & 4 ? BLOCKS - 1 - b : b;
        vacuum(d, corner);
        MPI_Recv(d->in_x, face_x, MPI_DOUBLE, neighbour(d, corner, 0), corner, d->grid, MPI_STATUS_IGNORE);
        MPI_Recv(d->in_y, face_y, MPI_DOUBLE, neighbour(d, corner, 1), corner, d->grid, MPI_STATUS_IGNORE);
        for (int z = k * depth; z < (k + 1) * depth; z++) compute_layer(d, k * depth, z, 1.0 / (8 * d->angles));
        MPI_Send(d->in_x, face_x, MPI_DOUBLE, neighbour(d, corner, 2), corner, d->grid);
        MPI_Send(d->in_y, face_y, MPI_DOUBLE, neighbour(d, corner, 3), corner, d->grid);
    }
}

#if MPI_VERSION >= 4
// The port: a partition is a layer.
static void port_begin(struct domain *d)
{
    int depth = d->nz / BLOCKS, x = d->ny * d->angles, y = d->nx * d->angles;
    for (int c = 0; c < 8; c++) {
        MPI_Request *q = d->face[c];
        MPI_Precv_init(d->in_x, depth, x, MPI_DOUBLE, neighbour(d, c, 0), c, d->grid, MPI_INFO_NULL, &q[0]);
        MPI_Precv_init(d->in_y, depth, y, MPI_DOUBLE, neighbour(d, c, 1), c, d->grid, MPI_INFO_NULL, &q[1]);
        MPI_Psend_init(d->out_x, depth, x, MPI_DOUBLE, neighbour(d, c, 2), c, d->grid, MPI_INFO_NULL, &q[2]);
        MPI_Psend_init(d->out_y, depth, y, MPI_DOUBLE, neighbour(d, c, 3), c, d->grid, MPI_INFO_NULL, &q[3]);
    }
}

static void port_end(struct domain *d)
{
    for (int i = 0; i < 32; i++) MPI_Request_free(&d->face[i / 4][i % 4]);
}

// Waits for layer z of both faces.
static void arrive(MPI_Request *q, int z)
{
    for (int i = 0, there; i < 2; i++)
        for (there = 0; !there;) MPI_Parrived(q[i], z, &there);
}

static void port_octant(struct domain *d, int corner)
{
    int depth = d->nz / BLOCKS, x = d->ny * d->angles, y = d->nx * d->angles;
    MPI_Request *q = d->face[corner];
    for (int i = 0; i < d->nx * d->ny * d->angles; i++) d->in_z[i] = 0;
    for (int b = 0; b < BLOCKS; b++) {
        int from = (corner & 4 ? BLOCKS - 1 - b : b) * depth;
        vacuum(d, corner);
        MPI_Startall(4, q);
        for (int z = 0; z < depth; z++) {
            arrive(q, z);
            compute_layer(d, from, from + z, 1.0 / (8 * d->angles));
            memcpy(d->out_x + z * x, d->in_x + z * x, (size_t)x * sizeof(double));
            memcpy(d->out_y + z * y, d->in_y + z * y, (size_t)y * sizeof(double));
            MPI_Pready(z, q[2]);
            MPI_Pready(z, q[3]);
        }
        MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    }
}
#else
static void port_begin(struct domain *d)
{
    fprintf(stderr, "sweep: the port needs an MPI with partitioned communication (MPI 4)\n");
    MPI_Abort(d->grid, 2);
}
static void port_end(struct domain *d)
{
    (void)d;
}
static void port_octant(struct domain *d, int corner)
{
    (void)d, (void)corner;
}
#endif

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
    int port = argc > 6 && strcmp(argv[6], "part") == 0;
    if (d.nx < 1 || d.ny < 1 || d.angles < 1 || d.iterations < 1 || d.nz < BLOCKS || d.nz % BLOCKS) {
        fprintf(stderr, "usage: sweep [nx ny nz angles iterations [part]], nz a multiple of %d\n", BLOCKS);
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
    d.out_x = cells(d.nz * d.ny * d.angles);
    d.out_y = cells(d.nz * d.nx * d.angles);
    if (port) port_begin(&d);
    double start = MPI_Wtime(), last = 0;
    for (int i = 0; i < d.iterations; i++) {
        for (int corner = 0; corner < 8; corner++)
            if (port)
                port_octant(&d, corner);
            else
                octant(&d, corner);
        last = change(&d);
    }
    if (rank == 0)
        printf("sweep%s: %dx%d ranks, %d iterations, %.4f s, last change %.17g\n", port ? " (port)" : "", dims[0],
               dims[1], d.iterations, MPI_Wtime() - start, last);
    if (port) port_end(&d);
    double *owned[] = {d.flux, d.old, d.in_x, d.in_y, d.in_z, d.out_x, d.out_y};
    for (int i = 0; i < 7; i++) free(owned[i]);
    MPI_Comm_free(&d.grid);
    MPI_Finalize();
    return 0;
}
