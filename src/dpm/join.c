// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join: two processes with a connected socket become an intercommunicator. Each tells the other a random
// number; the larger one opens a port, tells its name and accepts. Over a network the name is sealed by a key that the
// two agree on. The socket is as it was afterwards.
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chan/net.h"
#include "core/request.h"
#include "core/world.h"
#include "dpm/dpm.h"
#include "dpm/seal.h"
#include "dpm/sock.h"
#include "dpm/wire.h"
#include "p2p/p2p.h"

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

// What each side says first. key: the public half of a pair, zeros where the socket does not leave the host, or there
// is no libsodium.
struct words {
    uint64_t number;
    unsigned char key[DPM_NONCE];
};

// The name of the port, as it travels.
struct sealed_name {
    char text[MPI_MAX_PORT_NAME];
    char tag[DPM_TAG];
};

static bool has_key(const struct words *w)
{
    static const struct words none;
    return memcmp(w->key, none.key, sizeof w->key) != 0;
}

static int swap_words(int fd, struct words *mine, struct words *theirs)
{
    int e = 0;
    do {
        if (getrandom(&mine->number, sizeof mine->number, 0) != sizeof mine->number) return errno;
        e = transfer(fd, mine, sizeof *mine, POLLOUT);
        if (!e) e = transfer(fd, theirs, sizeof *theirs, POLLIN);
    } while (!e && mine->number == theirs->number);
    return e;
}

enum socket_reach { SOCKET_UNIX, SOCKET_HOST, SOCKET_FAR };

static enum socket_reach reach_of(int fd)
{
    struct sockaddr_storage a = {.ss_family = AF_UNIX};
    socklen_t len = sizeof a;
    if (getpeername(fd, (struct sockaddr *)&a, &len) != 0 || a.ss_family == AF_UNIX) return SOCKET_UNIX;
    char text[UNO_NET_TEXT];
    uno_net_text((const struct sockaddr *)&a, text);
    bool loop = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
    return loop ? SOCKET_HOST : SOCKET_FAR;
}

static int broken(int e)
{
    errno = e;
    return uno_fail_errno(MPI_ERR_ARG, "talk over the socket");
}

// Passes the name of the port on, from the side that opens it: nobody on the way may read it.
static int pass_name(int fd, struct sealed_name *name, bool opens, struct dpm_seal *seal)
{
    if (opens && seal) dpm_seal_put(seal, NULL, 0, name->text, sizeof name->text);
    int e = transfer(fd, name, sizeof *name, opens ? POLLOUT : POLLIN);
    if (e || opens || !seal) return e;
    return dpm_seal_take(seal, NULL, 0, name->text, sizeof *name) ? 0 : EPROTO;
}

// The socket, while the two meet: it is closed early where the other side has died.
struct joining {
    struct dpm_sock sock;
    MPI_Request meeting;
};

static void socket_ended(struct dpm_sock *s)
{
    struct joining *j = (struct joining *)(void *)s;
    dpm_sock_watch(s, false);
    if (!uno_meeting_is_bound(j->meeting)) (void)j->meeting->ops->cancel(j->meeting);
}

static int meet(int fd, const struct uno_meeting_spec *spec, MPI_Comm *out)
{
    struct joining j = {.sock = {.fd = fd, .ready = socket_ended, .ending = true}};
    int err = uno_meeting_start(spec, out, &j.meeting);
    if (err) return err;
    dpm_sock_watch(&j.sock, true);
    err = uno_wait(&j.meeting, MPI_STATUS_IGNORE);
    dpm_sock_watch(&j.sock, false);
    return !err && *out == MPI_COMM_NULL ? broken(ECONNRESET) : err;
}

static int join_as(int fd, bool opens, struct dpm_seal *seal, bool far, MPI_Comm *out)
{
    char port[MPI_MAX_PORT_NAME] = "";
    struct sealed_name name = {.text = ""};
    int err = opens ? uno_port_open(port, far) : MPI_SUCCESS;
    if (err) return err;
    memcpy(name.text, port, sizeof port);
    int depth = uno_lock_drop(), e = pass_name(fd, &name, opens, seal);
    uno_lock_retake(depth);
    if (!opens) memcpy(port, name.text, sizeof port - 1);
    struct uno_meeting_spec spec = {.role = opens ? UNO_ACCEPT : UNO_CONNECT, .comm = &uno_comm_self, .port = port};
    err = e ? broken(e) : meet(fd, &spec, out);
    if (opens) {
        int closed = uno_port_close(port);
        if (!err) err = closed;
    }
    return err;
}

int uno_meeting_join(int fd, MPI_Comm *out)
{
    struct words mine = {0}, theirs = {0};
    struct dpm_seal seal;
    unsigned char secret[32], key[DPM_KEY];
    enum socket_reach reach = reach_of(fd);
    if (reach != SOCKET_UNIX && dpm_seal_pair(mine.key, secret)) memset(mine.key, 0, sizeof mine.key);
    int depth = uno_lock_drop(), e = swap_words(fd, &mine, &theirs);
    uno_lock_retake(depth);
    if (e) return broken(e);
    bool opens = mine.number > theirs.number, sealed = has_key(&mine) && has_key(&theirs);
    if (reach == SOCKET_FAR && !sealed)
        return uno_fail(MPI_ERR_OTHER, "over a socket between hosts both sides need libsodium (package libsodium23)");
    if (sealed) dpm_seal_agree(key, secret, theirs.key);
    if (sealed) dpm_seal_begin(&seal, key, opens ? mine.key : theirs.key, opens ? theirs.key : mine.key, opens);
    return join_as(fd, opens, sealed ? &seal : NULL, reach != SOCKET_UNIX, out);
}
