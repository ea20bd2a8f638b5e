// SPDX-License-Identifier: BSD-3-Clause
// Decides which rank is bound where (cpus.h). Called by the placement and by nodes. Unless the user sets a policy, the
// ranks of a host share its cores in equal, neighbouring parts, as long as every rank gets at least one; a job that
// finds another job bound already leaves its ranks to the kernel.
#define _GNU_SOURCE
#include "cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hw.h"

#define UNITS (UNO_BY_SOCKET + 1)
#define CLAIM_NAMES 8    // a stranger would have to hold them all before two jobs of one user are bound at once

// id[unit] names the unit that the processor belongs to.
struct cpu {
    int cpu, id[UNITS];
};

static struct cpu *cpus;    // that this process may use, in the order of the machine
static int ncpus, ncores;
static bool imagined;    // no such machine is here: nothing is bound, so no job has to be asked

static void describe(struct cpu *c, const struct uno_hw_pu *pu)
{
    static const enum uno_hw_level level[UNITS] = {
        [UNO_BY_HWTHREAD] = UNO_HW_PU, [UNO_BY_CORE] = UNO_HW_CORE,      [UNO_BY_L3] = UNO_HW_L3,
        [UNO_BY_NUMA] = UNO_HW_NUMA,   [UNO_BY_SOCKET] = UNO_HW_PACKAGE,
    };
    c->cpu = pu->cpu;
    for (int u = 0; u < UNITS; u++) c->id[u] = pu->part[level[u]];
    if (c->id[UNO_BY_CORE] < 0) c->id[UNO_BY_CORE] = pu->cpu;
}

int uno_cpus_list(const char *text, int *cpu)
{
    int n = 0;
    for (const char *s = text; *s;) {
        char *end;
        long from = strtol(s, &end, 10), to = from;
        if (end == s) return -1;
        if (*end == '-') to = strtol(s = end + 1, &end, 10);
        if (end == s || from < 0 || to < from || to >= CPU_SETSIZE || (*end != ',' && *end != '\0')) return -1;
        for (long c = from; c <= to && n < CPU_SETSIZE; c++) cpu[n++] = (int)c;
        s = *end ? end + 1 : end;
    }
    return n > 0 ? n : -1;
}

// Takes away what --cpu-set does not name, unless nothing would be left (the list is of another host then).
static void limit_to(cpu_set_t *may, const char *list)
{
    cpu_set_t named;
    int cpu[CPU_SETSIZE], n = list ? uno_cpus_list(list, cpu) : -1;
    CPU_ZERO(&named);
    for (int i = 0; i < n; i++) CPU_SET(cpu[i], &named);
    CPU_AND(&named, &named, may);
    if (CPU_COUNT(&named) > 0) *may = named;
}

// Full: with all that hwloc knows; else cores and sockets will do.
static void read_machine(const struct uno_plan *p, bool full)
{
    static const struct uno_hw *known;
    const struct uno_hw *hw = full ? uno_hw_read() : uno_hw_read_plain();
    if (hw == NULL || hw == known) return;
    known = hw;
    imagined = hw->imagined;
    cpu_set_t may;
    CPU_ZERO(&may);
    if (hw->imagined)
        for (int i = 0; i < CPU_SETSIZE; i++) CPU_SET(i, &may);
    else if (sched_getaffinity(0, sizeof may, &may) != 0)
        CPU_SET(0, &may);
    limit_to(&may, p->cpu_set);
    free(cpus);
    ncpus = ncores = 0;
    cpus = uno_xalloc((size_t)(hw->n ? hw->n : 1) * sizeof *cpus);
    for (int i = 0; i < hw->n; i++) {
        bool mine = hw->pu[i].cpu < CPU_SETSIZE && CPU_ISSET(hw->pu[i].cpu, &may);
        if (mine) describe(&cpus[ncpus++], &hw->pu[i]);
    }
    for (int i = 0; i < ncpus; i++) ncores += i == 0 || cpus[i].id[UNO_BY_CORE] != cpus[i - 1].id[UNO_BY_CORE];
}

int uno_cpus_count(const struct uno_plan *p)
{
    read_machine(p, false);
    return p->hwthreads ? ncpus : ncores;
}

static int holder_fd = -1;    // the socket that has the name; -1 none
static bool yielded;

enum claim { CLAIM_MADE, CLAIM_OURS, CLAIM_STRANGER };

// Takes a name of this user's, or finds out whether this user holds it: abstract names have no owner, so
// another user may have taken it. The kernel frees a name when the process ends, however it ends.
static enum claim claim_name(int number)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "unisono-bound-%u-%d", (unsigned)getuid(), number);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return CLAIM_OURS;
    if (bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, SOMAXCONN) == 0) {
        holder_fd = fd;
        return CLAIM_MADE;
    }
    struct ucred holder = {.uid = (uid_t)-1};
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    socklen_t room = sizeof holder;
    bool told =
        connect(fd, (struct sockaddr *)&a, len) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &room) == 0;
    close(fd);
    return told && holder.uid == getuid() ? CLAIM_OURS : CLAIM_STRANGER;
}

