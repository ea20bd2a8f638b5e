// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// Copies across memory are forbidden (seccomp, on rank 1 alone): large messages still arrive, through the ring, both
// ways.
#include "../check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { BYTES = 3 << 20 };

static int forbid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    const char *r = getenv("UNISONO_RANK");
    int forbidden = r && atoi(r) == 1 ? forbid() : 0, rank, size, worst;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&forbidden, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (worst < 0) skip("seccomp filters are not allowed here");
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    for (int turn = 0; turn < 4; turn++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        for (int i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 7 + rank + turn);
        memset(in, 0, BYTES);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, right, turn, in, BYTES, MPI_BYTE, left, turn, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++) CHECK(in[i] == (unsigned char)(i * 7 + left + turn));
    }
    free(out), free(in);
    MPI_Finalize();
    return 0;
}
