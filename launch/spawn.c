// SPDX-License-Identifier: BSD-3-Clause
// Finds a program and starts one rank of it. Called by a node for each of its ranks.
// The child shares the node's memory until it has executed the program (CLONE_VFORK): nothing is copied, and the child
// simply writes down what went wrong in it. Between clone and execve the child only makes system calls.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/start.h"
#include "debug.h"
#include "node.h"

#define STACK_BYTES (64 * 1024)

struct birth {
    const struct uno_start *start;
    const char *path, *dir;
    char **argv, **shell_argv, **env;
    const cpu_set_t *cpus;
    pid_t parent;
    int err;    // errno of the step that failed
    const char *step;
};

// NULL when path can be executed as a program, else why not.
static const char *refusal(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return strerror(errno);
    if (S_ISDIR(st.st_mode)) return "it is a directory";
    if (access(path, X_OK) != 0) return errno == EACCES ? "it is not executable (chmod +x)" : strerror(errno);
    return NULL;
}

static char *join(const char *dir, const char *name)
{
    return name[0] == '/' ? uno_xstrdup(name) : uno_xformat("%s/%s", dir, name);
}

static char *search_in(const char *path, const struct uno_app *a, const char *dir)
{
    for (const char *s = path;; s++) {
        size_t n = strcspn(s, ":");
        char *in = n ? uno_xformat("%.*s", (int)n, s) : uno_xstrdup(".");
        char *base = join(dir, in), *full = join(base, a->argv.item[0]);
        free(in);
        free(base);
        if (refusal(full) == NULL) return full;
        free(full);
        s += n;
        if (*s == '\0') return NULL;
    }
}

static char *search(const struct uno_plan *p, const struct uno_app *a, const char *dir)
{
    const char *path = uno_words_get(&a->env, "PATH");
    if (path == NULL) path = uno_words_get(&p->env, "PATH");
    if (path == NULL) path = "/usr/local/bin:/usr/bin:/bin";
    char *found = a->path ? search_in(a->path, a, dir) : NULL;
    return found ? found : search_in(path, a, dir);
}

char *uno_spawn_find(const struct uno_plan *p, const struct uno_app *a, char **why)
{
    const char *name = a->argv.item[0];
    char *dir = a->wdir ? join(p->cwd, a->wdir) : uno_xstrdup(p->cwd);
    char *here = join(dir, name);
    char *found = strchr(name, '/') ? NULL : search(p, a, dir);
    const char *bad = found ? NULL : refusal(here);
    if (found != NULL || bad == NULL) {
        free(dir);
        if (found != NULL) free(here);
        return found != NULL ? found : here;
    }
    bool there = strchr(name, '/') || access(here, F_OK) == 0;
    if (there && a->wdir && name[0] != '/')
        *why = uno_xformat("cannot run %s in the working directory %s: %s", name, dir, bad);
    else if (there)
        *why = uno_xformat("cannot run %s: %s", name, bad);
    else
        *why = uno_xformat("cannot run %s: no such program in PATH or in the working directory", name);
    free(dir);
    free(here);
    return NULL;
}

static int fail(struct birth *b, const char *step)
{
    b->err = errno;
    b->step = step;
    _exit(127);
}

static int born(void *arg)
{
    struct birth *b = arg;
    const struct uno_start *s = b->start;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != b->parent) _exit(127);
    sigset_t mask = s->node->mask;
    if (s->held) uno_debug_hold_begin(&mask);
    if (b->cpus != NULL) sched_setaffinity(0, sizeof *b->cpus, b->cpus);
    if (dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 || dup2(s->err, 2) < 0)
        return fail(b, "pass on its standard streams");
    if (s->pm >= 0) fcntl(s->pm, F_SETFD, 0);
    fcntl(s->node->job_fd, F_SETFD, 0);
    if (chdir(b->dir) != 0) return fail(b, "change to its working directory");
    signal(SIGPIPE, SIG_DFL);
    setrlimit(RLIMIT_NOFILE, &s->node->files);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    execve(b->path, b->argv, b->env);
    if (errno == ENOEXEC) execve("/bin/sh", b->shell_argv, b->env);
    return fail(b, "execute it");
}

