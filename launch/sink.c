// SPDX-License-Identifier: BSD-3-Clause
// Assembles lines per rank and stream and writes them (sink.h). Called by the front alone.
// A destination that is a pipe or a terminal is opened a second time, non-blocking: changing the flags of the
// descriptor that mpiexec inherited would change them for the user's shell too.
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node.h"

#define LINE_MAX_BYTES (16u << 20)
#define FLUSH_BYTES (64u << 10)
#define FULL_BYTES (1u << 20)
#define PROMPT_MS 200

struct sink {
    int fd;
    bool terminal, broken, told;
    struct uno_bytes out;
    int open_line;    // stream index whose line is not finished at the cursor; -1 none
    const char *name;
};

struct stream {
    struct uno_bytes part;    // of a line
    int64_t since;            // the last byte came then
    struct sink *file;        // takes it, instead of or beside `to`; NULL none
};

struct uno_sinks {
    const struct uno_plan *plan;
    struct sink *file;             // by index of the file
    struct sink own[2], *to[2];    // both `to` are the same one when both descriptors name the same file
    struct stream *stream;         // two per rank
    int *pid;                      // by rank, of those on this host
    bool failed;
    int waiting;    // streams with a part
};

static void open_sink(struct sink *k, int fd)
{
    struct stat st;
    char path[32];
    *k = (struct sink){.fd = fd, .terminal = isatty(fd), .open_line = -1};
    if (fstat(fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || k->terminal)) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again >= 0) k->fd = again;
}

static void open_files(struct uno_sinks *s, const struct uno_outfiles *o)
{
    if (o == NULL) return;
    s->file = uno_xalloc((size_t)o->count * sizeof *s->file);
    for (int i = 0; i < o->count; i++)
        s->file[i] = (struct sink){.fd = o->file[i].fd, .open_line = -1, .name = o->file[i].path};
    for (int i = 0; i < s->plan->nranks * 2; i++) {
        if (o->of[i] >= 0) s->stream[i].file = &s->file[o->of[i]];
    }
}

struct uno_sinks *uno_sinks_new(const struct uno_plan *p, const struct uno_outfiles *files)
{
    struct uno_sinks *s = uno_xalloc(sizeof *s);
    struct stat a, b;
    s->plan = p;
    s->stream = uno_xalloc((size_t)p->nranks * 2 * sizeof *s->stream);
    s->pid = uno_xalloc((size_t)p->nranks * sizeof *s->pid);
    bool same = fstat(1, &a) == 0 && fstat(2, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    for (int i = 0; i < 2; i++) {
        open_sink(&s->own[i], i + 1);
        s->own[i].name = i ? "standard error" : "standard output";
        s->to[i] = &s->own[same ? 0 : i];
    }
    open_files(s, files);
    return s;
}

static void write_out(struct uno_sinks *s, struct sink *k)
{
    while (k->out.len > 0 && !k->broken) {
        ssize_t n = write(k->fd, uno_bytes_first(&k->out), k->out.len);
        if (n >= 0) {
            uno_bytes_drop(&k->out, (size_t)n);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            k->broken = true;
            if (errno == EPIPE) break;
            s->failed = true;
            if (k != s->to[1]) {
                char *text = uno_xformat("mpiexec: cannot write %s: %s", k->name, strerror(errno));
                uno_sinks_say(s, text);
                free(text);
            }
        }
    }
    if (k->broken) uno_bytes_drop(&k->out, k->out.len);
}

static void add_tag(const struct uno_sinks *s, struct sink *k, int index)
{
    char text[64];
    size_t n = 0;
    if (s->plan->tags & UNO_TAG_TIME) {
        struct timespec t;
        struct tm tm;
        clock_gettime(CLOCK_REALTIME, &t);
        localtime_r(&t.tv_sec, &tm);
        n = strftime(text, sizeof text, "%H:%M:%S", &tm);
        n += (size_t)snprintf(text + n, sizeof text - n, ".%03ld ", t.tv_nsec / 1000000);
    }
    if (s->plan->tag_pattern) {
        char *own = uno_pattern_fill(s->plan, s->plan->tag_pattern, index / 2);
        uno_bytes_add(&k->out, text, n);
        uno_bytes_add(&k->out, own, strlen(own));
        free(own);
        n = 0;
    }
    if (s->plan->tags & UNO_TAG_RANK)
        n += (size_t)snprintf(text + n, sizeof text - n, index % 2 ? "[%d err] " : "[%d] ", index / 2);
    uno_bytes_add(&k->out, text, n);
}

// Adds bytes of one stream at the cursor. Only the last line of them may be incomplete.
static void emit_to(struct uno_sinks *s, struct sink *k, int index, const char *data, size_t n)
{
    if (k->broken || n == 0) return;
    if (k->open_line >= 0 && k->open_line != index) uno_bytes_add(&k->out, "\n", 1);
    bool begins = k->open_line != index;
    k->open_line = data[n - 1] == '\n' ? -1 : index;
    if (!s->plan->tags && !s->plan->tag_pattern) {
        uno_bytes_add(&k->out, data, n);
    } else {
        while (n > 0) {
            const char *end = memchr(data, '\n', n);
            size_t len = end ? (size_t)(end - data) + 1 : n;
            if (begins) add_tag(s, k, index);
            uno_bytes_add(&k->out, data, len);
            data += len;
            n -= len;
            begins = true;
        }
    }
    if (k->out.len > FLUSH_BYTES) write_out(s, k);
}

// A file is written at once: it never makes us wait for a reader.
static void emit(struct uno_sinks *s, int index, const char *data, size_t n)
{
    struct sink *file = s->stream[index].file;
    if (file) {
        emit_to(s, file, index, data, n);
        write_out(s, file);
    }
    if (!file || s->plan->keep_copy) emit_to(s, s->to[s->plan->merge ? 0 : index % 2], index, data, n);
}

static void emit_part(struct uno_sinks *s, int index)
{
    struct stream *t = &s->stream[index];
    if (t->part.len == 0) return;
    emit(s, index, uno_bytes_first(&t->part), t->part.len);
    uno_bytes_drop(&t->part, t->part.len);
    s->waiting--;
}

void uno_sinks_put(struct uno_sinks *s, int rank, int stream, const char *data, size_t n)
{
    if (rank < 0 || rank >= s->plan->nranks) return;
    int index = rank * 2 + (stream == 2);
    struct stream *t = &s->stream[index];
    const char *last = memrchr(data, '\n', n);
    if (last != NULL) {
        size_t whole = (size_t)(last - data) + 1;
        if (t->part.len > 0) {
            uno_bytes_add(&t->part, data, whole);
            emit_part(s, index);
        } else {
            emit(s, index, data, whole);
        }
        data += whole;
        n -= whole;
    }
    if (n == 0) return;
    s->waiting += t->part.len == 0;
    uno_bytes_add(&t->part, data, n);
    t->since = uno_ms_now();
    if (t->part.len > LINE_MAX_BYTES) emit_part(s, index);
}

void uno_sinks_end(struct uno_sinks *s, int rank)
{
    if (rank < 0 || rank >= s->plan->nranks) return;
    for (int i = 0; i < 2; i++) {
        emit_part(s, rank * 2 + i);
        uno_bytes_free(&s->stream[rank * 2 + i].part);
    }
}

void uno_sinks_say(struct uno_sinks *s, const char *text)
{
    struct sink *k = s->to[1];
    if (k->broken) return;
    if (k->open_line >= 0) uno_bytes_add(&k->out, "\n", 1);
    k->open_line = -1;
    uno_bytes_add(&k->out, text, strlen(text));
    uno_bytes_add(&k->out, "\n", 1);
}

void uno_sinks_flush(struct uno_sinks *s)
{
    write_out(s, s->to[0]);
    write_out(s, s->to[1]);
}

// The next signal that asks for the end; 0: none.
static int end_asked(int sigfd)
{
    struct signalfd_siginfo info;
    while (read(sigfd, &info, sizeof info) == sizeof info) {
        int sig = (int)info.ssi_signo;
        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT) return sig;
    }
    return 0;
}

