// SPDX-License-Identifier: BSD-3-Clause
// unisono-info: what this build of Unisono is: version, ABI, parameters with values and origins, missing functions.
// Links the library's objects, so that it sees the parameters where they are declared. Reads the environment and the
// parameter file as MPI_Init does; starts no MPI job.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/unsupported.h"
#include "base/component.h"
#include "base/fail.h"
#include "base/machine.h"
#include "base/param.h"
#include "base/streams.h"
#include "base/thresholds.h"

static const char usage_text[] =
    "usage: unisono-info [OPTION]\n"
    "  (none)              version, ABI and all parameters\n"
    "  --params [TEXT]     the parameters whose name or help holds TEXT: value, origin, what is allowed, help\n"
    "  --table             all parameters with their defaults as a Markdown table (docs/parameters.md)\n"
    "  --machine           what paths cost on this host, where that is known from, and the thresholds that follow\n"
    "  --components        what carries messages, runs collectives and starts programs: version, priority, file, and\n"
    "                      whether it would be used here\n"
    "  --missing           the functions of the MPI standard that this version does not have yet, one per line\n"
    "  --version           the version alone\n"
    "  --help              this text\n"
    "Parameters are set by `mpiexec --set NAME=VALUE`, the environment (UNISONO_<NAME>) or the file that\n"
    "UNISONO_PARAM_FILE names. Manual: man unisono-info.\n";

static size_t count_missing(void)
{
    size_t n = 0;
    while (uno_missing[n]) n++;
    return n;
}

static void print_size(int64_t value)
{
    static const char units[] = " kMG";
    int unit = 0;
    while (value >= 1024 && value % 1024 == 0 && unit < 3) {
        value /= 1024;
        unit++;
    }
    printf("%lld", (long long)value);
    if (unit) putchar(units[unit]);
}

static void print_value(const struct uno_param *p)
{
    switch (p->kind) {
    case UNO_PARAM_IS_INT: print_size(p->num); break;
    case UNO_PARAM_IS_BOOL: printf("%s", p->num ? "yes" : "no"); break;
    case UNO_PARAM_IS_TEXT:
    case UNO_PARAM_IS_CHOICE: printf("%s", p->text && *p->text ? p->text : "(empty)"); break;
    }
}

