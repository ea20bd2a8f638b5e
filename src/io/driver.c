// SPDX-License-Identifier: BSD-3-Clause
// Finds the driver of a file, and has the one that is built in. Called by file.c.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/component.h"
#include "io/posix.h"
#include "unisono/files.h"

static int posix_open(const char *name, int flags, unsigned mode)
{
    return open(name, flags, mode);
}

static const struct uno_files posix = {.open = posix_open, .remove = unlink};
static const struct uno_component component = {UNO_COMPONENT_IS_FILES, .name = "posix", .version = UNO_VERSION,
                                               .about = "files of the system, by names without a driver",
                                               .table = &posix};
UNO_COMPONENT_DECLARE(component);

static const char *is_chosen(const struct uno_component *c, bool *is)
{
    *is = c == &component;
    return *is ? "for names without a driver" : "for names that begin with its own and a colon";
}

static const struct uno_services services = {.kind = UNO_COMPONENT_FILES, .chosen = is_chosen};
UNO_SERVICES_DECLARE(services);

// The driver, and what it calls the file. A word that is no driver's belongs to the name.
static const struct uno_files *driver_of(const char *path, const char **name)
{
    char word[32];
    size_t n = strcspn(path, ":/");
    *name = path;
    if (path[n] != ':' || n == 0 || n >= sizeof word) return &posix;
    snprintf(word, sizeof word, "%.*s", (int)n, path);
    const struct uno_component *c = uno_component_named(UNO_COMPONENT_FILES, word);
    if (!c || c == &component) return &posix;
    *name = path + n + 1;
    return c->table;
}

int uno_driver_open(const char *path, int flags, unsigned mode)
{
    const char *name;
    const struct uno_files *d = driver_of(path, &name);
    return d->open(name, flags, mode);
}

int uno_driver_remove(const char *path)
{
    const char *name;
    const struct uno_files *d = driver_of(path, &name);
    return d->remove(name);
}
