// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,4,5,8 chan=shm,tcp
// Neighbourhood collectives on a periodic and a bounded Cartesian grid (also where both neighbours are the same rank,
// or oneself), on directed graphs (one of high degree) and on an undirected one, with edges to oneself and several
// edges between two: all five, blocking, nonblocking and persistent.
#include "coll.h"

static int me, n;

struct hood {
    MPI_Comm comm;
    int nin, nout, in[64], out[64];
};

// The place in rank r's list of destinations that feeds entry i of our sources: what a message is marked with.
static int feeds(const struct hood *h, int i, int cart)
{
    if (cart) return i ^ 1;
    int before = 0;    // the edges of one pair pair up in order
    for (int k = 0; k < i; k++) before += h->in[k] == h->in[i];
    return before;
}

static int marked(const struct hood *h, int i, int cart)
{
    if (cart) return i;
    int before = 0;
    for (int k = 0; k < i; k++) before += h->out[k] == h->out[i];
    return before;
}

static void check_all(enum mode mode, const struct hood *h, int count, int cart)
{
    size_t room = sizeof(int) * 64 * (size_t)(count + 1);
    int *s = malloc(room), *r = malloc(room), counts[64], displs[64];
    MPI_Aint bytes[64];
    MPI_Datatype types[64];
    for (int i = 0; i < 64; i++) {
        counts[i] = count;
        displs[i] = i * count;
        bytes[i] = (MPI_Aint)sizeof(int) * displs[i];
        types[i] = MPI_INT;
    }
    for (int form = 0; form < 5; form++) {
        int gather = form < 2;
        for (int k = 0; k < (gather ? 1 : h->nout); k++)
            for (int i = 0; i < count; i++) s[k * count + i] = value(me, gather ? 0 : marked(h, k, cart), i);
        for (int i = 0; i < 64 * count; i++) r[i] = -7;
        if (form == 0)
            CALL(mode, 2, Neighbor_allgather, Ineighbor_allgather, s, count, MPI_INT, r, count, MPI_INT, h->comm);
        if (form == 1)
            CALL(mode, 2, Neighbor_allgatherv, Ineighbor_allgatherv, s, count, MPI_INT, r, counts, displs, MPI_INT,
                 h->comm);
        if (form == 2)
            CALL(mode, 2, Neighbor_alltoall, Ineighbor_alltoall, s, count, MPI_INT, r, count, MPI_INT, h->comm);
        if (form == 3)
            CALL(mode, 2, Neighbor_alltoallv, Ineighbor_alltoallv, s, counts, displs, MPI_INT, r, counts, displs,
                 MPI_INT, h->comm);
        if (form == 4)
            CALL(mode, 2, Neighbor_alltoallw, Ineighbor_alltoallw, s, counts, bytes, types, r, counts, bytes, types,
                 h->comm);
        for (int k = 0; k < h->nin; k++)
            for (int i = 0; i < count; i++)
                CHECK(r[k * count + i] ==
                      (h->in[k] == MPI_PROC_NULL ? -7 : value(h->in[k], gather ? 0 : feeds(h, k, cart), i)));
    }
    free(s);
    free(r);
}

static void grid(int ndims, int periodic)
{
    struct hood h = {0};
    int dims[3] = {0}, periods[3] = {periodic, periodic, periodic};
    CHECK(MPI_Dims_create(n, ndims, dims) == MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &h.comm) == MPI_SUCCESS);
    for (int d = 0; d < ndims; d++) CHECK(MPI_Cart_shift(h.comm, d, 1, &h.in[2 * d], &h.in[2 * d + 1]) == MPI_SUCCESS);
    h.nin = h.nout = 2 * ndims;
    for (int i = 0; i < h.nin; i++) h.out[i] = h.in[i];
    for (enum mode mode = 0; mode < MODES; mode++) {
        check_all(mode, &h, 3, 1);
        check_all(mode, &h, 10000, 1);
    }
    MPI_Comm_free(&h.comm);
}

// Each rank sends to the next ranks (rank % 3 + 1 of them), and twice to the next one.
static void graph(void)
{
    struct hood h = {0};
    for (int k = 1; k <= me % 3 + 1; k++) h.out[h.nout++] = (me + k) % n;
    h.out[h.nout++] = (me + 1) % n;
    for (int r = 0; r < n; r++) {
        for (int k = 1; k <= r % 3 + 1; k++)
            if ((r + k) % n == me) h.in[h.nin++] = r;
        if ((r + 1) % n == me) h.in[h.nin++] = r;
    }
    int *volatile even = MPI_UNWEIGHTED;    // gcc takes the constant for an empty array
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h.nin, h.in, even, h.nout, h.out, even, MPI_INFO_NULL, 0,
                                         &h.comm) == MPI_SUCCESS);
    for (enum mode mode = 0; mode < MODES; mode++) {
        check_all(mode, &h, 5, 0);
        check_all(mode, &h, 10000, 0);
    }
    MPI_Comm_free(&h.comm);
}

// Up to eight edges from every rank to every rank, itself too: degrees of up to 64.
static int edges(int from, int to)
{
    return (from * 7 + to * 3 + 1) % 9;
}

static void dense(void)
{
    struct hood h = {0};
    for (int r = 0; r < n; r++) {
        for (int k = 0; k < edges(me, r); k++) h.out[h.nout++] = r;
        for (int k = 0; k < edges(r, me); k++) h.in[h.nin++] = r;
    }
    int *volatile even = MPI_UNWEIGHTED;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h.nin, h.in, even, h.nout, h.out, even, MPI_INFO_NULL, 0,
                                         &h.comm) == MPI_SUCCESS);
    for (enum mode mode = 0; mode < MODES; mode++) {
        check_all(mode, &h, 7, 0);
        check_all(mode, &h, 1500, 0);
    }
    MPI_Comm_free(&h.comm);
}

// (a + b) % 3 edges between two ranks, and from a rank to itself.
static void undirected(void)
{
    struct hood h = {0};
    int index[64], *list = malloc(sizeof(int) * 3 * (size_t)(n * n)), total = 0, count;
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++)
            for (int k = 0; k < (a + b) % 3; k++) list[total++] = b;
        index[a] = total;
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, n, index, list, 0, &h.comm) == MPI_SUCCESS);
    CHECK(MPI_Graph_neighbors_count(h.comm, me, &count) == MPI_SUCCESS);
    CHECK(MPI_Graph_neighbors(h.comm, me, 64, h.in) == MPI_SUCCESS);
    h.nin = h.nout = count;
    for (int i = 0; i < count; i++) h.out[i] = h.in[i];
    for (enum mode mode = 0; mode < MODES; mode++) {
        check_all(mode, &h, 5, 0);
        check_all(mode, &h, 5000, 0);
    }
    MPI_Comm_free(&h.comm);
    free(list);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int ndims = 1; ndims <= 3; ndims++) {
        grid(ndims, 0);
        grid(ndims, 1);
    }
    graph();
    dense();
    undirected();
    MPI_Finalize();
    return 0;
}
