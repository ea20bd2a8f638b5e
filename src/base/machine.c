// SPDX-License-Identifier: BSD-3-Clause
// The costs of this host (machine.h): the table by processor family, and the machine file.
//
// A machine file is text: a first line `unisono machine VERSION`, then `NAME = VALUE`, # begins a comment. It names the
// processor that it was measured on, and every cost. One per processor, so that hosts of several kinds can share a
// home.
#include "base/machine.h"

#include <elf.h>
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/param.h"

#define VERSION 4
#define HOST_FOLDER "/etc/unisono"
#define PATH_ROOM 512

static struct uno_param file = UNO_PARAM_TEXT(
    "machine_file", "",
    "file with the costs of this machine (unisono-tune --machine), or `none`: the table's as they are; empty: the "
    "user's, then the host's");
UNO_PARAM_DECLARE(file);

static struct uno_param mixed = UNO_PARAM_BOOL("mixed", 0,
                                               "say from the start that ranks run on several kinds of processors "
                                               "(x86-64 and aarch64): types of long double, which differ, are refused "
                                               "on all; 0: on a host where no rank has used them when they meet");
UNO_PARAM_DECLARE(mixed);

#define COST(name, unit, least, most, meaning)                                                                         \
    {                                                                                                                  \
#name, unit, meaning, offsetof(struct uno_costs, name), least, most                                            \
    }
static const struct cost {
    const char *name, *unit, *meaning;
    size_t at;
    uint32_t least, most;
} costs[] = {
    COST(line, "ns", 5, 100000, "a line with its stamp, from core to core"),
    COST(gap, "ns", 0, 10000, "between two looks at a line that is to come; 0: none, it comes as soon"),
    COST(data, "ns", 0, 100000, "what a payload beside its line adds before its first byte"),
    COST(write, "ps/B", 1, 100000, "into lines that another core has read"),
    COST(write_ahead, "ps/B", 1, 100000, "the same, lines asked for ahead"),
    COST(read, "ps/B", 1, 100000, "out of lines that another core has written"),
    COST(call, "ns", 10, 1000000, "a copy across processes, before its first byte"),
    COST(cross, "ps/B", 1, 100000, "such a copy, pages of 4 KiB"),
    COST(page, "ns", 1, 100000, "of that, looking up a page"),
    COST(meet, "ns", 1, 1000000, "what two ranks that copy one message lose to each other"),
    COST(gather, "us", 1, 1000000, "gathering 2 MiB into a huge page"),
    COST(wake, "ns", 100, 100000000, "a wake, until the one that slept runs"),
    COST(cache, "MiB", 1, 65536, "that all cores together write before it goes to memory"),
    COST(past, "ns", 0, 100000, "as data, of a payload written past the caches"),
    COST(past_write, "ps/B", 0, 100000, "writing it; 0: not known, and never done"),
    COST(past_read, "ps/B", 0, 100000, "reading it"),
};
#define COSTS (sizeof costs / sizeof *costs)

// ---- the table ----

// A family of processors. Virtual machines may tell a model that the processor is not, but not what it cannot do, so
// the tile registers (AMX) and AVX-512 with half precision (where a hypervisor hides the former) tell more than the
// model, and AVX-512 tells Zen 4 from Zen 3.
enum able { ABLE_ANY, ABLE_AVX512, ABLE_SAPPHIRE };

struct row {
    const char *name, *vendor;              // vendor "": any
    uint32_t family, last_family, model;    // families from .. to; the lowest model
    enum able able;
    struct uno_costs cost;
};