// Names that a stranger holds are passed over; he cannot keep our ranks from being bound.
static enum claim try_names(void)
{
    enum claim c = CLAIM_STRANGER;
    for (int i = 0; i < CLAIM_NAMES && c == CLAIM_STRANGER; i++) c = claim_name(i);
    return c;
}

// True for one job of this user's on this host at a time.
static bool claim_host(void)
{
    static int claimed = -1;
    if (claimed < 0) claimed = try_names() != CLAIM_OURS;
    return claimed;
}

void uno_cpus_yield(void)
{
    yielded = holder_fd >= 0;
    if (yielded) close(holder_fd);
    holder_fd = -1;
}

bool uno_cpus_retake(void)
{
    bool good = !yielded || try_names() != CLAIM_OURS;
    yielded = false;
    return good;
}

// The index of the core that sorted processor i is in.
static int core_index(int i)
{
    int n = 0;
    for (int k = 1; k <= i; k++) n += cpus[k].id[UNO_BY_CORE] != cpus[k - 1].id[UNO_BY_CORE];
    return n;
}

static bool share_out(const struct uno_plan *p, int local, int nlocal, cpu_set_t *set)
{
    int n = p->hwthreads ? ncpus : ncores;
    if (nlocal < 2 || nlocal > n || (!imagined && !claim_host())) return false;
    int from = (int)((long)n * local / nlocal), to = (int)((long)n * (local + 1) / nlocal);
    for (int i = 0; i < ncpus; i++) {
        int index = p->hwthreads ? i : core_index(i);
        if (index >= from && index < to) CPU_SET(cpus[i].cpu, set);
    }
    return true;
}

// Number of distinct units, and the list of their ids in machine order.
static int list_units(enum uno_unit unit, int *id)
{
    int n = 0;
    for (int i = 0; i < ncpus; i++) {
        int seen = 0;
        for (int k = 0; k < n && !seen; k++) seen = id[k] == cpus[i].id[unit];
        if (!seen) id[n++] = cpus[i].id[unit];
    }
    return n;
}

int uno_cpus_units(const struct uno_plan *p, enum uno_unit unit)
{
    int id[CPU_SETSIZE];
    if (unit < UNO_BY_HWTHREAD || unit > UNO_BY_SOCKET) return 1;
    read_machine(p, true);
    return list_units(unit, id);
}

// Where a rank goes: its unit, and its turn among the ranks in that.
struct spot {
    int unit, turn;    // unit: its id; -1 the whole machine
};

static struct spot spot_of(const struct uno_plan *p, enum uno_unit map, int local)
{
    int id[CPU_SETSIZE], n = map == UNO_BY_NONE ? 0 : list_units(map, id);
    if (n == 0) return (struct spot){-1, local};
    if (p->ranks_per_unit > 0) return (struct spot){id[local / p->ranks_per_unit % n], local % p->ranks_per_unit};
    return (struct spot){id[local % n], local / n};
}

static void add_unit(cpu_set_t *set, enum uno_unit unit, int id)
{
    for (int i = 0; i < ncpus; i++) {
        if (cpus[i].id[unit] == id) CPU_SET(cpus[i].cpu, set);
    }
}

// `count` units of the kind `bind`: cores and hardware threads by the rank's turn in its spot, larger ones from the one
// on where that turn lies.
static void bind_to(const struct spot *at, enum uno_unit map, enum uno_unit bind, int count, cpu_set_t *set)
{
    enum uno_unit grain = bind == UNO_BY_HWTHREAD ? UNO_BY_HWTHREAD : UNO_BY_CORE;
    int in[CPU_SETSIZE], id[CPU_SETSIZE], n = 0, units = list_units(bind, id), first = 0;
    int each = bind == grain ? count : 1;
    for (int i = 0; i < ncpus; i++) {
        if (at->unit >= 0 && cpus[i].id[map] != at->unit) continue;
        if (n > 0 && cpus[in[n - 1]].id[grain] == cpus[i].id[grain]) continue;
        in[n++] = i;
    }
    if (n == 0) return;
    if (bind == grain) {
        for (int k = 0; k < each && k < n; k++) add_unit(set, bind, cpus[in[(at->turn * each + k) % n]].id[bind]);
        return;
    }
    int here = cpus[in[at->turn % n]].id[bind];
    for (int k = 0; k < units; k++) first = id[k] == here ? k : first;
    if (at->unit < 0 && count > 1) first = at->turn * count;
    for (int k = 0; k < count && k < units; k++) add_unit(set, bind, id[(first + k) % units]);
}

static bool whole_set(const struct uno_plan *p, cpu_set_t *set)
{
    if (p->cpu_set == NULL) return false;
    read_machine(p, false);
    for (int i = 0; i < ncpus; i++) CPU_SET(cpus[i].cpu, set);
    return ncpus > 0;
}

