// SPDX-License-Identifier: BSD-3-Clause
// Forwards standard input (input.h). One window of unread bytes per rank; the slowest reader sets the pace.
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (256 * 1024)
#define CHUNK (64 * 1024)
#define BACKGROUND_MS 500

struct uno_input {
    int first, count;              // ranks that read
    int64_t *unread;               // bytes on their way, by reader; -1: it reads no more
    bool open, terminal, ready;    // ready: a file that epoll refuses, always readable
    int64_t retry_at;
};

struct uno_input *uno_input_new(const struct uno_plan *p, bool forward)
{
    struct uno_input *in = uno_xalloc(sizeof *in);
    struct stat st;
    if (!forward || p->stdin_rank == UNO_STDIN_NONE) return in;
    in->first = p->stdin_rank == UNO_STDIN_ALL ? 0 : p->stdin_rank;
    in->count = p->stdin_rank == UNO_STDIN_ALL ? p->nranks : 1;
    in->unread = uno_xalloc((size_t)in->count * sizeof *in->unread);
    in->open = true;
    in->terminal = isatty(0);
    in->ready = fstat(0, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
    if (in->ready) in->retry_at = uno_ms_now();
    return in;
}

static bool room(const struct uno_input *in)
{
    bool reader = false;
    for (int i = 0; i < in->count; i++) {
        if (in->unread[i] >= WINDOW) return false;
        reader |= in->unread[i] >= 0;
    }
    return reader;
}

static bool background(const struct uno_input *in)
{
    return in->terminal && tcgetpgrp(0) != getpgrp();
}

int uno_input_fd(const struct uno_input *in)
{
    return in->open && !in->ready && in->retry_at == 0 && room(in) ? 0 : -1;
}

int64_t uno_input_retry(struct uno_input *in)
{
    if (!in->open) return 0;
    if (background(in))
        in->retry_at = uno_ms_now() + BACKGROUND_MS;
    else if (!in->ready)
        in->retry_at = 0;
    return in->ready && !room(in) ? 0 : in->retry_at;
}

void uno_input_resume(struct uno_input *in)
{
    if (!in->ready) in->retry_at = 0;
}

void uno_input_at_once(struct uno_input *in)
{
    in->ready = true;
    in->retry_at = uno_ms_now();
}

void uno_input_read(struct uno_input *in, struct uno_relay *down)
{
    static char data[CHUNK];
    if (!in->open || !room(in) || background(in)) return;
    ssize_t n = read(0, data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) in->open = false;
    for (int i = 0; i < in->count; i++) {
        if (in->unread[i] < 0) continue;
        struct uno_frame f = {.bytes = (uint32_t)(n > 0 ? n : 0), .type = UNO_STDIN, .rank = in->first + i, .node = -1};
        uno_relay_send(down, &f, data);
        in->unread[i] += n > 0 ? n : 0;
    }
}

void uno_input_tick(struct uno_input *in, struct uno_relay *down)
{
    if (in->ready) uno_input_read(in, down);
}

void uno_input_room(struct uno_input *in, int rank, int64_t bytes)
{
    int i = rank - in->first;
    if (i < 0 || i >= in->count || in->unread[i] < 0) return;
    // What an mpiexec before us has passed on, in a job that was made anew from a checkpoint, was never counted here.
    if (bytes < 0)
        in->unread[i] = -1;
    else
        in->unread[i] = in->unread[i] > bytes ? in->unread[i] - bytes : 0;
}

bool uno_input_forwards(const struct uno_input *in)
{
    return in->open;
}

void uno_input_parts(const struct uno_input *in, struct uno_bytes *b)
{
    for (int i = 0; i < in->count; i++) {
        struct uno_frame f = {.type = UNO_STDIN_ROOM, .rank = in->first + i, .node = -1, .arg = -1};
        if (in->unread[i] < 0) uno_bytes_add(b, &f, sizeof f);
    }
}

void uno_input_gone(struct uno_input *in, int rank)
{
    uno_input_room(in, rank, -1);
}