int uno_sinks_drain(struct uno_sinks *s, int sigfd)
{
    int sig = 0;
    for (int r = 0; r < s->plan->nranks; r++) uno_sinks_end(s, r);
    for (int i = 0; i < 2 && sig == 0; i++) {
        struct sink *k = s->to[i];
        for (write_out(s, k); k->out.len > 0 && sig == 0; write_out(s, k)) {
            struct pollfd p[] = {{.fd = k->fd, .events = POLLOUT}, {.fd = sigfd, .events = POLLIN}};
            if (poll(p, 2, -1) > 0 && p[1].revents) sig = end_asked(sigfd);
        }
    }
    if (sig) uno_sinks_abandon(s);
    return sig;
}

bool uno_sinks_full(const struct uno_sinks *s)
{
    return s->to[0]->out.len > FULL_BYTES || s->to[1]->out.len > FULL_BYTES;
}

int uno_sinks_fd(const struct uno_sinks *s, int stream)
{
    const struct sink *k = s->to[stream - 1];
    return k->out.len > 0 ? k->fd : -1;
}

bool uno_sinks_closed(struct uno_sinks *s, int stream)
{
    struct sink *k = &s->own[s->to[stream - 1] - s->own];
    bool news = k->broken && !s->own[stream - 1].told;
    s->own[stream - 1].told |= k->broken;
    return news;
}

void uno_sinks_started(struct uno_sinks *s, int rank, int pid)
{
    if (rank < 0 || rank >= s->plan->nranks) return;
    if (s->plan->host[s->plan->rank_host[rank]].local) s->pid[rank] = pid;
}

// A person may be waiting for the incomplete line: it is for a terminal, or its rank waits for an answer.
static bool is_prompt(const struct uno_sinks *s, int index)
{
    int in = s->plan->stdin_rank, rank = index / 2;
    if (s->to[index % 2]->terminal) return true;
    return (in == UNO_STDIN_ALL || in == rank) && s->pid[rank] > 0 && uno_threads_reads(s->pid[rank]);
}

int64_t uno_sinks_idle(struct uno_sinks *s)
{
    if (s->waiting == 0) return 0;
    int64_t now = uno_ms_now(), next = 0;
    for (int i = 0; i < s->plan->nranks * 2; i++) {
        struct stream *t = &s->stream[i];
        int in = s->plan->stdin_rank;
        if (t->part.len == 0 || !(s->to[i % 2]->terminal || in == UNO_STDIN_ALL || in == i / 2)) continue;
        if (now - t->since >= PROMPT_MS) {
            if (is_prompt(s, i)) {
                emit_part(s, i);
                continue;
            }
            t->since = now;
        }
        if (next == 0 || t->since + PROMPT_MS < next) next = t->since + PROMPT_MS;
    }
    return next;
}

void uno_sinks_abandon(struct uno_sinks *s)
{
    for (int i = 0; i < 2; i++) {
        struct sink *k = s->to[i];
        write_out(s, k);
        k->broken |= k->out.len > 0;
        if (k->broken) uno_bytes_drop(&k->out, k->out.len);
    }
}

bool uno_sinks_failed(const struct uno_sinks *s)
{
    return s->failed;
}
