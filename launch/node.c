// SPDX-License-Identifier: BSD-3-Clause
// The life of a node (node.h): lays out the job segment, starts its ranks, passes their output up and their input down,
// reports their ends, and leaves only when no descendant is left. One thread, one epoll loop, no polling but the
// watch's slow tick.
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "debug.h"
#include "pm.h"
#include "profile.h"
#include "stats.h"
#include "tree.h"

#define PASS_BYTES (64 * 1024)
#define DRAIN_BYTES (2 << 20)    // read from a dead rank's pipe at most; a pipe holds less
#define BELOW_MS 2000            // for the hosts below to say that they are done, once all is being killed

void uno_node_tell(struct uno_node *n, uint32_t type, int rank, int64_t arg, const void *data, size_t bytes)
{
    struct uno_frame f = {.bytes = (uint32_t)bytes, .type = type, .rank = rank, .node = n->index, .arg = arg};
    uno_relay_send(&n->up, &f, data);
}

bool uno_node_listen(struct uno_node *n, int fd, uint32_t events, enum uno_node_source source, int index)
{
    struct epoll_event e = {.events = events, .data.u64 = (uint64_t)source << 32 | (uint32_t)index};
    bool bulk = (source == UNO_ON_OUTPUTS && index >= 0) || (source == UNO_ON_TREE && events == EPOLLIN);
    int set = bulk ? n->outputs : n->epoll;
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0) return true;
    if (errno == EEXIST && epoll_ctl(set, EPOLL_CTL_MOD, fd, &e) == 0) return true;
    if (n->fault == 0) n->fault = errno;
    return false;
}

static void shut(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void pass_output(struct uno_node *n, int index, int stream, size_t most)
{
    struct uno_node_rank *r = &n->rank[index];
    if (r->out[stream] < 0) return;
    struct uno_frame f = {.type = UNO_OUTPUT, .rank = r->world, .node = n->index, .arg = stream + 1};
    for (size_t done = 0; done < most;) {
        long got = uno_relay_pass(&n->up, f, r->out[stream], PASS_BYTES);
        if (got == 0) shut(&r->out[stream]);
        if (got <= 0) return;
        done += (size_t)got;
    }
}

static void feed(struct uno_node *n, int index)
{
    struct uno_node_rank *r = &n->rank[index];
    while (r->in >= 0 && r->feed.len > 0) {
        ssize_t wrote = write(r->in, uno_bytes_first(&r->feed), r->feed.len);
        if (wrote < 0 && errno == EAGAIN) {
            uno_node_listen(n, r->in, EPOLLOUT, UNO_ON_STDIN, index);
            return;
        }
        if (wrote < 0) {
            uno_bytes_drop(&r->feed, r->feed.len);
            shut(&r->in);
            break;
        }
        uno_bytes_drop(&r->feed, (size_t)wrote);
        uno_node_tell(n, UNO_STDIN_ROOM, r->world, wrote, NULL, 0);
    }
    if (r->in >= 0 && r->in_closes)
        shut(&r->in);
    else if (r->in >= 0)
        epoll_ctl(n->epoll, EPOLL_CTL_DEL, r->in, NULL);
    if (r->in < 0) uno_node_tell(n, UNO_STDIN_ROOM, r->world, -1, NULL, 0);
}

static void ended(struct uno_node *n, int index, int status)
{
    struct uno_node_rank *r = &n->rank[index];
    struct uno_board *b = uno_job_board(n->job, (uint32_t)index);
    struct uno_exit e = {.status = status, .pid = r->pid};
    // Acquire: pairs with the rank's release of its state; code, calls and reason were written before it.
    e.state = (int32_t)atomic_load_explicit(&b->state, memory_order_acquire);
    r->exited = true;
    uno_survive_died(n, index);
    pass_output(n, index, 0, DRAIN_BYTES);
    pass_output(n, index, 1, DRAIN_BYTES);
    e.code = b->exit_code;
    // Relaxed: the writer is dead.
    e.asleep = atomic_load_explicit(&b->asleep, memory_order_relaxed) > 0;
    memcpy(e.call, e.asleep ? b->wait_call : b->last_call, sizeof e.call - 1);
    memcpy(e.why, b->why, sizeof e.why - 1);
    struct uno_bytes profile = {0};
    uno_profile_pack(n->job, b, &profile);
    if (profile.len > 0) uno_node_tell(n, UNO_PROFILE, r->world, 0, uno_bytes_first(&profile), profile.len);
    uno_bytes_free(&profile);
    struct uno_bytes stats = {0};
    uno_stats_pack(n->job, b, &stats);
    if (stats.len > 0) uno_node_tell(n, UNO_STATS, r->world, 0, uno_bytes_first(&stats), stats.len);
    uno_bytes_free(&stats);
    uno_pm_gone(n, r->world);
    n->running--;
    uno_node_tell(n, UNO_EXITED, r->world, 0, &e, sizeof e);
    uno_node_settle(n);
}

static bool over(const struct uno_node *n)
{
    return n->running == 0 && uno_tree_done(n->tree);
}

// What a rank left running, such as Python's resource tracker, has a while to end by itself.
void uno_node_settle(struct uno_node *n)
{
    if (n->sweep_at == 0 && over(n)) n->sweep_at = uno_ms_now() + n->plan->grace_ms;
}

void uno_node_reap(struct uno_node *n)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
        for (int i = 0; i < n->nlocal; i++) {
            if (n->rank[i].pid == pid && !n->rank[i].exited) ended(n, i, status);
        }
        uno_tree_reaped(n, pid, status);
    }
}

