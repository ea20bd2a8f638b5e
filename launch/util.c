// SPDX-License-Identifier: BSD-3-Clause
// Memory, buffers, string lists, clock and usage errors of the launcher (util.h).
// Running out of memory ends the process: the launcher holds nothing that is worth saving, and its guard ends the
// ranks.
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void no_memory(size_t bytes)
{
    fprintf(stderr, "mpiexec: out of memory (%zu bytes wanted)\n", bytes);
    exit(1);
}

void *uno_xalloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (p == NULL) no_memory(bytes);
    return p;
}

void *uno_xrealloc(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (p == NULL) no_memory(bytes);
    return p;
}

char *uno_xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(uno_xalloc(n), s, n);
}

char *uno_xformat(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0) no_memory(strlen(fmt));
    va_end(ap);
    return s;
}

char *uno_bytes_reserve(struct uno_bytes *b, size_t n)
{
    if (b->at + b->len + n > b->cap && b->at > 0) {
        memmove(b->data, b->data + b->at, b->len);
        b->at = 0;
    }
    if (b->len + n > b->cap) {
        size_t cap = b->cap ? b->cap : 4096;
        while (cap < b->len + n) cap *= 2;
        b->data = uno_xrealloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->at + b->len;
}

void uno_bytes_add(struct uno_bytes *b, const void *data, size_t n)
{
    if (n == 0) return;
    memcpy(uno_bytes_reserve(b, n), data, n);
    b->len += n;
}

void uno_bytes_text(struct uno_bytes *b, char *text)
{
    uno_bytes_add(b, text, strlen(text));
    free(text);
}

void uno_bytes_drop(struct uno_bytes *b, size_t n)
{
    b->at += n;
    b->len -= n;
    if (b->len == 0) b->at = 0;
}

void uno_bytes_free(struct uno_bytes *b)
{
    free(b->data);
    *b = (struct uno_bytes){0};
}

int64_t uno_ms_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool uno_proc_stat(const char *folder, char *state, int *parent)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "%s/stat", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');    // the name in parentheses may hold anything
    return name_end != NULL && sscanf(name_end + 1, " %c %d", state, parent) == 2;
}

const char *uno_reason(int err)
{
    static const struct {
        int err;
        const char *hint;
    } known[] = {
        {EMFILE, "raise the limit of open files: ulimit -n"},
        {ENFILE, "the whole system has too many files open: sysctl fs.file-max"},
        {EAGAIN, "raise the limit of processes: ulimit -u"},
        {ENOMEM, "memory is short; see free and ulimit -v"},
        {ENOSPC, "raise the limit of watched descriptors: sysctl fs.epoll.max_user_watches"},
        {ENOSYS, "this system, or the container or sandbox around it, does not offer the call"},
        {EPERM, "a container or sandbox may forbid the call"},
    };
    static char text[256];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].err != err) continue;
        snprintf(text, sizeof text, "%s (%s)", strerror(err), known[i].hint);
        return text;
    }
    return strerror(err);
}

void uno_cloexec(int fd, bool on)
{
    fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

void uno_nonblock(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

void (*uno_usage_told)(const char *text);

void uno_usage(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) text = NULL;
    va_end(ap);
    if (uno_usage_told) uno_usage_told(text ? text : fmt);
    fprintf(stderr, "mpiexec: %s\n", text ? text : fmt);
    exit(UNO_EXIT_USAGE);
}

void uno_words_add(struct uno_words *l, const char *s)
{
    if (l->count + 2 > l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->item = uno_xrealloc(l->item, (size_t)l->cap * sizeof *l->item);
    }
    l->item[l->count++] = uno_xstrdup(s);
    l->item[l->count] = NULL;
}

static int find(const struct uno_words *l, const char *name, size_t n)
{
    for (int i = 0; i < l->count; i++) {
        if (strncmp(l->item[i], name, n) == 0 && l->item[i][n] == '=') return i;
    }
    return -1;
}

void uno_words_set(struct uno_words *l, const char *name, const char *value)
{
    char *s = uno_xformat("%s=%s", name, value);
    int i = find(l, name, strlen(name));
    if (i < 0) {
        uno_words_add(l, s);
        free(s);
        return;
    }
    free(l->item[i]);
    l->item[i] = s;
}

const char *uno_words_get(const struct uno_words *l, const char *name)
{
    size_t n = strlen(name);
    int i = find(l, name, n);
    return i < 0 ? NULL : l->item[i] + n + 1;
}
