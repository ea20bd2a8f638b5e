// SPDX-License-Identifier: BSD-3-Clause
// Spawns processes, and connects spawned ones to their parents (spawn.h).
// The root opens a port and all members begin to wait there before mpiexec is asked, so that one wait hears both the
// new processes and mpiexec: should they end before they are initialised, or not start at all, the meeting is
// cancelled. Then the root tells the members how it went.
#include "dpm/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pm.h"
#include "core/info.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/world.h"
#include "dpm/dpm.h"
#include "dpm/launcher.h"
#include "dpm/request.h"
#include "dpm/sock.h"
#include "p2p/team.h"
#include "p2p/p2p.h"

// What the root tells the members; behind it lie, for each command, how many processes were asked for and started.
struct outcome {
    int mpi_class, count;
    char why[512];
};

struct spawning {
    struct uno_pm_call call;
    MPI_Request meeting;
    bool asked;
    char port[MPI_MAX_PORT_NAME];
};

// ---- hearing mpiexec ----

static int listeners;    // spawns that wait for it
static bool deaf;        // its socket broke

static void hear_launcher(struct dpm_sock *s)
{
    if (uno_pm_hear(false) == 0) return;
    deaf = true;
    dpm_sock_watch(s, false);
}

static struct dpm_sock launcher = {.ready = hear_launcher};

static void listen_to_launcher(bool on)
{
    listeners += on ? 1 : -1;
    launcher.fd = uno_pm_descriptor();
    if (listeners == (on ? 1 : 0)) dpm_sock_watch(&launcher, on && !deaf);
}

// ---- the request ----

static void add_info(struct dpm_words *w, const struct MPI_ABI_Info *info)
{
    for (const struct uno_info_pair *p = info ? info->first : NULL; p; p = p->next) {
        dpm_words_add(w, "info");
        dpm_words_add(w, p->key);
        dpm_words_add(w, p->value);
    }
}

static void add_command(struct dpm_words *w, const struct uno_spawn_command *c)
{
    char number[16];
    snprintf(number, sizeof number, "%d", c->maxprocs);
    dpm_words_add(w, "command");
    dpm_words_add(w, c->command);
    dpm_words_add(w, "count");
    dpm_words_add(w, number);
    for (char **a = c->argv; a && *a; a++) {
        dpm_words_add(w, "arg");
        dpm_words_add(w, *a);
    }
    add_info(w, c->info);
}

static int ask(struct spawning *s, const struct uno_spawn_spec *spec)
{
    struct dpm_words w = {0};
    char *dir = getcwd(NULL, 0);
    dpm_words_add(&w, "spawn");
    dpm_words_add(&w, "dir");
    dpm_words_add(&w, dir ? dir : "/");
    dpm_words_add(&w, "port");
    dpm_words_add(&w, s->port);
    for (int i = 0; i < spec->count; i++) add_command(&w, &spec->command[i]);
    free(dir);
    int err = w.failed ? uno_fail(MPI_ERR_NO_MEM, "no memory for a request to mpiexec") : MPI_SUCCESS;
    errno = err ? 0 : uno_pm_begin(&s->call, w.text, w.bytes);
    if (errno == EMSGSIZE) err = uno_fail(MPI_ERR_SPAWN, "the arguments are longer than %d bytes", UNO_PM_REQUEST_MAX);
    if (!err && errno) err = uno_fail_errno(MPI_ERR_SPAWN, "ask mpiexec for processes");
    dpm_words_free(&w);
    s->asked = !err;
    return err;
}

// ---- the root's part ----

static bool is_decided(void *arg)
{
    const struct spawning *s = arg;
    if (deaf || (s->call.answered && s->call.mpi_class)) return true;
    return uno_request_is_done(s->meeting) || (s->call.ended && !uno_meeting_is_bound(s->meeting));
}

static void say_met(const struct spawning *s)
{
    struct uno_pm_call unanswered;
    struct dpm_words w = {0};
    char number[16];
    snprintf(number, sizeof number, "%d", s->call.ticket);
    dpm_words_add(&w, "met");
    dpm_words_add(&w, number);
    if (!w.failed && uno_pm_begin(&unanswered, w.text, w.bytes) == 0) uno_pm_finish(&unanswered);
    dpm_words_free(&w);
}

static int await(struct spawning *s)
{
    const struct uno_waiting outside = {.peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED};
    listen_to_launcher(true);
    uno_wait_until(is_decided, s, &outside);
    listen_to_launcher(false);
    // They run, so the answer is on its way.
    while (uno_request_is_done(s->meeting) && !s->call.answered && !deaf) deaf = uno_pm_hear(true) != 0;
    uno_pm_finish(&s->call);
    if (s->call.answered && s->call.mpi_class) return uno_fail(s->call.mpi_class, "%s", s->call.text);
    if (uno_request_is_done(s->meeting)) {
        say_met(s);
        return MPI_SUCCESS;
    }
    if (deaf) return uno_fail(MPI_ERR_SPAWN, "mpiexec is gone");
    return uno_fail(MPI_ERR_SPAWN, "the processes ended before they were initialised (MPI_Init)");
}

// Processes of each command that were started, from the numbers in mpiexec's answer.
static void read_started(const char *text, int count, int (*number)[2])
{
    char *at = (char *)(uintptr_t)text;
    for (int i = 0; i < count; i++) number[i][1] = (int)strtol(at, &at, 10);
}

