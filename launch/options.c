// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line into the plan (options.h). Called once by main().
// Options are read up to the first word without a dash, which is the program; `:` begins the next program. Options that
// concern the whole job may stand before any of the programs.
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/start.h"
#include "profile.h"

#define DEPTH_MAX 8    // configuration files that name configuration files

static struct uno_words given;    // variables that --set has set

static long number(const char *option, const char *text, long least, long most)
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
              map ? "core, hwthread, l3, numa, socket, slot or node"
                  : "auto, none, core, hwthread, l3, numa or socket");
}

static int stdin_rank(const char *option, const char *text)
{
    if (strcmp(text, "none") == 0) return UNO_STDIN_NONE;
    if (strcmp(text, "all") == 0) return UNO_STDIN_ALL;
    return (int)number(option, text, 0, 1 << 24);
}

// NAME=VALUE, or NAME alone for the value that mpiexec itself has.
static void export_variable(struct uno_words *env, const char *option, const char *text)
{
    const char *eq = strchr(text, '=');
    char *name = eq ? uno_xformat("%.*s", (int)(eq - text), text) : uno_xstrdup(text);
    const char *value = eq ? eq + 1 : getenv(name);
    if (name[0] == '\0') uno_usage("%s %s: a variable's name is missing", option, text);
    if (value == NULL) uno_usage("%s %s: this variable is not set here; write %s %s=VALUE", option, text, option, text);
    uno_words_set(env, name, value);
    free(name);
}

static void set_parameter(struct uno_plan *p, const char *option, const char *text)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL || eq == text) uno_usage("%s %s: NAME=VALUE is expected", option, text);
    char *name = uno_xformat("UNISONO_%.*s", (int)(eq - text), text);
    for (char *c = name; *c; c++) *c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
    uno_words_set(&p->env, name, eq + 1);
    uno_words_add(&given, name);
    free(name);
}

static void working_dir(struct uno_app *a, const char *option, const char *dir)
{
    struct stat st;
    if (stat(dir, &st) != 0) uno_usage("%s %s: %s", option, dir, strerror(errno));
    if (!S_ISDIR(st.st_mode)) uno_usage("%s %s: not a directory", option, dir);
    free(a->wdir);
    a->wdir = uno_xstrdup(dir);
}

static void apply_job(struct uno_plan *p, enum uno_opt id, const char *opt, char **arg)
{
    switch (id) {
    case UNO_OPT_GENV: uno_words_set(&p->env, arg[0], arg[1]); break;
    case UNO_OPT_X: export_variable(&p->env, opt, arg[0]); break;
    case UNO_OPT_ENVNONE: p->env.count = 0; break;
    case UNO_OPT_HOSTFILE: uno_plan_hostfile(p, arg[0]); break;
    case UNO_OPT_PER_HOST: p->per_host = (int)number(opt, arg[0], 1, 1 << 20); break;
    case UNO_OPT_FIT: p->no_oversubscribe = true; break;
    case UNO_OPT_OVER: p->no_oversubscribe = false; break;
    case UNO_OPT_MAP: p->map = unit(opt, arg[0], true); break;
    case UNO_OPT_BIND: p->bind = unit(opt, arg[0], false); break;
    case UNO_OPT_REPORT: p->report_bindings = true; break;
    case UNO_OPT_AGENT: uno_words_set(&p->env, "UNISONO_LAUNCH_AGENT", arg[0]); break;
    case UNO_OPT_STDIN: p->stdin_rank = stdin_rank(opt, arg[0]); break;
    case UNO_OPT_TAG: p->tags |= UNO_TAG_RANK; break;
    case UNO_OPT_TIME: p->tags |= UNO_TAG_TIME; break;
    case UNO_OPT_TIMEOUT: p->timeout_s = (int)number(opt, arg[0], 1, 1 << 30); break;
    case UNO_OPT_KEEP: p->keep_waiting = true; break;
    case UNO_OPT_SET: set_parameter(p, opt, arg[0]); break;
    case UNO_OPT_PROFILE: p->profile = uno_xstrdup(arg[0]); break;
    case UNO_OPT_VERBOSE: p->verbose = true; break;
    case UNO_OPT_DRY: p->dry_run = true; break;
    case UNO_OPT_HELP: uno_help();
    case UNO_OPT_VERSION: uno_version();
    default: break;
    }
}