// The first row that fits wins. Where they are from, and which are measured (unisono-tune --machine):
// docs/design/machine.md.
static const struct row table[] = {
    {"Emerald Rapids",
     "GenuineIntel",
     6,
     6,
     207,
     ABLE_SAPPHIRE,
     {85, 16, 336, 120, 94, 78, 790, 66, 121, 400, 620, 33000, 32, 0, 0, 0}},
    {"Sapphire Rapids",
     "GenuineIntel",
     6,
     6,
     0,
     ABLE_SAPPHIRE,
     {85, 16, 60, 120, 94, 78, 480, 43, 56, 350, 230, 33000, 32, 0, 0, 0}},
    {"EPYC (Zen 5)",
     "AuthenticAMD",
     26,
     26,
     0,
     ABLE_ANY,
     {100, 0, 270, 10, 46, 20, 1150, 63, 192, 300, 420, 26000, 16, 0, 0, 0}},
    {"EPYC (Zen 4)",
     "AuthenticAMD",
     25,
     25,
     0,
     ABLE_AVX512,
     {105, 0, 190, 280, 290, 54, 2000, 86, 195, 1000, 650, 45000, 8, 350, 38, 101}},
    {"EPYC (Zen 3)",
     "AuthenticAMD",
     25,
     25,
     0,
     ABLE_ANY,
     {90, 0, 213, 77, 85, 43, 1700, 82, 190, 800, 430, 33000, 16, 400, 29, 53}},
    {"EPYC (Zen 2)",
     "AuthenticAMD",
     23,
     23,
     0,
     ABLE_ANY,
     {280, 0, 305, 32, 90, 33, 830, 30, 56, 450, 230, 33000, 32, 0, 0, 0}},
    {"aarch64 (assumed)",
     "aarch64",
     0,
     0,
     0,
     ABLE_ANY,
     {120, 0, 80, 60, 94, 60, 600, 43, 56, 350, 230, 33000, 32, 0, 0, 0}},
    {"any other (as Sapphire Rapids)",
     "",
     0,
     0,
     0,
     ABLE_ANY,
     {85, 16, 60, 120, 94, 78, 480, 43, 56, 350, 230, 33000, 32, 0, 0, 0}},
};
#define ROWS (sizeof table / sizeof *table)

struct processor {
    char vendor[16];
    uint32_t family, model;
    bool tiles, half, wide;
};

#if defined(__x86_64__)
static struct processor processor_here(void)
{
    struct processor p = {.vendor = "x86-64"};
    uint32_t a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d)) {
        memcpy(p.vendor, &b, 4), memcpy(p.vendor + 4, &d, 4), memcpy(p.vendor + 8, &c, 4);
        p.vendor[12] = '\0';
    }
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        uint32_t family = a >> 8 & 15, model = a >> 4 & 15;
        p.family = family == 15 ? family + (a >> 20 & 255) : family;
        p.model = family == 15 || family == 6 ? model + (a >> 12 & 0xf0) : model;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) p.tiles = d >> 24 & 1, p.half = d >> 23 & 1, p.wide = b >> 16 & 1;
    return p;
}
#elif defined(__aarch64__)
static struct processor processor_here(void)
{
    return (struct processor){.vendor = "aarch64"};
}
#else
static struct processor processor_here(void)
{
    return (struct processor){.vendor = "unknown"};
}
#endif

static bool fits(const struct row *r, const struct processor *p)
{
    if (!*r->vendor) return true;
    return strcmp(r->vendor, p->vendor) == 0 && p->family >= r->family && p->family <= r->last_family &&
           p->model >= r->model && (p->tiles || p->half || r->able != ABLE_SAPPHIRE) &&
           (p->wide || r->able != ABLE_AVX512);
}

const struct uno_costs *uno_costs_row(size_t i, const char **name)
{
    if (i >= ROWS) return NULL;
    *name = table[i].name;
    return &table[i].cost;
}

const struct uno_costs *uno_costs_known(const char **name)
{
    struct processor here = processor_here();
    size_t i = 0;
    while (!fits(&table[i], &here)) i++;    // the last row fits all
    return uno_costs_row(i, name);
}

void uno_processor_name(char *text, size_t room)
{
    struct processor here = processor_here();
    snprintf(text, room, "%s-%u-%u%s", here.vendor, here.family, here.model, here.tiles ? "-amx" : "");
}

// ---- the costs by name ----

const char *uno_cost_name(size_t i)
{
    return i < COSTS ? costs[i].name : NULL;
}

const char *uno_cost_unit(size_t i)
{
    return i < COSTS ? costs[i].unit : NULL;
}

const char *uno_cost_meaning(size_t i)
{
    return i < COSTS ? costs[i].meaning : NULL;
}

