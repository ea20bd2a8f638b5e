// SPDX-License-Identifier: BSD-3-Clause
// Small things that every file of the launcher needs: memory that is there or ends the process with one line, a growing
// byte buffer, the clock, and the launcher's own one-line messages. Nothing here knows of ranks or hosts.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNO_EXIT_USAGE 2    // bad command line, or a program that cannot be started

// Bytes [at, at+len) of data are in use; data may move whenever something is added.
struct uno_bytes {
    char *data;
    size_t at, len, cap;
};

void *uno_xalloc(size_t bytes);               // zeroed; never NULL
void *uno_xrealloc(void *p, size_t bytes);    // never NULL
char *uno_xstrdup(const char *s);
char *uno_xformat(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    // the caller frees

char *uno_bytes_reserve(struct uno_bytes *b, size_t n);    // room for n bytes behind the used ones
void uno_bytes_add(struct uno_bytes *b, const void *data, size_t n);
void uno_bytes_text(struct uno_bytes *b, char *text);    // adds a text without its end, and frees it
void uno_bytes_drop(struct uno_bytes *b, size_t n);      // forgets the first n bytes
void uno_bytes_free(struct uno_bytes *b);
static inline char *uno_bytes_first(const struct uno_bytes *b)
{
    return b->data + b->at;
}

int64_t uno_ms_now(void);    // monotonic

// State and parent of a process or a thread by its folder below /proc; false: there is none. Takes one descriptor for a
// moment.
bool uno_proc_stat(const char *folder, char *state, int *parent);

// "Too many open files (raise the limit of open files: ulimit -n)": what the error is and, where it is known, what the
// user can do. The text lives until the next call.
const char *uno_reason(int err);
void uno_cloexec(int fd, bool on);
void uno_nonblock(int fd, bool on);

// Writes "mpiexec: ..." and a newline to standard error and exits with UNO_EXIT_USAGE. In a process that plans a
// spawned job, uno_usage_told gets the text instead, and does not return either.
extern void (*uno_usage_told)(const char *text);
_Noreturn void uno_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// A list of strings that grows: NULL behind the last one, so that it serves as argv and as environment.
struct uno_words {
    char **item;
    int count, cap;
};
void uno_words_add(struct uno_words *l, const char *s);                          // copies s
void uno_words_set(struct uno_words *l, const char *name, const char *value);    // NAME=VALUE, replacing an earlier one
const char *uno_words_get(const struct uno_words *l, const char *name);          // value, or NULL
