// SPDX-License-Identifier: BSD-3-Clause
// A rank dies at a certain place of a program with windows or files: `orphans CASE FOLDER`. The others get
// MPIX_ERR_PROC_FAILED from the call that needs it, can free the window or close the file, shrink, and go on with a new
// one. The last line: "CASE: N go on". With TEST_SPAWN the last ranks are another job's (grown.h). In the case
// `outside` the test sees to the death, once it has read "ready".
#include "../grown.h"

#include <mpi_ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, size, victim;
static MPI_Win win;
static MPI_File file;
static int *mine;
static char path[300];

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

#define MUST_FAIL(call) CHECK(class_of(call) == MPIX_ERR_PROC_FAILED)

static void die(int sig)
{
    (void)sig;
    kill(getpid(), SIGKILL);
}

static void await_death(void)
{
    for (int n = 0; n == 0;) {
        MPI_Group g;
        MPIX_Comm_get_failed(world, &g);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
    }
}

static void make_window(MPI_Comm c)
{
    int n;
    MPI_Comm_size(c, &n);
    MPI_Aint bytes = n * (MPI_Aint)sizeof *mine;
    CHECK(MPI_Win_allocate(bytes, sizeof *mine, MPI_INFO_NULL, c, (void *)&mine, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(mine, 0, (size_t)bytes);
    MPI_Barrier(c);
}

static MPI_Group one(int r)
{
    MPI_Group all, g;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &r, &g);
    MPI_Group_free(&all);
    return g;
}

// ---- windows ----

static void in_fence(void)
{
    if (rank == victim) die(0);
    MUST_FAIL(MPI_Win_fence(0, win));
}

// Dies with a lock that all others want.
static void with_lock(void)
{
    if (rank == victim) CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
    MPI_Barrier(world);    // the victim may be dead when the others leave it
    if (rank == victim) die(0);
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
}

// Dies while it waits for a lock; who has it lets it go afterwards.
static void behind_lock(void)
{
    if (rank == 0) CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) == MPI_SUCCESS);
    MPI_Barrier(world);
    if (rank == victim) {
        struct itimerval t = {.it_value = {0, 50000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &t, NULL);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    }
    await_death();
    if (rank == 0) MUST_FAIL(MPI_Win_unlock(1, win));
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
}

static void in_lock_all(void)
{
    int err = MPI_SUCCESS, one_more = 1;
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    MPI_Barrier(world);
    if (rank == victim) die(0);
    for (int k = 0; err == MPI_SUCCESS; k++) {
        err = MPI_Accumulate(&one_more, 1, MPI_INT, k % (size - 1), 0, 1, MPI_INT, MPI_SUM, win);
        if (err == MPI_SUCCESS) err = k % 2 ? MPI_Win_flush_all(win) : MPI_Win_flush_local_all(win);
    }
    MUST_FAIL(err);
    MUST_FAIL(MPI_Win_unlock_all(win));
}

// With a living rank alone: the window is told to be hurt all the same.
static void in_shared_locks(void)
{
    int err = MPI_SUCCESS;
    if (rank == victim) die(0);
    while (err == MPI_SUCCESS) {
        err = MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        if (err == MPI_SUCCESS) err = MPI_Win_unlock(rank, win);
    }
    MUST_FAIL(err);
}

static void in_flushes(void)
{
    int err = MPI_SUCCESS;
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_SUCCESS);
    MPI_Barrier(world);
    if (rank == victim) die(0);
    while (err == MPI_SUCCESS) {
        CHECK(class_of(MPI_Put(&rank, 1, MPI_INT, rank, 0, 1, MPI_INT, win)) <= MPIX_ERR_PROC_FAILED);
        err = MPI_Win_flush(rank, win);
    }
    MUST_FAIL(err);    // and the window is freed with the lock held
}

// An origin that will not complete: in MPI_Win_wait, or asked for by MPI_Win_test.
static void before_complete(bool wait)
{
    MPI_Group origin = one(victim), target = one(0);
    int over = 0, err = MPI_SUCCESS;
    if (rank == 0) CHECK(MPI_Win_post(origin, 0, win) == MPI_SUCCESS);
    if (rank == victim) {
        CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
        die(0);
    }
    if (rank == 0 && wait) MUST_FAIL(MPI_Win_wait(win));
    while (rank == 0 && !wait && err == MPI_SUCCESS) {
        err = MPI_Win_test(win, &over);
        CHECK(err != MPI_SUCCESS || !over);
    }
    if (rank == 0 && !wait) MUST_FAIL(err);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
}

static void in_wait(void)
{
    before_complete(true);
}

static void in_test(void)
{
    before_complete(false);
}

static void before_post(void)
{
    MPI_Group target = one(victim);
    if (rank == victim) die(0);
    MUST_FAIL(MPI_Win_start(target, 0, win));
    MPI_Group_free(&target);
}

static void before_a_completed_epoch(void)
{
    MPI_Group target = one(victim), origins = one(0);
    if (rank == victim) {
        CHECK(MPI_Win_post(origins, 0, win) == MPI_SUCCESS);
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
        die(0);
    }
    if (rank == 0) {
        CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
        MPI_Send(NULL, 0, MPI_INT, victim, 0, world);
    }
    await_death();
    if (rank == 0) MUST_FAIL(MPI_Win_complete(win));
    MPI_Group_free(&target);
    MPI_Group_free(&origins);
}

