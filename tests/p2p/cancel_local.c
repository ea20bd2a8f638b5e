// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// run: np=2 chan=shm set=shm_cma=0
// run: np=2 chan=shm,tcp set=check_types=1
// A wait for a cancelled send returns while the receiver is outside MPI and stays there until it hears of that, by a
// pipe. Then it finds the message whole, or nothing, as the sender's status says. By size, mode and layout; unmatched,
// matched by a probe, and with the transfer under way.
#include "../check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAG = 3, TALK = 4, MOST = 1 << 21, GUARD = 300 };

static int rank, other;
static int out[MOST], in[MOST];
static int to_sender, to_receiver;    // pipes: the receiver is outside MPI; the sender's wait has returned
static MPI_Datatype every_second, rows;

typedef int starter(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int open_pipe(const char *folder, const char *name, int writes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (rank == 0) CHECK(mkfifo(path, 0600) == 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    int fd = open(path, writes ? O_WRONLY : O_RDONLY);
    CHECK(fd >= 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) CHECK(unlink(path) == 0);
    return fd;
}

static void open_pipes(void)
{
    char folder[64] = "/tmp/cancel-XXXXXX";
    if (rank == 0) CHECK(mkdtemp(folder) != NULL);
    CHECK(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    to_sender = open_pipe(folder, "out", rank == 1);
    to_receiver = open_pipe(folder, "done", rank == 0);
    if (rank == 0) CHECK(rmdir(folder) == 0);
}

static void put(int fd, char what)
{
    CHECK(write(fd, &what, 1) == 1);
}

static char get(int fd)
{
    char what = 0;
    CHECK(read(fd, &what, 1) == 1);
    return what;
}

static void fill(int seed)
{
    for (int i = 0; i < MOST; i++) out[i] = seed * 7919 + i;
}

static void talk(void)
{
    int what = 0;
    if (rank == 0)
        CHECK(MPI_Send(&what, 1, MPI_INT, other, TALK, MPI_COMM_WORLD) == MPI_SUCCESS);
    else
        CHECK(MPI_Recv(&what, 1, MPI_INT, other, TALK, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

// The sender, from the cancel to the message by the pipe. Its buffer is its own again then.
static void cancel_and_wait(MPI_Request *r)
{
    MPI_Status s;
    int gone = -1;
    CHECK(get(to_sender) == 'o');
    CHECK(MPI_Cancel(r) == MPI_SUCCESS);
    alarm(GUARD);
    CHECK(MPI_Wait(r, &s) == MPI_SUCCESS);
    alarm(0);
    CHECK(MPI_Test_cancelled(&s, &gone) == MPI_SUCCESS && (gone == 0 || gone == 1));
    memset(out, 0x66, sizeof out);
    put(to_receiver, gone ? 'c' : 'w');
}

// The receiver, outside MPI meanwhile. Whether the message is to come.
static int stay_outside(void)
{
    put(to_sender, 'o');
    char what = get(to_receiver);
    CHECK(what == 'c' || what == 'w');
    return what == 'w';
}

static void check_data(int seed, int count, MPI_Datatype type)
{
    static int expected[MOST];
    MPI_Aint lb, extent;
    int size, at = 0;
    fill(seed);
    memset(expected, 0x11, sizeof expected);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &size);
    if (count > 0) {
        int bytes = 0;
        MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes);
        char *packed = malloc((size_t)bytes);
        CHECK(MPI_Pack(out, count, type, packed, bytes, &at, MPI_COMM_WORLD) == MPI_SUCCESS);
        int end = at;
        at = 0;
        CHECK(MPI_Unpack(packed, end, &at, expected, count, type, MPI_COMM_WORLD) == MPI_SUCCESS);
        free(packed);
    }
    CHECK(memcmp(in, expected, sizeof in) == 0);
}

static void check_nothing_left(void)
{
    int flag = -1;
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

struct given {
    starter *start;
    int count;
    MPI_Datatype type;
    int seed;
};

static MPI_Request begin(const struct given *g)
{
    MPI_Request r;
    fill(g->seed);
    CHECK(g->start(out, g->count, g->type, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    return r;
}

// Nobody has matched it.
static void unmatched(const struct given *g)
{
    if (rank == 0) {
        MPI_Request r = begin(g);
        cancel_and_wait(&r);
        CHECK(r == MPI_REQUEST_NULL);
    } else {
        memset(in, 0x11, sizeof in);
        if (stay_outside()) {
            CHECK(MPI_Recv(in, g->count, g->type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            check_data(g->seed, g->count, g->type);
        }
    }
    check_nothing_left();
}

// The receiver has matched it, and gone; the transfer has begun or not.
static void matched(const struct given *g)
{
    MPI_Request r;
    if (rank == 0) {
        r = begin(g);
        talk();
        cancel_and_wait(&r);
    } else {
        memset(in, 0x11, sizeof in);
        CHECK(MPI_Irecv(in, g->count, g->type, 0, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        talk();
        CHECK(stay_outside());
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        check_data(g->seed, g->count, g->type);
    }
    check_nothing_left();
}

// A probe has matched it.
static void probed(const struct given *g)
{
    if (rank == 0) {
        MPI_Request r = begin(g);
        talk();
        cancel_and_wait(&r);
    } else {
        MPI_Message m;
        talk();
        CHECK(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(stay_outside());
        memset(in, 0x11, sizeof in);
        CHECK(MPI_Mrecv(in, g->count, g->type, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        check_data(g->seed, g->count, g->type);
    }
    check_nothing_left();
}

// Several at once, cancelled in another order than they were begun: what comes, comes in order.
static void several(void)
{
    enum { MANY = 100, EACH = 20000 };
    MPI_Request r[MANY];
    int gone[MANY], next = 0;
    if (rank == 0) {
        fill(1);
        for (int i = 0; i < MANY; i++)
            CHECK((i % 3 ? MPI_Isend : MPI_Issend)(out + i, EACH, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[i]) ==
                  MPI_SUCCESS);
        CHECK(get(to_sender) == 'o');
        alarm(GUARD);
        for (int i = 0; i < MANY; i++) {
            MPI_Status s;
            int k = i * 37 % MANY;
            CHECK(MPI_Cancel(&r[k]) == MPI_SUCCESS && MPI_Wait(&r[k], &s) == MPI_SUCCESS);
            CHECK(MPI_Test_cancelled(&s, &gone[k]) == MPI_SUCCESS);
        }
        alarm(0);
        memset(out, 0x66, sizeof out);
        for (int i = 0; i < MANY; i++) put(to_receiver, gone[i] ? 'c' : 'w');
    } else {
        put(to_sender, 'o');
        fill(1);
        for (; next < MANY; next++) {
            if (get(to_receiver) == 'c') continue;
            CHECK(MPI_Recv(in, EACH, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(memcmp(in, out + next, EACH * sizeof *in) == 0);
        }
    }
    check_nothing_left();
}

// A persistent send, cancelled while it is under way, sends again afterwards.
static void persistent(starter *init, int count, MPI_Datatype type)
{
    MPI_Request r;
    if (rank == 0) CHECK(init(out, count, type, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        if (rank == 0) {
            fill(round);
            CHECK(MPI_Start(&r) == MPI_SUCCESS);
            cancel_and_wait(&r);
            fill(round + 10);
            CHECK(MPI_Start(&r) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            int comes = stay_outside();
            for (int seed = comes ? round : round + 10; seed <= round + 10; seed += 10) {
                memset(in, 0x11, sizeof in);
                CHECK(MPI_Recv(in, count, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
                check_data(seed, count, type);
            }
        }
        check_nothing_left();
    }
    if (rank == 0) CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
}

// To the own rank: unmatched it is taken back, matched by a probe it comes.
static void to_self(starter *start, int count, MPI_Datatype type)
{
    for (int probe = 0; probe < 2; probe++) {
        MPI_Request r;
        MPI_Status s;
        MPI_Message m = MPI_MESSAGE_NULL;
        int gone = -1, flag = -1;
        fill(probe);
        CHECK(start(out, count, type, rank, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        if (probe) CHECK(MPI_Mprobe(rank, TAG, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        alarm(GUARD);
        CHECK(MPI_Cancel(&r) == MPI_SUCCESS && MPI_Wait(&r, &s) == MPI_SUCCESS);
        alarm(0);
        CHECK(MPI_Test_cancelled(&s, &gone) == MPI_SUCCESS);
        CHECK(!probe || !gone);
        CHECK(start == MPI_Isend || probe || gone);    // what is synchronous is cancelled here, never half done
        memset(out, 0x66, sizeof out);
        memset(in, 0x11, sizeof in);
        if (probe)
            CHECK(MPI_Mrecv(in, count, type, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        else if (!gone)
            CHECK(MPI_Recv(in, count, type, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (!gone) check_data(probe, count, type);
        CHECK(MPI_Iprobe(rank, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    open_pipes();
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    MPI_Type_vector(4, 4096, 8192, MPI_INT, &rows);    // runs long enough to be copied directly
    MPI_Type_commit(&rows);
    const struct {
        int count;
        MPI_Datatype type;
    } of[] = {{0, MPI_INT},    {1, MPI_INT},       {100, MPI_INT},           {3000, MPI_INT}, {MOST / 4, MPI_INT},
              {MOST, MPI_INT}, {20, every_second}, {MOST / 2, every_second}, {60, rows}};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        for (int sync = 0; sync < 2; sync++) {
            struct given g = {sync ? MPI_Issend : MPI_Isend, of[i].count, of[i].type, (int)i};
            unmatched(&g);
            matched(&g);
            probed(&g);
            persistent(sync ? MPI_Ssend_init : MPI_Send_init, g.count, g.type);
            to_self(g.start, g.count, g.type);
        }
    }
    several();
    MPI_Type_free(&every_second);
    MPI_Type_free(&rows);
    MPI_Finalize();
    return 0;
}
