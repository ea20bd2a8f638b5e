// SPDX-License-Identifier: BSD-3-Clause
// The list of components (component.h): what is linked in, then the files of the folders that the parameter
// component_path names, and of LIBDIR/unisono/components.
#include "base/component.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/param.h"

static struct uno_param path =
    UNO_PARAM_TEXT("component_path", "",
                   "folders, separated by colons, whose files *.so are loaded as components (docs/components.md), "
                   "before those of unisono/components beside the library");
UNO_PARAM_DECLARE(path);

#define DEFAULT_FOLDER "unisono/components"

extern const struct uno_component *const first_linked[] __asm__("__start_uno_components")
    __attribute__((weak, visibility("hidden")));
extern const struct uno_component *const end_linked[] __asm__("__stop_uno_components")
    __attribute__((weak, visibility("hidden")));
extern const struct uno_services *const first_services[] __asm__("__start_uno_services")
    __attribute__((weak, visibility("hidden")));
extern const struct uno_services *const end_services[] __asm__("__stop_uno_services")
    __attribute__((weak, visibility("hidden")));

static struct uno_found *found;
static size_t count;
static bool loaded, told, tried_apart;

static const struct uno_component *twin_of(const struct uno_component *c, const char **where)
{
    for (size_t i = 0; i < count; i++) {
        if (!found[i].is || found[i].is->kind != c->kind || strcmp(found[i].is->name, c->name) != 0) continue;
        *where = found[i].file ? found[i].file : "built in";
        return found[i].is;
    }
    return NULL;
}

// Takes `why` over. Memory that is out leaves the component out.
static void add(const struct uno_component *is, const char *file, char *why)
{
    struct uno_found *more = realloc(found, (count + 1) * sizeof *found);
    char *copy = file ? strdup(file) : NULL;
    if (more) found = more;
    if (!more || (file && !copy)) {
        free(copy);
        free(why);
        return;
    }
    found[count++] = (struct uno_found){
        .is = why ? NULL : is, .file = copy, .state = why ? UNO_FOUND_REFUSED : UNO_FOUND_NEW, .why = why};
}

static const struct uno_services *services_of(unsigned kind)
{
    static const struct uno_services none;
    for (const struct uno_services *const *s = first_services; s < end_services; s++)
        if ((*s)->kind == kind) return *s;
    return &none;
}

static void add_checked(const struct uno_component *c, const char *file)
{
    const char *where = "";
    char *why = uno_component_wrong(c, file);
    if (!why && file && services_of(c->kind)->wrong) why = services_of(c->kind)->wrong(c);
    if (!why && twin_of(c, &where))
        why = uno_component_format("there is another %s %s (%s): leave one of them out of component_path",
                                   uno_component_word(c->kind), c->name, where);
    add(c, file, why);
}

// What the file exports may be no components at all: looking at it is watched as loading is.
static void load_file(const char *file)
{
    char *why = NULL;
    uno_component_watch(file, "loaded");
    const struct uno_component *const *list = uno_component_load(file, &why);
    if (!list) add(NULL, file, why);
    for (; list && *list; list++) add_checked(*list, file);
    uno_component_unwatch();
}

#define TRIED 87    // status of a process that came through

// Loads and opens what is in the file, in a process that may crash. NULL: it did not.
static char *try_apart(const char *file)
{
    int status;
    fflush(NULL);    // what is not written so far is for this process to write
    pid_t pid = fork();
    if (pid == 0) {
        size_t from = count;
        load_file(file);
        for (size_t i = from; i < count; i++) (void)uno_component_usable(&found[i]);
        _exit(TRIED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == TRIED)) return NULL;
    if (WIFSIGNALED(status))
        return uno_component_format("it crashed (signal %d) while it was being loaded or opened: have it mended",
                                    WTERMSIG(status));
    return uno_component_format("it ended the process while it was being loaded or opened: have it mended");
}

static void add_file(const char *file)
{
    char *why = uno_component_unfit(file, false);
    if (!why && tried_apart) why = try_apart(file);
    if (why)
        add(NULL, file, why);
    else
        load_file(file);
}

static int is_object(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return n > 3 && strcmp(d->d_name + n - 3, ".so") == 0;
}

