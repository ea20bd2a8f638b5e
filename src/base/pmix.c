// SPDX-License-Identifier: BSD-3-Clause
// PMIx, the interface of prterun (and Open MPI's mpirun) and srun --mpi=pmix. Its library is loaded when its variables
// are there; what is called of it is declared here, since its headers need not be installed (PMIx standard, version 4).
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/component.h"
#include "base/manager.h"
#include "base/param.h"

#define LIBRARY "libpmix.so.2"

static struct uno_param library =
    UNO_PARAM_TEXT("pmix_library", LIBRARY, "the PMIx library that is loaded under a PMIx launcher");
UNO_PARAM_DECLARE(library);

// ---- the standard's types and numbers ----

enum { NAME_MAX_BYTES = 256, SCOPE_GLOBAL = 3, TYPE_STRING = 3, TYPE_UINT32 = 14, DONE = 0 };
#define EVERYBODY (UINT32_MAX - 1)    // PMIX_RANK_WILDCARD

struct pmix_proc {
    char space[NAME_MAX_BYTES];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        char *text;
        uint32_t number;
        char room[56];    // the standard's union has larger members
    } data;
};

static struct {
    void *handle;
    int (*init)(struct pmix_proc *, const void *, size_t);
    int (*finalize)(const void *, size_t);
    int (*abort)(int, const char *, const struct pmix_proc *, size_t);
    int (*put)(uint8_t, const char *, struct pmix_value *);
    int (*commit)(void);
    int (*fence)(const struct pmix_proc *, size_t, const void *, size_t);
    int (*get)(const struct pmix_proc *, const char *, const void *, size_t, struct pmix_value **);
    const char *(*text)(int);
} lib;

static struct pmix_proc self;

static bool load(void)
{
    struct {
        const char *name;
        void *at;
    } entry[] = {{"PMIx_Init", &lib.init}, {"PMIx_Finalize", &lib.finalize}, {"PMIx_Abort", &lib.abort},
                 {"PMIx_Put", &lib.put},   {"PMIx_Commit", &lib.commit},     {"PMIx_Fence", &lib.fence},
                 {"PMIx_Get", &lib.get},   {"PMIx_Error_string", &lib.text}};
    // Global: the library's own components look for its names.
    lib.handle = dlopen(uno_param_is_foreign(&library) ? LIBRARY : library.text, RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; lib.handle && i < sizeof entry / sizeof *entry; i++) {
        void *f = dlsym(lib.handle, entry[i].name);
        if (!f) return false;
        memcpy(entry[i].at, &f, sizeof f);
    }
    return lib.handle;
}

static bool number_of(uint32_t rank, const char *key, int *value)
{
    struct pmix_proc whom = self;
    struct pmix_value *v = NULL;
    whom.rank = rank;
    if (lib.get(&whom, key, NULL, 0, &v) != DONE || !v) return false;
    bool fits = v->type == TYPE_UINT32 && v->data.number < 1U << 30;
    if (fits) *value = (int)v->data.number;
    free(v);
    return fits;
}

static int join(struct uno_manager_place *place)
{
    int status = lib.init(&self, NULL, 0);
    if (status != DONE)
        return uno_fail(MPI_ERR_OTHER, "PMIx_Init, with the launcher that set PMIX_NAMESPACE: %s", lib.text(status));
    place->rank = (int)self.rank;
    if (!number_of(EVERYBODY, "pmix.job.size", &place->size) || place->rank >= place->size)
        return uno_fail(MPI_ERR_OTHER, "the PMIx launcher does not say how many processes its job has");
    if (!number_of(EVERYBODY, "pmix.univ.size", &place->universe) || place->universe < place->size)
        place->universe = place->size;
    if (!number_of(self.rank, "pmix.appnum", &place->appnum)) place->appnum = 0;
    return MPI_SUCCESS;
}

static bool find(struct uno_manager_place *place, int *err)
{
    bool named = getenv("PMIX_NAMESPACE"), numbered = getenv("PMIX_RANK");
    if (!named && !numbered) return false;
    if (!named || !numbered) {
        *err = uno_fail(MPI_ERR_OTHER,
                        "%s is set, by a PMIx launcher, but %s is not: start the program by a launcher that sets both, "
                        "or set UNISONO_MANAGER=none to run each process by itself",
                        named ? "PMIX_NAMESPACE" : "PMIX_RANK", named ? "PMIX_RANK" : "PMIX_NAMESPACE");
        return true;
    }
    if (!load()) {
        const char *why = dlerror();
        *err = uno_fail(MPI_ERR_OTHER,
                        "PMIX_NAMESPACE is set, by a PMIx launcher, but its library cannot be loaded: %s. Install PMIx "
                        "(Debian: libpmix2), name the library by UNISONO_PMIX_LIBRARY, or set UNISONO_MANAGER=none to "
                        "run each process by itself",
                        why ? why : library.text);
        return true;
    }
    *err = join(place);
    unsetenv("PMIX_NAMESPACE");    // a program that this one starts is not this rank
    unsetenv("PMIX_RANK");
    return true;
}

static int put(const char *key, const char *text)
{
    char name[64], copy[UNO_MANAGER_TEXT];
    struct pmix_value v = {.type = TYPE_STRING, .data.text = copy};
    snprintf(name, sizeof name, "unisono.%s", key);
    snprintf(copy, sizeof copy, "%s", text);
    return lib.put(SCOPE_GLOBAL, name, &v) == DONE ? 0 : EIO;
}

static int get(int rank, const char *key, char *text, size_t room)
{
    char name[64];
    struct pmix_proc whom = self;
    struct pmix_value *v = NULL;
    whom.rank = (uint32_t)rank;
    snprintf(name, sizeof name, "unisono.%s", key);
    int status = lib.get(&whom, name, NULL, 0, &v);
    if (status != DONE || !v) return ENOENT;
    int e = v->type != TYPE_STRING ? EPROTO : strlen(v->data.text) >= room ? EMSGSIZE : 0;
    if (!e) memcpy(text, v->data.text, strlen(v->data.text) + 1);
    if (v->type == TYPE_STRING) free(v->data.text);
    free(v);
    return e;
}

static int fence(void)
{
    if (lib.commit() != DONE) return EIO;
    return lib.fence(NULL, 0, NULL, 0) == DONE ? 0 : EIO;
}

static void stop(int status, const char *why)
{
    lib.abort(status, why, NULL, 0);
}

static void leave(void)
{
    if (!lib.handle) return;
    lib.finalize(NULL, 0);
    lib.handle = NULL;    // not unloaded: its threads and exit handlers may still be there
}

static const char *why_not(const struct uno_component_host *host)
{
    (void)host;
    if (load()) return NULL;
    const char *why = dlerror();
    return why ? why : "its library lacks a function";
}

static const struct uno_manager manager = {
    .title = "PMIx", .find = find, .put = put, .get = get, .fence = fence, .abort = stop, .leave = leave};
static const struct uno_component component = {
    UNO_COMPONENT_IS_MANAGER, .name = "pmix",
    .version = UNO_VERSION,   .about = "launchers that speak PMIx: prterun, srun --mpi=pmix",
    .priority = 30,           .open = why_not,
    .table = &manager};
UNO_COMPONENT_DECLARE(component);
