// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 args=any
// run: np=2 args=left set=wait_spin_us=1000000
// run: np=2 args=alone set=rma_path=1
// run: np=2 args=any set=check_windows=1
// Operations on memory of the target's own, inside a host: the same results whether the target waits in MPI, and does
// them itself, or computes, or is stopped where it waits, so that the origin takes back what it has left for it.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../coll/counted.h"

enum { WORDS = 1 << 18, MOST = 150000 };

static long model[WORDS], in[MOST], out[MOST];    // of rank 0: what rank 1's memory holds
static long turn;

static unsigned long long left(void)
{
    return counted("rma_left");
}

static void fill(int n)
{
    for (int i = 0; i < n; i++) in[i] = ++turn * 2654435761u % 1000003;
}

static void flush_and_see(MPI_Win win, const long *want, int n)
{
    CHECK(MPI_Win_flush(1, win) == MPI_SUCCESS);
    for (int i = 0; want && i < n; i++) CHECK(out[i] == want[i]);
}

// Each operation on n words from word `at` on.
static void operate(MPI_Win win, MPI_Aint base, int at, int n)
{
    MPI_Aint disp = base + at * (MPI_Aint)sizeof(long);
    long was[4];
    fill(n);
    MPI_Put(in, n, MPI_LONG, 1, disp, n, MPI_LONG, win);
    memcpy(model + at, in, (size_t)n * sizeof *in);
    flush_and_see(win, NULL, 0);
    fill(n);
    MPI_Accumulate(in, n, MPI_LONG, 1, disp, n, MPI_LONG, MPI_SUM, win);
    MPI_Get_accumulate(in, n, MPI_LONG, out, n, MPI_LONG, 1, disp, n, MPI_LONG, MPI_BXOR, win);
    for (int i = 0; i < n; i++) model[at + i] += in[i];
    flush_and_see(win, model + at, n);
    for (int i = 0; i < n; i++) model[at + i] ^= in[i];
    MPI_Get_accumulate(NULL, 0, MPI_LONG, out, n, MPI_LONG, 1, disp, n, MPI_LONG, MPI_NO_OP, win);
    flush_and_see(win, model + at, n);
    memset(out, 0, (size_t)n * sizeof *out);
    MPI_Get(out, n, MPI_LONG, 1, disp, n, MPI_LONG, win);
    flush_and_see(win, model + at, n);
    memcpy(was, model + at, sizeof was[0]);
    MPI_Fetch_and_op(in, out, MPI_LONG, 1, disp, MPI_SUM, win);
    flush_and_see(win, was, 1);
    was[0] = model[at] += in[0];
    MPI_Compare_and_swap(in, was, out, MPI_LONG, 1, disp, win);
    flush_and_see(win, was, 1);
    model[at] = in[0];
    was[0] = in[0], was[1] = in[0] + 1;
    MPI_Compare_and_swap(in + 1, was + 1, out, MPI_LONG, 1, disp, win);    // not equal
    flush_and_see(win, was, 1);
}

static void operate_all(MPI_Win win, MPI_Aint base)
{
    static const int sizes[] = {2, 4, 5, 16, 21, 128, 500, 1000, 1025, 5000, 40000, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) operate(win, base, 1 + 7 * (int)i, sizes[i]);
    for (int i = 0; i < 200; i++) operate(win, base, 1 + i, 2);
}

// The target waits for a message. Whether it did some of them: insists on that where it is wanted, for as long as other
// programs may keep the target from a processor.
static bool while_it_waits(int me, MPI_Win win, MPI_Aint base, bool wanted)
{
    unsigned long long before = left();
    double start = MPI_Wtime();
    if (me == 0) operate_all(win, base);
    while (me == 0 && wanted && left() == before && MPI_Wtime() - start < 60) {
        operate(win, base, 5, MOST);    // which wakes it
        sched_yield();
    }
    if (me == 0) MPI_Send(NULL, 0, MPI_LONG, 1, 1, MPI_COMM_WORLD);
    if (me == 1) MPI_Recv(NULL, 0, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return left() > before;
}

// The target looks at its first word alone.
static void while_it_computes(int me, MPI_Win win, MPI_Aint base, _Atomic long *word)
{
    static long round;
    round++;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        operate_all(win, base);
        MPI_Put(&round, 1, MPI_LONG, 1, base, 1, MPI_LONG, win);
        flush_and_see(win, NULL, 0);
        model[0] = round;
    }
    while (me == 1 && atomic_load(word) != round) sched_yield();
    MPI_Barrier(MPI_COMM_WORLD);
}

// Stops a process, and returns once it has.
static void stop(long pid)
{
    char name[64], state = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    CHECK(kill((pid_t)pid, SIGSTOP) == 0);
    while (state != 'T') {
        FILE *f = fopen(name, "r");
        CHECK(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
        fclose(f);
        sched_yield();
    }
}

// The target is stopped once it waits, if it tells that by doing something; it goes on when all is done.
static void while_it_is_stopped(int me, MPI_Win win, MPI_Aint base, bool tells)
{
    long pid = (long)getpid();
    MPI_Bcast(&pid, 1, MPI_LONG, 1, MPI_COMM_WORLD);
    if (me == 0) {
        unsigned long long before = left();
        for (int i = 0; i == 0 || (tells && left() == before && i < 1000); i++) operate(win, base, 5, 2);
        stop(pid);
        before = left();
        operate_all(win, base);
        CHECK(left() == before);
        CHECK(kill((pid_t)pid, SIGCONT) == 0);
        MPI_Send(NULL, 0, MPI_LONG, 1, 2, MPI_COMM_WORLD);
    }
    if (me == 1) MPI_Recv(NULL, 0, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void compare(int me, const long *mem)
{
    if (me == 0) MPI_Send(model, WORDS, MPI_LONG, 1, 3, MPI_COMM_WORLD);
    if (me == 0) return;
    MPI_Recv(model, WORDS, MPI_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < WORDS; i++) CHECK(mem[i] == model[i]);
}

static void with(int me, bool dynamic, const char *expected)
{
    long *mem = calloc(WORDS, sizeof *mem);
    MPI_Aint bytes = WORDS * (MPI_Aint)sizeof *mem, base = 0;
    MPI_Win win;
    memset(model, 0, sizeof model);
    if (dynamic) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, mem, bytes);
        MPI_Get_address(mem, &base);
        MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    } else {
        MPI_Win_create(mem, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    MPI_Win_lock_all(0, win);
    bool wanted = strcmp(expected, "left") == 0 && sysconf(_SC_NPROCESSORS_ONLN) > 1;
    bool tells = while_it_waits(me, win, base, wanted);
    MPI_Bcast(&tells, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
    CHECK(tells || !wanted);
    if (strcmp(expected, "alone") == 0) CHECK(!tells);
    while_it_computes(me, win, base, (_Atomic long *)mem);
    while_it_is_stopped(me, win, base, tells);
    while_it_waits(me, win, base, false);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    compare(me, mem);
    MPI_Win_free(&win);
    free(mem);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 4; i++) with(me, i % 2, argv[1]);
    MPI_Finalize();
    return 0;
}
