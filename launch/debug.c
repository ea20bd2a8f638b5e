// SPDX-License-Identifier: BSD-3-Clause
// Starts ranks under gdb (debug.h). Called by the options, the front, and, for the part of a held rank, spawn.c and
// main(). gdb runs in the process group of mpiexec, so the terminal and its signals reach it without any hand over; the
// front leaves Ctrl-C to it while it is there. Nothing here waits.
#include "debug.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/start.h"
#include "cpus.h"
#include "node.h"

#define COMMANDS "share/unisono/mpiexec-gdb.py"
#define LET_GO SIGUSR1    // blocked in a held rank until it waits for it

struct uno_debugger {
    const struct uno_plan *plan;
    const struct uno_setting *setting;
    int *pid;       // by rank
    int missing;    // ranks that have not been started yet
    pid_t gdb;      // 0: not running
    bool asked;     // to leave
    bool terminal;
    struct termios modes;    // of the terminal, before gdb
};

// ---- which ranks ----

bool uno_debug_is_list(const char *word)
{
    return word[0] >= '0' && word[0] <= '9' && strspn(word, "0123456789,-") == strlen(word);
}

bool uno_debug_wants(const struct uno_plan *p, int rank)
{
    int list[CPU_SETSIZE], n;
    if (p->gdb == NULL || !p->host[p->rank_host[rank]].local) return false;
    if (p->gdb[0] == '\0') return true;
    n = uno_cpus_list(p->gdb, list);
    while (n > 0 && list[n - 1] != rank) n--;
    return n > 0;
}

static int count_wanted(const struct uno_plan *p)
{
    int n = 0;
    for (int r = 0; r < p->nranks; r++) n += uno_debug_wants(p, r);
    return n;
}

static void check_list(const struct uno_plan *p)
{
    int list[CPU_SETSIZE], n = uno_cpus_list(p->gdb, list);
    if (n <= 0) uno_usage("--gdb %s: a rank, or a list of ranks such as 0,2-3, is expected", p->gdb);
    for (int i = 0; i < n; i++) {
        if (list[i] >= p->nranks) uno_usage("--gdb %s: the job has ranks 0 to %d", p->gdb, p->nranks - 1);
        if (!uno_debug_wants(p, list[i]))
            uno_usage("--gdb %s: rank %d runs on %s; only ranks on the host of mpiexec can run under gdb", p->gdb,
                      list[i], uno_plan_name(p, list[i]));
    }
}

// What is installed beside this mpiexec.
static char *commands(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return uno_xstrdup(COMMANDS);
    self[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash) *slash = '\0';
    }
    return uno_xformat("%s/" COMMANDS, self);
}

static void check_program(const struct uno_plan *p)
{
    struct uno_app gdb = {0};
    char *word = uno_xformat("%.*s", (int)strcspn(uno_start_gdb.text, " "), uno_start_gdb.text), *why;
    uno_words_add(&gdb.argv, word);
    char *path = uno_spawn_find(p, &gdb, &why), *file = commands();
    if (path == NULL) uno_usage("--gdb: %s (install gdb, or name a debugger: --set launch_gdb=COMMAND)", why);
    if (access(file, R_OK) != 0) uno_usage("--gdb: cannot read %s: %s", file, strerror(errno));
    free(path);
    free(file);
    free(word);
}

void uno_debug_check(struct uno_plan *p)
{
    if (p->gdb == NULL) return;
    if (p->gdb[0]) check_list(p);
    int n = count_wanted(p);
    if (n == 0) uno_usage("--gdb: no rank runs on the host of mpiexec");
    if (p->gdb[0] == '\0' && n < p->nranks && !p->quiet)
        fprintf(stderr, "mpiexec: warning: %d of %d ranks run on other hosts and not under gdb\n", p->nranks - n,
                p->nranks);
    check_program(p);
}

// ---- gdb ----

