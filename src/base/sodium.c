// SPDX-License-Identifier: BSD-3-Clause
// Loads libsodium (sodium.h).
#include "base/sodium.h"

#include <dlfcn.h>
#include <mpi.h>

#define LIBRARY "libsodium.so.23"

static void *library(void)
{
    static void *lib;
    if (!lib) lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return lib;
}

int uno_sodium_find(const struct uno_symbol *wanted, size_t count)
{
    void *lib = library();
    if (!lib)
        return uno_fail(MPI_ERR_OTHER,
                        "connections over tcp need " LIBRARY " (Debian, Ubuntu: package libsodium23): %s", dlerror());
    for (size_t i = 0; i < count; i++) {
        *wanted[i].to = dlsym(lib, wanted[i].name);
        if (!*wanted[i].to) return uno_fail(MPI_ERR_OTHER, LIBRARY " lacks %s", wanted[i].name);
    }
    int (*init)(void) = NULL;    // chooses the functions that suit the processor
    *(void **)&init = dlsym(lib, "sodium_init");
    if (init && init() >= 0) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_OTHER, LIBRARY " cannot be initialised");
}
