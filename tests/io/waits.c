// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// run: np=2 threads
// All calls that wait for accesses or test them. Those that wait do accesses that nobody has begun themselves, unless
// messages are waited for too; those that test never do. One access that fails is told by its status.
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

enum { MANY = 6, BYTES = 40000, TURNS = 200 };
enum way { WAIT, WAITALL, WAITANY, WAITSOME, MIXED, TEST, TESTALL, TESTANY, TESTSOME, WAYS };

static int rank, size, here, there;    // accesses by the program's thread and by others
static int failing = -1;               // the access that fails
static pthread_t program;
static char data[MANY][BYTES], back[MANY][BYTES];

static MPI_Offset place(int i)
{
    return (MPI_Offset)(rank * MANY + i) * BYTES;
}

// In place of libc's, for the library too.
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
    __atomic_add_fetch(pthread_equal(pthread_self(), program) ? &here : &there, 1, __ATOMIC_RELAXED);
    if (failing >= 0 && at >= place(failing) && at < place(failing + 1)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    __atomic_add_fetch(pthread_equal(pthread_self(), program) ? &here : &there, 1, __ATOMIC_RELAXED);
    return syscall(SYS_pread64, fd, to, n, at);
}

static int by_some(enum way way, int n, MPI_Request *request, int *left)
{
    int index[MANY + 1], count;
    int err = way == WAITSOME ? MPI_Waitsome(n, request, &count, index, MPI_STATUSES_IGNORE)
                              : MPI_Testsome(n, request, &count, index, MPI_STATUSES_IGNORE);
    CHECK(count != MPI_UNDEFINED && (way == TESTSOME || count > 0));
    *left -= count;
    return err;
}

static int by_any(enum way way, int n, MPI_Request *request, int *left)
{
    int index = -1, flag = 1;
    int err = way == WAITANY ? MPI_Waitany(n, request, &index, MPI_STATUS_IGNORE)
                             : MPI_Testany(n, request, &index, &flag, MPI_STATUS_IGNORE);
    *left -= flag;
    return err;
}

static void finish(enum way way, int n, MPI_Request *request)
{
    int flag = 0;
    for (int left = n; left > 0;) {
        switch (way) {
        case WAIT: CHECK(MPI_Wait(&request[n - left--], MPI_STATUS_IGNORE) == MPI_SUCCESS); break;
        case WAITALL:
        case MIXED:
            CHECK(MPI_Waitall(n, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            left = 0;
            break;
        case TEST:
            CHECK(MPI_Test(&request[left - 1], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            left -= flag;
            break;
        case TESTALL:
            CHECK(MPI_Testall(n, request, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            left = flag ? 0 : n;
            break;
        case WAITANY:
        case TESTANY: CHECK(by_any(way, n, request, &left) == MPI_SUCCESS); break;
        default: CHECK(by_some(way, n, request, &left) == MPI_SUCCESS);
        }
    }
    for (int i = 0; i < n; i++) CHECK(request[i] == MPI_REQUEST_NULL);
}

static void turn(MPI_File fh, enum way way, int number)
{
    MPI_Request request[MANY + 1];
    int word = -1, n = MANY, next = (rank + 1) % size;
    for (int i = 0; i < MANY; i++) {
        memset(data[i], number + 7 * i + rank, BYTES);
        CHECK(MPI_File_iwrite_at(fh, place(i), data[i], BYTES, MPI_CHAR, &request[i]) == MPI_SUCCESS);
    }
    if (way == MIXED) MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request[n++]);
    if (way == MIXED) MPI_Send(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
    finish(way, n, request);
    if (way == MIXED) CHECK(word == (rank + size - 1) % size);
    for (int i = 0; i < MANY; i++)
        CHECK(MPI_File_iread_at(fh, place(i), back[i], BYTES, MPI_CHAR, &request[i]) == MPI_SUCCESS);
    finish(way, MANY, request);
    CHECK(memcmp(data, back, sizeof data) == 0);
}

static void fails(MPI_File fh, const char *path)
{
    MPI_Request request[MANY];
    MPI_Status status[MANY];
    for (failing = 0; failing < MANY; failing++) {
        for (int i = 0; i < MANY; i++)
            CHECK(MPI_File_iwrite_at(fh, place(i), data[i], BYTES, MPI_CHAR, &request[i]) == MPI_SUCCESS);
        CHECK(says(MPI_Waitall(MANY, request, status), MPI_ERR_IN_STATUS, ""));
        for (int i = 0; i < MANY; i++) {
            int count = -1;
            CHECK(MPI_Get_count(&status[i], MPI_CHAR, &count) == MPI_SUCCESS);
            CHECK(count == (i == failing ? 0 : BYTES));
            CHECK(i == failing ? status[i].MPI_ERROR == MPI_ERR_IO : status[i].MPI_ERROR == MPI_SUCCESS);
        }
        CHECK(MPI_File_iwrite_at(fh, place(failing), data, BYTES, MPI_CHAR, request) == MPI_SUCCESS);
        int index = -1, err = MPI_Waitany(1, request, &index, status);
        CHECK(index == 0 && says(err, MPI_ERR_IO, path) && says(err, MPI_ERR_IO, "Input/output error"));
    }
    failing = -1;
}

int main(int argc, char **argv)
{
    MPI_File fh;
    int provided;
    program = pthread_self();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = make_path("waits");
    const int amode = MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    for (enum way way = WAIT; way < WAYS; way++) {
        here = there = 0;
        for (int i = 0; i < TURNS; i++) turn(fh, way, i);
        // Waking a thread takes longer than the way to the wait, nearly always.
        if (way < MIXED) CHECK(here > 0);
        if (way > MIXED) CHECK(here == 0 && there > 0);
    }
    fails(fh, path);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
