// SPDX-License-Identifier: BSD-3-Clause
// The launch agents that are built in (unisono/agent.h): which variables of a resource manager tell the job, its hosts
// and how a command is run on one of them. Each reader adds hosts, or says why it cannot. Used by alloc.c and
// unisono-info.
#include "agents.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/component.h"
#include "base/start.h"
#include "util.h"

#define HOSTS_MAX 65536
#define SLOTS_MAX (1 << 20)
#define PARTS_MAX 1024    // of a heterogeneous job

// ---- Slurm: n[001-003,7],x2 and 2(x3),1 ----

static bool expand(struct uno_words *to, const char *head, const char *rest);

// Goes on with each number of the ranges 001-003,7 from `at` to `close`, as wide as the first of its range.
static bool expand_ranges(struct uno_words *to, const char *head, const char *at, const char *close)
{
    for (;;) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 9) return false;
        char *end;
        unsigned long low = strtoul(at, &end, 10), high = low;
        if (*end == '-' && isdigit((unsigned char)end[1])) high = strtoul(end + 1, &end, 10);
        if (high < low || high - low >= HOSTS_MAX) return false;
        for (unsigned long n = low; n <= high; n++) {
            char *next = uno_xformat("%s%0*lu", head, (int)digits, n);
            bool fine = expand(to, next, close + 1);
            free(next);
            if (!fine) return false;
        }
        if (end == close) return true;
        if (*end != ',') return false;
        at = end + 1;
    }
}

// Adds the names that `head` and the text behind it stand for.
static bool expand(struct uno_words *to, const char *head, const char *rest)
{
    size_t plain = strcspn(rest, "[]");
    char *name = uno_xformat("%s%.*s", head, (int)plain, rest);
    const char *close = rest[plain] == '[' ? strchr(rest + plain, ']') : NULL;
    bool fine = close != NULL;
    if (close != NULL) {
        fine = expand_ranges(to, name, rest + plain + 1, close);
    } else if (rest[plain] == '\0' && name[0] != '\0' && to->count < HOSTS_MAX) {
        uno_words_add(to, name);
        fine = true;
    }
    free(name);
    return fine;
}

static bool expand_list(struct uno_words *to, const char *list)
{
    for (const char *at = list;; at++) {
        size_t n = 0;
        for (bool inside = false; at[n] != '\0' && (inside || at[n] != ','); n++)
            inside = at[n] == '[' || (inside && at[n] != ']');
        char *one = uno_xformat("%.*s", (int)n, at);
        bool fine = expand(to, "", one);
        free(one);
        at += n;
        if (!fine || *at == '\0') return fine;
    }
}

// Adds the slots of the list 2(x3),1 to the hosts in turn. How many hosts it speaks of, as far as there are names; -1:
// it is not understood.
static int read_counts(struct uno_agent_hosts *to, const struct uno_words *name, const char *text, int per_slot)
{
    int hosts = 0;
    for (const char *at = text;; at++) {
        char *end;
        if (!isdigit((unsigned char)*at)) return -1;
        long slots = strtol(at, &end, 10), times = 1;
        if (strncmp(end, "(x", 2) == 0 && isdigit((unsigned char)end[2])) {
            times = strtol(end + 2, &end, 10);
            if (*end++ != ')') return -1;
        }
        if (slots < 1 || slots > SLOTS_MAX || times < 1 || times > HOSTS_MAX) return -1;
        slots = slots > per_slot ? slots / per_slot : 1;
        for (; times > 0; times--, hosts++) {
            if (hosts >= name->count) continue;
            const char *host = name->item[hosts];
            to->add(to, host, (int)slots);
        }
        if (*end == '\0') return hosts;
        if (*end != ',') return -1;
        at = end;
    }
}

static void forget_host(struct uno_agent_hosts *to, const char *name, int slots)
{
    (void)to;
    (void)name;
    (void)slots;
}

// A step's own binding, which srun would give to the daemon, is not for its ranks.
#define SRUN_OF(job)                                                                                                   \
    "env -u SLURM_CPU_BIND srun --overlap " job "--mpi=none --nodes=1 --ntasks=1 --ntasks-per-node=1 --unbuffered "    \
    "--quiet --nodelist"

