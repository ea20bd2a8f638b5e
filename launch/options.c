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
#include <strings.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/start.h"
#include "layout.h"
#include "cpus.h"
#include "debug.h"
#include "outfile.h"
#include "profile.h"
#include "stats.h"

#define DEPTH_MAX 8    // configuration files that name configuration files

extern char **environ;

static struct uno_words given;    // variables that --set has set

static int stdin_rank(const char *option, const char *text)
{
    if (strcmp(text, "none") == 0) return UNO_STDIN_NONE;
    if (strcmp(text, "all") == 0) return UNO_STDIN_ALL;
    return (int)uno_layout_number(option, text, 0, 1 << 24);
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

// An option that is a parameter by another name.
static void set_named(struct uno_plan *p, const char *option, const char *name, const char *value)
{
    char *text = uno_xformat("%s=%s", name, value);
    set_parameter(p, option, text);
    free(text);
}

static void working_dir(struct uno_app *a, const char *option, const char *dir)
{
    struct stat st;
    if (stat(dir, &st) != 0) uno_usage("%s %s: %s", option, dir, strerror(errno));
    if (!S_ISDIR(st.st_mode)) uno_usage("%s %s: not a directory", option, dir);
    free(a->wdir);
    a->wdir = uno_xstrdup(dir);
}

static void cpu_set(struct uno_plan *p, const char *opt, const char *list)
{
    int cpu[CPU_SETSIZE];
    if (uno_cpus_list(list, cpu) < 0) uno_usage("%s %s: a list of processors such as 0-3,6 is expected", opt, list);
    free(p->cpu_set);
    p->cpu_set = uno_xstrdup(list);
}

static char *pattern(const char *opt, const char *text)
{
    uno_pattern_check(opt, text);
    return uno_xstrdup(text);
}

// DIR, or DIR:nocopy for the files alone.
static void output_folder(struct uno_plan *p, const char *text)
{
    size_t n = strcspn(text, ":");
    p->out_dir = uno_xformat("%.*s", (int)n, text);
    p->keep_copy = strcmp(text + n, ":nocopy") != 0;
}

// --output of Open MPI 5: words separated by commas.
static void output_words(struct uno_plan *p, const char *opt, const char *text)
{
    char *copy = uno_xstrdup(text), *save;
    for (char *w = strtok_r(copy, ",:", &save); w != NULL; w = strtok_r(NULL, ",:", &save)) {
        if (strcmp(w, "tag") == 0)
            p->tags |= UNO_TAG_RANK;
        else if (strcmp(w, "timestamp") == 0)
            p->tags |= UNO_TAG_TIME;
        else if (strcmp(w, "merge") == 0 || strcmp(w, "merge-stderr-to-stdout") == 0)
            p->merge = true;
        else if (strncmp(w, "dir=", 4) == 0 || strncmp(w, "directory=", 10) == 0)
            output_folder(p, strchr(w, '=') + 1);
        else if (strncmp(w, "file=", 5) == 0)
            p->out_pattern = uno_xformat("%s.%%r.out", w + 5), p->err_pattern = uno_xformat("%s.%%r.err", w + 5);
        else if (strcmp(w, "nocopy") == 0)
            p->keep_copy = false;
        else if (strcmp(w, "copy") == 0)
            p->keep_copy = true;
        else
            uno_usage("%s: \"%s\" is not known (tag, timestamp, merge, dir=DIR, file=NAME, nocopy)", opt, w);
    }
    free(copy);
}

static void display(struct uno_plan *p, const char *opt, const char *text)
{
    char *copy = uno_xstrdup(text), *save;
    for (char *w = strtok_r(copy, ",:", &save); w != NULL; w = strtok_r(NULL, ",:", &save)) {
        if (strncmp(w, "map", 3) == 0 || strncmp(w, "alloc", 5) == 0)
            p->display_map = true;
        else if (strncmp(w, "bind", 4) == 0)
            p->report_bindings = true;
        else
            uno_usage("%s: \"%s\" is not known (map, allocation, bind)", opt, w);
    }
    free(copy);
}

static void pass_listed(struct uno_plan *p, const char *list)
{
    char *copy = uno_xstrdup(list), *save;
    for (char *w = strtok_r(copy, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save)) uno_words_add(&p->passed, w);
    p->pass = UNO_PASS_LISTED;
    free(copy);
}

static int universe(const char *opt, const char *text)
{
    if (strcasecmp(text, "system") == 0 || strcasecmp(text, "infinite") == 0) return 0;
    return (int)uno_layout_number(opt, text, 1, 1 << 24);
}

static void launcher(struct uno_plan *p, const char *opt, const char *name)
{
    if (strcmp(name, "fork") == 0) return;
    if (strcmp(name, "ssh") != 0 && strcmp(name, "rsh") != 0)
        uno_usage("%s %s: ssh, rsh or fork is expected; for another, --launch-agent CMD, called as CMD HOST COMMAND",
                  opt, name);
    const char *own = getenv("UNISONO_LAUNCH_AGENT"), *agent = strcmp(name, "rsh") == 0 ? name : uno_start_agent.text;
    // ssh is said, and the user's own way of calling it stays.
    if (strcmp(name, "rsh") == 0 || own == NULL) uno_words_set(&p->env, "UNISONO_LAUNCH_AGENT", agent);
}

static void set_pass(struct uno_plan *p, enum uno_pass pass)
{
    p->pass = pass;
}

// Options of others' launchers, and those of ours that they share.
static bool apply_common(struct uno_plan *p, enum uno_opt id, const char *opt, char **arg)
{
    switch (id) {
    case UNO_OPT_MAP: uno_layout_map(p, opt, arg[0]); break;
    case UNO_OPT_BIND: uno_layout_bind(p, opt, arg[0]); break;
    case UNO_OPT_RANK_BY: uno_layout_rank(p, opt, arg[0]); break;
    case UNO_OPT_ROUND: p->map = UNO_BY_NODE; break;
    case UNO_OPT_PER_SOCKET: uno_layout_ppr(p, opt, arg[0], "socket"); break;
    case UNO_OPT_PER_NODE: p->per_host = 1; break;
    case UNO_OPT_PES: p->pes = (int)uno_layout_number(opt, arg[0], 1, 1 << 12); break;
    case UNO_OPT_HWT: p->hwthreads = true; break;
    case UNO_OPT_CPUS: cpu_set(p, opt, arg[0]); break;
    case UNO_OPT_NOLOCAL: p->no_local = true; break;
    case UNO_OPT_DISPLAY: p->display_map = true; break;
    case UNO_OPT_DISPLAY_WHAT: display(p, opt, arg[0]); break;
    case UNO_OPT_CODES: p->exit_codes = true; break;
    case UNO_OPT_OUT: p->out_pattern = pattern(opt, arg[0]); break;
    case UNO_OPT_ERR: p->err_pattern = pattern(opt, arg[0]); break;
    case UNO_OPT_FOLDER: output_folder(p, arg[0]); break;
    case UNO_OPT_OUTPUT: output_words(p, opt, arg[0]); break;
    case UNO_OPT_MERGE: p->merge = true; break;
    case UNO_OPT_TAG_AS: p->tag_pattern = pattern(opt, arg[0]); break;
    case UNO_OPT_QUIET: p->quiet = true; break;
    case UNO_OPT_GWDIR: p->wdir = uno_xstrdup(arg[0]); break;
    case UNO_OPT_USIZE: p->universe = universe(opt, arg[0]); break;
    case UNO_OPT_IFACE: uno_words_set(&p->env, "UNISONO_TCP_INTERFACE", arg[0]); break;
    case UNO_OPT_LAUNCHER: launcher(p, opt, arg[0]); break;
    case UNO_OPT_MCA: uno_layout_mca(p, arg[0], arg[1]); break;
    case UNO_OPT_FIT: p->no_oversubscribe = true; break;
    case UNO_OPT_OVER: p->no_oversubscribe = false; break;
    default: return false;
    }
    return true;
}

static void apply_job(struct uno_plan *p, enum uno_opt id, const char *opt, char **arg)
{
    if (apply_common(p, id, opt, arg)) return;
    switch (id) {
    case UNO_OPT_GENV: uno_words_set(&p->env, arg[0], arg[1]); break;
    case UNO_OPT_X: export_variable(&p->env, opt, arg[0]); break;
    case UNO_OPT_ENVALL: set_pass(p, UNO_PASS_ALL); break;
    case UNO_OPT_ENVNONE: set_pass(p, UNO_PASS_NONE); break;
    case UNO_OPT_ENVLIST: pass_listed(p, arg[0]); break;
    case UNO_OPT_HOSTFILE: uno_plan_hostfile(p, arg[0]); break;
    case UNO_OPT_PER_HOST: p->per_host = (int)uno_layout_number(opt, arg[0], 1, 1 << 20); break;
    case UNO_OPT_REPORT: p->report_bindings = true; break;
    case UNO_OPT_AGENT: uno_words_set(&p->env, "UNISONO_LAUNCH_AGENT", arg[0]); break;
    case UNO_OPT_STDIN: p->stdin_rank = stdin_rank(opt, arg[0]); break;
    case UNO_OPT_TAG: p->tags |= UNO_TAG_RANK; break;
    case UNO_OPT_TIME: p->tags |= UNO_TAG_TIME; break;
    case UNO_OPT_TIMEOUT: p->timeout_s = (int)uno_layout_number(opt, arg[0], 1, 1 << 30); break;
    case UNO_OPT_KEEP: p->keep_waiting = true; break;
    case UNO_OPT_SURVIVE: p->survive = true; break;
    case UNO_OPT_ERRHANDLER: set_named(p, opt, uno_start_errhandler.name, arg[0]); break;
    case UNO_OPT_CHECKPOINT: p->checkpoint_to = uno_xstrdup(arg[0]); break;
    case UNO_OPT_EVERY: p->every_s = (int)uno_layout_number(opt, arg[0], 1, 1 << 30); break;
    case UNO_OPT_RESTART: p->restart = uno_xstrdup(arg[0]); break;
    case UNO_OPT_SET: set_parameter(p, opt, arg[0]); break;
    case UNO_OPT_PROFILE: p->profile = uno_xstrdup(arg[0]); break;
    case UNO_OPT_GDB: p->gdb = uno_xstrdup(arg[0]); break;
    case UNO_OPT_STATS: p->stats = uno_xstrdup(arg[0]); break;
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
    case UNO_OPT_N: a->nranks = (int)uno_layout_number(opt, arg[0], 1, 1 << 20); break;
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

// Whether the argument of an option, which may be left out, is there as the next word.
static bool has_optional(const struct uno_opt_row *r, const char *next)
{
    return r->args[0] == '[' && r->args[1] != '=' && next != NULL && uno_debug_is_list(next);
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

static void note_ignored(struct uno_plan *p, const char *opt, const struct uno_opt_row *r, char **arg)
{
    char *text = r->args[0] ? uno_xformat("%s %s", opt, arg[0]) : uno_xstrdup(opt);
    uno_words_add(&p->ignored, text);
    free(text);
}

// Options that may be said of a job that goes on from a checkpoint.
static bool fits_restart(enum uno_opt id)
{
    switch (id) {
    case UNO_OPT_CHECKPOINT:
    case UNO_OPT_EVERY:
    case UNO_OPT_RESTART:
    case UNO_OPT_TIMEOUT:
    case UNO_OPT_QUIET:
    case UNO_OPT_VERBOSE:
    case UNO_OPT_SET: return true;
    default: return false;
    }
}

// Reads one option at word[i]; returns the index behind it.
static int read_option(struct uno_plan *p, struct uno_app *a, struct uno_words *word, int i)
{
    const char *w = word->item[i++], *eq = strchr(w, '=');
    const struct uno_opt_row *r = uno_opt_find(w, strlen(w));
    size_t len = strlen(w);
    const char *glued = NULL;    // the number of -n4
    if (r == NULL && eq != NULL)
        r = uno_opt_find(w, len = (size_t)(eq - w));
    else
        eq = NULL;
    if (r == NULL && eq == NULL && (r = uno_opt_glued(w, &len)) != NULL) glued = w + len;
    if (r == NULL) {
        const char *near = uno_opt_nearest(w, len);
        if (near) uno_usage("unknown option %.*s; did you mean %s?", (int)len, w, near);
        uno_usage("unknown option %.*s (mpiexec --help lists the options)", (int)len, w);
    }
    if (r->id == UNO_OPT_OTHER) uno_usage("%.*s is not an option of this mpiexec; %s", (int)len, w, r->help);
    char none[] = "", *arg[2] = {none, none}, *opt = uno_xformat("%.*s", (int)len, w);
    if (eq != NULL && r->args[0] == '\0') uno_usage("%s takes no value", opt);
    if (eq != NULL && r->args[0] == '[') arg[0] = uno_xstrdup(eq + 1);
    if (eq == NULL && has_optional(r, i < word->count ? word->item[i] : NULL)) arg[0] = word->item[i++];
    if (eq != NULL) glued = eq + 1;
    i = take_args(r, opt, glued != NULL ? uno_xstrdup(glued) : NULL, word, i, arg);
    if (r->id == UNO_OPT_WARNED) note_ignored(p, opt, r, arg);
    apply(p, a, r->id, opt, arg);
    if (p->unfit == NULL && !fits_restart(r->id)) p->unfit = uno_xstrdup(opt);
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
    if (p->restart && a->argv.count > 0)
        uno_usage("--restart takes no program, and %s is one: the job goes on with its own", a->argv.item[0]);
    if (a->argv.count == 0 && !p->restart)
        uno_usage("no program to run (mpiexec -n 2 ./program; mpiexec --help says more)");
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
            int args = r && options ? count_args(r) + has_optional(r, i + 1 < argc ? argv[i + 1] : NULL) : 0;
            for (; args > 0 && i + 1 < argc; args--) uno_words_add(word, argv[++i]);
            continue;
        }
        if (i + 1 >= argc) uno_usage("%s: FILE is missing", argv[i]);
        if (depth >= DEPTH_MAX) uno_usage("%s: configuration files name each other", argv[i + 1]);
        struct uno_words in_file = {0};
        read_config(&in_file, argv[++i]);
        expand(word, in_file.count, in_file.item, depth + 1);
    }
}

// The library says "environment UNISONO_NAME: why"; a user who wrote --set NAME=VALUE has not set a variable.
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

static bool is_listed(const struct uno_words *names, const char *variable)
{
    size_t n = strcspn(variable, "=");
    for (int i = 0; i < names->count; i++) {
        if (strlen(names->item[i]) == n && strncmp(names->item[i], variable, n) == 0) return true;
    }
    return false;
}

// What of mpiexec's own environment is passed on stands before what the user has set, wherever he said which.
static void make_environment(struct uno_plan *p, char **own)
{
    struct uno_words set = p->env;
    p->env = (struct uno_words){0};
    for (; *own != NULL && p->pass != UNO_PASS_NONE; own++) {
        bool wanted = p->pass == UNO_PASS_ALL || is_listed(&p->passed, *own);
        if (wanted && !uno_opt_is_foreign(*own)) uno_words_add(&p->env, *own);
    }
    for (int i = 0; i < set.count; i++) {
        char *name = uno_xstrdup(set.item[i]), *eq = strchr(name, '=');
        *eq = '\0';
        uno_words_set(&p->env, name, eq + 1);
        free(name);
    }
}

// Options win over parameters. The environment tells the parameters; --set has written it into the plan.
static void read_parameters(struct uno_plan *p)
{
    for (int i = 0; i < p->env.count; i++) {
        if (strncmp(p->env.item[i], "UNISONO_", 8) == 0) putenv(p->env.item[i]);
    }
    if (uno_params_load() != 0) refuse_parameter();
    if (p->bind == UNO_BY_AUTO && !p->ordered) uno_layout_bind(p, "bind_to", uno_start_bind.text);
    if (p->map == UNO_BY_AUTO) uno_layout_map(p, "map_by", uno_start_map.text);
    if (p->ordered && p->cpu_set == NULL) uno_usage("--bind-to cpu-list needs --cpu-set LIST");
    p->grace_ms = (int)uno_start_grace.num;
    p->keep_waiting |= strcmp(uno_start_deadlock.text, "wait") == 0;
    p->agent = uno_xstrdup(uno_start_agent.text);
    for (int a = 0; a < p->napps && p->wdir; a++) {
        if (p->app[a].wdir == NULL) working_dir(&p->app[a], "-gwdir", p->wdir);
    }
}

// gdb reads standard input; and ranks that it has stopped let the others wait.
static void leave_to_gdb(struct uno_plan *p)
{
    if (p->stdin_rank != 0 && p->stdin_rank != UNO_STDIN_NONE)
        uno_usage("--stdin: with --gdb, gdb reads standard input");
    p->stdin_rank = UNO_STDIN_NONE;
    p->keep_waiting = true;
}

void uno_options_read(struct uno_plan *p, int argc, char **argv)
{
    struct uno_words word = {0};
    expand(&word, argc - 1, argv + 1, 0);
    int i = 0;
    do i = read_app(p, &word, i);
    while (i < word.count);
    if (word.count > 0 && strcmp(word.item[word.count - 1], ":") == 0) uno_usage("no program after the last \":\"");
    make_environment(p, environ);
    read_parameters(p);
    if (p->profile) uno_profile_prepare(p);
    if (p->stats) uno_stats_prepare(p);
    if (p->gdb) leave_to_gdb(p);
}
