// SPDX-License-Identifier: BSD-3-Clause
// Loads libfabric when the channel is asked for: it brings a dozen libraries along, which nobody else should pay for.
// Called by ofi.c, unisono-info and tests.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "chan/ofi/missing.h"
#include "chan/ofi/ofi.h"

#define LIBRARY "libfabric.so.1"

struct ofi_library ofi_library;

const char *ofi_load(void)
{
    static char why[300];
    static void *lib;
    if (lib) return NULL;
    void *found = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!found) {
        snprintf(why, sizeof why, LIBRARY " cannot be loaded (Debian, Ubuntu: package libfabric1): %s", dlerror());
        return why;
    }
    const struct {
        const char *name;
        void **to;
    } wanted[] = {{"fi_getinfo", (void **)&ofi_library.getinfo},   {"fi_freeinfo", (void **)&ofi_library.freeinfo},
                  {"fi_dupinfo", (void **)&ofi_library.dupinfo},   {"fi_fabric", (void **)&ofi_library.fabric},
                  {"fi_strerror", (void **)&ofi_library.strerror}, {"fi_version", (void **)&ofi_library.version}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        *wanted[i].to = dlsym(found, wanted[i].name);
        if (*wanted[i].to) continue;
        snprintf(why, sizeof why, LIBRARY " lacks %s", wanted[i].name);
        dlclose(found);
        return why;
    }
    lib = found;
    return NULL;
}

const char *uno_ofi_missing(const char *provider)
{
    const char *why = ofi_load();
    if (why || !provider) return why;
    struct fi_info *hints = ofi_library.dupinfo(NULL), *all = NULL;
    if (!hints) return "no memory";
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    int e = ofi_library.getinfo(OFI_VERSION, NULL, NULL, 0, hints, &all);
    ofi_library.freeinfo(hints);
    if (all) ofi_library.freeinfo(all);
    return e ? "libfabric offers no such provider" : NULL;
}
