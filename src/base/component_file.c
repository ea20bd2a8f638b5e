// SPDX-License-Identifier: BSD-3-Clause
// Files of components (component.h): loads one, checks what it exports against the contracts, and says what crashed.
// Called by component.c.
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/component.h"
#include "unisono/agent.h"
#include "unisono/channel.h"
#include "unisono/collective.h"
#include "unisono/files.h"
#include "unisono/manager.h"

// Of each kind: the version of its contract, and how many functions its table consists of; 0: its layer looks itself.
static const struct {
    const char *word;
    unsigned major, minor, functions;
} contract[UNO_COMPONENT_KINDS] = {
    [UNO_COMPONENT_CHANNEL] = {"channel", UNO_CHANNEL_MAJOR, UNO_CHANNEL_MINOR,
                               sizeof(struct uno_chan_ops) / sizeof(void *)},
    [UNO_COMPONENT_COLLECTIVE] = {"collective", UNO_COLLECTIVE_MAJOR, UNO_COLLECTIVE_MINOR, 0},
    [UNO_COMPONENT_AGENT] = {"agent", UNO_AGENT_MAJOR, UNO_AGENT_MINOR, 0},
    [UNO_COMPONENT_FILES] = {"files", UNO_FILES_MAJOR, UNO_FILES_MINOR, sizeof(struct uno_files) / sizeof(void *)},
    [UNO_COMPONENT_MANAGER] = {"manager", UNO_MANAGER_MAJOR, UNO_MANAGER_MINOR,
                               sizeof(struct uno_manager) / sizeof(void *)},
};

const char *uno_component_word(enum uno_component_kind kind)
{
    return contract[kind].word;
}

char *uno_component_format(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

static bool is_word(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && n < 32 && name[n] == '\0';
}

// One line that the lists of unisono-info and of alike.c have room for.
static bool is_line(const char *text, size_t most, const char *without)
{
    size_t n = 0;
    while (n <= most && text[n] && !iscntrl((unsigned char)text[n]) && !strchr(without, text[n])) n++;
    return n > 0 && n <= most && text[n] == '\0';
}

// Which function of the table is missing, counted from 1; 0: none.
static unsigned missing_function(const struct uno_component *c)
{
    for (unsigned i = 0; i < contract[c->kind].functions; i++) {
        void *function;
        memcpy(&function, (const char *)c->table + i * sizeof function, sizeof function);
        if (!function) return i + 1;
    }
    return 0;
}

#define REBUILD "build it against the headers of this library"

char *uno_component_wrong(const struct uno_component *c, bool whole)
{
    if (c->magic != UNO_COMPONENT_MAGIC || c->layout != UNO_COMPONENT_LAYOUT)
        return uno_component_format(
            "it was built against another layout of components (%u, this library has %d): " REBUILD,
            c->magic == UNO_COMPONENT_MAGIC ? c->layout : 0, UNO_COMPONENT_LAYOUT);
    if (c->kind >= UNO_COMPONENT_KINDS)
        return uno_component_format("it is of a kind that this library does not know (%u): " REBUILD, c->kind);
    const char *word = contract[c->kind].word;
    if (!c->name || !is_word(c->name) || !c->version || !c->about || !c->table)
        return uno_component_format(
            "its %s lacks a name (at most 31 letters, digits and _), a version, a text about it "
            "or its table: complete struct uno_component",
            word);
    if (!is_line(c->version, 31, ",") || !is_line(c->about, 200, ""))
        return uno_component_format(
            "%s %s has a version of more than 31 characters, or with a comma, or a text about it "
            "of more than one line of 200: mend struct uno_component",
            word, c->name);
    if (c->major != contract[c->kind].major || c->minor > contract[c->kind].minor)
        return uno_component_format(
            "%s %s follows version %u.%u of the contract of its kind, this library has %u.%u: " REBUILD, word, c->name,
            c->major, c->minor, contract[c->kind].major, contract[c->kind].minor);
    unsigned at = whole ? missing_function(c) : 0;
    if (at == 0) return NULL;
    return uno_component_format("%s %s lacks function %u of the %u of its table: complete it", word, c->name, at,
                                contract[c->kind].functions);
}

char *uno_component_unfit(const char *path, bool folder)
{
    struct stat st;
    const char *what = folder ? "the folder" : "it";
    int fd = -1, err = stat(path, &st) == 0 ? 0 : errno;
    if (!err && !folder && !S_ISREG(st.st_mode))
        return uno_component_format("it is no regular file: take it out of the folder");
    if (!err && (fd = open(path, O_RDONLY | O_CLOEXEC | (folder ? O_DIRECTORY : 0))) < 0) err = errno;
    if (fd >= 0) close(fd);
    if (err)
        return uno_component_format("%s cannot be read (%s): %s", what, strerror(err),
                                    folder ? "mend component_path" : "let this user read it, or take it away");
    if (!(st.st_mode & S_IWOTH)) return NULL;
    return uno_component_format("%s may be written by everybody, who would run as this user: chmod o-w", what);
}

const struct uno_component *const *uno_component_load(const char *file, char **why)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        size_t n = strlen(file);
        if (text && strncmp(text, file, n) == 0 && strncmp(text + n, ": ", 2) == 0) text += n + 2;
        *why = uno_component_format("it cannot be loaded (%s): build it for this machine and this library",
                                    text ? text : "no reason is known");
        return NULL;
    }
    const struct uno_component *const *list = dlsym(handle, "unisono_components");
    if (list) return list;
    *why = uno_component_format("it is no component: it exports no unisono_components (UNO_COMPONENT_EXPORT)");
    dlclose(handle);
    return NULL;
}

// ---- crashes ----

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FATAL (sizeof fatal / sizeof *fatal)

static struct sigaction before[FATAL];
static char crash_note[1200], exit_note[1200];
static bool watching;

static void say_note(const char *note)
{
    // How the process ends is the same, whatever becomes of the note.
    ssize_t written = write(STDERR_FILENO, note, strlen(note));
    (void)written;
}

static void on_crash(int sig)
{
    say_note(crash_note);
    signal(sig, SIG_DFL);
    raise(sig);
}

// A component has called exit.
static void on_exit_called(void)
{
    if (!watching) return;
    say_note(exit_note);
    _exit(1);
}

static void write_note(char *note, size_t room, const char *what, const char *verb, const char *doing)
{
    snprintf(note, room,
             "unisono: the component %.1000s %s while it was being %s: take it out of component_path, or have it "
             "mended\n",
             what, verb, doing);
}

void uno_component_watch(const char *what, const char *doing)
{
    static bool registered;
    write_note(crash_note, sizeof crash_note, what, "crashed", doing);
    write_note(exit_note, sizeof exit_note, what, "ended the process", doing);
    struct sigaction mine = {.sa_handler = on_crash, .sa_flags = SA_NODEFER | SA_ONSTACK};
    for (size_t i = 0; i < FATAL; i++) sigaction(fatal[i], &mine, &before[i]);
    if (!registered) registered = atexit(on_exit_called) == 0;
    watching = true;
}

void uno_component_unwatch(void)
{
    watching = false;
    for (size_t i = 0; i < FATAL; i++) sigaction(fatal[i], &before[i], NULL);
}