static void print_allowed(const struct uno_param *p)
{
    switch (p->kind) {
    case UNO_PARAM_IS_INT:
        print_size(p->min);
        printf(" .. ");
        print_size(p->max);
        break;
    case UNO_PARAM_IS_BOOL: printf("yes, no"); break;
    case UNO_PARAM_IS_TEXT: printf("text"); break;
    case UNO_PARAM_IS_CHOICE:
        for (const char *c = p->choices; *c; c++) printf(*c == '|' ? ", " : "%c", *c);
        break;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct uno_param *const *p = a, *const *q = b;
    return strcmp((*p)->name, (*q)->name);
}

// All parameters by name; to be freed. NULL: memory is out.
static struct uno_param **sorted_params(size_t *count)
{
    struct uno_param *const *all = uno_params_all(count);
    struct uno_param **sorted = malloc((*count + 1) * sizeof *sorted);
    if (!sorted) return NULL;
    memcpy(sorted, all, *count * sizeof *sorted);
    qsort(sorted, *count, sizeof *sorted, by_name);
    return sorted;
}

// Nothing is loaded before: the values are the defaults.
static int table(void)
{
    size_t count;
    struct uno_param **sorted = sorted_params(&count);
    if (!sorted) return 1;
    printf("| parameter | default | allowed | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        printf("| `%s` | ", sorted[i]->name);
        if (sorted[i]->by_machine)
            printf("by machine");
        else
            print_value(sorted[i]);
        printf(" | ");
        print_allowed(sorted[i]);
        printf(" | %s |\n", sorted[i]->help);
    }
    free(sorted);
    return 0;
}

// The parameters whose name or help holds `text`; how many there were.
static size_t print_params(const char *text)
{
    static const char *const origins[] = {"default", "file", "environment", "tool", "machine"};
    size_t count, shown = 0;
    struct uno_param **sorted = sorted_params(&count);
    if (!sorted) return 0;
    for (size_t i = 0; i < count; i++) {
        const struct uno_param *p = sorted[i];
        if (!strstr(p->name, text) && !strstr(p->help, text)) continue;
        printf("%s = ", p->name);
        print_value(p);
        printf("   [%s; allowed: ", origins[p->origin]);
        print_allowed(p);
        printf("]\n    %s\n", p->help);
        shown++;
    }
    free(sorted);
    return shown;
}

// As a rank would find it that mpiexec starts here.
static int load(struct uno_machine *m)
{
    int err = uno_params_load();
    if (err) fprintf(stderr, "unisono-info: %s\n", uno_fail_text());
    uno_machine_find(m);
    uno_thresholds_set(m, true);
    return err;
}

static int params(const char *text)
{
    struct uno_machine m;
    int err = load(&m);
    if (print_params(text)) return err ? 1 : 0;
    fprintf(stderr, "unisono-info: no parameter has `%s` in its name or help\n", text);
    return 1;
}

// The parameter that was set and decides a threshold, or NULL: the costs do.
static const char *set_by(const struct uno_threshold_info *t)
{
    size_t count;
    struct uno_param *const *all = uno_params_all(&count);
    for (size_t i = 0; t->param && i < count; i++)
        if (!strcmp(all[i]->name, t->param) && all[i]->origin != UNO_PARAM_FROM_MACHINE) return t->param;
    return NULL;
}

static void print_file(const char *whose, const char *path)
{
    const char *there = !*path ? "none" : access(path, R_OK) == 0 ? "" : " (not there)";
    printf("file of the %s %s%s\n", whose, path, there);
}

static int machine(void)
{
    struct uno_machine m;
    const struct uno_threshold_info *t;
    char processor[UNO_MACHINE_TEXT], user[512], host[512];
    int err = load(&m);
    uno_processor_name(processor, sizeof processor);
    uno_machine_path(user, sizeof user, false);
    uno_machine_path(host, sizeof host, true);
    printf("processor %s\ncosts from %s\n", processor, m.from);
    print_file("user", user);
    print_file("host", host);
    for (size_t i = 0; uno_cost_name(i); i++)
        printf("  %-14s %8u %-6s %s\n", uno_cost_name(i), uno_cost_at(&m.cost, i), uno_cost_unit(i),
               uno_cost_meaning(i));
    printf("thresholds that follow\n");
    for (size_t i = 0; (t = uno_threshold_info(i)) != NULL; i++) {
        const char *param = set_by(t);
        printf("  %-14s %8llu %-6s %s [%s%s]\n", t->name, (unsigned long long)uno_threshold_at(&uno_thresholds, i),
               t->unit, t->meaning, param ? "set by " : "by the costs", param ? param : "");
    }
    if (!strncmp(m.from, "table", 5))
        printf("(unisono-tune --machine measures this machine instead, in less than a minute)\n");
    return err ? 1 : 0;
}

static void print_component(struct uno_found *f)
{
    const char *kind = f->is ? uno_component_word(f->is->kind) : "-", *name = f->is ? f->is->name : "-";
    bool chosen = false, usable = f->is && uno_component_usable(f);
    const char *why = usable ? uno_component_chosen(f, &chosen) : f->why;
    const char *state = chosen ? "chosen" : usable ? "not chosen" : f->is ? "declines" : "refused";
    printf("%-10s %-12s ", kind, name);
    if (f->is)
        printf("%-8s %8d  ", f->is->version, f->is->priority);
    else
        printf("%-8s %8s  ", "-", "-");
    printf("%s: %s; %s%s%s\n", state, why, f->is ? f->is->about : "", f->is ? "; " : "",
           f->file ? f->file : "built in");
}

// Files are loaded in processes of their own first: one that crashes is a line like the others.
static int components(void)
{
    struct uno_machine m;
    size_t count;
    int err = load(&m);
    uno_components_load(true);
    struct uno_found *all = uno_components_all(&count);
    printf("%-10s %-12s %-8s %8s  %s\n", "kind", "name", "version", "priority", "chosen or why not; what it is; file");
    for (size_t i = 0; i < count; i++) print_component(&all[i]);
    return err ? 1 : 0;
}

static int overview(void)
{
    printf("Unisono %s\n", UNO_VERSION);
    printf("MPI standard %d.%d, ABI %d.%d (libmpi_abi.so.1)\n", MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION,
           MPI_ABI_SUBVERSION);
    printf("compiler %s\n", __VERSION__);
    printf("components: unisono-info --components\n");
    printf("functions still missing: %zu (unisono-info --missing)\n\nparameters\n", count_missing());
    return params("");
}

static int unknown(const char *word)
{
    static const char *const options[] = {"--params",  "--table",   "--machine", "--components",
                                          "--missing", "--version", "--help"};
    const char *near = uno_nearest(word, options, sizeof options / sizeof *options);
    fprintf(stderr, "unisono-info: unknown option `%s`", word);
    if (near) fprintf(stderr, ", did you mean %s?", near);
    fprintf(stderr, " (see unisono-info --help)\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (uno_streams_hold() != 0) return 1;
    if (argc == 1) return overview();
    if (!strcmp(argv[1], "--params") && argc <= 3) return params(argc == 3 ? argv[2] : "");
    if (argc > 2) return unknown(argv[2]);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        fputs(usage_text, stdout);
    } else if (!strcmp(argv[1], "--version")) {
        printf("%s\n", UNO_VERSION);
    } else if (!strcmp(argv[1], "--table")) {
        return table();
    } else if (!strcmp(argv[1], "--machine")) {
        return machine();
    } else if (!strcmp(argv[1], "--components")) {
        return components();
    } else if (!strcmp(argv[1], "--missing")) {
        for (size_t i = 0; uno_missing[i]; i++) puts(uno_missing[i]);
    } else {
        return unknown(argv[1]);
    }
    return 0;
}
