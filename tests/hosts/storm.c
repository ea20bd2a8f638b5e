// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 chan=tcp args=2000
// Messages of many sizes between all pairs of ranks, every word checked, and collectives among them. Rank 0 says how
// many messages each rank has received, and the longest time that none came. `storm MESSAGES [MOST [FILE]]`: so many
// are received by each rank, of MOST bytes at most, and it goes on until FILE exists. Run while lines go down by
// tests/hosts/lines.py.
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

#define WINDOW 16
#define WORDS_MOST (1 << 17)

static uint64_t *out[WINDOW], *in[WINDOW];
static int rank, size, most = 1 << 19;
static int64_t received;
static double last, gap;    // s: when the last message came, and the longest time without one

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    return (x ^ x >> 27) * 0x81dadef4bc2dd44du;
}

static uint64_t seed_of(int from, int to, int64_t round, int k)
{
    return mix(((uint64_t)round * WINDOW + (uint64_t)k) * 4096 + (uint64_t)from * 64 + (uint64_t)to);
}

// Most are small.
static int words_of(uint64_t seed)
{
    int limit = (seed & 31) == 0 ? most : (seed & 31) < 5 ? 65536 : 1024;
    if (limit > most) limit = most;
    return 1 + (int)((seed >> 8) % (uint64_t)(limit / 8));
}

static void arrived(const uint64_t *m, int words, uint64_t seed)
{
    double now = MPI_Wtime();
    if (last > 0 && now - last > gap) gap = now - last;
    last = now;
    for (int i = 0; i < words; i++) CHECK(m[i] == seed + (uint64_t)i * 0x9e3779b97f4a7c15u);
    CHECK(m[words] == 0x7777);
    received++;
}

static void exchange(int64_t round)
{
    int shift = size > 1 ? 1 + (int)(round % (size - 1)) : 0, to = (rank + shift) % size,
        from = (rank - shift + size) % size;
    MPI_Request r[2 * WINDOW];
    uint64_t seed[WINDOW];
    for (int k = 0; k < WINDOW; k++) {
        int n = words_of(seed[k] = seed_of(from, rank, round, k));
        in[k][n] = 0x7777;
        MPI_Irecv(in[k], n, MPI_UINT64_T, from, k, MPI_COMM_WORLD, &r[k]);
    }
    for (int k = 0; k < WINDOW; k++) {
        uint64_t s = seed_of(rank, to, round, k);
        int n = words_of(s);
        for (int i = 0; i < n; i++) out[k][i] = s + (uint64_t)i * 0x9e3779b97f4a7c15u;
        MPI_Isend(out[k], n, MPI_UINT64_T, to, k, MPI_COMM_WORLD, &r[WINDOW + k]);
    }
    for (int left = 2 * WINDOW; left > 0; left--) {
        int k;
        MPI_Waitany(2 * WINDOW, r, &k, MPI_STATUS_IGNORE);
        if (k < WINDOW) arrived(in[k], words_of(seed[k]), seed[k]);
    }
}

static void together(int64_t round)
{
    uint64_t mine = mix((uint64_t)round + (uint64_t)rank), sum = 0, want = 0;
    int n = 1 + (int)(round % 3000), root = (int)(round % size);
    for (int i = 0; i < size; i++) want += mix((uint64_t)round + (uint64_t)i);
    MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == want);
    for (int i = 0; rank == root && i < n; i++) out[0][i] = sum + (uint64_t)i;
    MPI_Bcast(out[0], n, MPI_UINT64_T, root, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK(out[0][i] == sum + (uint64_t)i);
    for (int i = 0; i < size; i++) out[0][i] = sum + (uint64_t)(rank * size + i);
    MPI_Alltoall(out[0], 1, MPI_UINT64_T, in[0], 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(in[0][i] == sum + (uint64_t)(i * size + rank));
    last = 0;    // the time between is not one without traffic
}

// Rank 0 decides when all end, and says how far it is.
static int goes_on(int64_t wanted, const char *file)
{
    int more = received < wanted || (file && access(file, F_OK) != 0);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank > 0) return more;
    printf("%lld\n", (long long)received);
    fflush(stdout);
    return more;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int64_t wanted = argc > 1 ? atoll(argv[1]) : 2000, round = 0;
    if (argc > 2) most = atoi(argv[2]);
    CHECK(size > 1 && most >= 8 && most <= 8 * WORDS_MOST);
    for (int k = 0; k < WINDOW; k++) {
        out[k] = malloc(8 * (WORDS_MOST + 1));
        in[k] = malloc(8 * (WORDS_MOST + 1));
    }
    do {
        for (int i = 0; i < 8; i++) exchange(round++);
        together(round);
    } while (goes_on(wanted, argc > 3 ? argv[3] : NULL));
    double worst = 0;
    MPI_Reduce(&gap, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("all arrived, longest gap %.1f ms\n", worst * 1000);
    for (int k = 0; k < WINDOW; k++) {
        free(out[k]);
        free(in[k]);
    }
    MPI_Finalize();
    return 0;
}