// ---- all members ----

static void fill_codes(const struct outcome *o, int (*number)[2], int *errcodes)
{
    for (int i = 0; errcodes && i < o->count; i++) {
        for (int k = 0; k < number[i][0]; k++)
            *errcodes++ = o->mpi_class ? o->mpi_class : k < number[i][1] ? MPI_SUCCESS : MPI_ERR_SPAWN;
    }
}

// Everybody learns the root's outcome; number: at the root, NULL elsewhere.
static int tell_outcome(const struct uno_spawn_spec *spec, struct outcome *o, int (*number)[2], int *errcodes)
{
    struct uno_team team = uno_team_all(spec->comm, spec->root);
    bool root = spec->comm->rank == spec->root;
    int err = uno_team_bcast(&team, o, sizeof *o);
    int(*all)[2] = root || err ? number : malloc((size_t)o->count * sizeof *all + 1);
    if (!err && !all) err = uno_fail(MPI_ERR_NO_MEM, "no memory for the error codes of %d commands", o->count);
    team = uno_team_all(spec->comm, spec->root);
    if (!err && o->count > 0) err = uno_team_bcast(&team, all, (size_t)o->count * sizeof *all);
    if (!err) fill_codes(o, all, errcodes);
    if (!root && !err) free(all);
    if (err) return err;
    return o->mpi_class ? uno_fail(o->mpi_class, "%s", o->why) : MPI_SUCCESS;
}

static void note_failure(struct outcome *o, int err)
{
    if (o->mpi_class) return;
    o->mpi_class = err;
    snprintf(o->why, sizeof o->why, "%s", uno_fail_text());
}

static int (*numbers_of(const struct uno_spawn_spec *spec))[2]
{
    int(*number)[2] = calloc((size_t)spec->count + 1, sizeof *number);
    for (int i = 0; number && i < spec->count; i++) number[i][0] = spec->command[i].maxprocs;
    return number;
}

// Whether the new processes may come to be on another host: mpiexec knows more of them, or the user names some.
static bool may_be_far(const struct uno_spawn_spec *spec)
{
    static const char *const keys[] = {"host", "add-host", "hostfile", "add-hostfile"};
    bool far = uno_world.job->nhosts > 1;
    for (int i = 0; i < spec->count; i++) {
        const struct MPI_ABI_Info *info = spec->command[i].info;
        for (size_t k = 0; info && k < sizeof keys / sizeof keys[0]; k++) far |= uno_info_find(info, keys[k]) != NULL;
    }
    return far;
}

// The root has a port unless something is wrong already: then the meeting fails at all members.
static int open_port(struct spawning *s, const struct uno_spawn_spec *spec)
{
    if (spec->wrong) return spec->wrong;
    int err = dpm_launcher_find();
    return err ? err : uno_port_open(s->port, may_be_far(spec));
}

static int meet(struct spawning *s, const struct uno_spawn_spec *spec, struct outcome *o, MPI_Comm *out)
{
    struct uno_meeting_spec meeting = {.role = UNO_ACCEPT, .comm = spec->comm, .root = spec->root, .port = s->port};
    int err = uno_meeting_start(&meeting, out, &s->meeting);
    if (err) return err;
    if (spec->comm->rank == spec->root && !o->mpi_class) {
        err = ask(s, spec);
        if (!err) err = await(s);
        if (err) {
            note_failure(o, err);
            (void)s->meeting->ops->cancel(s->meeting);
        }
    }
    return uno_wait(&s->meeting, MPI_STATUS_IGNORE);
}

int uno_dpm_spawn(const struct uno_spawn_spec *spec, MPI_Comm *out, int *errcodes)
{
    struct spawning s = {0};
    struct outcome o = {0};
    bool root = spec->comm->rank == spec->root;
    int(*number)[2] = NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (root) {
        int err = open_port(&s, spec);
        number = numbers_of(spec);
        o.count = number ? spec->count : 0;
        if (!err && !number) err = uno_fail(MPI_ERR_NO_MEM, "no memory for %d commands", spec->count);
        if (err) note_failure(&o, err);
    }
    int err = meet(&s, spec, &o, &made);
    if (root) {
        if (err) note_failure(&o, err);
        if (!o.mpi_class) read_started(s.call.text, o.count, number);
        if (s.port[0] && uno_port_close(s.port)) uno_log(1, "MPI_Comm_spawn: %s", uno_fail_text());
    }
    err = tell_outcome(spec, &o, number, errcodes);
    free(number);
    if (!err) *out = made;
    return err;
}

int uno_dpm_meet_parents(void)
{
    const char *text = getenv(UNO_PARENT_ENV);
    char port[MPI_MAX_PORT_NAME];
    if (!text || uno_world.singleton) return MPI_SUCCESS;
    snprintf(port, sizeof port, "%s", text);
    unsetenv(UNO_PARENT_ENV);    // what this process starts has other parents
    struct uno_meeting_spec meeting = {.role = UNO_CONNECT, .comm = &uno_comm_world, .root = 0, .port = port};
    MPI_Comm parent;
    int err = uno_meeting_hold(&meeting, &parent);
    if (err) return err;
    uno_comm_parent = uno_comm(parent);
    strcpy(uno_comm_parent->name, "MPI_COMM_PARENT");
    return MPI_SUCCESS;
}
