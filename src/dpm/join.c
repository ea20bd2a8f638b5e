// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join: two processes with a connected socket become an intercommunicator. Each tells the other a random
// number; the larger one opens a port, tells its name and accepts. The socket is as it was afterwards.
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/world.h"
#include "dpm/dpm.h"

// All bytes, whatever the socket's mode; the lock is not held. 0, or an errno value.
static int transfer(int fd, void *data, size_t bytes, short events)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t n = events == POLLOUT ? send(fd, at, bytes, MSG_NOSIGNAL) : recv(fd, at, bytes, 0);
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
            continue;
        }
        if (n == 0) return ECONNRESET;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1);
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static int swap_numbers(int fd, uint64_t *mine, uint64_t *theirs)
{
    int e = 0;
    do {
        if (getrandom(mine, sizeof *mine, 0) != sizeof *mine) return errno;
        e = transfer(fd, mine, sizeof *mine, POLLOUT);
        if (!e) e = transfer(fd, theirs, sizeof *theirs, POLLIN);
    } while (!e && *mine == *theirs);
    return e;
}

static int broken(int e)
{
    errno = e;
    return uno_fail_errno(MPI_ERR_ARG, "talk over the socket");
}

int uno_meeting_join(int fd, MPI_Comm *out)
{
    char port[MPI_MAX_PORT_NAME] = "";
    uint64_t mine = 0, theirs = 0;
    int depth = uno_lock_drop(), e = swap_numbers(fd, &mine, &theirs);
    uno_lock_retake(depth);
    if (e) return broken(e);
    bool opens = mine > theirs;
    int err = opens ? uno_port_open(port) : MPI_SUCCESS;
    if (err) return err;
    depth = uno_lock_drop();
    e = transfer(fd, port, sizeof port, opens ? POLLOUT : POLLIN);
    uno_lock_retake(depth);
    struct uno_meeting_spec spec = {.role = opens ? UNO_ACCEPT : UNO_CONNECT, .comm = &uno_comm_self, .port = port};
    port[sizeof port - 1] = 0;
    err = e ? broken(e) : uno_meeting_hold(&spec, out);
    if (opens) {
        int closed = uno_port_close(port);
        if (!err) err = closed;
    }
    return err;
}
