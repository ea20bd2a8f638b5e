// SPDX-License-Identifier: BSD-3-Clause
// Reads the parameters (param.h): first the file that UNISONO_PARAM_FILE names, then the environment, which wins.
// Called once by uno_world_open and by mpiexec. The parameters are found in the linker's section uno_params; there is
// no list to edit.
#include "base/param.h"

#include <ctype.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>

#include "base/fail.h"

#define PREFIX "UNISONO_"
#define NAME_MAX_LEN 64
#define FILE_ENV "UNISONO_PARAM_FILE"

extern char **environ;
extern struct uno_param *const first_param[] __asm__("__start_uno_params") __attribute__((visibility("hidden")));
extern struct uno_param *const end_param[] __asm__("__stop_uno_params") __attribute__((visibility("hidden")));

// Environment variables that are no parameters: the launcher's, the wrappers' and the Python package's. `*` ends a
// prefix.
static const char *const reserved[] = {
    "JOB", "PM_FD", "PARENT", "RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CC", "CXX", "PARAM_FILE", "OMP_*",
};

struct uno_param *const *uno_params_all(size_t *count)
{
    *count = (size_t)(end_param - first_param);
    return first_param;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

// Levenshtein's distance, words cut at NAME_MAX_LEN.
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LEN + 1];
    size_t na = strnlen(a, NAME_MAX_LEN), nb = strnlen(b, NAME_MAX_LEN);
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[nb];
}

const char *uno_nearest(const char *word, const char *const *words, size_t count)
{
    size_t limit = strlen(word) / 3;
    size_t best = limit ? limit : 1;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, words[i]);
        if (d < best || (d == best && !found)) {
            best = d;
            found = words[i];
        }
    }
    return found;
}

static struct uno_param *find_param(const char *name)
{
    for (struct uno_param *const *p = first_param; p < end_param; p++)
        if (strcmp((*p)->name, name) == 0) return *p;
    return NULL;
}

static int unknown(const char *where, const char *name)
{
    size_t count = (size_t)(end_param - first_param);
    const char **names = malloc((count + 1) * sizeof *names);
    if (!names) return uno_fail(MPI_ERR_NO_MEM, "no memory for parameter names");
    for (size_t i = 0; i < count; i++) names[i] = first_param[i]->name;
    const char *near = uno_nearest(name, names, count);
    free(names);
    if (near) return uno_fail(MPI_ERR_ARG, "%s: no parameter is called %s; did you mean %s?", where, name, near);
    return uno_fail(MPI_ERR_ARG, "%s: no parameter is called %s (unisono-info lists them)", where, name);
}

static int parse_int(const char *value, int64_t *num)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 0);
    if (end == value || errno) return 0;
    int shift = 0;
    if (*end == 'k' || *end == 'K') shift = 10;
    if (*end == 'M') shift = 20;
    if (*end == 'G') shift = 30;
    if (shift) end++;
    if (*end || n > INT64_MAX >> shift || n < -(INT64_MAX >> shift)) return 0;
    *num = n * (1LL << shift);
    return 1;
}

static int parse_bool(const char *value, int64_t *num)
{
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};
    for (int i = 0; i < 8; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *num = i & 1;
            return 1;
        }
    }
    return 0;
}

const char *uno_word_of(const char *words, int index, size_t *len)
{
    for (const char *at = words;; at += *len + 1) {
        *len = strcspn(at, "|");
        if (index-- == 0) return at;
        if (!at[*len]) return NULL;
    }
}

// The index of a word in `a|b|c`, -1 when it is none of them.
static int choice_index(const char *choices, const char *word)
{
    size_t len = strlen(word), n;
    const char *at;
    for (int i = 0; (at = uno_word_of(choices, i, &n)) != NULL; i++)
        if (n == len && strncmp(at, word, n) == 0) return i;
    return -1;
}

static int set_text(struct uno_param *p, const char *value)
{
    char *copy = strdup(value);
    if (!copy) return uno_fail(MPI_ERR_NO_MEM, "no memory for parameter %s", p->name);
    if (p->origin != UNO_PARAM_DEFAULT) free((char *)(uintptr_t)p->text);
    p->text = copy;
    return 0;
}

static int set_value(struct uno_param *p, const char *where, const char *value, enum uno_param_origin origin)
{
    int64_t num = 0;
    int err = 0;
    if (p->origin == UNO_PARAM_FROM_TOOL) return 0;
    switch (p->kind) {
    case UNO_PARAM_IS_INT:
        if (!parse_int(value, &num) || num < p->min || num > p->max)
            return uno_fail(MPI_ERR_ARG, "%s: %s is \"%s\", a whole number from %lld to %lld is expected", where,
                            p->name, value, (long long)p->min, (long long)p->max);
        break;
    case UNO_PARAM_IS_BOOL:
        if (!parse_bool(value, &num))
            return uno_fail(MPI_ERR_ARG, "%s: %s is \"%s\", yes or no is expected", where, p->name, value);
        break;
    case UNO_PARAM_IS_TEXT: err = set_text(p, value); break;
    case UNO_PARAM_IS_CHOICE:
        num = choice_index(p->choices, value);
        if (num < 0)
            return uno_fail(MPI_ERR_ARG, "%s: %s is \"%s\", one of %s is expected", where, p->name, value, p->choices);
        err = set_text(p, value);
        break;
    }
    if (err) return err;
    p->num = num;
    p->origin = origin;
    return 0;
}