// A variable of a part of a heterogeneous job; part -1: of another job.
static const char *value_of(const char *variable, int part)
{
    if (part < 0) return getenv(variable);
    char *name = uno_xformat("%s_HET_GROUP_%d", variable, part);
    const char *value = getenv(name);
    free(name);
    return value;
}

// Adds the hosts `name` that `list` of `variable` tells, with the tasks asked for per host, or, where none were asked
// for or they are those of a step on a part of the hosts, the processors.
static char *read_part(struct uno_agent_hosts *to, const char *variable, int part, struct uno_words *name)
{
    const char *list = value_of(variable, part), *tasks = value_of("SLURM_TASKS_PER_NODE", part),
               *cpus = value_of("SLURM_JOB_CPUS_PER_NODE", part), *each = value_of("SLURM_CPUS_PER_TASK", part);
    if (list == NULL) return uno_xformat("%s_HET_GROUP_%d is not set", variable, part);
    if (!expand_list(name, list))
        return uno_xformat("%s=%.200s is no list of hosts like n[01-03,7],x2", variable, list);
    if (tasks == NULL && cpus == NULL)
        return uno_xformat("neither SLURM_TASKS_PER_NODE nor SLURM_JOB_CPUS_PER_NODE says how many slots %s=%.200s has",
                           variable, list);
    bool by_tasks = tasks != NULL;
    if (by_tasks && cpus != NULL && getenv("SLURM_STEP_ID") != NULL) {
        struct uno_agent_hosts trial = {.add = forget_host};
        by_tasks = read_counts(&trial, name, tasks, 1) == name->count;
    }
    const char *text = by_tasks ? tasks : cpus, *which = by_tasks ? "SLURM_TASKS_PER_NODE" : "SLURM_JOB_CPUS_PER_NODE";
    int hosts = read_counts(to, name, text, by_tasks || each == NULL || atoi(each) < 1 ? 1 : atoi(each));
    if (hosts < 0) return uno_xformat("%s=%.200s is no list of positive numbers like 2(x3),1", which, text);
    if (hosts != name->count)
        return uno_xformat("%s=%.200s speaks of %d host%s, %s=%.200s of %d", which, text, hosts, hosts == 1 ? "" : "s",
                           variable, list, name->count);
    return NULL;
}

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define SCRIPT_MAX 100000    // the kernel takes no argument of more than 128 KiB

// Adds the hosts of a part to the script's cases. Why it cannot, or NULL.
static char *add_case(struct uno_bytes *script, const struct uno_words *name, int part)
{
    for (int i = 0; i < name->count; i++) {
        if (name->item[i][strspn(name->item[i], NAME_LETTERS)] != '\0')
            return uno_xformat("\"%.100s\" is no name of a host", name->item[i]);
        uno_bytes_text(script, uno_xformat("%s%s", i > 0 ? "|" : "", name->item[i]));
    }
    uno_bytes_text(script, uno_xformat(") part=%d;; ", part));
    return script->len < SCRIPT_MAX ? NULL : uno_xstrdup("it has too many hosts for one command");
}

// srun starts a program in the part of a heterogeneous job that it is told: the part whose host it is. The hosts of the
// first part need no case.
static char *read_parts(struct uno_agent_hosts *to, int parts)
{
    const char *first = value_of("SLURM_JOB_ID", 0), *job = first != NULL ? first : getenv("SLURM_JOB_ID");
    struct uno_bytes script = {0};
    char *why = NULL;
    if (job == NULL || job[strspn(job, "0123456789")] != '\0')
        return uno_xformat("SLURM_JOB_ID=%.100s is no number", job ? job : "");
    uno_bytes_text(&script, uno_xformat("sh -c 'case $1 in "));
    for (int part = 0; part < parts && why == NULL; part++) {
        struct uno_words name = {0};
        why = read_part(to, "SLURM_JOB_NODELIST", part, &name);
        if (why == NULL && part > 0) why = add_case(&script, &name, part);
        if (why == NULL) continue;
        char *of_part = uno_xformat("part %d of %d: %s", part, parts, why);
        free(why);
        why = of_part;
    }
    uno_bytes_text(
        &script, uno_xformat("*) part=0;; esac; exec " SRUN_OF("--jobid=%s --het-group=$part ") " \"$@\"' srun", job));
    uno_bytes_add(&script, "", 1);
    if (why == NULL) to->use(to, uno_bytes_first(&script));
    uno_bytes_free(&script);
    return why;
}

