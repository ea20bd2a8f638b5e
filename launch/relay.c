// SPDX-License-Identifier: BSD-3-Clause
// Framed, non-blocking links (relay.h). Used by the front and by every node.
// A link whose other end went away is marked `ended` or `deaf` once; sending on it is then a no-op, so callers need no
// check.
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_CHUNK (256 * 1024)

void uno_relay_open(struct uno_relay *l, int rd, int wr)
{
    *l = (struct uno_relay){.rd = rd, .wr = wr};
    uno_nonblock(rd, true);
    uno_nonblock(wr, true);
    uno_cloexec(rd, true);
    uno_cloexec(wr, true);
}

void uno_relay_close(struct uno_relay *l)
{
    if (l->rd >= 0) close(l->rd);
    if (l->wr >= 0 && l->wr != l->rd) close(l->wr);
    uno_bytes_free(&l->in);
    uno_bytes_free(&l->out);
    l->rd = l->wr = -1;
    l->ended = true;
}

void uno_relay_flush(struct uno_relay *l)
{
    if (l->held) return;
    while (l->out.len > 0 && !l->ended && !l->deaf) {
        ssize_t n = write(l->wr, uno_bytes_first(&l->out), l->out.len);
        if (n >= 0) {
            uno_bytes_drop(&l->out, (size_t)n);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            l->deaf = true;
        }
    }
    if (l->ended || l->deaf) uno_bytes_drop(&l->out, l->out.len);
}

void uno_relay_send(struct uno_relay *l, const struct uno_frame *f, const void *payload)
{
    if (l->ended || l->deaf) return;
    uno_bytes_add(&l->out, f, sizeof *f);
    uno_bytes_add(&l->out, payload, f->bytes);
    uno_relay_flush(l);
}

long uno_relay_pass(struct uno_relay *l, struct uno_frame f, int fd, size_t most)
{
    char *room = uno_bytes_reserve(&l->out, sizeof f + most);
    ssize_t n = read(fd, room + sizeof f, most);
    if (n <= 0 || l->ended || l->deaf) return n;
    f.bytes = (uint32_t)n;
    memcpy(room, &f, sizeof f);
    l->out.len += sizeof f + (size_t)n;
    uno_relay_flush(l);
    return n;
}

void uno_relay_fill(struct uno_relay *l)
{
    if (l->ended) return;
    char *room = uno_bytes_reserve(&l->in, READ_CHUNK);
    ssize_t n = read(l->rd, room, READ_CHUNK);
    if (n > 0) {
        l->in.len += (size_t)n;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        l->ended = true;
    }
}

bool uno_relay_next(struct uno_relay *l, struct uno_frame *f, const char **payload)
{
    if (l->in.len < sizeof *f) return false;
    memcpy(f, uno_bytes_first(&l->in), sizeof *f);
    if (f->bytes > UNO_FRAME_MAX) {
        l->ended = true;
        return false;
    }
    if (l->in.len < sizeof *f + f->bytes) return false;
    *payload = uno_bytes_first(&l->in) + sizeof *f;
    uno_bytes_drop(&l->in, sizeof *f + f->bytes);
    return true;
}
