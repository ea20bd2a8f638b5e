// SPDX-License-Identifier: BSD-3-Clause
// Loads hwloc when it is first needed (an MPI job that never splits by hardware does not pay for it). Called by hw.c
// alone. The hardware is looked at once; what this process is bound to is asked each time.
// Always holds: a missing library, or a build without its header, means that nothing is known; no call fails for it.
#include "topo/hwloc.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

static const char *const level_name[UNO_HW_LEVELS] = {
    "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU",
};

const char *uno_hwloc_level(int level)
{
    return level_name[level];
}

#if __has_include(<hwloc.h>)
#include <hwloc.h>

static const hwloc_obj_type_t level_type[UNO_HW_LEVELS] = {
    HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
    HWLOC_OBJ_L1CACHE, HWLOC_OBJ_CORE,     HWLOC_OBJ_PU,
};

static struct {
    int (*init)(hwloc_topology_t *t);
    int (*components)(hwloc_topology_t t, unsigned long flags, const char *name);
    int (*load)(hwloc_topology_t t);
    void (*destroy)(hwloc_topology_t t);
    hwloc_bitmap_t (*alloc)(void);
    void (*free)(hwloc_bitmap_t set);
    int (*bound)(hwloc_topology_t t, hwloc_cpuset_t set, int flags);
    int (*depth)(hwloc_topology_t t, hwloc_obj_type_t type);
    unsigned (*count)(hwloc_topology_t t, int depth);
    hwloc_obj_t (*object)(hwloc_topology_t t, int depth, unsigned index);
    int (*included)(hwloc_const_bitmap_t sub, hwloc_const_bitmap_t super);
} lib;

static bool load_library(void)
{
    void *so = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!so) return false;
    const struct { const char *name; void *to; } symbols[] = {
        {"hwloc_topology_init", &lib.init},         {"hwloc_topology_load", &lib.load},
        {"hwloc_topology_set_components", &lib.components},
        {"hwloc_topology_destroy", &lib.destroy},   {"hwloc_bitmap_alloc", &lib.alloc},
        {"hwloc_bitmap_free", &lib.free},           {"hwloc_get_cpubind", &lib.bound},
        {"hwloc_get_type_depth", &lib.depth},       {"hwloc_get_nbobjs_by_depth", &lib.count},
        {"hwloc_get_obj_by_depth", &lib.object},    {"hwloc_bitmap_isincluded", &lib.included},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        *(void **)symbols[i].to = dlsym(so, symbols[i].name);
        if (!*(void **)symbols[i].to) return false;
    }
    return true;
}

static int part_of(hwloc_topology_t t, hwloc_obj_type_t type, hwloc_const_bitmap_t bound)
{
    int depth = lib.depth(t, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return -1;
    for (unsigned i = 0; i < lib.count(t, depth); i++) {
        hwloc_obj_t o = lib.object(t, depth, i);
        if (o->cpuset && lib.included(bound, o->cpuset)) return (int)i;
    }
    return -1;
}

// The kernel's own description is enough; hwloc's x86 part would move this thread over every processor to ask it.
static bool load_topology(hwloc_topology_t *t)
{
    if (!load_library() || lib.init(t) != 0) return false;
    lib.components(*t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (lib.load(*t) == 0) return true;
    lib.destroy(*t);
    return false;
}

static bool look(int part[UNO_HW_LEVELS])
{
    static hwloc_topology_t t;        // kept: loading takes milliseconds. The library lock is held
    static enum { FRESH, LOADED, ABSENT } state;
    if (state == FRESH) state = load_topology(&t) ? LOADED : ABSENT;
    if (state == ABSENT) return false;
    hwloc_bitmap_t bound = lib.alloc();
    bool seen = bound && lib.bound(t, bound, HWLOC_CPUBIND_PROCESS) == 0;
    for (int i = 0; i < UNO_HW_LEVELS && seen; i++) part[i] = part_of(t, level_type[i], bound);
    if (bound) lib.free(bound);
    return seen;
}
#else
static bool look(int part[UNO_HW_LEVELS])
{
    (void)part;
    return false;
}
#endif

static bool known;

bool uno_hwloc_known(void)
{
    return known;
}

void uno_hwloc_parts(int part[UNO_HW_LEVELS])
{
    for (int i = 0; i < UNO_HW_LEVELS; i++) part[i] = -1;
    known = look(part);
    if (!known) uno_log(1, "hwloc cannot be used: communicators are not split by parts of the hardware");
}
