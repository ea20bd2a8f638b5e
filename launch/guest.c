// SPDX-License-Identifier: BSD-3-Clause
// Serves the process that has started mpiexec (guest.h), in the messages of src/base/pm.h.
#include "guest.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/pm.h"
#include "request.h"

static struct uno_bytes ask;    // of an incomplete request

static void serve(struct uno_front *f, const char *data, size_t bytes)
{
    struct uno_pm_head h;
    if (bytes < sizeof h) return;
    memcpy(&h, data, sizeof h);
    if (h.op != UNO_PM_REQUEST || h.key_bytes < 0 || h.value_bytes < 0) return;
    if ((size_t)h.key_bytes + (size_t)h.value_bytes != bytes - sizeof h) return;
    uno_bytes_add(&ask, data + sizeof h + h.key_bytes, (size_t)h.value_bytes);
    if (h.more > 0 && ask.len < UNO_PM_REQUEST_MAX) return;
    struct uno_frame fr = {
        .bytes = (uint32_t)ask.len, .type = UNO_REQUEST, .rank = 0, .node = 0, .arg = (int64_t)h.ticket << 32};
    uno_request_take(f->requests, f->first, &fr, uno_bytes_first(&ask));
    uno_bytes_free(&ask);
}

void uno_guest_hear(struct uno_front *f)
{
    static char data[sizeof(struct uno_pm_head) + UNO_PM_KEY_MAX + UNO_PM_VALUE_MAX];
    for (;;) {
        ssize_t n = recv(f->guest, data, sizeof data, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) break;
        serve(f, data, (size_t)n);
    }
    close(f->guest);
    f->guest = -1;
    f->first->done = true;
    f->first->running = 0;
}

void uno_guest_send(struct uno_front *f, const struct uno_frame *fr, const char *text)
{
    struct uno_pm_head h = {.op = fr->type == UNO_ANSWER ? UNO_PM_REQUEST : UNO_PM_ENDED,
                            .value_bytes = (int)fr->bytes,
                            .more = fr->rank,
                            .ticket = (int)(fr->arg >> 32)};
    struct iovec part[] = {{&h, sizeof h}, {(void *)(uintptr_t)text, fr->bytes}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
    // It has gone if this fails, and its end is heard.
    (void)!sendmsg(f->guest, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}
