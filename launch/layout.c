// SPDX-License-Identifier: BSD-3-Clause
// Reads where ranks go (layout.h).
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT_MAX 4096    // of processors, or ranks, that one unit is asked to take

long uno_layout_number(const char *option, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0') uno_usage("%s: \"%s\" is not a number", option, text);
    if (errno || n < least || n > most)
        uno_usage("%s %s: a number from %ld to %ld is needed", option, text, least, most);
    return n;
}

static enum uno_unit unit(const char *option, const char *text, bool map)
{
    static const char *const names[] = {"auto", "none", "hwthread", "core", "l3", "numa", "socket", "node", "slot"};
    if (strcmp(text, "l3cache") == 0) text = "l3";
    if (strcmp(text, "package") == 0) text = "socket";
    for (int u = UNO_BY_AUTO; u <= UNO_BY_SLOT; u++) {
        bool fits = u >= UNO_BY_HWTHREAD && u <= UNO_BY_SOCKET;
        fits |= u == UNO_BY_AUTO || (map ? u >= UNO_BY_NODE : u == UNO_BY_NONE);
        if (fits && strcmp(text, names[u]) == 0) return (enum uno_unit)u;
    }
    uno_usage("%s: \"%s\" is not known (%s)", option, text,
              map ? "core, hwthread, l3, numa, socket, slot or node, with :PE=N; or ppr:N:UNIT"
                  : "auto, none, core, hwthread, l3, numa or socket, with :N; or user:LIST");
}

// The next part of a text that is split at colons and commas; NULL at its end. Ends it in place.
static char *next_part(char **at)
{
    char *part = *at;
    if (part == NULL) return NULL;
    size_t n = strcspn(part, ":,");
    *at = part[n] == '\0' ? NULL : part + n + 1;
    part[n] = '\0';
    return part;
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcasecmp(text, *list) == 0) return true;
    }
    return false;
}

static void map_modifier(struct uno_plan *p, const char *option, const char *word)
{
    static const char *const harmless[] = {"span", "inherit", "noinherit", "ordered", "", NULL};
    if (strncasecmp(word, "pe=", 3) == 0)
        p->pes = (int)uno_layout_number(option, word + 3, 1, COUNT_MAX);
    else if (is_number(word))
        p->pes = (int)uno_layout_number(option, word, 1, COUNT_MAX);
    else if (strcasecmp(word, "oversubscribe") == 0)
        p->no_oversubscribe = false;
    else if (strcasecmp(word, "nooversubscribe") == 0)
        p->no_oversubscribe = true;
    else if (strcasecmp(word, "hwtcpus") == 0)
        p->hwthreads = true;
    else if (strcasecmp(word, "corecpus") == 0)
        p->hwthreads = false;
    else if (strcasecmp(word, "nolocal") == 0)
        p->no_local = true;
    else if (strcasecmp(word, "display") == 0)
        p->display_map = true;
    else if (!is_one_of(word, harmless))
        uno_usage("%s: \"%s\" is not known (PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE, HWTCPUS, NOLOCAL)", option, word);
}

void uno_layout_ppr(struct uno_plan *p, const char *option, const char *count, const char *of)
{
    enum uno_unit u = unit(option, of, true);
    int n = (int)uno_layout_number(option, count, 1, 1 << 20);
    p->ranks_per_unit = n;
    p->map = u == UNO_BY_NODE || u == UNO_BY_AUTO ? UNO_BY_SLOT : u;
    if (p->map == UNO_BY_SLOT) p->per_host = n;
}

void uno_layout_map(struct uno_plan *p, const char *option, const char *text)
{
    char *copy = uno_xstrdup(text), *at = copy, *part = next_part(&at);
    if (strcasecmp(part, "ppr") == 0) {
        char *count = next_part(&at), *of = next_part(&at);
        if (count == NULL || of == NULL) uno_usage("%s %s: ppr:N:UNIT is expected", option, text);
        uno_layout_ppr(p, option, count, of);
    } else if (part[0] != '\0') {
        p->map = unit(option, part, true);
        p->ranks_per_unit = 0;
    }
    while ((part = next_part(&at)) != NULL) map_modifier(p, option, part);
    free(copy);
}

