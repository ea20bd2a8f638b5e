// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,4 chan=shm,tcp threads
// run: np=2 set=alloc_mem_share=always
// run: np=2 set=alloc_mem_share=never args=never
// run: np=2 args=limit
// run: np=2 set=rma_path=2 args=never
// Memory of MPI_Alloc_mem: blocks of all sizes, many at once, by several threads, never overlap, are aligned, can be
// freed and survive a fork; windows created on them are mapped by all ranks of the host (MPI_Win_shared_query), also in
// the middle of a block, also beside parts that are not. Arguments: never, limit (the memory is not shared).
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int me, n, shares;

struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char mark;
};

static void fill(const struct block *b)
{
    memset(b->at, b->mark, b->bytes);
}

static int is_whole(const struct block *b)
{
    for (size_t i = 0; i<b->bytes; i += b->bytes> 4096 ? 509 : 1)
        if (b->at[i] != b->mark) return 0;
    return b->bytes == 0 || b->at[b->bytes - 1] == b->mark;
}

// Takes and gives blocks at random; each keeps what was written to it.
static void *churn(void *arg)
{
    enum { BLOCKS = 200, TURNS = 3000 };
    struct block block[BLOCKS] = {{0}};
    uint64_t x = 88172645463325252u + (uint64_t)(uintptr_t)arg * 7919 + (uint64_t)me;
    for (int t = 0; t < TURNS; t++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        struct block *b = &block[x % BLOCKS];
        if (b->at) {
            CHECK(is_whole(b) && MPI_Free_mem(b->at) == MPI_SUCCESS);
            b->at = NULL;
            continue;
        }
        b->bytes = (x >> 20) % (t % 100 == 0 ? 3000000 : t % 10 == 0 ? 200000 : 3000);
        b->mark = (unsigned char)(x >> 10);
        CHECK(MPI_Alloc_mem((MPI_Aint)b->bytes, MPI_INFO_NULL, &b->at) == MPI_SUCCESS);
        CHECK((uintptr_t)b->at % 64 == 0);
        fill(b);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (!block[i].at) continue;
        CHECK(is_whole(&block[i]) && MPI_Free_mem(block[i].at) == MPI_SUCCESS);
    }
    return NULL;
}

static void many(void)
{
    enum { MANY = 30000 };
    static int *p[MANY];
    for (int i = 0; i < MANY; i++) {
        CHECK(MPI_Alloc_mem(sizeof(int), MPI_INFO_NULL, &p[i]) == MPI_SUCCESS);
        *p[i] = i;
    }
    for (int i = 0; i < MANY; i++) CHECK(*p[i] == i);
    for (int i = 0; i < MANY; i++) CHECK(MPI_Free_mem(p[i * 7 % MANY]) == MPI_SUCCESS);
}

static void aligned(void)
{
    MPI_Info info;
    char *p;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "16384");
    CHECK(MPI_Alloc_mem(100, info, &p) == MPI_SUCCESS && (uintptr_t)p % 16384 == 0);
    CHECK(MPI_Free_mem(p) == MPI_SUCCESS);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "262144");
    CHECK(MPI_Alloc_mem(100, info, &p) == MPI_SUCCESS && (uintptr_t)p % 262144 == 0);
    CHECK(MPI_Free_mem(p) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

// Each rank's part is seen by all, or by nobody else.
static void look(MPI_Win win, int *mem, int count, const int *seen)
{
    for (int i = 0; i < count; i++) mem[i] = me * 1000 + i;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        MPI_Aint size;
        int unit, *at, got[2];
        CHECK(MPI_Win_shared_query(win, r, &size, &unit, &at) == MPI_SUCCESS);
        CHECK(size == (seen[r] || r == me ? count * (MPI_Aint)sizeof(int) : 0));
        if (size == 0)
            CHECK(at == NULL);
        else
            CHECK(unit == sizeof(int) && at[0] == r * 1000 && at[count - 1] == r * 1000 + count - 1);
        MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
        MPI_Get(got, 2, MPI_INT, r, count - 2, 2, MPI_INT, win);
        MPI_Win_unlock(r, win);
        CHECK(got[1] == r * 1000 + count - 1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (at && r == (me + 1) % n) at[1] = -7;
        MPI_Barrier(MPI_COMM_WORLD);
        if (r == me && n > 1 && seen[r]) CHECK(mem[1] == -7);
        MPI_Barrier(MPI_COMM_WORLD);
        mem[1] = me * 1000 + 1;
    }
}

static void windows(size_t bytes, int mixed)
{
    int seen[16], *mem, count = (int)(bytes / sizeof(int)) - 10;
    MPI_Win win;
    for (int r = 0; r < n; r++) seen[r] = shares && !(mixed && r % 2);
    if (mixed && me % 2)
        CHECK(posix_memalign((void **)&mem, 64, bytes) == 0);
    else
        CHECK(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &mem) == MPI_SUCCESS);
    MPI_Win_create(mem + 3, count * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    look(win, mem + 3, count, seen);
    MPI_Win_free(&win);
    if (mixed && me % 2)
        free(mem);
    else
        CHECK(MPI_Free_mem(mem) == MPI_SUCCESS);
}

static void forked(void)
{
    char *p;
    int status;
    CHECK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &p) == MPI_SUCCESS);
    memset(p, 5, 100000);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(p[99999] == 5 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(p[0] == 5 && p[99999] == 5 && MPI_Free_mem(p) == MPI_SUCCESS);
}

static void wrong(void)
{
    char *p;
    int class_;
    CHECK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &p) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (shares && n > 1) {
        MPI_Error_class(MPI_Free_mem(p + 8), &class_);
        CHECK(class_ == MPI_ERR_BASE);
    }
    CHECK(MPI_Free_mem(p) == MPI_SUCCESS);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)    // they end a program that asks for so much
    MPI_Error_class(MPI_Alloc_mem((MPI_Aint)1 << 50, MPI_INFO_NULL, &p), &class_);
    CHECK(class_ == MPI_ERR_NO_MEM);
#endif
}

int main(int argc, char **argv)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    shares = argc < 2;
    struct rlimit small = {1 << 20, 1 << 20};
    if (argc > 1 && strcmp(argv[1], "limit") == 0) CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    windows(4000, 0);
    windows(70000, 0);
    windows(3000000, 0);    // after a window was made
    windows(4000, 1);
    windows(3000000, 1);
    many();
    aligned();
    for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&thread[t], NULL, churn, (void *)(size_t)(t + 1)) == 0);
    for (int t = 0; t < THREADS; t++) CHECK(pthread_join(thread[t], NULL) == 0);
    forked();
    wrong();
    MPI_Finalize();
    return 0;
}
