// SPDX-License-Identifier: BSD-3-Clause
// Jobs of several kinds of processors: what all kinds write alike goes between them, in messages of all sizes,
// collectives and structures. Long double, which they do not, is refused with a reason by every way that data takes.
// Suite 43-aarch64 runs it on x86-64 and aarch64 at once, where nothing has to be said; here the parameter mixed does.
// run: np=1,2 chan=shm,tcp set=mixed=1
#include <string.h>
#include <unistd.h>

#include "../check.h"

enum { MANY = 50000 };

struct mix {
    char c;
    short s;
    int i;
    long l;
    double d;
    float f;
};

static MPI_Datatype make_mix(void)
{
    struct mix m;
    MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_FLOAT}, packed, out;
    int ones[] = {1, 1, 1, 1, 1, 1};
    MPI_Aint at[] = {(char *)&m.c - (char *)&m, (char *)&m.s - (char *)&m, (char *)&m.i - (char *)&m,
                     (char *)&m.l - (char *)&m, (char *)&m.d - (char *)&m, (char *)&m.f - (char *)&m};
    MPI_Type_create_struct(6, ones, at, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof m, &out);
    MPI_Type_free(&packed);
    CHECK(MPI_Type_commit(&out) == MPI_SUCCESS);
    return out;
}

static void exchange(int rank, int n)
{
    int to = (rank + 1) % n, from = (rank + n - 1) % n;
    static double out[MANY], in[MANY];
    for (int i = 0; i < MANY; i++) out[i] = rank + i / 3.0;
    for (int count = 1; count <= MANY; count = count < MANY / 7 ? count * 7 : count == MANY ? MANY + 1 : MANY) {
        memset(in, 0, sizeof in);
        MPI_Sendrecv(out, count, MPI_DOUBLE, to, 1, in, count, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++) CHECK(in[i] == from + i / 3.0);
    }
    MPI_Datatype type = make_mix();
    struct mix mine = {(char)rank, (short)-rank, 100000 + rank, -5000000000L - rank, rank / 7.0, (float)rank}, theirs;
    memset(&theirs, 255, sizeof theirs);
    MPI_Sendrecv(&mine, 1, type, to, 2, &theirs, 1, type, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(theirs.c == from && theirs.s == -from && theirs.i == 100000 + from && theirs.l == -5000000000L - from);
    CHECK(theirs.d == from / 7.0 && theirs.f == (float)from);
    MPI_Type_free(&type);
}

static void combine(int rank, int n)
{
    long sum, all = 0;
    double most, mine = rank / 3.0;
    MPI_Allreduce(&(long){rank + 1}, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 1; i <= n; i++) all += i;
    CHECK(sum == all);
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(most == (n - 1) / 3.0);
    static int big[MANY], total[MANY];
    for (int i = 0; i < MANY; i++) big[i] = i + rank;
    MPI_Allreduce(big, total, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) CHECK(total[i] == n * i + n * (n - 1) / 2);
    MPI_Bcast(big, MANY, MPI_INT, n - 1, MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) CHECK(big[i] == i + n - 1);
}

#define REFUSED(call) CHECK(is_refused(call))

static int is_refused(int err)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    if (err == MPI_SUCCESS) return 0;
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &length);
    return class == MPI_ERR_TYPE && strstr(text, "long double") && strstr(text, "differs between");
}