static void add_folder(const char *folder, bool wanted)
{
    struct dirent **list;
    char *why = uno_component_unfit(folder, true);
    int n = why ? 0 : scandir(folder, &list, is_object, alphasort);
    if (n < 0) why = uno_component_format("the folder cannot be read (%s): mend component_path", strerror(errno));
    if (why && (wanted || access(folder, F_OK) == 0))
        add(NULL, folder, why);
    else
        free(why);
    if (why) return;
    for (int i = 0; i < n; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", folder, list[i]->d_name);
        free(list[i]);
        add_file(file);
    }
    free(list);
}

static void add_path(void)
{
    for (const char *at = path.text; *at;) {
        size_t n = strcspn(at, ":");
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)n, at);
        if (n) add_folder(folder, true);
        at += n + (at[n] == ':');
    }
}

// Beside the library, or ../lib of a program that holds it. The latter is wherever the caller of a setuid program has
// linked it to.
static void add_default(void)
{
    char folder[PATH_MAX], self[PATH_MAX];
    Dl_info info;
    const char *at = dladdr(&path, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    if (at && strncmp(at + 1, "libmpi", 6) == 0) {
        snprintf(folder, sizeof folder, "%.*s/" DEFAULT_FOLDER, (int)(at - info.dli_fname), info.dli_fname);
        add_folder(folder, false);
        return;
    }
    ssize_t n = getauxval(AT_SECURE) ? 0 : readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(folder, sizeof folder, "%s/../lib/" DEFAULT_FOLDER, self);
    add_folder(folder, false);
}

// A program without an interpreter: there is nobody to load anything.
static bool is_static(void)
{
    const ElfW(Phdr) *head = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    for (unsigned long i = 0, n = getauxval(AT_PHNUM); head && i < n; i++)
        if (head[i].p_type == PT_INTERP) return false;
    return head;
}

// Why the parameter is not followed; NULL: it is.
static char *not_followed(void)
{
    if (!path.text[0]) return NULL;
    if (is_static())
        return uno_component_format("this program is linked statically and loads nothing: link the components in, or "
                                    "clear component_path");
    if (uno_param_is_foreign(&path))
        return uno_component_format("this program has more rights than its caller (setuid) and loads nothing that the "
                                    "caller names: clear component_path");
    return NULL;
}

static int in_order(const void *a, const void *b)
{
    const struct uno_found *f = a, *g = b;
    if (!f->is || !g->is) return f->is ? -1 : g->is ? 1 : strcmp(f->file, g->file);
    if (f->is->kind != g->is->kind) return f->is->kind < g->is->kind ? -1 : 1;
    if (f->is->priority != g->is->priority) return f->is->priority > g->is->priority ? -1 : 1;
    return strcmp(f->is->name, g->is->name);
}

void uno_components_load(bool wary)
{
    if (loaded) return;
    loaded = true;
    tried_apart = wary;
    for (const struct uno_component *const *c = first_linked; c < end_linked; c++) add_checked(*c, NULL);
    char *why = not_followed();
    if (why)
        add(NULL, path.text, why);
    else
        add_path();
    if (!is_static()) add_default();
    if (count) qsort(found, count, sizeof *found, in_order);
}

struct uno_found *uno_components_all(size_t *n)
{
    uno_components_load(false);
    *n = count;
    return found;
}

const char *uno_component_chosen(const struct uno_found *f, bool *is)
{
    const struct uno_services *s = services_of(f->is->kind);
    *is = false;
    return s->chosen ? s->chosen(f->is, is) : "not by this program";
}

static struct uno_component_host *host_of(unsigned kind)
{
    static struct uno_component_host host[UNO_COMPONENT_KINDS];
    host[kind] = (struct uno_component_host){
        .layout = UNO_COMPONENT_LAYOUT, .fail = uno_fail, .log = uno_log, .services = services_of(kind)->table};
    return &host[kind];
}

bool uno_component_usable(struct uno_found *f)
{
    if (f->state != UNO_FOUND_NEW) return f->state == UNO_FOUND_OPEN;
    const char *why = NULL;
    if (f->is->open) {
        if (f->file) uno_component_watch(f->file, "opened");
        why = f->is->open(host_of(f->is->kind));
        if (f->file) uno_component_unwatch();
    }
    f->why = why ? strdup(why) : NULL;
    f->state = why ? UNO_FOUND_DECLINED : UNO_FOUND_OPEN;
    return !why;
}

const struct uno_component *uno_component_named(enum uno_component_kind kind, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].is && found[i].is->kind == kind && strcmp(found[i].is->name, name) == 0)
            return uno_component_usable(&found[i]) ? found[i].is : NULL;
    return NULL;
}

