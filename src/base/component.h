// SPDX-License-Identifier: BSD-3-Clause
// The components of this process (unisono/component.h): those that are linked in, which declare themselves in the
// linker's section uno_components, and those loaded from folders. The layers that use a kind go through the list; what
// cannot be used stays in it with the reason. Called by world.c, mpiexec and unisono-info, with the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "unisono/component.h"

#define UNO_COMPONENT_DECLARE(c)                                                                                       \
    static const struct uno_component *const uno_component_##c __attribute__((used, section("uno_components"))) = &(c)

// What a layer does for the components of its kind.
struct uno_services {
    enum uno_component_kind kind;
    const void *table;    // struct uno_component_host.services
    // Of one that can be used: whether it would be, in a process that starts here, and in few words why or why not.
    const char *(*chosen)(const struct uno_component *c, bool *is);
    // What is wrong with the table of a loaded one, malloced; NULL: nothing. May be NULL itself.
    char *(*wrong)(const struct uno_component *c);
};
#define UNO_SERVICES_DECLARE(s)                                                                                        \
    static const struct uno_services *const uno_services_##s __attribute__((used, section("uno_services"))) = &(s)

enum uno_found_state { UNO_FOUND_NEW, UNO_FOUND_OPEN, UNO_FOUND_DECLINED, UNO_FOUND_REFUSED };

struct uno_found {
    const struct uno_component *is;    // NULL: the file holds nothing that can be used
    char *file;                        // NULL: linked in
    enum uno_found_state state;
    char *why;    // of those declined and refused: one line without a full stop
};

#define UNO_COMPONENT_TEXT 1024
#define UNO_COMPONENTS_ALIKE (1u << UNO_COMPONENT_CHANNEL | 1u << UNO_COMPONENT_COLLECTIVE | 1u << UNO_COMPONENT_FILES)

// Finds the linked ones and loads those of the folders, once. wary: each file is first tried in a process of its own.
void uno_components_load(bool wary);

// Tells each file that cannot be used, in one line; opens the loaded ones of the kinds in the set (bits) and tells
// which declined. quiet: another process of this host does the telling.
void uno_components_open(unsigned kinds, bool quiet);

// By priority, those of one kind beside each other.
struct uno_found *uno_components_all(size_t *count);

// Opens it, if that was not done. False: it declined, or is refused (found->why).
bool uno_component_usable(struct uno_found *found);

// Of one that can be used: struct uno_services.chosen of its kind.
const char *uno_component_chosen(const struct uno_found *found, bool *is);

// The usable one of that kind and name, or NULL.
const struct uno_component *uno_component_named(enum uno_component_kind kind, const char *name);

const char *uno_component_word(enum uno_component_kind kind);    // "channel"

// The loaded ones of some kinds (bits) that are open, with their versions, in an order that files and folders do not
// change: what all ranks of a job must have alike. "": none. And a number that stands for it, 0: none.
const char *uno_components_text(unsigned kinds);
uint64_t uno_components_hash(unsigned kinds);

// Who has loaded what (a text as above).
struct uno_component_list {
    int rank;
    const char *host, *text;
};

// Whether two lists differ; then says in which component.
bool uno_components_differ(const struct uno_component_list *a, const struct uno_component_list *b, char *why,
                           size_t room);

void uno_components_close(void);    // all but managers, which have a call for their end

// ---- component_file.c ----

// Why nothing is to be loaded from a file, or from a folder, malloced; NULL: it may.
char *uno_component_unfit(const char *path, bool folder);

// The components that a file exports, NULL behind the last; or NULL and the reason in *why: malloced.
const struct uno_component *const *uno_component_load(const char *file, char **why);

// What is wrong with a component, malloced; NULL: nothing. whole: no function of its table may be missing.
char *uno_component_wrong(const struct uno_component *c, bool whole);

// Between the two a crash or an end of this process is told in one line, with what was being done: doing is "loaded" or
// "opened".
void uno_component_watch(const char *what, const char *doing);
void uno_component_unwatch(void);

char *uno_component_format(const char *format, ...) __attribute__((format(printf, 1, 2)));    // malloced, or NULL