static void reap(void *self)
{
    uno_node_reap(self);
}

// To every rank's process group; a rank that is a script has its children there.
static void signal_ranks(struct uno_node *n, int sig)
{
    for (int i = 0; i < n->nlocal; i++) {
        if (n->rank[i].pid > 0 && !n->rank[i].exited) kill(-n->rank[i].pid, sig);
    }
}

static void end_ranks(struct uno_node *n, int64_t grace)
{
    n->ending = true;
    if (grace > 0 && n->kill_at == 0) {
        signal_ranks(n, SIGTERM);
        signal_ranks(n, SIGCONT);
        n->kill_at = uno_ms_now() + grace;
    } else if (grace == 0) {
        n->kill_at = uno_ms_now();
    }
}

static int local_of(const struct uno_node *n, int world)
{
    for (int i = 0; i < n->nlocal; i++) {
        if (n->rank[i].world == world) return i;
    }
    return -1;
}

static void take_stdin(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    int i = local_of(n, f->rank);
    if (i < 0) return;
    uno_bytes_add(&n->rank[i].feed, data, f->bytes);
    n->rank[i].in_closes |= f->bytes == 0;
    feed(n, i);
}

static void take_frame(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    if (uno_survive_frame(n, f, data)) return;
    switch (f->type) {
    case UNO_SIGNAL: signal_ranks(n, (int)f->arg); break;
    case UNO_END: end_ranks(n, f->arg); break;
    case UNO_STDIN: take_stdin(n, f, data); break;
    case UNO_REST: n->resting = true; return;
    case UNO_CONFIRM: uno_watch_confirm(n->watch, f->arg); break;
    case UNO_WHERE: uno_watch_where(n->watch); break;
    case UNO_PM_FENCE: uno_pm_fence_over(n); return;
    case UNO_ANSWER:
    case UNO_ENDED:
    case UNO_PM_GET:
    case UNO_PM_VALUE: uno_tree_route(n, f, data); return;
    case UNO_CLOSE:
        for (int i = 0; i < n->nlocal; i++) shut(&n->rank[i].out[f->arg - 1]);
        break;
    default: break;
    }
    uno_tree_down(n, f, data);
}

static void on_up(struct uno_node *n)
{
    struct uno_frame f;
    const char *data;
    uno_relay_flush(&n->up);
    uno_relay_fill(&n->up);
    while (uno_relay_next(&n->up, &f, &data)) take_frame(n, &f, data);
}