uint32_t uno_cost_at(const struct uno_costs *c, size_t i)
{
    uint32_t value;
    memcpy(&value, (const char *)c + costs[i].at, sizeof value);
    return value;
}

// ---- the file ----

struct reading {
    const char *path;
    FILE *f;
    int line;
    uint32_t have;    // bit i: cost i was read
    bool named;       // the processor was
    struct uno_machine *m;
};

static int spoilt(const struct reading *r, const char *why)
{
    return uno_fail(MPI_ERR_ARG, "%s:%d: %s", r->path, r->line, why);
}

static int take_cost(struct reading *r, const char *name, const char *value)
{
    size_t i = 0;
    while (i < COSTS && strcmp(costs[i].name, name) != 0) i++;
    if (i == COSTS) return uno_fail(MPI_ERR_ARG, "%s:%d: no cost is called %s", r->path, r->line, name);
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (end == value || *end || errno || *value == '-' || number < costs[i].least || number > costs[i].most)
        return uno_fail(MPI_ERR_ARG, "%s:%d: %s is \"%s\", a whole number from %u to %u is expected", r->path, r->line,
                        name, value, costs[i].least, costs[i].most);
    uint32_t cost = (uint32_t)number;
    memcpy((char *)&r->m->cost + costs[i].at, &cost, sizeof cost);
    r->have |= 1u << i;
    return MPI_SUCCESS;
}

static int take_line(struct reading *r, const char *line)
{
    char name[32], value[UNO_MACHINE_TEXT], rest[2], here[UNO_MACHINE_TEXT];
    int got = sscanf(line, " %31[a-z_] = %127s %1s", name, value, rest);
    if (got != 2) return spoilt(r, "not of the form NAME = VALUE");
    if (strcmp(name, "processor") != 0) return take_cost(r, name, value);
    uno_processor_name(here, sizeof here);
    r->named = true;
    if (strcmp(value, here) == 0) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "%s was measured on %s, and this is %s", r->path, value, here);
}

static int take_lines(struct reading *r)
{
    char line[256];
    int version = 0, err = MPI_SUCCESS;
    if (!fgets(line, sizeof line, r->f) || sscanf(line, "unisono machine %d", &version) != 1)
        return uno_fail(MPI_ERR_ARG, "%s is not a machine file", r->path);
    if (version != VERSION)
        return uno_fail(MPI_ERR_ARG, "%s is of version %d, and this library reads version %d", r->path, version,
                        VERSION);
    for (r->line = 2; !err && fgets(line, sizeof line, r->f); r->line++) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " \t\r")]) err = take_line(r, line);
    }
    if (err) return err;
    if (!r->named) return uno_fail(MPI_ERR_ARG, "%s does not name its processor", r->path);
    for (size_t i = 0; i < COSTS; i++)
        if (!(r->have >> i & 1)) return uno_fail(MPI_ERR_ARG, "%s lacks %s", r->path, costs[i].name);
    return MPI_SUCCESS;
}

int uno_machine_read(const char *path, struct uno_machine *m)
{
    struct uno_machine read = {0};
    struct reading r = {.path = path, .f = fopen(path, "re"), .m = &read};
    if (!r.f) return uno_fail_errno(MPI_ERR_ARG, "machine file %s", path);
    int err = take_lines(&r);
    fclose(r.f);
    if (!err) m->cost = m->told = read.cost;
    return err;
}

size_t uno_own_cache(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}

static size_t read_shared_cache(void)
{
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    unsigned long kib = 0;
    char unit = 0;
    if (!f) return 0;
    if (fscanf(f, "%lu%c", &kib, &unit) != 2 || unit != 'K') kib = 0;
    fclose(f);
    return (size_t)kib << 10;
}

size_t uno_shared_cache(void)
{
    static _Atomic size_t found = SIZE_MAX;    // not looked for yet
    // Relaxed: whoever looks finds the same, and nothing else is read by it.
    size_t bytes = atomic_load_explicit(&found, memory_order_relaxed);
    if (bytes < SIZE_MAX) return bytes;
    bytes = read_shared_cache();
    atomic_store_explicit(&found, bytes, memory_order_relaxed);
    return bytes;
}

