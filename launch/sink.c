// SPDX-License-Identifier: BSD-3-Clause
// Assembles lines per job, rank and stream and writes them (sink.h). Called by the front alone.
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

struct stream;

struct sink {
    int fd;
    bool terminal, broken, told;
    struct uno_bytes out;
    const struct stream *open_line;    // whose line is not finished at the cursor; NULL none
    const char *name;
};

struct stream {
    struct uno_output *of;
    int rank, err;            // err: 1 for standard error
    struct uno_bytes part;    // of a line
    int64_t since;            // the last byte came then
    struct sink *file;        // takes it, instead of or beside `to`; NULL none
};

// The output of one job.
struct uno_output {
    struct uno_sinks *sinks;
    struct uno_output *next;
    const struct uno_plan *plan;
    struct stream *stream;    // two per rank
    struct sink *file;        // by index of the file
    int files;
    int *pid;    // by rank, of those on this host
};

struct uno_sinks {
    struct uno_output *outputs;
    struct sink own[2], *to[2];    // both `to` are the same one when both descriptors name the same file
    bool failed;
    int waiting;    // streams with a part
};

static const struct stream ended_stream;    // stands for one whose job is gone, its last line unfinished

static void open_sink(struct sink *k, int fd)
{
    struct stat st;
    char path[32];
    *k = (struct sink){.fd = fd, .terminal = isatty(fd)};
    if (fstat(fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || k->terminal)) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again >= 0) k->fd = again;
}

static void open_files(struct uno_output *o, const struct uno_outfiles *files)
{
    if (files == NULL) return;
    o->file = uno_xalloc((size_t)files->count * sizeof *o->file);
    o->files = files->count;
    for (int i = 0; i < files->count; i++)
        o->file[i] = (struct sink){.fd = files->file[i].fd, .name = files->file[i].path};
    for (int i = 0; i < o->plan->nranks * 2; i++) {
        if (files->of[i] >= 0) o->stream[i].file = &o->file[files->of[i]];
    }
}