void uno_layout_bind(struct uno_plan *p, const char *option, const char *text)
{
    static const char *const harmless[] = {"overload-allowed", "no-overload", "if-supported", "limit", "report", NULL};
    p->ordered = strncmp(text, "user:", 5) == 0 || strncmp(text, "cpu-list", 8) == 0;
    if (strncmp(text, "user:", 5) == 0) {
        free(p->cpu_set);
        p->cpu_set = uno_xstrdup(text + 5);
    }
    if (p->ordered) return;
    char *copy = uno_xstrdup(text), *at = copy, *part = next_part(&at);
    p->bind = unit(option, strcmp(part, "rr") == 0 ? "core" : part, false);
    while ((part = next_part(&at)) != NULL) {
        if (is_number(part))
            p->bind_count = (int)uno_layout_number(option, part, 1, COUNT_MAX);
        else if (!is_one_of(part, harmless))
            uno_usage("%s: \"%s\" is not known (a number of units, or overload-allowed)", option, part);
    }
    free(copy);
}

void uno_layout_rank(struct uno_plan *p, const char *option, const char *text)
{
    size_t n = strcspn(text, ":");
    if (strncmp(text, "node", n) == 0 && n == 4)
        p->rank_by = UNO_BY_NODE;
    else if (n == 4 && (strncmp(text, "slot", n) == 0 || strncmp(text, "fill", n) == 0))
        p->rank_by = UNO_BY_SLOT;
    else
        uno_usage("%s %s: node or slot is expected; the ranks of one host are numbered in the order of --map-by",
                  option, text);
}

static void set_parameter(struct uno_plan *p, const char *variable, const char *value)
{
    uno_words_set(&p->env, variable, value);
}

static bool names(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = list; *s; s += strspn(s, ",")) {
        size_t len = strcspn(s, ",");
        if (len == n && strncmp(s, word, n) == 0) return true;
        s += len;
    }
    return false;
}

// Which transports may be used. A list that takes some away (^openib) takes none of ours.
static bool take_btl(struct uno_plan *p, const char *value)
{
    bool shared = names(value, "sm") || names(value, "vader"), tcp = names(value, "tcp");
    if (value[0] == '^') return false;
    if (tcp && !shared) set_parameter(p, "UNISONO_CHAN", "tcp");
    return tcp || shared || names(value, "self");
}

static bool truth(const char *value)
{
    return strcasecmp(value, "0") != 0 && strcasecmp(value, "false") != 0 && strcasecmp(value, "no") != 0;
}

static bool take_mca(struct uno_plan *p, const char *name, const char *value)
{
    if (strcmp(name, "btl") == 0) return take_btl(p, value);
    if (strcmp(name, "btl_tcp_if_include") == 0 || strcmp(name, "oob_tcp_if_include") == 0) {
        if (name[0] == 'b') set_parameter(p, "UNISONO_TCP_INTERFACE", value);
    } else if (strcmp(name, "rmaps_base_oversubscribe") == 0) {
        p->no_oversubscribe = !truth(value);
    } else if (strcmp(name, "rmaps_base_no_oversubscribe") == 0) {
        p->no_oversubscribe = truth(value);
    } else if (strcmp(name, "rmaps_base_mapping_policy") == 0 || strcmp(name, "rmaps_default_mapping_policy") == 0) {
        uno_layout_map(p, name, value);
    } else if (strcmp(name, "hwloc_base_binding_policy") == 0 || strcmp(name, "hwloc_default_binding_policy") == 0) {
        uno_layout_bind(p, name, value);
    } else if (strcmp(name, "hwloc_base_report_bindings") == 0) {
        p->report_bindings = truth(value);
    } else if (strcmp(name, "hwloc_base_use_hwthreads_as_cpus") == 0) {
        p->hwthreads = truth(value);
    } else if (strcmp(name, "plm_rsh_agent") == 0) {
        set_parameter(p, "UNISONO_LAUNCH_AGENT", value);
    } else if (strcmp(name, "orte_default_hostfile") == 0 || strcmp(name, "prte_default_hostfile") == 0) {
        uno_plan_hostfile(p, value);
    } else if (strcmp(name, "orte_tag_output") == 0) {
        p->tags |= truth(value) ? UNO_TAG_RANK : 0;
    } else {
        return false;
    }
    return true;
}

void uno_layout_mca(struct uno_plan *p, const char *name, const char *value)
{
    // As they are anyway: all collectives and all point-to-point protocols are ours.
    static const char *const harmless[] = {"plm_rsh_no_tree_spawn",
                                           "orte_base_help_aggregate",
                                           "opal_warn_on_missing_libcuda",
                                           "mpi_warn_on_fork",
                                           "btl_base_warn_component_unused",
                                           "orte_keep_fqdn_hostnames",
                                           NULL};
    if (is_one_of(name, harmless) || take_mca(p, name, value)) return;
    char *text = uno_xformat("--mca %s %s", name, value);
    uno_words_add(&p->ignored, text);
    free(text);
}