static bool is_stopped(int pid)
{
    char name[40], state = '?';
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *f = fopen(name, "r");
    if (f && fscanf(f, "%*d %*s %c", &state) != 1) state = '?';
    if (f) fclose(f);
    return state == 'T';
}

// What was asked for never comes; where memory is reached without the target it comes at once.
static void before_an_answer(void)
{
    int pid = (int)getpid(), got = -1, err;
    MPI_Request r;
    MPI_Bcast(&pid, 1, MPI_INT, victim, world);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    MPI_Barrier(world);
    if (rank == victim) raise(SIGSTOP);
    if (rank == 0) {
        while (!is_stopped(pid)) continue;
        err = MPI_Rget(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win, &r);
        kill(pid, SIGKILL);
        if (err == MPI_SUCCESS) err = MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(err == MPI_SUCCESS ? got == 0 : class_of(err) == MPIX_ERR_PROC_FAILED);
    }
    await_death();
    MUST_FAIL(MPI_Win_unlock_all(win));
}

// ---- files ----

static void in_collective_write(void)
{
    if (rank == victim) die(0);
    MUST_FAIL(MPI_File_write_at_all(file, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
}

static void in_split_write(void)
{
    char text[2] = "x";
    MPI_Status status;
    int begun = MPI_File_write_at_all_begin(file, rank, text, 1, MPI_CHAR);
    if (rank == victim) die(0);
    await_death();
    if (begun == MPI_SUCCESS)
        MUST_FAIL(MPI_File_write_at_all_end(file, text, &status));
    else
        MUST_FAIL(begun);    // the victim was faster
}

// Alone with the pointer the others go on, where they find it; they meet no more.
static void with_shared_pointer(void)
{
    int err = MPI_SUCCESS;
    if (rank == victim) die(0);
    await_death();
    err = MPI_File_write_shared(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK(err == MPI_SUCCESS || class_of(err) == MPIX_ERR_PROC_FAILED);
    MUST_FAIL(MPI_File_write_ordered(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
}

// A lock on the file goes with its holder, and does not keep the others waiting.
static void with_file_locked(void)
{
    enum { MANY = 1 << 20 };
    char *text = calloc(1, MANY);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    MPI_Barrier(world);    // the victim may be through first
    if (rank == victim) {
        struct itimerval t = {.it_value = {0, 20000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &t, NULL);
        for (;;) MPI_File_write_at(file, 0, text, MANY, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    await_death();
    CHECK(MPI_File_write_at(file, 0, text, MANY, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MUST_FAIL(MPI_File_sync(file));
    free(text);
}

static void open_file(MPI_Comm c)
{
    CHECK(MPI_File_open(c, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_Barrier(c);    // a victim that was through first leaves nobody in there
}

// ---- from outside ----

static void talk_on(void)
{
    int got, err = MPI_SUCCESS, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Barrier(world);
    if (rank == 0) puts("ready");
    fflush(stdout);
    while (err == MPI_SUCCESS)
        err = MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, world, MPI_STATUS_IGNORE);
    // Who has no dead neighbour hears of it from one who has.
    CHECK(class_of(err) == MPIX_ERR_PROC_FAILED || class_of(err) == MPIX_ERR_REVOKED);
    MPIX_Comm_revoke(world);
}

// ---- the whole ----

static const struct {
    const char *name;
    bool on_file;
    int victim;    // -1: the last rank
    void (*run)(void);
} cases[] = {
    {"fence", false, -1, in_fence},
    {"lock", false, -1, with_lock},
    {"behind-lock", false, -1, behind_lock},
    {"lock-all", false, -1, in_lock_all},
    {"shared-locks", false, -1, in_shared_locks},
    {"flushes", false, -1, in_flushes},
    {"wait", false, -1, in_wait},
    {"test", false, -1, in_test},
    {"start", false, -1, before_post},
    {"complete", false, -1, before_a_completed_epoch},
    {"rget", false, -1, before_an_answer},
    {"write-all", true, -1, in_collective_write},
    {"split", true, -1, in_split_write},
    {"pointer", true, 0, with_shared_pointer},
    {"atomic", true, -1, with_file_locked},
    {"outside", true, -1, talk_on},
};

static void go_on(const char *name, bool on_file)
{
    MPI_Comm smaller;
    int n, me;
    CHECK(MPIX_Comm_shrink(world, &smaller) == MPI_SUCCESS);
    MPI_Comm_size(smaller, &n);
    MPI_Comm_rank(smaller, &me);
    CHECK(n == size - 1);
    if (on_file) {
        open_file(smaller);
        CHECK(MPI_File_write_at_all(file, me, "yz", 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    } else {
        make_window(smaller);
        CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&rank, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    }
    if (me == 0) printf("%s: %d go on\n", name, n);
    MPI_Comm_free(&smaller);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    grow_world(argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    CHECK(argc == 3);
    snprintf(path, sizeof path, "%s/file", argv[2]);
    size_t i = 0, n = sizeof cases / sizeof *cases;
    while (i < n && strcmp(cases[i].name, argv[1])) i++;
    CHECK(i < n);
    victim = cases[i].victim < 0 ? size - 1 : cases[i].victim;
    if (cases[i].on_file)
        open_file(world);
    else
        make_window(world);
    cases[i].run();
    await_death();
    if (cases[i].on_file) {
        MUST_FAIL(MPI_File_close(&file));
        CHECK(file == MPI_FILE_NULL);
    } else {
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    }
    go_on(cases[i].name, cases[i].on_file);
    MPI_Finalize();
    return 0;
}