void uno_machine_path(char *path, size_t room, bool of_host)
{
    char name[UNO_MACHINE_TEXT];
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    uno_processor_name(name, sizeof name);
    *path = '\0';
    if (of_host)
        snprintf(path, room, "%s/machine-%s", HOST_FOLDER, name);
    else if (config && *config == '/')
        snprintf(path, room, "%s/unisono/machine-%s", config, name);
    else if (home && *home == '/')
        snprintf(path, room, "%s/.config/unisono/machine-%s", home, name);
}

// The file at path decides. must: it is an error that it is not there.
static bool decides(const char *path, bool must, struct uno_machine *m)
{
    if (!must && (!*path || access(path, F_OK) != 0)) return false;
    int err = uno_machine_read(path, m);
    if (err) snprintf(m->wrong, sizeof m->wrong, "%s: ignored", uno_fail_text());
    if (!err) snprintf(m->from, sizeof m->from, "%s", path);
    uno_fail_clear();
    return !err;
}

void uno_machine_find(struct uno_machine *m)
{
    char path[PATH_ROOM];
    const char *name;
    m->wrong[0] = '\0';
    bool none = strcmp(file.text, "none") == 0;
    if (!none && *file.text && decides(file.text, true, m)) return;
    for (int of_host = 0; of_host < 2 && !*file.text; of_host++) {
        uno_machine_path(path, sizeof path, of_host);
        if (decides(path, false, m)) return;
    }
    m->cost = m->told = *uno_costs_known(&name);
    bool raised = !none && uno_machine_raise(&m->cost);
    snprintf(m->from, sizeof m->from, "table: %s%s", name, raised ? ", calls of this kernel are dearer" : "");
}

// ---- kinds of processors ----

uint32_t uno_machine_kind(void)
{
#if defined(__x86_64__)
    return UNO_KIND_MARK << 16 | EM_X86_64;
#elif defined(__aarch64__)
    return UNO_KIND_MARK << 16 | EM_AARCH64;
#else
    return UNO_KIND_MARK << 16;
#endif
}

static struct uno_machine nowhere, *host = &nowhere;    // of uno_machine_join

// What the host has settled on, which is `wanted` if nothing was before.
static uint32_t settle(uint32_t wanted)
{
    uint32_t found = UNO_BLEND_OPEN;
    // Relaxed: a lone word, which changes once.
    if (!atomic_compare_exchange_strong_explicit(&host->blend, &found, wanted, memory_order_relaxed,
                                                 memory_order_relaxed))
        return found;
    if (wanted == UNO_BLEND_MIXED)
        uno_log(1, "processes on several kinds of processors take part: types of long double are refused");
    return wanted;
}

bool uno_machine_keep_alike(void)
{
    return settle(UNO_BLEND_ALIKE) == UNO_BLEND_ALIKE;
}

bool uno_machine_is_alike(void)
{
    // Relaxed: as in settle().
    return atomic_load_explicit(&host->blend, memory_order_relaxed) == UNO_BLEND_ALIKE;
}

const char *uno_machine_refusal(uint32_t kind)
{
    if (__builtin_bswap32(kind) >> 16 == UNO_KIND_MARK) return "its processor has another order of bytes";
    return kind >> 16 == UNO_KIND_MARK ? NULL : "what it sent is no greeting";
}

const char *uno_machine_meet(uint32_t kind, bool alike)
{
    const char *strange = uno_machine_refusal(kind);
    if (strange || kind == uno_machine_kind()) return strange;
    if (!alike && settle(UNO_BLEND_MIXED) == UNO_BLEND_MIXED) return NULL;
    return "it is for another kind of processor, and long double, which the two keep in different formats, is in use "
           "already (--set mixed=1 refuses its types instead)";
}

const char *uno_machine_join(struct uno_machine *m)
{
    uint32_t first = 0;
    host = m;
    if (mixed.num) (void)settle(UNO_BLEND_MIXED);
    // Relaxed: a lone word, written once.
    if (atomic_compare_exchange_strong_explicit(&m->kind, &first, uno_machine_kind(), memory_order_relaxed,
                                                memory_order_relaxed))
        return NULL;
    return uno_machine_meet(first, false);
}
