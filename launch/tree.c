// SPDX-License-Identifier: BSD-3-Clause
// Starts and serves the children of a node (tree.h). Called by node.c; uno_tree_daemon() by main().
// The agent's standard input and output are the link; its standard error is passed on line by line with the host's
// name. The plan, with the environment and the job's secret in it, travels on the link and never on a command line.
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/start.h"
#include "base/streams.h"
#include "pm.h"

#define SILENT_S 10    // in a job that survives, unless the user says another time (host_silence)

// A question on its way to a subtree: the rank that asked for a key.
struct asked {
    int host;
    int64_t asker;
};

struct child {
    struct uno_relay link;
    pid_t pid;
    int err;                  // the agent's standard error
    struct uno_bytes line;    // of it, incomplete
    int *host, nhosts;        // of the subtree, its own first
    bool greeted, done;
    bool silent;            // it was given up for that
    int unheard;            // beats of this process since something came from there
    struct asked *asked;    // not yet answered
    int nasked;
};

struct uno_tree {
    struct child *child;
    int count;
};

static const char version[] = UNO_VERSION;

static void set_streams(int in, int out, int err)
{
    if (dup2(err, 2) < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0) _exit(126);
}

// Runs in a fork of the node; the shell splits the agent's words.
static _Noreturn void run_agent(const struct uno_plan *p, const char *host)
{
    char self[PATH_MAX] = "mpiexec";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = '\0';
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *script = uno_xformat("exec %s \"$@\"", p->agent);
    execl("/bin/sh", "sh", "-c", script, "sh", host, self, "--daemon", (char *)NULL);
    _exit(127);
}

static void send_plan(struct uno_node *n, struct child *c)
{
    struct uno_bytes b = {0};
    uno_bytes_add(&b, &c->nhosts, sizeof c->nhosts);
    uno_bytes_add(&b, c->host, (size_t)c->nhosts * sizeof *c->host);
    uno_plan_pack(n->plan, &b);
    struct uno_frame f = {.bytes = (uint32_t)b.len, .type = UNO_PLAN, .rank = -1, .node = c->host[0]};
    uno_relay_send(&c->link, &f, uno_bytes_first(&b));
    uno_bytes_free(&b);
}

// The asking host stands before the key.
static void note_asked(struct child *c, const struct uno_frame *get, const char *data)
{
    struct asked a = {.asker = get->arg};
    if (get->bytes <= sizeof a.host) return;
    memcpy(&a.host, data, sizeof a.host);
    c->asked = uno_xrealloc(c->asked, ((size_t)c->nasked + 1) * sizeof a);
    c->asked[c->nasked++] = a;
}

static void forget_asked(struct child *c, int host, int64_t asker)
{
    for (int i = 0; i < c->nasked; i++) {
        if (c->asked[i].host != host || c->asked[i].asker != asker) continue;
        c->asked[i] = c->asked[--c->nasked];
        return;
    }
}

// Nothing more comes from there: a rank that waits for a key of that subtree is told so.
static void close_child(struct uno_node *n, struct child *c)
{
    c->done = true;
    while (c->nasked > 0) {
        struct asked a = c->asked[--c->nasked];
        uno_pm_refuse(n, a.host, a.asker);
    }
    uno_node_settle(n);
}

static void lose(struct uno_node *n, struct child *c, char *why)
{
    if (!c->done) {
        bool survives = n->plan->survive && c->greeted && !n->ending;
        char *text = uno_xformat("%shost %s: %s%s", survives ? "mpiexec: " : "", n->plan->host[c->host[0]].name, why,
                                 survives ? "; its ranks are lost, the job goes on" : "");
        if (survives) uno_node_tell(n, UNO_GONE, -1, 0, c->host, (size_t)c->nhosts * sizeof *c->host);
        uno_node_tell(n, survives ? UNO_SAY : UNO_LOST, -1, 0, text, strlen(text));
        free(text);
    }
    free(why);
    close_child(n, c);
}