static void apply(struct uno_plan *p, struct uno_app *a, enum uno_opt id, const char *opt, char **arg)
{
    switch (id) {
    case UNO_OPT_N: a->nranks = (int)number(opt, arg[0], 1, 1 << 20); break;
    case UNO_OPT_WDIR: working_dir(a, opt, arg[0]); break;
    case UNO_OPT_ENV: uno_words_set(&a->env, arg[0], arg[1]); break;
    case UNO_OPT_HOST: uno_plan_hosts(p, &a->on, arg[0]); break;
    default: apply_job(p, id, opt, arg);
    }
}

static int count_args(const struct uno_opt_row *r)
{
    if (r->args[0] == '\0' || r->args[0] == '[') return 0;
    return strchr(r->args, ' ') ? 2 : 1;
}

// The arguments of an option: `first`, if it was written behind an equals sign, then words from word[i] on. Where two
// are needed, NAME=VALUE may stand for NAME VALUE. Returns the index behind them.
static int take_args(const struct uno_opt_row *r, const char *opt, char *first, struct uno_words *word, int i,
                     char **arg)
{
    int n = count_args(r);
    for (int k = 0; k < n; k++) {
        if (k == 0 && first != NULL) {
            arg[k] = first;
        } else {
            if (i >= word->count) uno_usage("%s: %s is missing", opt, r->args);
            arg[k] = word->item[i++];
        }
        const char *eq = strchr(arg[k], '=');
        if (n < 2 || k > 0 || eq == NULL) continue;
        arg[1] = uno_xstrdup(eq + 1);
        arg[0] = uno_xformat("%.*s", (int)(eq - arg[0]), arg[0]);
        break;
    }
    return i;
}

// Reads one option at word[i]; returns the index behind it.
static int read_option(struct uno_plan *p, struct uno_app *a, struct uno_words *word, int i)
{
    const char *w = word->item[i++], *eq = strchr(w, '=');
    const struct uno_opt_row *r = uno_opt_find(w, strlen(w));
    size_t len = strlen(w);
    if (r == NULL && eq != NULL)
        r = uno_opt_find(w, len = (size_t)(eq - w));
    else
        eq = NULL;
    if (r == NULL) {
        const char *near = uno_opt_nearest(w, len);
        if (near) uno_usage("unknown option %.*s; did you mean %s?", (int)len, w, near);
        uno_usage("unknown option %.*s (mpiexec --help lists the options)", (int)len, w);
    }
    if (r->id == UNO_OPT_OTHER) uno_usage("%.*s is not an option of this mpiexec; %s", (int)len, w, r->help);
    char none[] = "", *arg[2] = {none, none}, *opt = uno_xformat("%.*s", (int)len, w);
    if (eq != NULL && r->args[0] == '\0') uno_usage("%s takes no value", opt);
    if (eq != NULL && r->args[0] == '[') arg[0] = uno_xstrdup(eq + 1);
    i = take_args(r, opt, eq != NULL ? uno_xstrdup(eq + 1) : NULL, word, i, arg);
    apply(p, a, r->id, opt, arg);
    free(opt);
    return i;
}

// Reads options, the program and its arguments up to `:`; returns the index behind that.
static int read_app(struct uno_plan *p, struct uno_words *word, int i)
{
    p->app = uno_xrealloc(p->app, ((size_t)p->napps + 1) * sizeof *p->app);
    struct uno_app *a = &p->app[p->napps++];
    *a = (struct uno_app){0};
    while (i < word->count && word->item[i][0] == '-' && strcmp(word->item[i], "--") != 0 && word->item[i][1] != '\0')
        i = read_option(p, a, word, i);
    if (i < word->count && strcmp(word->item[i], "--") == 0) i++;
    for (; i < word->count && strcmp(word->item[i], ":") != 0; i++) uno_words_add(&a->argv, word->item[i]);
    if (a->argv.count == 0) uno_usage("no program to run (mpiexec -n 2 ./program; mpiexec --help says more)");
    return i < word->count ? i + 1 : i;
}