struct uno_sinks *uno_sinks_new(void)
{
    struct uno_sinks *s = uno_xalloc(sizeof *s);
    struct stat a, b;
    bool same = fstat(1, &a) == 0 && fstat(2, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    for (int i = 0; i < 2; i++) {
        open_sink(&s->own[i], i + 1);
        s->own[i].name = i ? "standard error" : "standard output";
        s->to[i] = &s->own[same ? 0 : i];
    }
    return s;
}

struct uno_output *uno_output_new(struct uno_sinks *s, const struct uno_plan *p, const struct uno_outfiles *files)
{
    struct uno_output *o = uno_xalloc(sizeof *o);
    *o = (struct uno_output){.sinks = s, .next = s->outputs, .plan = p};
    o->stream = uno_xalloc((size_t)p->nranks * 2 * sizeof *o->stream);
    o->pid = uno_xalloc((size_t)p->nranks * sizeof *o->pid);
    for (int i = 0; i < p->nranks * 2; i++) o->stream[i] = (struct stream){.of = o, .rank = i / 2, .err = i % 2};
    open_files(o, files);
    s->outputs = o;
    return o;
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

static void add_tag(const struct stream *t, struct sink *k)
{
    const struct uno_plan *p = t->of->plan;
    char text[64];
    size_t n = 0;
    if (p->tags & UNO_TAG_TIME) {
        struct timespec now;
        struct tm tm;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &tm);
        n = strftime(text, sizeof text, "%H:%M:%S", &tm);
        n += (size_t)snprintf(text + n, sizeof text - n, ".%03ld ", now.tv_nsec / 1000000);
    }
    if (p->tag_pattern) {
        char *own = uno_pattern_fill(p, p->tag_pattern, t->rank);
        uno_bytes_add(&k->out, text, n);
        uno_bytes_add(&k->out, own, strlen(own));
        free(own);
        n = 0;
    }
    if ((p->tags & UNO_TAG_RANK) && p->number > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, "[%d:%d%s] ", p->number, t->rank, t->err ? " err" : "");
    else if (p->tags & UNO_TAG_RANK)
        n += (size_t)snprintf(text + n, sizeof text - n, "[%d%s] ", t->rank, t->err ? " err" : "");
    uno_bytes_add(&k->out, text, n);
}

// Adds bytes of one stream at the cursor. Only the last line of them may be incomplete.
static void emit_to(const struct stream *t, struct sink *k, const char *data, size_t n)
{
    const struct uno_plan *p = t->of->plan;
    if (k->broken || n == 0) return;
    if (k->open_line != NULL && k->open_line != t) uno_bytes_add(&k->out, "\n", 1);
    bool begins = k->open_line != t;
    k->open_line = data[n - 1] == '\n' ? NULL : t;
    if (!p->tags && !p->tag_pattern) {
        uno_bytes_add(&k->out, data, n);
    } else {
        while (n > 0) {
            const char *end = memchr(data, '\n', n);
            size_t len = end ? (size_t)(end - data) + 1 : n;
            if (begins) add_tag(t, k);
            uno_bytes_add(&k->out, data, len);
            data += len;
            n -= len;
            begins = true;
        }
    }
    if (k->out.len > FLUSH_BYTES) write_out(t->of->sinks, k);
}

// A file is written at once: it never makes us wait for a reader.
static void emit(const struct stream *t, const char *data, size_t n)
{
    struct uno_sinks *s = t->of->sinks;
    if (t->file) {
        emit_to(t, t->file, data, n);
        write_out(s, t->file);
    }
    if (!t->file || t->of->plan->keep_copy) emit_to(t, s->to[t->of->plan->merge ? 0 : t->err], data, n);
}

static void emit_part(struct stream *t)
{
    if (t->part.len == 0) return;
    emit(t, uno_bytes_first(&t->part), t->part.len);
    uno_bytes_drop(&t->part, t->part.len);
    t->of->sinks->waiting--;
}

void uno_output_put(struct uno_output *o, int rank, int stream, const char *data, size_t n)
{
    if (rank < 0 || rank >= o->plan->nranks) return;
    struct stream *t = &o->stream[rank * 2 + (stream == 2)];
    const char *last = memrchr(data, '\n', n);
    if (last != NULL) {
        size_t whole = (size_t)(last - data) + 1;
        if (t->part.len > 0) {
            uno_bytes_add(&t->part, data, whole);
            emit_part(t);
        } else {
            emit(t, data, whole);
        }
        data += whole;
        n -= whole;
    }
    if (n == 0) return;
    o->sinks->waiting += t->part.len == 0;
    uno_bytes_add(&t->part, data, n);
    t->since = uno_ms_now();
    if (t->part.len > LINE_MAX_BYTES) emit_part(t);
}

void uno_output_end(struct uno_output *o, int rank)
{
    if (rank < 0 || rank >= o->plan->nranks) return;
    for (int i = 0; i < 2; i++) {
        emit_part(&o->stream[rank * 2 + i]);
        uno_bytes_free(&o->stream[rank * 2 + i].part);
    }
}

void uno_output_parts(const struct uno_output *o, struct uno_bytes *b)
{
    for (int i = 0; i < o->plan->nranks * 2; i++) {
        const struct stream *t = &o->stream[i];
        struct uno_frame f = {
            .bytes = (uint32_t)t->part.len, .type = UNO_OUTPUT, .rank = t->rank, .node = -1, .arg = t->err + 1};
        if (t->part.len == 0) continue;
        uno_bytes_add(b, &f, sizeof f);
        uno_bytes_add(b, uno_bytes_first(&t->part), t->part.len);
    }
}

static void forget_line(struct sink *k, const struct uno_output *o)
{
    if (k->open_line != NULL && k->open_line->of == o) k->open_line = &ended_stream;
}

void uno_output_free(struct uno_output *o)
{
    struct uno_sinks *s = o->sinks;
    struct uno_output **at = &s->outputs;
    for (int r = 0; r < o->plan->nranks; r++) uno_output_end(o, r);
    for (int i = 0; i < 2; i++) forget_line(&s->own[i], o);
    while (*at != o) at = &(*at)->next;
    *at = o->next;
    for (int i = 0; i < o->files; i++) {
        close(o->file[i].fd);
        uno_bytes_free(&o->file[i].out);
    }
    free(o->file);
    free(o->stream);
    free(o->pid);
    free(o);
}

void uno_sinks_say(struct uno_sinks *s, const char *text)
{
    struct sink *k = s->to[1];
    if (k->broken) return;
    if (k->open_line != NULL) uno_bytes_add(&k->out, "\n", 1);
    k->open_line = NULL;
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

// Waits until the sink takes more: 0. Or else a signal that asks for the end, or -1 when the time is over.
static int await_room(const struct sink *k, int sigfd, int64_t give_up_at)
{
    struct pollfd p[] = {{.fd = k->fd, .events = POLLOUT}, {.fd = sigfd, .events = POLLIN}};
    int64_t left = give_up_at ? give_up_at - uno_ms_now() : -1;
    if (give_up_at && left <= 0) return -1;
    return poll(p, 2, (int)left) > 0 && p[1].revents ? end_asked(sigfd) : 0;
}

int uno_sinks_drain(struct uno_sinks *s, int sigfd, int64_t give_up_at)
{
    int sig = 0;
    for (struct uno_output *o = s->outputs; o != NULL; o = o->next) {
        for (int r = 0; r < o->plan->nranks; r++) uno_output_end(o, r);
    }
    for (int i = 0; i < 2 && sig == 0; i++) {
        struct sink *k = s->to[i];
        for (write_out(s, k); k->out.len > 0 && sig == 0; write_out(s, k)) sig = await_room(k, sigfd, give_up_at);
    }
    if (sig) uno_sinks_abandon(s);
    return sig > 0 ? sig : 0;
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

void uno_output_started(struct uno_output *o, int rank, int pid)
{
    if (rank < 0 || rank >= o->plan->nranks) return;
    if (o->plan->host[o->plan->rank_host[rank]].local) o->pid[rank] = pid;
}

// The rank of that stream is one that reads standard input.
static bool reads_input(const struct stream *t)
{
    int in = t->of->plan->stdin_rank;
    return in == UNO_STDIN_ALL || in == t->rank;
}

// A person may be waiting for the incomplete line: it is for a terminal, or its rank waits for an answer.
static bool is_prompt(const struct stream *t)
{
    int pid = t->of->pid[t->rank];
    return t->of->sinks->to[t->err]->terminal || (reads_input(t) && pid > 0 && uno_threads_reads(pid));
}

// When to look at the stream again, 0 never.
static int64_t idle_stream(struct stream *t, int64_t now)
{
    if (t->part.len == 0 || !(t->of->sinks->to[t->err]->terminal || reads_input(t))) return 0;
    if (now - t->since >= PROMPT_MS) {
        if (is_prompt(t)) {
            emit_part(t);
            return 0;
        }
        t->since = now;
    }
    return t->since + PROMPT_MS;
}

int64_t uno_sinks_idle(struct uno_sinks *s)
{
    if (s->waiting == 0) return 0;
    int64_t now = uno_ms_now(), next = 0;
    for (const struct uno_output *o = s->outputs; o != NULL; o = o->next) {
        for (int i = 0; i < o->plan->nranks * 2; i++) {
            int64_t at = idle_stream(&o->stream[i], now);
            if (at != 0 && (next == 0 || at < next)) next = at;
        }
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
