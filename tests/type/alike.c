// SPDX-License-Identifier: BSD-3-Clause
// Long double in a job whose ranks keep it alike: whatever uses it first works, without anything being said.
// `first FILE` uses it, tells so by the file, and waits for rank 1; `after FILE` waits for the file before MPI_Init:
// suite 43-aarch64 runs the two on different processors, which then cannot take part in one job.
// run: np=2 args=send
// run: np=2 args=dup
// run: np=2 args=commit
// run: np=2 args=named
// run: np=2 args=f90
// run: np=2 args=reduce
// run: np=2 args=put
// run: np=2 args=file
// run: np=2 args=pack
// run: np=2 args=alltoallw
// run: np=2 args=send threads
// run: np=2 args=send set=checks=0
// run: np=2 args=reduce set=checks=0
// run: np=2 args=put set=checks=0
// run: np=2 args=alltoallw set=checks=0
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

static int rank;

static void swap(MPI_Datatype t)
{
    long double out = rank + 0.25L, in = -1;
    int other = 1 - rank;
    CHECK(MPI_Sendrecv(&out, 1, t, other, 1, &in, 1, t, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in == other + 0.25L);
}

static void made(const char *how)
{
    MPI_Datatype t;
    if (strcmp(how, "dup") == 0) CHECK(MPI_Type_dup(MPI_LONG_DOUBLE, &t) == MPI_SUCCESS);
    if (strcmp(how, "f90") == 0) CHECK(MPI_Type_create_f90_real(18, MPI_UNDEFINED, &t) == MPI_SUCCESS);
    if (strcmp(how, "commit") == 0) {
        MPI_Type_contiguous(1, MPI_LONG_DOUBLE, &t);
        CHECK(MPI_Type_commit(&t) == MPI_SUCCESS);
    }
    if (strcmp(how, "named") == 0) {
        MPI_Datatype pair = MPI_LONG_DOUBLE_INT;
        t = MPI_LONG_DOUBLE;
        CHECK(MPI_Type_commit(&t) == MPI_SUCCESS && MPI_Type_commit(&pair) == MPI_SUCCESS);
    }
    swap(t);
    if (t != MPI_LONG_DOUBLE && strcmp(how, "f90") != 0) MPI_Type_free(&t);
}

static void reduce(void)
{
    struct {
        long double v;
        int i;
    } mine = {rank + 0.5L, rank}, most;
    CHECK(MPI_Allreduce(&mine, &most, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(most.v == 1.5L && most.i == 1);
}

static void put(void)
{
    long double *base, mine = rank + 7.5L;
    MPI_Win win;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&mine, 1, MPI_LONG_DOUBLE, 1 - rank, 0, 1, MPI_LONG_DOUBLE, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    CHECK(*base == 1 - rank + 7.5L);
    MPI_Win_free(&win);
}

static void file(void)
{
    long double out = 0.75L, in = 0;
    char name[64];
    MPI_File f;
    snprintf(name, sizeof name, "alike.%d", (int)getpid());
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &f) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(f, 0, MPI_LONG_DOUBLE, MPI_LONG_DOUBLE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(f, 1, &out, 1, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(f, 1, &in, 1, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS && in == out);
    MPI_File_close(&f);
}

static void pack(void)
{
    long double out = 3.25L, in = 0;
    char packed[64];
    int at = 0;
    CHECK(MPI_Pack(&out, 1, MPI_LONG_DOUBLE, packed, sizeof packed, &at, MPI_COMM_SELF) == MPI_SUCCESS);
    at = 0;
    CHECK(MPI_Unpack(packed, sizeof packed, &at, &in, 1, MPI_LONG_DOUBLE, MPI_COMM_SELF) == MPI_SUCCESS && in == out);
}

static void alltoallw(void)
{
    long double out[2] = {rank, rank + 10}, in[2] = {-1, -1};
    int ones[] = {1, 1}, at[] = {0, sizeof *out};
    MPI_Datatype types[] = {MPI_LONG_DOUBLE, MPI_LONG_DOUBLE};
    CHECK(MPI_Alltoallw(out, ones, at, types, in, ones, at, types, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(in[0] == 10 * rank && in[1] == 1 + 10 * rank);
}

static void use(const char *how)
{
    if (strcmp(how, "send") == 0) swap(MPI_LONG_DOUBLE);
    if (strstr("dup commit named f90", how)) made(how);
    if (strcmp(how, "reduce") == 0) reduce();
    if (strcmp(how, "put") == 0) put();
    if (strcmp(how, "file") == 0) file();
    if (strcmp(how, "pack") == 0) pack();
    if (strcmp(how, "alltoallw") == 0) alltoallw();
}

static void tell(const char *path)
{
    int word;
    pack();
    close(open(path, O_CREAT | O_WRONLY, 0600));
    MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts("a rank that keeps long double otherwise took part");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "send", *path = argc > 2 ? argv[2] : "";
    while (strcmp(how, "after") == 0 && access(path, F_OK) != 0) usleep(1000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "first") == 0) tell(path);
    if (strcmp(how, "after") == 0) MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    use(how);
    MPI_Finalize();
    return 0;
}