static void dispatch(struct uno_node *n, const struct epoll_event *e)
{
    struct signalfd_siginfo info;
    struct epoll_event out[32];
    int index = (int)(uint32_t)e->data.u64, count;
    switch ((enum uno_node_source)(e->data.u64 >> 32)) {
    case UNO_ON_UP: on_up(n); break;
    case UNO_ON_SIGNAL:
        while (read(n->sigfd, &info, sizeof info) > 0) continue;
        uno_node_reap(n);
        break;
    case UNO_ON_OUTPUTS:
        count = epoll_wait(n->outputs, out, 32, 0);
        for (int i = 0; i < count; i++) {
            int at = (int)(uint32_t)out[i].data.u64;
            if (out[i].data.u64 >> 32 == UNO_ON_TREE)
                uno_tree_event(n, at);
            else
                pass_output(n, at / 2, at % 2, PASS_BYTES);
        }
        break;
    case UNO_ON_STDIN: feed(n, index); break;
    case UNO_ON_PM:
        uno_survive_flush(n, index);
        uno_pm_request(n, index);
        break;
    case UNO_ON_TREE: uno_tree_event(n, index); break;
    }
}

// Output is read only while the link upwards has room, so a slow reader slows the ranks and not our memory.
static void adjust(struct uno_node *n)
{
    bool full = n->resting || n->up.out.len > UNO_RELAY_FULL;
    if (full != n->paused) {
        n->paused = full;
        if (full)
            epoll_ctl(n->epoll, EPOLL_CTL_DEL, n->outputs, NULL);
        else
            uno_node_listen(n, n->outputs, EPOLLIN, UNO_ON_OUTPUTS, -1);
    }
    if (n->up.rd == n->up.wr)
        uno_node_listen(n, n->up.rd, EPOLLIN | (n->up.out.len ? EPOLLOUT : 0), UNO_ON_UP, 0);
    else if (n->up.out.len > 0)
        uno_node_listen(n, n->up.wr, EPOLLOUT | EPOLLONESHOT, UNO_ON_UP, 0);
}

static int next_timeout(const struct uno_node *n)
{
    int64_t now = uno_ms_now(), at = now + UNO_WATCH_MS;
    if (n->kill_at && n->kill_at < at) at = n->kill_at;
    if (n->sweep_at && n->sweep_at < at) at = n->sweep_at;
    return at > now ? (int)(at - now) : 0;
}

// True when it is time to leave: what is left of the job here is swept away by the caller. Ranks below have a while to
// say so.
static bool deadline(struct uno_node *n, int64_t now)
{
    if (n->sweep_at && now >= n->sweep_at) return true;
    if (n->kill_at == 0 || now < n->kill_at) return false;
    if (n->killed || uno_tree_done(n->tree)) return true;
    signal_ranks(n, SIGKILL);
    n->killed = true;
    n->kill_at = now + BELOW_MS;
    return false;
}

// A host that says nothing for long is lost: its link may not end by itself.
static void beat(struct uno_node *n, int64_t now)
{
    if (now < n->beat_at) return;
    n->beat_at = now + UNO_BEAT_MS;
    uno_tree_listen_for_life(n);
    if (!n->root) uno_node_tell(n, UNO_BEAT, -1, 0, NULL, 0);
}

static void loop(struct uno_node *n)
{
    int64_t tick = uno_ms_now() + UNO_WATCH_MS;
    for (;;) {
        struct epoll_event e[32];
        if (over(n) && (n->killed || uno_guard_alone())) return;
        int count = epoll_wait(n->epoll, e, 32, next_timeout(n));
        if (count < 0 && errno != EINTR) n->fault = errno;
        for (int i = 0; i < count; i++) dispatch(n, &e[i]);
        if (n->up.ended || n->up.deaf || n->fault) return;
        if (n->resting && uno_rest_stand(n)) on_up(n);
        adjust(n);
        int64_t now = uno_ms_now();
        if (deadline(n, now)) return;
        if (now >= tick) {
            if (!n->ending) uno_watch_tick(n->watch);
            if (n->plan->nhosts > 1) beat(n, now);
            tick = now + UNO_WATCH_MS;
        }
    }
}

// The rank's end of its standard input: the descriptor that mpiexec itself got, a pipe that is fed from above, or
// nothing.
static int make_stdin(struct uno_node *n, int index)
{
    struct uno_node_rank *r = &n->rank[index];
    int want = n->plan->stdin_rank, fd[2];
    bool reads = want == UNO_STDIN_ALL || want == r->world;
    if (!reads && (fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) return fd[0];
    if (n->stdin_fd >= 0 && want == r->world) return fcntl(n->stdin_fd, F_DUPFD_CLOEXEC, 3);
    if (pipe2(fd, O_CLOEXEC) != 0) return -1;
    r->in = fd[1];
    uno_nonblock(fd[1], true);
    if (!reads) shut(&r->in);    // where /dev/null is missing
    return fd[0];
}

static int make_output(struct uno_node *n, int index, int stream)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return -1;
    n->rank[index].out[stream] = fd[0];
    uno_nonblock(fd[0], true);
    if (uno_node_listen(n, fd[0], EPOLLIN, UNO_ON_OUTPUTS, index * 2 + stream)) return fd[1];
    close(fd[1]);
    return -1;
}