static void close_pair(const int *fd)
{
    for (int i = 0; i < 2; i++) {
        if (fd[i] >= 0) close(fd[i]);
    }
}

// The agent's process, or -1 and errno.
static pid_t start_agent(struct uno_node *n, const char *host, int pipes[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) return -1;
    }
    pid_t pid = fork();
    if (pid != 0) return pid;
    set_streams(pipes[0][0], pipes[1][1], pipes[2][1]);
    run_agent(n->plan, host);
}

static void start_child(struct uno_node *n, struct child *c, int index)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, *in = pipes[0], *out = pipes[1], *err = pipes[2];
    c->pid = start_agent(n, n->plan->host[c->host[0]].name, pipes);
    if (c->pid < 0) {
        lose(n, c, uno_xformat("the launch agent cannot be started: %s", uno_reason(errno)));
        for (int i = 0; i < 3; i++) close_pair(pipes[i]);
        c->err = -1;
        c->link = (struct uno_relay){.rd = -1, .wr = -1, .ended = true};
        return;
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c->err = err[0];
    uno_nonblock(c->err, true);
    uno_relay_open(&c->link, out[0], in[1]);
    uno_node_listen(n, out[0], EPOLLIN, UNO_ON_TREE, index * 2);
    uno_node_listen(n, err[0], EPOLLIN, UNO_ON_TREE, index * 2 + 1);
    send_plan(n, c);
}

struct uno_tree *uno_tree_start(struct uno_node *n, const int *host, int count)
{
    struct uno_tree *t = uno_xalloc(sizeof *t);
    int fanout = (int)uno_start_fanout.num;
    t->count = count < fanout ? count : fanout;
    t->child = uno_xalloc((size_t)t->count * sizeof *t->child);
    n->tree = t;
    for (int i = 0; i < t->count; i++) {
        int from = (int)((long)count * i / t->count), to = (int)((long)count * (i + 1) / t->count);
        struct child *c = &t->child[i];
        c->nhosts = to - from;
        c->host = uno_xalloc((size_t)c->nhosts * sizeof *c->host);
        memcpy(c->host, host + from, (size_t)c->nhosts * sizeof *c->host);
        start_child(n, c, i);
    }
    return t;
}

static void say_lines(struct uno_node *n, struct child *c)
{
    const char *end;
    while (c->line.len > 0 && (end = memchr(uno_bytes_first(&c->line), '\n', c->line.len)) != NULL) {
        size_t len = (size_t)(end - uno_bytes_first(&c->line));
        char *text =
            uno_xformat("mpiexec: host %s: %.*s", n->plan->host[c->host[0]].name, (int)len, uno_bytes_first(&c->line));
        text[strcspn(text, "\r")] = '\0';
        uno_node_tell(n, UNO_SAY, -1, 0, text, strlen(text));
        free(text);
        uno_bytes_drop(&c->line, len + 1);
    }
}

static void on_error_stream(struct uno_node *n, struct child *c)
{
    ssize_t got;
    while (c->err >= 0 && (got = read(c->err, uno_bytes_reserve(&c->line, 4096), 4096)) >= 0) {
        c->line.len += (size_t)got;
        say_lines(n, c);
        if (got > 0) continue;
        if (c->line.len > 0) uno_bytes_add(&c->line, "\n", 1);
        say_lines(n, c);
        close(c->err);
        c->err = -1;
    }
}

static void take(struct uno_node *n, struct child *c, const struct uno_frame *f, const char *data)
{
    switch (f->type) {
    case UNO_HELLO:
        c->greeted = f->bytes == sizeof version && memcmp(data, version, sizeof version) == 0;
        if (!c->greeted)
            lose(n, c, uno_xformat("another version of mpiexec answers there (%.*s)", (int)f->bytes, data));
        break;
    case UNO_BEAT: break;
    case UNO_DONE: close_child(n, c); break;
    case UNO_PM_VALUE:
        forget_asked(c, f->node, f->arg);
        uno_tree_route(n, f, data);
        break;
    case UNO_PM_GET: uno_tree_route(n, f, data); break;
    case UNO_PM_FENCE: uno_pm_fence_below(n); break;
    default: uno_relay_send(&n->up, f, data);
    }
}

