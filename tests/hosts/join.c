// SPDX-License-Identifier: BSD-3-Clause
// Two processes on two hosts join over a TCP socket of theirs, twice over the same one: `join` prints the port that it
// listens at, `join ADDRESS PORT` connects to it. Further ranks of their jobs look on. Used by the suite 36-hosts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../check.h"

#define LARGE (3 << 20)

static int listen_and_take(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 1) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    int got = accept(fd, NULL, NULL);
    CHECK(got >= 0);
    close(fd);
    return got;
}

static int dial(const char *address, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(inet_pton(AF_INET, address, &a.sin_addr) == 1);
    CHECK(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

static void swap(MPI_Comm c, size_t bytes, int seed)
{
    unsigned char *out = malloc(bytes), *in = calloc(1, bytes);
    for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i * 31 + (size_t)seed);
    MPI_Sendrecv(out, (int)bytes, MPI_BYTE, 0, 5, in, (int)bytes, MPI_BYTE, 0, 5, c, MPI_STATUS_IGNORE);
    CHECK(memcmp(in, out, bytes) == 0);
    free(out);
    free(in);
}

static void join(int fd, int turn)
{
    MPI_Comm c = MPI_COMM_NULL, merged;
    int inter = 0, others = 0, n = 0;
    CHECK(MPI_Comm_join(fd, &c) == MPI_SUCCESS);
    MPI_Comm_test_inter(c, &inter);
    MPI_Comm_remote_size(c, &others);
    CHECK(inter && others == 1);
    swap(c, 100, turn);
    swap(c, LARGE, turn);
    MPI_Intercomm_merge(c, 0, &merged);
    MPI_Comm_size(merged, &n);
    CHECK(n == 2);
    MPI_Barrier(merged);
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&c);
}

// The socket carries the user's bytes again, and nothing of ours is left in it.
static void use_socket(int fd, char word)
{
    char in = 0;
    CHECK(send(fd, &word, 1, 0) == 1);
    CHECK(recv(fd, &in, 1, MSG_WAITALL) == 1 && in == word);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        int fd = argc > 2 ? dial(argv[1], argv[2]) : listen_and_take();
        for (int turn = 0; turn < 2; turn++) {
            join(fd, turn);
            use_socket(fd, (char)('a' + turn));
        }
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
