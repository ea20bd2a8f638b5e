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

#include "base/manager.h"

static int fd = -2;    // -2: the environment has not been read
static bool adopted;

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
    return socket_fd() >= 0 && !adopted;
}

void uno_pm_adopt(int own)
{
    fd = own;
    adopted = true;
}

static struct uno_pm_call *calls;    // under way

static int send_request(const struct uno_pm_head *h, const char *key, const void *value)
{
    struct iovec part[] = {{(void *)(uintptr_t)h, sizeof *h},
                           {(void *)(uintptr_t)key, (size_t)h->key_bytes},
                           {(void *)(uintptr_t)value, (size_t)h->value_bytes}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 3};
    ssize_t n;
    if (socket_fd() < 0) return ENOTCONN;
    do n = sendmsg(socket_fd(), &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

static struct uno_pm_call *find_call(int ticket)
{
    struct uno_pm_call *c = calls;
    while (c && c->ticket != ticket) c = c->next;
    return c;
}

static void take_answer(const struct uno_pm_head *h, const char *value, size_t bytes)
{
    struct uno_pm_call *c = find_call(h->ticket);
    if (!c) return;
    if (h->op == UNO_PM_ENDED) {
        c->ended = true;
        return;
    }
    c->mpi_class = h->more;
    size_t n = bytes < sizeof c->text ? bytes : sizeof c->text - 1;
    memcpy(c->text, value, n);
    c->text[n] = '\0';
    c->answered = true;
}

// Messages that nobody asked for, in order.
static struct news {
    struct news *next;
    size_t bytes;
    struct uno_ballot *ballot;
} * kept, **kept_end = &kept;

static int keep_news(const void *data, size_t bytes)
{
    struct news *n = malloc(sizeof *n);
    struct uno_ballot *b = bytes >= sizeof *b ? malloc(bytes) : NULL;
    if (!n || !b) {
        free(n);
        free(b);
        return ENOMEM;
    }
    memcpy(b, data, bytes);
    *n = (struct news){.bytes = bytes, .ballot = b};
    *kept_end = n;
    kept_end = &n->next;
    return 0;
}

// One message: an answer to a call, which is taken, news, which are kept, or an answer to a question (*mine), whose
// value is at `value` then.
static int receive(int flags, struct uno_pm_head *h, void *value, size_t room, bool *mine)
{
    static char data[UNO_PM_VALUE_MAX];
    struct iovec part[] = {{h, sizeof *h}, {data, sizeof data}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
    ssize_t n;
    do n = recvmsg(socket_fd(), &m, flags);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    if ((size_t)n < sizeof *h) return ENOTCONN;
    size_t bytes = (size_t)n - sizeof *h;
    if (h->op == UNO_PM_NEWS) {
        *mine = false;
        return keep_news(data, bytes);
    }
    *mine = h->op != UNO_PM_REQUEST && h->op != UNO_PM_ENDED;
    if (!*mine) take_answer(h, data, bytes);
    if (*mine && (bytes > room || (m.msg_flags & MSG_TRUNC))) return EMSGSIZE;
    if (*mine && value) memcpy(value, data, bytes);
    return 0;
}

static int ask(const struct uno_pm_head *h, const char *key, const void *value, struct iovec *answer, size_t parts)
{
    bool mine = false;
    int err = uno_pm_there() ? send_request(h, key, value) : ENOTCONN;
    while (!err && !mine)
        err = receive(0, answer[0].iov_base, parts > 1 ? answer[1].iov_base : NULL, parts > 1 ? answer[1].iov_len : 0,
                      &mine);
    return err;
}

int uno_pm_put(const char *key, const void *value, size_t bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_PUT, .key_bytes = (int)strlen(key) + 1, .value_bytes = (int)bytes}, got;
    struct iovec answer = {&got, sizeof got};
    if (strlen(key) >= UNO_PM_KEY_MAX || bytes > UNO_PM_VALUE_MAX) return EMSGSIZE;
    if (uno_manager) return uno_manager_put(key, value, bytes);
    return ask(&h, key, value, &answer, 1);
}

int uno_pm_get(int rank, const char *key, void *value, size_t *bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_ASK, .rank = rank, .key_bytes = (int)strlen(key) + 1}, got;
    struct iovec answer[] = {{&got, sizeof got}, {value, *bytes}};
    if (strlen(key) >= UNO_PM_KEY_MAX) return EMSGSIZE;
    if (uno_manager) return uno_manager_get(rank, key, value, bytes);
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

int uno_pm_begin(struct uno_pm_call *c, const char *words, size_t bytes)
{
    static int tickets;
    if (bytes > UNO_PM_REQUEST_MAX) return EMSGSIZE;
    *c = (struct uno_pm_call){.next = calls, .ticket = ++tickets};
    int err = 0;
    for (size_t at = 0; at < bytes && !err;) {
        size_t piece = bytes - at < UNO_PM_VALUE_MAX ? bytes - at : UNO_PM_VALUE_MAX;
        struct uno_pm_head h = {.op = UNO_PM_REQUEST,
                                .key_bytes = 1,
                                .value_bytes = (int)piece,
                                .more = (int)(bytes - at - piece),
                                .ticket = c->ticket};
        err = send_request(&h, "", words + at);
        at += piece;
    }
    if (!err) calls = c;
    return err;
}

int uno_pm_hear(bool wait)
{
    struct uno_pm_head h;
    bool mine;
    int err = receive(wait ? 0 : MSG_DONTWAIT, &h, NULL, 0, &mine);
    return !wait && err == EAGAIN ? 0 : err;
}

int uno_pm_descriptor(void)
{
    return socket_fd();
}

void uno_pm_finish(struct uno_pm_call *c)
{
    struct uno_pm_call **at = &calls;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
}

int uno_pm_command(struct uno_pm_call *c, const char *words, size_t bytes)
{
    int err = uno_pm_begin(c, words, bytes);
    while (!err && !c->answered) err = uno_pm_hear(true);
    uno_pm_finish(c);
    return err;
}

int uno_pm_tell(const struct uno_ballot *b, size_t bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_VOTE, .key_bytes = 1, .value_bytes = (int)bytes};
    return bytes > UNO_PM_VALUE_MAX ? EMSGSIZE : send_request(&h, "", b);
}

struct uno_ballot *uno_pm_news(size_t *bytes)
{
    int err = 0;
    while (!kept && !err) {
        struct uno_pm_head h;
        bool mine;
        err = uno_pm_there() ? receive(MSG_DONTWAIT, &h, NULL, 0, &mine) : ENOTCONN;
    }
    struct news *n = kept;
    if (!n) return NULL;
    struct uno_ballot *b = n->ballot;
    *bytes = n->bytes;
    kept = n->next;
    if (!kept) kept_end = &kept;
    free(n);
    return b;
}