static bool has(const struct child *c, int host)
{
    for (int i = 0; i < c->nhosts; i++) {
        if (c->host[i] == host) return true;
    }
    return false;
}

// Bytes wait for room in the pipe to the agent: be called when there is.
static void send_to(struct uno_node *n, int index, const struct uno_frame *f, const char *data)
{
    struct child *c = &n->tree->child[index];
    if (f != NULL)
        uno_relay_send(&c->link, f, data);
    else
        uno_relay_flush(&c->link);
    if (c->link.out.len > 0) uno_node_listen(n, c->link.wr, EPOLLOUT | EPOLLONESHOT, UNO_ON_TREE, index * 2);
}

// The first frame must be a greeting; anything else was not written by a daemon.
static bool greets(const struct child *c)
{
    struct uno_frame f;
    if (c->greeted || c->link.in.len < sizeof f) return true;
    memcpy(&f, uno_bytes_first(&c->link.in), sizeof f);
    return f.type == UNO_HELLO && f.bytes < 64;
}

void uno_tree_event(struct uno_node *n, int index)
{
    struct child *c = &n->tree->child[index / 2];
    struct uno_frame f;
    const char *data;
    if (index % 2) {
        on_error_stream(n, c);
        return;
    }
    send_to(n, index / 2, NULL, NULL);
    uno_relay_fill(&c->link);
    c->unheard = 0;
    if (!greets(c)) {
        lose(n, c,
             uno_xstrdup("what answers there is not mpiexec; does a start-up file of the shell print something?"));
        if (c->pid > 0) kill(c->pid, SIGKILL);
        uno_relay_close(&c->link);
    }
    while (uno_relay_next(&c->link, &f, &data)) take(n, c, &f, data);
    if (c->link.ended && c->link.rd >= 0) uno_relay_close(&c->link);    // the agent's end says more: uno_tree_reaped()
}

// How many beats may pass without a sign of life from a host; 0: any number.
static int most_unheard(const struct uno_node *n)
{
    bool given = uno_start_silence.origin != UNO_PARAM_DEFAULT;
    int64_t seconds = n->plan->survive && !given ? SILENT_S : uno_start_silence.num;
    return (int)(seconds * 1000 / UNO_BEAT_MS);
}

void uno_tree_listen_for_life(struct uno_node *n)
{
    int most = most_unheard(n);
    for (int i = 0; i < n->tree->count; i++) {
        struct child *c = &n->tree->child[i];
        // Own beats count, not the clock: nobody is lost because this host was suspended, or all of them were.
        if (!c->greeted || c->done || c->pid <= 0 || ++c->unheard < most || most == 0) continue;
        c->silent = true;
        kill(c->pid, SIGKILL);    // uno_tree_reaped() says the rest
        c->unheard = 0;
    }
}

void uno_tree_down(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    for (int i = 0; i < n->tree->count; i++) {
        if (f->rank < 0 || has(&n->tree->child[i], n->plan->rank_host[f->rank])) send_to(n, i, f, data);
    }
}

void uno_tree_route(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    if (f->node == n->index) {
        uno_pm_frame(n, f, data);
        return;
    }
    for (int i = 0; i < n->tree->count; i++) {
        struct child *c = &n->tree->child[i];
        if (!has(c, f->node)) continue;
        if (f->type == UNO_PM_GET) note_asked(c, f, data);
        send_to(n, i, f, data);
        if (f->type == UNO_PM_GET && c->done) close_child(n, c);
        return;
    }
    if (!n->root) uno_relay_send(&n->up, f, data);
}

bool uno_tree_done(const struct uno_tree *t)
{
    for (int i = 0; i < t->count; i++) {
        if (!t->child[i].done) return false;
    }
    return true;
}