static void refuse_messages(MPI_Datatype t)
{
    char v[32] = {0}, w[32] = {0}, packed[64];
    int size, at = 0;
    MPI_Request r;
    MPI_Comm self = MPI_COMM_SELF;
    REFUSED(MPI_Send(v, 1, t, 0, 3, self));
    REFUSED(MPI_Isend(v, 1, t, 0, 3, self, &r));
    REFUSED(MPI_Recv(v, 1, t, 0, 3, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Irecv(v, 1, t, 0, 3, self, &r));
    REFUSED(MPI_Sendrecv(v, 1, t, 0, 3, w, 1, t, 0, 3, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Sendrecv_replace(v, 1, t, 0, 3, 0, 3, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Bsend_init(v, 1, t, 0, 3, self, &r));
    REFUSED(MPI_Recv_init(v, 1, t, 0, 3, self, &r));
    REFUSED(MPI_Psend_init(v, 1, 1, t, 0, 3, self, MPI_INFO_NULL, &r));
    REFUSED(MPI_Precv_init(v, 1, 1, t, 0, 3, self, MPI_INFO_NULL, &r));
    REFUSED(MPI_Pack(v, 1, t, packed, sizeof packed, &at, self));
    REFUSED(MPI_Unpack(packed, sizeof packed, &at, v, 1, t, self));
    MPI_Type_size(t, &size);
    CHECK(size >= (int)sizeof(long double));    // questions are answered
}

static void refuse_collectives(MPI_Datatype t)
{
    char v[32] = {0}, w[32] = {0};
    int one = 1, zero = 0;
    MPI_Request r;
    MPI_Comm self = MPI_COMM_SELF;
    REFUSED(MPI_Bcast(v, 1, t, 0, self));
    REFUSED(MPI_Ibcast(v, 1, t, 0, self, &r));
    REFUSED(MPI_Gather(v, 1, t, w, 1, t, 0, self));
    REFUSED(MPI_Allgather(v, 1, t, w, 1, t, self));
    REFUSED(MPI_Allgatherv(v, 1, t, w, &one, &zero, t, self));
    REFUSED(MPI_Alltoall(v, 1, t, w, 1, t, self));
    REFUSED(MPI_Alltoallw(v, &one, &zero, &t, w, &one, &zero, &t, self));
    REFUSED(MPI_Scatter(v, 1, t, w, 1, t, 0, self));
    REFUSED(MPI_Bcast_init(v, 1, t, 0, self, MPI_INFO_NULL, &r));
}

static void refuse_reductions(MPI_Datatype t, MPI_Op op)
{
    char v[32] = {0}, w[32] = {0};
    int one = 1;
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Request r;
    REFUSED(MPI_Allreduce(v, w, 1, t, op, self));
    REFUSED(MPI_Allreduce(MPI_IN_PLACE, w, 1, t, op, self));
    REFUSED(MPI_Iallreduce(v, w, 1, t, op, self, &r));
    REFUSED(MPI_Reduce(v, w, 1, t, op, 0, self));
    REFUSED(MPI_Reduce_scatter(v, w, &one, t, op, self));
    REFUSED(MPI_Reduce_scatter_block(v, w, 1, t, op, self));
    REFUSED(MPI_Scan(v, w, 1, t, op, self));
    REFUSED(MPI_Exscan(v, w, 1, t, op, self));
    REFUSED(MPI_Reduce_local(v, w, 1, t, op));
}

static void refuse_windows(MPI_Datatype t, MPI_Op op)
{
    char v[32] = {0}, w[32] = {0}, *base;
    MPI_Win win;
    MPI_Request r;
    MPI_Win_allocate(sizeof v, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    REFUSED(MPI_Put(v, 1, t, 0, 0, 1, t, win));
    REFUSED(MPI_Put(v, sizeof v, MPI_BYTE, 0, 0, 1, t, win));
    REFUSED(MPI_Get(v, 1, t, 0, 0, 1, t, win));
    REFUSED(MPI_Rput(v, 1, t, 0, 0, 1, t, win, &r));
    REFUSED(MPI_Accumulate(v, 1, t, 0, 0, 1, t, op, win));
    REFUSED(MPI_Get_accumulate(v, 1, t, w, 1, t, 0, 0, 1, t, op, win));
    REFUSED(MPI_Fetch_and_op(v, w, t, 0, 0, op, win));
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
}

static void refuse_files(MPI_Datatype t)
{
    char v[32] = {0}, name[64];
    MPI_File f;
    snprintf(name, sizeof name, "mixed.%d", (int)getpid());
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &f) == MPI_SUCCESS);
    REFUSED(MPI_File_write_at(f, 0, v, 1, t, MPI_STATUS_IGNORE));
    REFUSED(MPI_File_read_at(f, 0, v, 1, t, MPI_STATUS_IGNORE));
    REFUSED(MPI_File_write_all(f, v, 1, t, MPI_STATUS_IGNORE));
    REFUSED(MPI_File_set_view(f, 0, t, t, "native", MPI_INFO_NULL));
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

static void refuse_made(MPI_Datatype t)
{
    MPI_Datatype made[4], types[] = {MPI_INT, t};
    int ones[] = {1, 1}, zero = 0, two = 2;
    MPI_Aint at[] = {0, 32};
    MPI_Type_contiguous(4, t, &made[0]);
    MPI_Type_create_struct(2, ones, at, types, &made[1]);
    MPI_Type_create_subarray(1, &two, ones, &zero, MPI_ORDER_C, t, &made[2]);
    MPI_Type_contiguous(2, made[1], &made[3]);
    for (int i = 0; i < 4; i++) {
        REFUSED(MPI_Type_commit(&made[i]));
        REFUSED(MPI_Send(NULL, 0, made[i], 0, 3, MPI_COMM_SELF));
        MPI_Type_free(&made[i]);
    }
    REFUSED(MPI_Type_dup(t, &made[0]));
    made[0] = t;
    REFUSED(MPI_Type_commit(&made[0]));
}

static void refuse(void)
{
    const MPI_Datatype all[] = {MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX,
                                MPI_LONG_DOUBLE_INT};
    MPI_Datatype made;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) {
        MPI_Op op = all[i] == MPI_LONG_DOUBLE_INT ? MPI_MAXLOC : MPI_SUM;
        refuse_messages(all[i]);
        refuse_collectives(all[i]);
        refuse_reductions(all[i], op);
        refuse_windows(all[i], op);
        refuse_files(all[i]);
        refuse_made(all[i]);
    }
    REFUSED(MPI_Type_create_f90_real(18, MPI_UNDEFINED, &made));
    REFUSED(MPI_Type_create_f90_complex(18, MPI_UNDEFINED, &made));
    CHECK(MPI_Type_create_f90_real(33, MPI_UNDEFINED, &made) == MPI_SUCCESS);    // binary128 on all
}

int main(int argc, char **argv)
{
    int rank, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    exchange(rank, n);
    combine(rank, n);
    // Every rank has met the others by now, if by tcp alone.
    refuse();
    MPI_Finalize();
    return 0;
}