static int write_choice(struct uno_param *p, int64_t num)
{
    size_t n;
    const char *word = num >= 0 && num <= INT32_MAX ? uno_word_of(p->choices, (int)num, &n) : NULL;
    if (!word)
        return uno_fail(MPI_ERR_ARG, "%s: %lld is none of %s, counted from 0", p->name, (long long)num, p->choices);
    char *text = strndup(word, n);
    if (!text) return uno_fail(MPI_ERR_NO_MEM, "no memory for parameter %s", p->name);
    int err = set_text(p, text);
    free(text);
    return err;
}

int uno_param_write(struct uno_param *p, int64_t num, const char *text)
{
    int err = 0;
    if (p->kind == UNO_PARAM_IS_TEXT)
        err = set_text(p, text);
    else if (p->kind == UNO_PARAM_IS_CHOICE)
        err = write_choice(p, num);
    else if (num < p->min || num > p->max)
        err = uno_fail(MPI_ERR_ARG, "%s: %lld is out of range (%lld .. %lld allowed)", p->name, (long long)num,
                       (long long)p->min, (long long)p->max);
    if (err) return err;
    p->num = num;
    p->origin = UNO_PARAM_FROM_TOOL;
    return 0;
}

void uno_param_derive(struct uno_param *p, int64_t num)
{
    if (p->origin != UNO_PARAM_DEFAULT && p->origin != UNO_PARAM_FROM_MACHINE) return;
    p->num = num < p->min ? p->min : num > p->max ? p->max : num;
    p->origin = UNO_PARAM_FROM_MACHINE;
}

static char *trim(char *s)
{
    s += strspn(s, " \t\r\n");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r\n", s[n - 1])) n--;
    s[n] = '\0';
    return s;
}

static int load_line(const char *where, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *name = trim(line);
    if (!*name) return 0;
    char *value = strchr(name, '=');
    if (!value) return uno_fail(MPI_ERR_ARG, "%s: \"%s\" is not of the form name = value", where, name);
    *value++ = '\0';
    name = trim(name);
    struct uno_param *p = find_param(name);
    return p ? set_value(p, where, trim(value), UNO_PARAM_FROM_FILE) : unknown(where, name);
}

static int load_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) return uno_fail_errno(MPI_ERR_ARG, "parameter file %s (from " FILE_ENV ")", path);
    char *line = NULL, where[256];
    size_t room = 0;
    int err = 0;
    for (int number = 1; !err && getline(&line, &room, f) >= 0; number++) {
        snprintf(where, sizeof where, "%s:%d", path, number);
        err = load_line(where, line);
    }
    free(line);
    fclose(f);
    return err;
}

static int is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t n = strlen(reserved[i]);
        int prefix = reserved[i][n - 1] == '*';
        if (prefix ? strncmp(name, reserved[i], n - 1) == 0 : strcmp(name, reserved[i]) == 0) return 1;
    }
    return 0;
}

static int load_variable(const char *variable)
{
    const char *upper = variable + sizeof PREFIX - 1;
    size_t n = strcspn(upper, "=");
    char name[NAME_MAX_LEN + 1], where[sizeof PREFIX + NAME_MAX_LEN + 16];
    if (n > NAME_MAX_LEN) n = NAME_MAX_LEN;
    memcpy(name, upper, n);
    name[n] = '\0';
    if (is_reserved(name)) return 0;
    snprintf(where, sizeof where, "environment " PREFIX "%s", name);
    for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
    struct uno_param *p = find_param(name);
    return p ? set_value(p, where, strchr(variable, '=') + 1, UNO_PARAM_FROM_ENV) : unknown(where, name);
}

bool uno_param_is_foreign(const struct uno_param *p)
{
    return getauxval(AT_SECURE) && (p->origin == UNO_PARAM_FROM_FILE || p->origin == UNO_PARAM_FROM_ENV);
}

int uno_params_load(void)
{
    for (struct uno_param *const *p = first_param; p < end_param; p++)
        if ((*p)->kind == UNO_PARAM_IS_CHOICE) (*p)->num = choice_index((*p)->choices, (*p)->text);
    const char *path = getenv(FILE_ENV);
    bool foreign = path && *path && getauxval(AT_SECURE);
    if (foreign)
        uno_log(0,
                FILE_ENV " is not followed: this program has more rights than its caller (setuid), who may not read %s",
                path);
    int err = path && *path && !foreign ? load_file(path) : 0;
    for (char **e = environ; e && *e && !err; e++)
        if (strncmp(*e, PREFIX, sizeof PREFIX - 1) == 0 && strchr(*e, '=')) err = load_variable(*e);
    return err;
}