static bool one_of_list(const struct uno_plan *p, int local, cpu_set_t *set)
{
    int cpu[CPU_SETSIZE], n = uno_cpus_list(p->cpu_set, cpu);
    if (n > 0) CPU_SET(cpu[local % n], set);
    return n > 0;
}

bool uno_cpus_bind(const struct uno_plan *p, int local, int nlocal, cpu_set_t *set)
{
    int count = p->bind_count > p->pes ? p->bind_count : p->pes;
    CPU_ZERO(set);
    if (p->ordered && p->cpu_set) return one_of_list(p, local, set);
    if (p->bind == UNO_BY_NONE) return whole_set(p, set);
    bool auto_map = p->map == UNO_BY_AUTO || p->map == UNO_BY_SLOT || p->map == UNO_BY_NODE;
    bool auto_all = p->bind == UNO_BY_AUTO && auto_map && count == 0;
    if (auto_all && nlocal < 2) return whole_set(p, set);
    read_machine(p, !auto_all);
    if (auto_all) return share_out(p, local, nlocal, set) || whole_set(p, set);
    enum uno_unit grain = p->hwthreads ? UNO_BY_HWTHREAD : UNO_BY_CORE, bind = p->bind;
    if (bind == UNO_BY_AUTO) bind = auto_map || p->pes > 0 ? grain : p->map;
    enum uno_unit map = auto_map ? (bind == UNO_BY_HWTHREAD ? UNO_BY_HWTHREAD : UNO_BY_CORE) : p->map;
    if (count > 1 && (auto_map || map == bind)) map = UNO_BY_NONE;    // one rank behind the other
    struct spot at = spot_of(p, map, local);
    bind_to(&at, map, bind, count > 0 ? count : 1, set);
    return CPU_COUNT(set) > 0;
}

static bool has_cpu(int cpu)
{
    for (int i = 0; i < ncpus; i++) {
        if (cpus[i].cpu == cpu) return true;
    }
    return false;
}

char *uno_cpus_refusal(const struct uno_plan *p)
{
    enum uno_unit unit = p->bind >= UNO_BY_HWTHREAD ? p->bind : p->hwthreads ? UNO_BY_HWTHREAD : UNO_BY_CORE;
    int count = p->bind_count > p->pes ? p->bind_count : p->pes, cpu[CPU_SETSIZE], found = 0;
    int n = p->cpu_set ? uno_cpus_list(p->cpu_set, cpu) : 0;
    if (n > 0) read_machine(p, false);
    for (int i = 0; i < n; i++) found += has_cpu(cpu[i]);
    if (n > 0 && (found == 0 || (p->ordered && found < n)))
        return uno_xformat("%s of the processors %s may be used here", found ? "not all" : "none", p->cpu_set);
    if (count > 1 && count > uno_cpus_units(p, unit))
        return uno_xformat("%d units are asked for each rank, but this host has %d", count, uno_cpus_units(p, unit));
    return NULL;
}

int uno_cpus_mine(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void uno_cpus_sharers(const struct uno_plan *p, int nlocal, int *sharers)
{
    cpu_set_t *set = uno_xalloc((size_t)nlocal * sizeof *set), both;
    bool bound = true;
    for (int i = 0; i < nlocal; i++) bound = uno_cpus_bind(p, i, nlocal, &set[i]) && bound;
    for (int i = 0; i < nlocal; i++) {
        sharers[i] = bound ? 0 : nlocal;
        for (int k = 0; k < nlocal && bound; k++) {
            CPU_AND(&both, &set[i], &set[k]);
            sharers[i] += CPU_COUNT(&both) > 0;
        }
    }
    free(set);
}

static void add_ranges(char *text, size_t cap, const cpu_set_t *set)
{
    size_t at = 0;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, set)) continue;
        int from = i;
        while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, set)) i++;
        at += (size_t)snprintf(text + at, cap - at, at ? ",%d" : "%d", from);
        if (i > from && at < cap) at += (size_t)snprintf(text + at, cap - at, "-%d", i);
        if (at >= cap) return;
    }
}

char *uno_cpus_text(const cpu_set_t *set)
{
    char text[512] = "";
    int cores = 0;
    for (int i = 0; i < ncpus; i++) {
        bool first = true;
        if (!CPU_ISSET(cpus[i].cpu, set)) continue;
        for (int k = 0; k < i; k++)
            first = first && !(cpus[k].id[UNO_BY_CORE] == cpus[i].id[UNO_BY_CORE] && CPU_ISSET(cpus[k].cpu, set));
        cores += first;
    }
    add_ranges(text, sizeof text, set);
    return uno_xformat("processor%s %s (%d core%s)", CPU_COUNT(set) == 1 ? "" : "s", text, cores,
                       cores == 1 ? "" : "s");
}