struct uno_debugger *uno_debug_new(const struct uno_plan *p, const struct uno_setting *s)
{
    if (p->gdb == NULL) return NULL;
    struct uno_debugger *d = uno_xalloc(sizeof *d);
    *d = (struct uno_debugger){.plan = p, .setting = s, .missing = count_wanted(p)};
    d->pid = uno_xalloc((size_t)p->nranks * sizeof *d->pid);
    d->terminal = tcgetattr(0, &d->modes) == 0;
    return d;
}

static _Noreturn void run_gdb(const struct uno_debugger *d)
{
    struct uno_bytes b = {0};
    char *file = commands(), *script = uno_xformat("exec %s \"$@\"", uno_start_gdb.text);
    uno_bytes_add(&b, "mpi start", 9);
    for (int r = 0; r < d->plan->nranks; r++) {
        if (d->pid[r] == 0) continue;
        char *word = uno_xformat(" %d:%d", r, d->pid[r]);
        uno_bytes_add(&b, word, strlen(word));
        free(word);
    }
    uno_bytes_add(&b, "", 1);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setrlimit(RLIMIT_NOFILE, &d->setting->files);
    sigprocmask(SIG_SETMASK, &d->setting->mask, NULL);
    execl("/bin/sh", "sh", "-c", script, "sh", "-q", "-x", file, "-ex", b.data, (char *)NULL);
    _exit(127);
}

void uno_debug_started(struct uno_debugger *d, int rank, int pid)
{
    if (d == NULL || d->pid[rank] != 0 || !uno_debug_wants(d->plan, rank)) return;
    d->pid[rank] = pid;
    if (--d->missing > 0) return;
    d->gdb = fork();
    if (d->gdb == 0) run_gdb(d);
    if (d->gdb < 0) fprintf(stderr, "mpiexec: --gdb: cannot start a process: %s\n", uno_reason(errno));
}

bool uno_debug_runs(const struct uno_debugger *d)
{
    return d != NULL && d->gdb > 0;
}

void uno_debug_end(struct uno_debugger *d)
{
    if (!uno_debug_runs(d)) return;
    kill(d->gdb, d->asked ? SIGKILL : SIGTERM);
    d->asked = true;
}

char *uno_debug_reap(struct uno_debugger *d)
{
    int status;
    if (!uno_debug_runs(d) || waitpid(d->gdb, &status, WNOHANG) != d->gdb) return NULL;
    d->gdb = 0;
    if (d->terminal) tcsetattr(0, TCSADRAIN, &d->modes);    // a killed gdb leaves them as its prompt needs them
    if (WIFSIGNALED(status) && !d->asked)
        return uno_xformat("gdb was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return uno_xformat("gdb could not be started (%s)", uno_start_gdb.text);
    return uno_xstrdup("gdb was quit");
}

// Whether the process runs, or is stopped: one that has ended may wait to be reaped.
static bool lives(int pid)
{
    char folder[32], state;
    int parent;
    snprintf(folder, sizeof folder, "/proc/%d", pid);
    return uno_proc_stat(folder, &state, &parent) && state != 'Z' && state != 'X';
}

bool uno_debug_leaves(const struct uno_debugger *d)
{
    if (d->missing > 0) return true;
    for (int r = 0; r < d->plan->nranks; r++)
        if (d->pid[r] > 0 && lives(d->pid[r])) return true;
    return false;
}

// ---- a held rank ----

// gdb is no ancestor of the rank: where the kernel lets only those trace a process, the rank must allow it.
void uno_debug_hold_begin(sigset_t *mask)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    sigaddset(mask, LET_GO);
}

int uno_debug_hold(char **words)
{
    sigset_t go;
    int sig;
    char *path = words[0], **argv = words + 1;
    sigemptyset(&go);
    sigaddset(&go, LET_GO);
    while (sigwait(&go, &sig) != 0) continue;
    sigprocmask(SIG_UNBLOCK, &go, NULL);
    execv(path, argv);
    if (errno == ENOEXEC) {
        static char shell[] = "sh";
        argv[0] = path;
        words[0] = shell;
        execv("/bin/sh", words);
    }
    fprintf(stderr, "mpiexec: cannot run %s: %s\n", path, strerror(errno));
    return 127;
}
