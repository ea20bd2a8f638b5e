// SPDX-License-Identifier: BSD-3-Clause
// Reads the machine (hw.h): through hwloc when it can be loaded, else from the kernel's files in sysfs.
// Always holds: a table is read once per process and never changes; which of its processors a process may use is asked
// elsewhere, since a process may be bound at any moment.
#define _GNU_SOURCE
#include "base/hw.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/param.h"

#if __has_include(<hwloc.h>) && __has_include(<hwloc/autogen/config.h>)    // the latter is of one machine type
#include <hwloc.h>
#define HAVE_HWLOC 1
#endif

static struct uno_param synthetic = UNO_PARAM_TEXT("hw_synthetic", "",
                                                   "a machine to imagine in place of this one, as hwloc describes them "
                                                   "(`pack:2 numa:2 core:4 pu:1`), for tests: ranks "
                                                   "count as bound to equal shares of it");
UNO_PARAM_DECLARE(synthetic);

static const char *const level_name[UNO_HW_LEVELS] = {
    "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU",
};

const char *uno_hw_level_name(int level)
{
    return level_name[level];
}

bool uno_hw_imagined(void)
{
    return synthetic.text[0] != '\0';
}

static bool make_room(struct uno_hw *hw, int n)
{
    hw->pu = malloc((size_t)(n ? n : 1) * sizeof *hw->pu);
    for (int i = 0; hw->pu && i < n; i++)
        for (int level = 0; level < UNO_HW_LEVELS; level++) hw->pu[i].part[level] = -1;
    hw->n = hw->pu ? n : 0;
    return hw->pu != NULL;
}

// ---- hwloc ----

#ifdef HAVE_HWLOC
#define LIBRARY "libhwloc.so.15"

static struct {
    int (*init)(hwloc_topology_t *);
    int (*synthetic)(hwloc_topology_t, const char *);
    int (*load)(hwloc_topology_t);
    void (*destroy)(hwloc_topology_t);
    int (*depth)(hwloc_topology_t, hwloc_obj_type_t);
    unsigned (*count)(hwloc_topology_t, int);
    hwloc_obj_t (*object)(hwloc_topology_t, int, unsigned);
    int (*has)(hwloc_const_bitmap_t, unsigned);
} lib;

static const hwloc_obj_type_t type_of[UNO_HW_LEVELS] = {
    HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
    HWLOC_OBJ_L1CACHE, HWLOC_OBJ_CORE,     HWLOC_OBJ_PU,
};

static bool load_library(void)
{
    void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        uno_log(uno_hw_imagined() ? 0 : 1,
                "without hwloc only packages and cores are known (Debian, Ubuntu: package libhwloc15): %s", dlerror());
        return false;
    }
    *(void **)&lib.init = dlsym(so, "hwloc_topology_init");
    *(void **)&lib.synthetic = dlsym(so, "hwloc_topology_set_synthetic");
    *(void **)&lib.load = dlsym(so, "hwloc_topology_load");
    *(void **)&lib.destroy = dlsym(so, "hwloc_topology_destroy");
    *(void **)&lib.depth = dlsym(so, "hwloc_get_type_depth");
    *(void **)&lib.count = dlsym(so, "hwloc_get_nbobjs_by_depth");
    *(void **)&lib.object = dlsym(so, "hwloc_get_obj_by_depth");
    *(void **)&lib.has = dlsym(so, "hwloc_bitmap_isset");
    return lib.init && lib.synthetic && lib.load && lib.destroy && lib.depth && lib.count && lib.object && lib.has;
}

static void fill_level(struct uno_hw *hw, hwloc_topology_t t, int level)
{
    int depth = lib.depth(t, type_of[level]);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return;
    for (unsigned i = 0; i < lib.count(t, depth); i++) {
        hwloc_obj_t o = lib.object(t, depth, i);
        for (int k = 0; k < hw->n; k++) {
            int *part = &hw->pu[k].part[level];
            if (*part < 0 && lib.has(o->cpuset, (unsigned)hw->pu[k].cpu)) *part = (int)i;
        }
    }
}

static bool read_hwloc(struct uno_hw *hw)
{
    hwloc_topology_t t;
    if (!load_library() || lib.init(&t) != 0) return false;
    hw->imagined = uno_hw_imagined();
    bool ok = !hw->imagined || lib.synthetic(t, synthetic.text) == 0;
    if (!ok) uno_log(0, "hw_synthetic: hwloc does not understand \"%s\"", synthetic.text);
    int depth = 0;
    ok = ok && lib.load(t) == 0;
    if (ok) depth = lib.depth(t, HWLOC_OBJ_PU);
    ok = ok && make_room(hw, (int)lib.count(t, depth));
    for (int i = 0; ok && i < hw->n; i++) hw->pu[i].cpu = (int)lib.object(t, depth, (unsigned)i)->os_index;
    for (int level = 0; ok && level < UNO_HW_LEVELS; level++) fill_level(hw, t, level);
    lib.destroy(t);
    return ok;
}
#else
static bool read_hwloc(struct uno_hw *hw)
{
    (void)hw;
    uno_log(1, "built without hwloc: only packages and cores are known");
    return false;
}
#endif

// ---- without ----

// The lowest processor of a list such as "4-7,12"; -1 when the file is not there.
static int first_in(int cpu, const char *name)
{
    char path[128];
    int first = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%d", &first) != 1) first = -1;
    if (f) fclose(f);
    return first;
}

static int by_place(const void *a, const void *b)
{
    static const int order[] = {UNO_HW_PACKAGE, UNO_HW_CORE, UNO_HW_PU};
    const struct uno_hw_pu *x = a, *y = b;
    for (int i = 0; i < 3; i++) {
        int p = x->part[order[i]], q = y->part[order[i]];
        if (p != q) return p < q ? -1 : 1;
    }
    return 0;
}

// Processors that are on, and (where there is no sysfs) those that this process may use.
static bool read_plain(struct uno_hw *hw)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
    if (!make_room(hw, CPU_SETSIZE)) return false;
    hw->n = 0;
    long top = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int core = cpu < top ? first_in(cpu, "thread_siblings_list") : -1;
        if (core < 0 && !CPU_ISSET(cpu, &set)) continue;
        struct uno_hw_pu *pu = &hw->pu[hw->n++];
        pu->cpu = pu->part[UNO_HW_PU] = cpu;
        pu->part[UNO_HW_CORE] = core;
        pu->part[UNO_HW_PACKAGE] = first_in(cpu, "core_siblings_list");
    }
    qsort(hw->pu, (size_t)hw->n, sizeof *hw->pu, by_place);
    return true;
}

static struct uno_hw full, plain;

const struct uno_hw *uno_hw_read_plain(void)
{
    if (uno_hw_imagined()) return uno_hw_read();
    if (full.pu) return &full;
    return plain.pu || read_plain(&plain) ? &plain : NULL;
}

const struct uno_hw *uno_hw_read(void)
{
    static bool asked;
    if (!asked) {
        asked = true;
        if (!read_hwloc(&full)) full.pu = NULL;
    }
    if (full.pu) return &full;
    return plain.pu || read_plain(&plain) ? &plain : NULL;
}