void uno_components_open(unsigned kinds, bool quiet)
{
    uno_components_load(false);
    for (size_t i = 0; i < count; i++) {
        struct uno_found *f = &found[i];
        bool asked = f->is && f->file && kinds >> f->is->kind & 1;
        if (asked) (void)uno_component_usable(f);
        if (quiet || told) continue;
        if (f->state == UNO_FOUND_REFUSED) uno_log(0, "no component from %s: %s", f->file, f->why);
        if (asked && f->state == UNO_FOUND_DECLINED)
            uno_log(0, "no %s %s (%s): %s", uno_component_word(f->is->kind), f->is->name, f->file, f->why);
    }
    told |= !quiet;
}

static int by_name(const void *a, const void *b)
{
    const struct uno_component *const *c = a, *const *d = b;
    if ((*c)->kind != (*d)->kind) return (*c)->kind < (*d)->kind ? -1 : 1;
    return strcmp((*c)->name, (*d)->name);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3) + UINT64_C(0xcbf29ce484222325);
    return hash;
}

#define ITEM 128    // bytes of a kind, a name, a version and what is between them

// A list that is too long for the text ends in a number that stands for all of it.
const char *uno_components_text(unsigned kinds)
{
    static char text[UNO_COMPONENT_TEXT];
    const struct uno_component **list = malloc((count + 1) * sizeof *list);
    char *whole = calloc(count + 1, ITEM);
    size_t n = 0, used = 0;
    for (size_t i = 0; list && whole && i < count; i++)
        if (found[i].file && found[i].state == UNO_FOUND_OPEN && kinds >> found[i].is->kind & 1)
            list[n++] = found[i].is;
    if (n) qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(whole + used, ITEM, "%s%s %s %s", i ? ", " : "", uno_component_word(list[i]->kind),
                                 list[i]->name, list[i]->version);
    snprintf(text, sizeof text, "%s", whole ? whole : "");
    if (used >= sizeof text)
        snprintf(text + sizeof text - 64, 64, "..., %zu with the sum %016llx", n, (unsigned long long)hash_of(whole));
    free(whole);
    free(list);
    return text;
}

uint64_t uno_components_hash(unsigned kinds)
{
    return hash_of(uno_components_text(kinds));
}

// The first item of `list` that is none of `others`.
static void first_extra(const char *list, const char *others, char *item, size_t room)
{
    snprintf(item, room, "no other");
    for (size_t n; *list; list += n + (list[n] == ',' ? 2 : 0)) {
        n = strcspn(list, ",");
        bool same = false;
        for (size_t k, at = 0; others[at] && !same; at += k + (others[at + k] == ',' ? 2 : 0)) {
            k = strcspn(others + at, ",");
            same = k == n && strncmp(list, others + at, n) == 0;
        }
        if (same) continue;
        snprintf(item, room, "%.*s", (int)n, list);
        return;
    }
}

bool uno_components_differ(const struct uno_component_list *a, const struct uno_component_list *b, char *why,
                           size_t room)
{
    char of_a[80], of_b[80];
    if (strcmp(a->text, b->text) == 0) return false;
    first_extra(a->text, b->text, of_a, sizeof of_a);
    first_extra(b->text, a->text, of_b, sizeof of_b);
    snprintf(why, room,
             "rank %d on %s has loaded %s, rank %d on %s %s: give all ranks the same components, by component_path and "
             "what is in its folders",
             a->rank, a->host, of_a, b->rank, b->host, of_b);
    return true;
}

void uno_components_close(void)
{
    for (size_t i = 0; i < count; i++) {
        if (found[i].state != UNO_FOUND_OPEN || found[i].is->kind == UNO_COMPONENT_MANAGER) continue;
        if (found[i].is->close) found[i].is->close();
        found[i].state = UNO_FOUND_NEW;    // a later session opens it again
    }
}