// Splits a line of a configuration file at blanks; quotes and backslashes keep blanks in.
static void split_line(struct uno_words *word, const char *path, int lineno, const char *s)
{
    char *out = uno_xalloc(strlen(s) + 1);
    while (*(s += strspn(s, " \t\r\n")) != '\0' && *s != '#') {
        size_t n = 0;
        char quote = 0;
        for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
            if (*s == '\\' && quote != '\'' && s[1])
                out[n++] = *++s;
            else if (quote ? *s == quote : *s == '\'' || *s == '"')
                quote = quote ? 0 : *s;
            else
                out[n++] = *s;
        }
        if (quote) uno_usage("%s:%d: a quote is not closed", path, lineno);
        out[n] = '\0';
        uno_words_add(word, out);
    }
    free(out);
}

static void read_config(struct uno_words *word, const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) uno_usage("cannot read the configuration file %s: %s", path, strerror(errno));
    char *line = NULL;
    size_t cap = 0;
    bool first = true;
    for (int lineno = 1; getline(&line, &cap, f) >= 0; lineno++) {
        struct uno_words in_line = {0};
        split_line(&in_line, path, lineno, line);
        if (in_line.count > 0 && strcmp(in_line.item[in_line.count - 1], ":") == 0) in_line.count--;
        if (in_line.count == 0) continue;
        if (!first) uno_words_add(word, ":");
        first = false;
        for (int i = 0; i < in_line.count; i++) uno_words_add(word, in_line.item[i]);
    }
    if (first) uno_usage("the configuration file %s names no program", path);
    free(line);
    fclose(f);
}

static void expand(struct uno_words *word, int argc, char **argv, int depth)
{
    bool options = true;
    for (int i = 0; i < argc; i++) {
        const struct uno_opt_row *r = argv[i][0] == '-' ? uno_opt_find(argv[i], strlen(argv[i])) : NULL;
        if (strcmp(argv[i], ":") == 0)
            options = true;
        else if (argv[i][0] != '-')
            options = false;
        if (!options || r == NULL || r->id != UNO_OPT_CONFIG) {
            uno_words_add(word, argv[i]);
            for (int k = r && options ? count_args(r) : 0; k > 0 && i + 1 < argc; k--) uno_words_add(word, argv[++i]);
            continue;
        }
        if (i + 1 >= argc) uno_usage("%s: FILE is missing", argv[i]);
        if (depth >= DEPTH_MAX) uno_usage("%s: configuration files name each other", argv[i + 1]);
        struct uno_words in_file = {0};
        read_config(&in_file, argv[++i]);
        expand(word, in_file.count, in_file.item, depth + 1);
    }
}

// The library says "environment UNISONO_NAME: why"; who wrote --set NAME=VALUE has not set a variable.
static _Noreturn void refuse_parameter(void)
{
    const char *text = uno_fail_text(), *name = strstr(text, "UNISONO_"), *why = strstr(text, ": ");
    if (name == NULL || why == NULL || name > why) uno_usage("%s", text);
    char *variable = uno_xformat("%.*s", (int)(why - name), name);
    for (int i = 0; i < given.count; i++) {
        if (strcmp(given.item[i], variable) == 0) uno_usage("--set%s", why);
    }
    uno_usage("%s", text);
}

// Options win over parameters. The environment tells the parameters; --set has written it into the plan.
static void read_parameters(struct uno_plan *p)
{
    for (int i = 0; i < p->env.count; i++) {
        if (strncmp(p->env.item[i], "UNISONO_", 8) == 0) putenv(p->env.item[i]);
    }
    if (uno_params_load() != 0) refuse_parameter();
    if (p->bind == UNO_BY_AUTO) p->bind = unit("bind_to", uno_start_bind.text, false);
    if (p->map == UNO_BY_AUTO) p->map = unit("map_by", uno_start_map.text, true);
    p->grace_ms = (int)uno_start_grace.num;
    p->keep_waiting |= strcmp(uno_start_deadlock.text, "wait") == 0;
    p->agent = uno_xstrdup(uno_start_agent.text);
}

void uno_options_read(struct uno_plan *p, int argc, char **argv)
{
    struct uno_words word = {0};
    expand(&word, argc - 1, argv + 1, 0);
    int i = 0;
    do i = read_app(p, &word, i);
    while (i < word.count);
    if (word.count > 0 && strcmp(word.item[word.count - 1], ":") == 0) uno_usage("no program behind the last \":\"");
    read_parameters(p);
    if (p->profile) uno_profile_prepare(p);
}
