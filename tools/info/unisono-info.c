// SPDX-License-Identifier: BSD-3-Clause
// unisono-info: what this build of Unisono is: version, ABI, parameters with values and origins, missing functions.
// Links the library's objects, so that it sees the parameters where they are declared. Reads the environment and the
// parameter file as MPI_Init does; starts no MPI job.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/unsupported.h"
#include "base/fail.h"
#include "base/param.h"
#include "base/streams.h"

static const char usage_text[] =
    "usage: unisono-info [OPTION]\n"
    "  (none)              version, ABI and all parameters\n"
    "  --params [TEXT]     the parameters whose name or help holds TEXT: value, origin, what is allowed, help\n"
    "  --table             all parameters with their defaults as a Markdown table (docs/parameters.md)\n"
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
    static const char *const origins[] = {"default", "file", "environment", "tool"};
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

static int params(const char *text)
{
    int err = uno_params_load();
    if (err) fprintf(stderr, "unisono-info: %s\n", uno_fail_text());
    if (print_params(text)) return err ? 1 : 0;
    fprintf(stderr, "unisono-info: no parameter has `%s` in its name or help\n", text);
    return 1;
}

static int overview(void)
{
    printf("Unisono %s\n", UNO_VERSION);
    printf("MPI standard %d.%d, ABI %d.%d (libmpi_abi.so.1)\n", MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION,
           MPI_ABI_SUBVERSION);
    printf("compiler %s\n", __VERSION__);
    printf("functions still missing: %zu (unisono-info --missing)\n\nparameters\n", count_missing());
    return params("");
}

static int unknown(const char *word)
{
    static const char *const options[] = {"--params", "--table", "--missing", "--version", "--help"};
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
    } else if (!strcmp(argv[1], "--missing")) {
        for (size_t i = 0; uno_missing[i]; i++) puts(uno_missing[i]);
    } else {
        return unknown(argv[1]);
    }
    return 0;
}