static char *read_slurm(struct uno_agent_hosts *to, const char *variable, bool counted)
{
    (void)counted;    // the numbers are told by variables of their own
    struct uno_words name = {0};
    const char *size = getenv("SLURM_HET_SIZE");
    if (size == NULL) return read_part(to, variable, -1, &name);
    char *end;
    long parts = strtol(size, &end, 10);
    if (*end != '\0' || parts < 1 || parts > PARTS_MAX)
        return uno_xformat("SLURM_HET_SIZE=%.100s is no number of parts from 1 to %d", size, PARTS_MAX);
    return read_parts(to, (int)parts);
}

// ---- lists and files of the others ----

// Adds `name`, with the slots that the word `count` says; NULL: one.
static char *add_host(struct uno_agent_hosts *to, const char *where, const char *name, const char *count)
{
    char *end;
    long slots = count != NULL ? strtol(count, &end, 10) : 1;
    if (count != NULL && (*end != '\0' || slots < 1 || slots > SLOTS_MAX))
        return uno_xformat("%s: \"%.100s %.20s\": a positive number of slots is expected behind the host", where, name,
                           count);
    to->add(to, name, (int)slots);
    return NULL;
}

// One host per line.
static char *read_file(struct uno_agent_hosts *to, const char *variable, bool counted)
{
    const char *path = getenv(variable);
    FILE *f = fopen(path, "re");
    if (f == NULL) return uno_xformat("%s=%.200s cannot be read: %s", variable, path, strerror(errno));
    char *line = NULL, *why = NULL, *save;
    size_t cap = 0;
    for (int number = 1; why == NULL && getline(&line, &cap, f) >= 0; number++) {
        char *name = strtok_r(line, " \t\r\n", &save);
        if (name == NULL) continue;
        const char *count = counted ? strtok_r(NULL, " \t\r\n", &save) : NULL;
        char *where = uno_xformat("%s:%d", path, number);
        why = add_host(to, where, name, counted && count == NULL ? "" : count);
        free(where);
    }
    if (why == NULL && ferror(f)) why = uno_xformat("%s=%.200s cannot be read: %s", variable, path, strerror(errno));
    free(line);
    fclose(f);
    return why;
}

static char *read_words(struct uno_agent_hosts *to, const char *variable, bool counted)
{
    char *copy = uno_xstrdup(getenv(variable)), *why = NULL, *save, *name = strtok_r(copy, " \t", &save);
    for (; name != NULL && why == NULL; name = strtok_r(NULL, " \t", &save)) {
        const char *count = counted ? strtok_r(NULL, " \t", &save) : NULL;
        why = add_host(to, variable, name, counted && count == NULL ? "" : count);
    }
    free(copy);
    return why;
}

// ---- the agents, in the order in which they are asked ----

