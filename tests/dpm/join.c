// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2
// MPI_Comm_join: over a socket whose other end is no MPI process and goes away at any point of what is said it is an
// error, and nothing is waited for. Two ranks meet over one, even if one of them closes it right afterwards.
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../check.h"

enum { WORDS = 40 };    // what each side says first: a number, and a key or zeros

// Says its words, hears `hears` bytes, and ends: its socket is closed in any case.
static void talk(int fd, int number, int hears)
{
    char words[WORDS] = {0}, in[64];
    memset(words, number, 8);
    if (write(fd, words, hears ? WORDS : WORDS / 2) < 0) return;
    while (hears > 0) {
        ssize_t n = read(fd, in, (size_t)hears < sizeof in ? (size_t)hears : sizeof in);
        if (n <= 0) return;
        hears -= (int)n;
    }
}

// number 0: this process opens the port and accepts; 255: it is to be told one.
static void check_gone(int number, int hears)
{
    int fd[2], class;
    MPI_Comm c = MPI_COMM_SELF;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
    pid_t other = fork();
    if (other == 0) {
        close(fd[0]);
        talk(fd[1], number, hears);
        _exit(0);
    }
    close(fd[1]);
    CHECK(MPI_Error_class(MPI_Comm_join(fd[0], &c), &class) == MPI_SUCCESS && class == MPI_ERR_ARG);
    CHECK(c == MPI_COMM_SELF);
    CHECK(fcntl(fd[0], F_GETFD) >= 0);
    close(fd[0]);
}

// The listener's name in the abstract space, which ends with it.
static socklen_t name_of(struct sockaddr_un *a, const char *word)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(a->sun_path + 1, word);
    return (socklen_t)(a->sun_path + 1 + strlen(word) - (char *)a);
}

static int connect_ranks(int rank)
{
    struct sockaddr_un a;
    char word[64];
    snprintf(word, sizeof word, "unisono-test-join-%d", (int)getpid());
    MPI_Bcast(word, sizeof word, MPI_CHAR, 0, MPI_COMM_WORLD);
    socklen_t len = name_of(&a, word);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rank == 0) CHECK(bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        CHECK(connect(fd, (struct sockaddr *)&a, len) == 0);
        return fd;
    }
    int accepted = accept(fd, NULL, NULL);
    CHECK(accepted >= 0);
    close(fd);
    return accepted;
}

static void check_ranks(int rank)
{
    for (int i = 0; i < 20; i++) {
        int fd = connect_ranks(rank), out = rank, in = -1;
        MPI_Comm c;
        CHECK(MPI_Comm_join(fd, &c) == MPI_SUCCESS);
        if (rank == i % 2)
            close(fd);
        else
            CHECK(read(fd, &in, sizeof in) == 0);    // nothing is left in it
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
        CHECK(in == 1 - rank);
        if (rank != i % 2) close(fd);
        MPI_Comm_disconnect(&c);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    static const int heard[] = {0, 1, WORDS, WORDS + 1, WORDS + MPI_MAX_PORT_NAME};
    for (size_t i = 0; i < sizeof heard / sizeof heard[0]; i++) {
        check_gone(0, heard[i]);
        if (heard[i] <= WORDS) check_gone(255, heard[i]);
    }
    if (size == 2) check_ranks(rank);
    MPI_Finalize();
    return 0;
}
