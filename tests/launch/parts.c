// SPDX-License-Identifier: BSD-3-Clause
// Two jobs agree while members die: `parts intra|inter FOLDER VICTIM:COUNT...`. The first job has two ranks and spawns
// two more: four members, of a merged communicator or of two groups. A victim dies once it has sent COUNT messages of
// agreements, of 0 before it votes. All decisions are noted in the folder as soon as a member knows them, by those that
// die later too; the test compares them. The last line of who is left: "N go on".
#include <fcntl.h>
#include <mpi_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMBERS = 4, PARENTS = 2 };

static int number, notes, lives = -1, inter;
static const char *folder;

static void fail(const char *what, int line)
{
    fprintf(stderr, "member %d, line %d: %s\n", number, line, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

#define CHECK(cond) ((cond) ? (void)0 : fail(#cond, __LINE__))

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

// The callback of each message.
static void on_message(MPI_T_event_instance i, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    (void)i, (void)r, (void)safety, (void)data;
    if (--lives == 0) die();
}

static void be_victim(void)
{
    int index, provided;
    MPI_T_event_registration r;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_event_get_index("agreement_message", &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, on_message) ==
          MPI_SUCCESS);
}

// One line per decision: which, by whom, what.
static void note(const char *what, int value)
{
    char path[300], line[80];
    snprintf(path, sizeof path, "%s/notes", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int n = snprintf(line, sizeof line, "%d %d %s %d\n", notes++, number, what, value);
    CHECK(fd >= 0 && write(fd, line, (size_t)n) == n);
    close(fd);
}

static int agree(MPI_Comm c, int flag)
{
    int err = class_of(MPIX_Comm_agree(c, &flag));
    CHECK(err == MPI_SUCCESS || err == MPIX_ERR_PROC_FAILED);
    note(err ? "failed" : "agreed", flag);
    return err;
}

// Members as bits. The numbers of those of c's groups are ranks, of an intercommunicator the parents' first.
static int bits_of(MPI_Group of, MPI_Group base, int first)
{
    int n, set = 0, rank[MEMBERS], there[MEMBERS];
    MPI_Group_size(of, &n);
    for (int i = 0; i < n; i++) rank[i] = i;
    MPI_Group_translate_ranks(of, n, rank, base, there);
    for (int i = 0; i < n; i++) set |= 1 << (first + there[i]);
    return set;
}

static int members(MPI_Comm made, MPI_Comm base)
{
    MPI_Group of, all;
    int own = inter && number >= PARENTS ? PARENTS : 0;
    MPI_Comm_group(made, &of);
    MPI_Comm_group(base, &all);
    int set = bits_of(of, all, own);
    MPI_Group_free(&of);
    MPI_Group_free(&all);
    if (!inter) return set;
    MPI_Comm_remote_group(made, &of);
    MPI_Comm_remote_group(base, &all);
    set |= bits_of(of, all, PARENTS - own);
    MPI_Group_free(&of);
    MPI_Group_free(&all);
    return set;
}

static MPI_Comm shrink(MPI_Comm c, MPI_Comm base)
{
    MPI_Comm made;
    MPI_Request r;
    CHECK(MPIX_Comm_ishrink(c, &made, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    note("members", made == MPI_COMM_NULL ? 0 : members(made, base));
    if (made == MPI_COMM_NULL) return made;    // the other group has died out
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

// How many use it together.
static int count(MPI_Comm c)
{
    int one = 1, there = 0, here = 0, remote = 0;
    MPI_Comm_size(c, &here);
    if (inter) MPI_Comm_remote_size(c, &remote);
    if (class_of(MPI_Allreduce(&one, &there, 1, MPI_INT, MPI_SUM, c)) != MPI_SUCCESS) return -1;
    CHECK(there == (inter ? remote : here));
    return here + remote;
}

// A first vote in which each lacks one bit, then smaller communicators until nobody dies any more. How many are left, 0
// if it is one group alone.
static int go_on(MPI_Comm base)
{
    MPI_Comm c = base, made;
    int n = -1, fine;
    agree(c, ~(1 << number));
    do {
        MPIX_Comm_revoke(c);
        made = shrink(c, base);
        if (c != base) MPI_Comm_free(&c);
        c = made;
        if (c == MPI_COMM_NULL) return 0;
        fine = agree(c, 7) == MPI_SUCCESS;
        if (fine) n = count(c);
    } while (!fine || agree(c, n > 0) != MPI_SUCCESS || n < 0);
    MPI_Comm_free(&c);
    return n;
}

int main(int argc, char **argv)
{
    MPI_Comm other, all;
    MPI_Init(&argc, &argv);
    inter = strcmp(argv[1], "inter") == 0;
    folder = argv[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_get_parent(&other);
    int child = other != MPI_COMM_NULL;
    if (child)
        number += PARENTS;
    else
        MPI_Comm_spawn(argv[0], argv + 1, MEMBERS - PARENTS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, child, &all);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Barrier(all);
    for (int i = 3; i < argc; i++) {
        int victim, some;
        CHECK(sscanf(argv[i], "%d:%d", &victim, &some) == 2);
        if (victim == number) lives = some;
    }
    if (lives == 0) die();
    if (lives > 0) be_victim();
    int n = go_on(inter ? other : all);
    note("left", n);
    MPI_Finalize();
    return 0;
}