static void set_number(struct uno_words *env, const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    uno_words_set(env, name, text);
}

// The names by which scripts, wrappers and other libraries know a rank from other launchers.
static void foreign_names(const struct uno_start *s, struct uno_words *env)
{
    const struct {
        const char *names;
        int value;
    } given[] = {
        {"PMI_RANK OMPI_COMM_WORLD_RANK", s->rank->world},
        {"PMI_SIZE OMPI_COMM_WORLD_SIZE", s->node->plan->nranks},
        {"OMPI_UNIVERSE_SIZE", s->node->plan->universe},
        {"MPI_LOCALRANKID OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_NODE_RANK", s->local},
        {"MPI_LOCALNRANKS OMPI_COMM_WORLD_LOCAL_SIZE", s->node->nlocal},
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        char *list = uno_xstrdup(given[i].names), *rest;
        for (char *name = strtok_r(list, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
            set_number(env, name, given[i].value);
        free(list);
    }
}

// The whole environment of one rank. The names that begin with UNISONO_ are described in mpiexec(1).
static void environment(const struct uno_start *s, struct uno_words *env)
{
    const struct uno_node *n = s->node;
    const struct uno_app *a = &n->plan->app[s->rank->app];
    char job[48];
    for (int i = 0; i < n->plan->env.count; i++) uno_words_add(env, n->plan->env.item[i]);
    for (int i = 0; i < a->env.count; i++) {
        char *name = uno_xstrdup(a->env.item[i]), *eq = strchr(name, '=');
        *eq = '\0';
        uno_words_set(env, name, eq + 1);
        free(name);
    }
    snprintf(job, sizeof job, "%d:%d:%d", n->job_fd, s->local, (int)getpid());
    uno_words_set(env, UNO_JOB_ENV, job);
    set_number(env, "UNISONO_RANK", s->rank->world);
    set_number(env, "UNISONO_SIZE", n->plan->nranks);
    set_number(env, "UNISONO_LOCAL_RANK", s->local);
    set_number(env, "UNISONO_LOCAL_SIZE", n->nlocal);
    if (s->pm >= 0) set_number(env, "UNISONO_PM_FD", s->pm);
    if (strcmp(uno_start_names.text, "all") == 0) foreign_names(s, env);
}

static void free_words(struct uno_words *l)
{
    for (int i = 0; i < l->count; i++) free(l->item[i]);
    free(l->item);
}

// What a rank executes that waits for gdb: this mpiexec, which is then told to execute the program.
static void hold_words(struct uno_words *held, const char *path, const struct uno_words *argv)
{
    uno_words_add(held, "mpiexec");
    uno_words_add(held, UNO_HOLD_OPTION);
    uno_words_add(held, path);
    for (int i = 0; i < argv->count; i++) uno_words_add(held, argv->item[i]);
}

pid_t uno_spawn(const struct uno_start *s, const char *path, const cpu_set_t *cpus, char **why)
{
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    const struct uno_app *a = &s->node->plan->app[s->rank->app];
    struct uno_words env = {0}, shell = {0}, held = {0};
    environment(s, &env);
    if (s->held) hold_words(&held, path, &a->argv);
    uno_words_add(&shell, "sh");
    uno_words_add(&shell, path);
    for (int i = 1; i < a->argv.count; i++) uno_words_add(&shell, a->argv.item[i]);
    char *dir = a->wdir ? join(s->node->plan->cwd, a->wdir) : uno_xstrdup(s->node->plan->cwd);
    struct birth b = {.start = s,
                      .path = s->held ? "/proc/self/exe" : path,
                      .dir = dir,
                      .argv = s->held ? held.item : a->argv.item,
                      .shell_argv = shell.item,
                      .env = env.item,
                      .cpus = cpus,
                      .parent = getpid()};
    pid_t pid = clone(born, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &b);
    if (pid < 0)
        *why = uno_xformat("cannot start %s: %s", a->argv.item[0], uno_reason(errno));
    else if (b.step != NULL)
        *why = uno_xformat("cannot run %s: cannot %s: %s", a->argv.item[0], b.step, strerror(b.err));
    free(dir);
    free_words(&env);
    free_words(&shell);
    free_words(&held);
    return pid < 0 || b.step != NULL ? -1 : pid;
}