int uno_tree_children(const struct uno_tree *t)
{
    return t->count;
}

// The agent has ended: its host is lost.
static void tell_end(struct uno_node *n, struct child *c, int status)
{
    const struct uno_host *h = &n->plan->host[c->host[0]];
    if (c->silent) {
        int seconds = most_unheard(n) * UNO_BEAT_MS / 1000;
        lose(n, c, uno_xformat("its daemon has given no sign of life for %d s (parameter host_silence)", seconds));
        return;
    }
    const char *what = c->greeted ? "the link to its daemon broke" : "its daemon could not be started";
    char *hint =
        !c->greeted && h->unknown ? uno_xformat("; the name is not known here: %s", h->unknown) : uno_xstrdup("");
    bool killed = WIFSIGNALED(status);
    lose(n, c,
         uno_xformat("%s (the launch agent, %s, %s %d)%s", what, n->plan->agent,
                     killed ? "was killed by signal" : "ended with status",
                     killed ? WTERMSIG(status) : WEXITSTATUS(status), hint));
    free(hint);
}

bool uno_tree_reaped(struct uno_node *n, int pid, int status)
{
    for (int i = 0; i < n->tree->count; i++) {
        struct child *c = &n->tree->child[i];
        if (c->pid != pid) continue;
        c->pid = 0;
        uno_tree_event(n, i * 2);
        on_error_stream(n, c);
        tell_end(n, c, status);
        return true;
    }
    return false;
}

// Waits for the plan, which is all that comes before the node's own loop runs.
static bool await_plan(struct uno_relay *l, struct uno_frame *f, const char **data)
{
    while (!uno_relay_next(l, f, data)) {
        struct pollfd p = {.fd = l->rd, .events = POLLIN};
        if (l->ended) return false;
        poll(&p, 1, -1);
        uno_relay_fill(l);
    }
    return f->type == UNO_PLAN;
}

static int refuse(const char *what)
{
    fprintf(stderr, "mpiexec --daemon: %s\n", what);
    return 1;
}

// The link is what the agent gave as standard input and output; those are nothing-in-particular from here on.
static bool take_link(struct uno_relay *l)
{
    int rd = fcntl(0, F_DUPFD_CLOEXEC, 3), wr = fcntl(1, F_DUPFD_CLOEXEC, 3), null = uno_streams_null();
    if (rd < 0 || wr < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) return false;
    close(null);
    uno_relay_open(l, rd, wr);
    return true;
}

int uno_tree_daemon(const struct rlimit *files)
{
    struct uno_plan plan = {0};
    struct uno_relay link;
    struct uno_frame f, hello = {.bytes = sizeof version, .type = UNO_HELLO, .rank = -1, .node = -1};
    const char *data;
    int count;
    if (!take_link(&link)) return refuse(uno_reason(errno));
    signal(SIGPIPE, SIG_IGN);
    uno_relay_send(&link, &hello, version);
    if (!await_plan(&link, &f, &data)) return refuse("standard input is not a plan from mpiexec");
    memcpy(&count, data, sizeof count);
    size_t list = sizeof count + (size_t)count * sizeof(int);
    if (f.bytes < list || !uno_plan_unpack(&plan, data + list, f.bytes - list)) return refuse("the plan is damaged");
    int *host = uno_xalloc((size_t)count * sizeof(int));
    memcpy(host, data + sizeof count, (size_t)count * sizeof(int));
    sigset_t mask;
    sigemptyset(&mask);
    for (int i = 0; i < plan.env.count; i++) putenv(plan.env.item[i]);
    // mpiexec has refused what is wrong in the plan; what this host's own environment adds may be wrong, too.
    if (uno_params_load() != 0) return refuse(uno_fail_text());
    struct uno_node_place place = {
        .index = host[0], .below = host + 1, .nbelow = count - 1, .stdin_fd = -1, .mask = &mask, .files = files};
    return uno_node_run(&plan, &place, &link);
}
