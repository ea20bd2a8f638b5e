// SPDX-License-Identifier: BSD-3-Clause
// Asks the launcher (pm.h). One request, one answer, over a socket that keeps message boundaries. Called by the
// channels that need addresses.
#include "base/pm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int fd = -2;    // -2: the environment has not been read

// What the program starts must not hold the socket, let alone use it.
static int socket_fd(void)
{
    if (fd == -2) {
        const char *text = getenv(UNO_PM_ENV);
        fd = text ? atoi(text) : -1;
        if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

void uno_pm_forget(void)
{
    fd = -1;
}

bool uno_pm_there(void)
{
    return socket_fd() >= 0;
}

static int transfer(struct iovec *part, size_t parts, bool out)
{
    struct msghdr m = {.msg_iov = part, .msg_iovlen = parts};
    ssize_t n;
    do n = out ? sendmsg(socket_fd(), &m, MSG_NOSIGNAL) : recvmsg(socket_fd(), &m, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    if (n == 0 && !out) return ENOTCONN;
    return m.msg_flags & MSG_TRUNC ? EMSGSIZE : 0;
}

static int send_request(const struct uno_pm_head *h, const char *key, const void *value)
{
    struct iovec part[] = {{(void *)(uintptr_t)h, sizeof *h},
                           {(void *)(uintptr_t)key, (size_t)h->key_bytes},
                           {(void *)(uintptr_t)value, (size_t)h->value_bytes}};
    return uno_pm_there() ? transfer(part, 3, true) : ENOTCONN;
}

static int ask(const struct uno_pm_head *h, const char *key, const void *value, struct iovec *answer, size_t parts)
{
    int err = send_request(h, key, value);
    return err ? err : transfer(answer, parts, false);
}

int uno_pm_put(const char *key, const void *value, size_t bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_PUT, .key_bytes = (int)strlen(key) + 1, .value_bytes = (int)bytes}, got;
    struct iovec answer = {&got, sizeof got};
    if (strlen(key) >= UNO_PM_KEY_MAX || bytes > UNO_PM_VALUE_MAX) return EMSGSIZE;
    return ask(&h, key, value, &answer, 1);
}

int uno_pm_get(int rank, const char *key, void *value, size_t *bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_ASK, .rank = rank, .key_bytes = (int)strlen(key) + 1}, got;
    struct iovec answer[] = {{&got, sizeof got}, {value, *bytes}};
    if (strlen(key) >= UNO_PM_KEY_MAX) return EMSGSIZE;
    int err = ask(&h, key, NULL, answer, 2);
    if (err == 0 && got.op == UNO_PM_NONE) err = ESRCH;
    if (err == 0) *bytes = (size_t)got.value_bytes;
    return err;
}

int uno_pm_fence(void)
{
    struct uno_pm_head h = {.op = UNO_PM_MEET}, got;
    struct iovec answer = {&got, sizeof got};
    return ask(&h, "", NULL, &answer, 1);
}

int uno_pm_command(const char *words, size_t bytes, int *mpi_class, char *text, size_t room)
{
    if (bytes > UNO_PM_REQUEST_MAX) return EMSGSIZE;
    int err = 0;
    for (size_t at = 0; at < bytes && !err;) {
        size_t piece = bytes - at < UNO_PM_VALUE_MAX ? bytes - at : UNO_PM_VALUE_MAX;
        struct uno_pm_head h = {
            .op = UNO_PM_REQUEST, .rank = (int)(bytes - at - piece), .key_bytes = 1, .value_bytes = (int)piece};
        err = send_request(&h, "", words + at);
        at += piece;
    }
    struct uno_pm_head got = {0};
    struct iovec answer[] = {{&got, sizeof got}, {text, room - 1}};
    if (!err) err = transfer(answer, 2, false);
    if (err && err != EMSGSIZE) return err;
    *mpi_class = got.rank;
    text[(size_t)got.value_bytes < room ? (size_t)got.value_bytes : room - 1] = '\0';
    return 0;
}