static bool start_rank(struct uno_node *n, int i, const char *path, char **why)
{
    struct uno_node_rank *r = &n->rank[i];
    struct uno_start s = {.node = n, .rank = r, .local = i, .held = uno_debug_wants(n->plan, r->world)};
    cpu_set_t set;
    bool bound = uno_cpus_bind(n->plan, i, n->nlocal, &set);
    s.out = s.err = s.pm = -1;
    if ((s.in = make_stdin(n, i)) < 0 || (s.out = make_output(n, i, 0)) < 0 || (s.err = make_output(n, i, 1)) < 0 ||
        (s.pm = uno_pm_connect(n, i)) < 0)
        *why = uno_xformat("cannot start rank %d: %s", r->world, uno_reason(errno));
    else
        r->pid = uno_spawn(&s, path, bound ? &set : NULL, why);
    shut(&s.in);
    shut(&s.out);
    shut(&s.err);
    shut(&s.pm);
    if (r->pid <= 0) {
        r->pid = 0;
        return false;
    }
    n->running++;
    int32_t pid = r->pid;
    uno_node_tell(n, UNO_STARTED, r->world, 0, &pid, sizeof pid);
    if (n->plan->report_bindings) {
        char *where = bound ? uno_cpus_text(&set) : uno_xstrdup("no processor in particular");
        char *line =
            uno_xformat("mpiexec: rank %d on %s is bound to %s", r->world, uno_plan_name(n->plan, r->world), where);
        uno_node_tell(n, UNO_SAY, -1, 0, line, strlen(line));
        free(line);
        free(where);
    }
    return true;
}

static bool start_all(struct uno_node *n, char **why)
{
    char **path = uno_xalloc((size_t)n->plan->napps * sizeof *path);
    bool good = true;
    for (int i = 0; i < n->nlocal && good; i++) {
        int a = n->rank[i].app;
        if (path[a] == NULL) path[a] = uno_spawn_find(n->plan, &n->plan->app[a], why);
        good = path[a] != NULL;
    }
    for (int i = 0; i < n->nlocal && good; i++) good = start_rank(n, i, path[n->rank[i].app], why);
    for (int a = 0; a < n->plan->napps; a++) free(path[a]);
    free(path);
    return good;
}

static bool make_segment(struct uno_node *n, char **why)
{
    int *world = uno_xalloc((size_t)n->nlocal * sizeof(int)), *app = uno_xalloc((size_t)n->nlocal * sizeof(int));
    int *sharers = uno_xalloc((size_t)n->nlocal * sizeof(int));
    for (int i = 0; i < n->nlocal; i++) {
        world[i] = n->rank[i].world;
        app[i] = n->rank[i].app;
    }
    uno_cpus_sharers(n->plan, n->nlocal, sharers);
    struct uno_job_spec spec = {.nlocal = (uint32_t)n->nlocal,
                                .nworld = (uint32_t)n->plan->nranks,
                                .universe_size = (uint32_t)n->plan->universe,
                                .nhosts = (uint32_t)n->plan->nhosts,
                                .host = (uint32_t)n->index,
                                .processors = (uint32_t)uno_cpus_mine(),
                                .survive = n->plan->survive,
                                .world_rank = world,
                                .appnum = app,
                                .sharers = sharers,
                                .job_id = n->plan->job_id,
                                .secret = n->plan->secret};
    int err = uno_job_create(&spec, &n->job_fd);
    if (err == 0) {
        uno_cloexec(n->job_fd, true);
        err = uno_job_map(n->job_fd, &n->job);
    }
    free(world);
    free(app);
    free(sharers);
    if (err != 0) *why = uno_xformat("cannot make the job's shared segment: %s", uno_reason(err));
    return err == 0;
}