#define AGENT(which, what, first)                                                                                      \
    static const struct uno_component which##_component = {UNO_COMPONENT_IS_AGENT, .name = #which,                     \
                                                           .version = UNO_VERSION, .about = what,                      \
                                                           .priority = (first),    .table = &(which)};                 \
    UNO_COMPONENT_DECLARE(which##_component);

static const struct uno_agent slurm = {.title = "Slurm",
                                       .job = "SLURM_JOB_ID",
                                       .job_tells = true,
                                       .command = "srun",
                                       .words = SRUN_OF(""),
                                       .source = {{"SLURM_JOB_NODELIST", read_slurm, false},
                                                  {"SLURM_NODELIST", read_slurm, false},
                                                  {"SLURM_JOB_NODELIST_HET_GROUP_0", read_slurm, false}}};
AGENT(slurm, "hosts and slots of a Slurm allocation, started by srun", 50)

static const struct uno_agent lsf = {.title = "LSF",
                                     .job = "LSB_JOBID",
                                     .job_tells = true,
                                     .command = "blaunch",
                                     .words = "blaunch",
                                     .source = {{"LSB_DJOB_HOSTFILE", read_file, false},
                                                {"LSB_MCPU_HOSTS", read_words, true},
                                                {"LSB_HOSTS", read_words, false}}};
AGENT(lsf, "hosts and slots of an LSF job, started by blaunch", 40)

// It has no command that joins the streams of a program there with its own: pbsdsh gives it no input.
static const struct uno_agent pbs = {.title = "PBS",
                                     .job = "PBS_JOBID",
                                     .job_tells = true,
                                     .command = NULL,
                                     .words = NULL,
                                     .source = {{"PBS_NODEFILE", read_file, false}}};
AGENT(pbs, "hosts and slots of a PBS job, started by ssh", 30)

// JOB_ID alone is set for jobs of a single slot, too.
static const struct uno_agent sge = {.title = "Grid Engine",
                                     .job = "JOB_ID",
                                     .job_tells = false,
                                     .command = "qrsh",
                                     .words = "qrsh -inherit",
                                     .source = {{"PE_HOSTFILE", read_file, true}}};
AGENT(sge, "hosts and slots of a Grid Engine job, started by qrsh", 20)

static const struct uno_agent ssh = {.title = "ssh"};
AGENT(ssh, "hosts of the command line, started by what the parameter launch_agent says", 0)

// ---- which of them ----

bool uno_agent_is_set(const char *variable)
{
    return variable != NULL && getenv(variable) != NULL && getenv(variable)[0] != '\0';
}

int uno_agent_told(const struct uno_agent *a)
{
    for (int i = 0; i < 3; i++) {
        if (uno_agent_is_set(a->source[i].variable)) return i;
    }
    return -1;
}

static bool is_here(const struct uno_agent *a)
{
    return uno_agent_told(a) >= 0 || (a->job_tells && uno_agent_is_set(a->job));
}

const struct uno_agent *uno_agent_here(void)
{
    size_t count;
    struct uno_found *all = uno_components_all(&count);
    for (struct uno_found *f = all; f < all + count; f++) {
        if (f->is == NULL || f->is->kind != UNO_COMPONENT_AGENT || !is_here(f->is->table)) continue;
        if (uno_component_usable(f)) return f->is->table;
    }
    return NULL;
}

static const char *is_chosen(const struct uno_component *c, bool *is)
{
    const struct uno_agent *a = c->table, *first = uno_agent_here();
    bool any = strcmp(uno_start_allocation.text, "auto") == 0;
    *is = strcmp(uno_start_allocation.text, c->name) == 0;
    if (*is) return "the parameter allocation names it";
    if (a == &ssh) {
        *is = any ? first == NULL : strcmp(uno_start_allocation.text, "none") == 0;
        return *is ? "no allocation is taken" : "where no allocation is";
    }
    if (a->job == NULL) return "only where the parameter allocation names it";
    *is = any && a == first;
    if (*is) return "its allocation is here";
    return !is_here(a) ? "no allocation of it is here"
           : any       ? "another allocation is here, of higher priority"
                       : "the parameter allocation says another";
}

static char *wrong(const struct uno_component *c)
{
    const struct uno_agent *a = c->table;
    if (a->title == NULL || (a->command != NULL && a->words == NULL))
        return uno_component_format("agent %s lacks a title, or the words of its command: complete struct uno_agent",
                                    c->name);
    if (a->job != NULL && a->source[0].variable == NULL)
        return uno_component_format("agent %s lacks a source of hosts: complete struct uno_agent", c->name);
    for (int i = 0; i < 3; i++) {
        if (a->source[i].variable != NULL && (a->source[i].read == NULL || a->job == NULL))
            return uno_component_format("agent %s lacks what reads %.40s, or its job's variable: complete struct "
                                        "uno_agent",
                                        c->name, a->source[i].variable);
    }
    return NULL;
}

static const struct uno_services services = {UNO_COMPONENT_AGENT, NULL, is_chosen, wrong};
UNO_SERVICES_DECLARE(services);
