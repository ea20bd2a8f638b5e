// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,5
// run: np=4 chan=tcp
// run: np=3 env=TMPDIR=/dev/shm
// Atomic mode: ranks write and read the same place at once, in many pieces and by every way of writing; whoever reads
// finds what one rank wrote, whole.
#include "file.h"

enum { RUN = 100, RUNS = 300, BYTES = RUN * RUNS, TURNS = 40 };

static int rank, size;
static unsigned char data[BYTES], back[BYTES];

// Runs with gaps between them: an access is many system calls.
static void see_runs(MPI_File fh)
{
    MPI_Datatype run, type;
    MPI_Type_contiguous(RUN, MPI_BYTE, &run);
    MPI_Type_create_resized(run, 0, 40 * RUN, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&run);
    MPI_Type_free(&type);
}

static int write_by(int form, MPI_File fh)
{
    MPI_Request request;
    int err;
    switch (form) {
    case 0: return MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    case 1:
        err = MPI_File_seek(fh, 0, MPI_SEEK_SET);
        return err ? err : MPI_File_write(fh, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    case 2: err = MPI_File_iwrite_at(fh, 0, data, BYTES, MPI_BYTE, &request); break;
    case 3: return MPI_File_write_at_all(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    default: err = MPI_File_iwrite_at_all(fh, 0, data, BYTES, MPI_BYTE, &request); break;
    }
    return err ? err : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void check_one_writer(MPI_File fh, int turn)
{
    CHECK(MPI_File_read_at(fh, 0, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK((back[0] - 1) / size == turn);    // all write before any goes on to the next turn
    for (int i = 1; i < BYTES; i++) CHECK(back[i] == back[0]);
}

// Ranks write in turn places that touch: nobody's bytes are lost.
static void beside(MPI_File fh)
{
    const MPI_Offset end = BYTES;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Offset at = end + (turn * size + rank) * 7;
        CHECK(MPI_File_write_at(fh, at, data, 7, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size * TURNS; i++) {
        CHECK(MPI_File_read_at(fh, end + i * 7, back, 7, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int k = 0; k < 7; k++) CHECK(back[k] == 1 + i % size);
    }
}

int main(int argc, char **argv)
{
    MPI_File fh;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size * TURNS < 256);
    const char *path = make_path("atomic");
    const int amode = MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    see_runs(fh);
    memset(data, 1, BYTES);
    CHECK(MPI_File_write_at_all(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_atomicity(fh, 1) == MPI_SUCCESS);
    for (int turn = 0; turn < TURNS; turn++) {
        memset(data, 1 + turn * size + rank, BYTES);
        CHECK(write_by(turn % 5, fh) == MPI_SUCCESS);
        check_one_writer(fh, turn);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    memset(data, 1 + rank, BYTES);
    beside(fh);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