static void take_ranks(struct uno_node *n)
{
    n->nlocal = uno_plan_count(n->plan, n->index);
    n->rank = uno_xalloc((size_t)n->nlocal * sizeof *n->rank);
    for (int r = 0, i = 0; r < n->plan->nranks; r++) {
        if (n->plan->rank_host[r] != n->index) continue;
        n->rank[i++] =
            (struct uno_node_rank){.world = r, .app = n->plan->rank_app[r], .in = -1, .out = {-1, -1}, .pm = -1};
    }
}

// NULL, or what could not be done; errno says why.
static const char *set_up(struct uno_node *n)
{
    sigset_t all;
    setsid();
    prctl(PR_SET_NAME, "unisono-node");
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    struct rlimit most = {n->files.rlim_max, n->files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
    if ((errno = uno_guard_adopt()) != 0) return "guard what the ranks start";
    if ((n->sigfd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC)) < 0) return "wait for signals (signalfd)";
    if ((n->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) return "watch descriptors (epoll_create)";
    if ((n->outputs = epoll_create1(EPOLL_CLOEXEC)) < 0) return "watch descriptors (epoll_create)";
    uno_node_listen(n, n->up.rd, EPOLLIN, UNO_ON_UP, 0);
    uno_node_listen(n, n->sigfd, EPOLLIN, UNO_ON_SIGNAL, 0);
    uno_node_listen(n, n->outputs, EPOLLIN, UNO_ON_OUTPUTS, -1);
    errno = n->fault;
    return n->fault ? "watch descriptors (epoll_ctl)" : NULL;
}

static void start_job(struct uno_node *n, const struct uno_node_place *place)
{
    char *why = NULL;
    uno_tree_start(n, place->below, place->nbelow);
    if (n->nlocal == 0 || (make_segment(n, &why) && start_all(n, &why))) return;
    if (why == NULL) why = uno_xstrdup("cannot start the ranks");
    uno_node_tell(n, UNO_CANNOT, -1, 0, why, strlen(why));
    end_ranks(n, 0);
    free(why);
}

static int leave(struct uno_relay *up, int index)
{
    struct uno_frame f = {.type = UNO_DONE, .rank = -1, .node = index};
    uno_relay_send(up, &f, NULL);
    uno_nonblock(up->wr, false);
    uno_relay_flush(up);
    return 0;
}

int uno_node_refuse(struct uno_relay *up, int index, const char *what, int err)
{
    char *why = uno_xformat("cannot %s: %s", what, uno_reason(err));
    struct uno_frame f = {.bytes = (uint32_t)strlen(why), .type = UNO_CANNOT, .rank = -1, .node = index};
    uno_relay_send(up, &f, why);
    free(why);
    return leave(up, index);
}

static void tell_fault(struct uno_node *n)
{
    if (n->fault == 0) return;
    const char *host = n->index < 0 ? "this host" : n->plan->host[n->index].name;
    char *text =
        uno_xformat("the guard of the ranks on %s cannot watch its descriptors: %s", host, uno_reason(n->fault));
    uno_node_tell(n, UNO_LOST, -1, 0, text, strlen(text));
    free(text);
}

int uno_node_run(struct uno_plan *p, const struct uno_node_place *place, struct uno_relay *up)
{
    struct uno_node n = {.plan = p,
                         .index = place->index,
                         .root = place->root,
                         .up = *up,
                         .job_fd = -1,
                         .stdin_fd = place->stdin_fd,
                         .mask = *place->mask,
                         .files = *place->files};
    take_ranks(&n);
    const char *failed = set_up(&n);
    if (failed) return uno_node_refuse(&n.up, n.index, failed, errno);
    n.pm = uno_pm_open(&n);
    n.watch = uno_watch_new(&n);
    start_job(&n, place);
    on_up(&n);    // what came together with the plan
    loop(&n);
    tell_fault(&n);
    if (n.up.ended || n.up.deaf || n.fault) signal_ranks(&n, SIGKILL);
    uno_guard_sweep(n.sigfd, reap, &n);
    for (int i = 0; i < n.nlocal; i++) {
        pass_output(&n, i, 0, DRAIN_BYTES);
        pass_output(&n, i, 1, DRAIN_BYTES);
    }
    return leave(&n.up, n.index);
}
