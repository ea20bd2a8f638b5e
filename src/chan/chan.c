// SPDX-License-Identifier: BSD-3-Clause
// The list of channels, in the order in which they are asked for a peer. Called by core (open, close, progress) and p2p
// (connect).
#include "chan/chan.h"

#include <mpi.h>
#include <string.h>

#include "base/component.h"
#include "base/fail.h"
#include "base/param.h"
#include "base/pm.h"
#include "chan/access.h"
#include "chan/alike.h"
#include "chan/door.h"
#include "chan/proc.h"
#include "chan/self.h"

extern struct uno_chan uno_self, uno_shm, uno_ofi, uno_tcp;
const struct uno_access_ops *uno_access;

// Those that are built in; the list adds what is loaded, and has the order of priorities.
static struct uno_chan *const own[] = {&uno_self, &uno_shm, &uno_ofi, &uno_tcp};
#define OWN ((int)(sizeof own / sizeof own[0]))
static struct uno_chan foreign[UNO_CHANNELS - OWN];
static struct uno_chan *known[UNO_CHANNELS];
static struct uno_found *origin[UNO_CHANNELS];    // of each
static int known_count;

static struct uno_param wanted =
    UNO_PARAM_TEXT("chan", "", "channels to use, separated by commas (self is always there); empty: all but ofi");
UNO_PARAM_DECLARE(wanted);

static struct uno_chan *usable[UNO_CHANNELS];
static int usable_count;

static int job_rank(void)
{
    return uno_chan_self.proc;
}

static int job_size(void)
{
    return uno_chan_self.nprocs;
}

static uint64_t job_number(void)
{
    return uno_chan_self.job->job_id;
}

static bool is_near(int proc)
{
    return uno_local_of(proc) >= 0;
}

static void ring(int proc)
{
    int local = uno_local_of(proc);
    if (local >= 0) uno_door_ring(uno_job_door(uno_chan_self.job, (uint32_t)local));
}

static const struct uno_channel_host host = {.deliver = uno_deliver,
                                             .deliver_into = uno_deliver_into,
                                             .done = uno_direct_done,
                                             .returned = uno_send_returned,
                                             .pack = uno_pack,
                                             .lost = uno_link_lost,
                                             .rank = job_rank,
                                             .size = job_size,
                                             .job = job_number,
                                             .near = is_near,
                                             .ring = ring,
                                             .put = uno_pm_put,
                                             .get = uno_pm_get};
// The list, once: the built-in ones have memory of their own, which their sends name.
static int find_all(void)
{
    size_t n;
    struct uno_found *all = uno_components_all(&n);
    int taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is || all[i].is->kind != UNO_COMPONENT_CHANNEL) continue;
        struct uno_chan *c = NULL;
        for (int k = 0; k < OWN; k++)
            if (own[k]->is == all[i].is) c = own[k];
        if (!c && taken == UNO_CHANNELS - OWN)
            return uno_fail(MPI_ERR_OTHER, "there are more than %d channels from component_path", UNO_CHANNELS - OWN);
        if (!c) {
            c = &foreign[taken++];
            *c = (struct uno_chan){.ops = all[i].is->table, .is = all[i].is};
        }
        c->index = known_count;
        origin[known_count] = &all[i];
        known[known_count++] = c;
    }
    return MPI_SUCCESS;
}

static int is_wanted(const struct uno_component *is)
{
    if (is->can & UNO_CAN_ALWAYS) return 1;
    if (!wanted.text[0]) return !(is->can & UNO_CAN_ON_REQUEST);
    const char *name = is->name;
    size_t n = strlen(name);
    for (const char *p = wanted.text; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == 0)) return 1;
    return 0;
}

static const char *is_chosen(const struct uno_component *c, bool *is)
{
    *is = is_wanted(c);
    if (c->can & UNO_CAN_ALWAYS) return "always";
    if (*is) return wanted.text[0] ? "the parameter chan lists it" : "by its priority";
    return "only where the parameter chan lists it";
}

static const struct uno_services services = {.kind = UNO_COMPONENT_CHANNEL, .table = &host, .chosen = is_chosen};
UNO_SERVICES_DECLARE(services);

static int check_names(void)
{
    const char *names[UNO_CHANNELS];
    for (int i = 0; i < known_count; i++) names[i] = known[i]->is->name;
    for (const char *p = wanted.text; *p;) {
        size_t n = strcspn(p, ",");
        int found = 0;
        for (int i = 0; i < known_count; i++) found |= strlen(names[i]) == n && strncmp(names[i], p, n) == 0;
        if (n && !found) {
            char word[32] = "";
            memcpy(word, p, n < sizeof word - 1 ? n : sizeof word - 1);
            const char *near = uno_nearest(word, names, (size_t)known_count);
            return uno_fail(MPI_ERR_ARG, "parameter chan: no channel is called '%s'%s%s", word,
                            near ? "; nearest: " : "", near ? near : "");
        }
        p += n + (p[n] == ',');
    }
    return MPI_SUCCESS;
}

// Those of third parties decline by their components, which was told; the own ones do so by their tables.
static bool is_own(const struct uno_chan *c)
{
    return c < foreign || c >= foreign + UNO_CHANNELS - OWN;
}

static bool can_open(const struct uno_chan *c)
{
    return is_own(c) || uno_component_usable(origin[c->index]);
}

// Opens what is wanted and not open so far; the usable ones stay in the order in which they are asked.
static int open_wanted(void)
{
    int err = MPI_SUCCESS;
    usable_count = 0;
    for (int i = 0; i < known_count && !err; i++) {
        struct uno_chan *c = known[i];
        if (!c->usable && is_wanted(c->is) && can_open(c)) {
            err = c->ops->open(c);
            c->usable = err == MPI_SUCCESS;
            if (err == UNO_DECLINED) err = MPI_SUCCESS;
        }
        if (!c->usable) continue;
        usable[usable_count++] = c;
        if (c->is->can & UNO_CAN_SHARE) uno_chan_self.shares = true;
    }
    return err;
}

// Every rank of the job is in reach of some channel. One that is not would be found by a send; a receive would wait.
static int check_reach(void)
{
    int here = (int)uno_chan_self.nlocal;
    bool near = here == 1, far = here == uno_chan_self.nprocs;
    for (int i = 0; i < usable_count; i++) {
        uint32_t can = usable[i]->is->can;
        near |= !(can & UNO_CAN_ALWAYS);
        far |= !(can & (UNO_CAN_ALWAYS | UNO_CAN_SHARE));
    }
    if (near && far) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "no channel reaches the other %s (parameter chan = '%s')", near ? "hosts" : "ranks",
                    wanted.text);
}

int uno_chan_open_all(void)
{
    uno_components_open(UNO_COMPONENTS_ALIKE, uno_chan_self.local != 0);
    int err = known_count ? MPI_SUCCESS : find_all();
    if (!err) err = uno_alike_check();
    if (!err) err = check_names();
    if (!err) err = uno_door_open();
    if (!err) err = open_wanted();
    return err ? err : check_reach();
}

// Those that are open already and reach further now.
static int open_further(void)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < known_count && !err; i++)
        if (known[i]->usable && known[i]->is->can & UNO_CAN_FAR) err = known[i]->ops->open(known[i]);
    return err;
}

int uno_chan_open_guests(bool far)
{
    bool further = far && !uno_chan_self.far;
    if (uno_chan_self.guests && !further) return MPI_SUCCESS;
    uno_chan_self.guests = true;
    uno_chan_self.far |= far;
    int err = further ? open_further() : MPI_SUCCESS;
    if (!err) err = open_wanted();
    if (err && further) uno_chan_self.far = false;    // another meeting tries again
    return err;
}

int uno_chan_connect(int proc, struct uno_link **link)
{
    for (int i = 0; i < usable_count; i++) {
        if (uno_proc_is_guest(proc) && !(usable[i]->is->can & UNO_CAN_MEET)) continue;
        int err = usable[i]->ops->connect(usable[i], proc, link);
        if (err != UNO_DECLINED) return err;
    }
    return uno_fail(MPI_ERR_INTERN, "no channel reaches rank %d%s (parameter chan = '%s')", uno_proc_rank(proc),
                    uno_proc_is_guest(proc) ? " of another job" : "", wanted.text);
}

int uno_chan_poll_all(int budget)
{
    int n = 0;
    for (int i = 1; i < usable_count; i++) n += usable[i]->ops->poll(usable[i], budget);    // self has nothing to poll
    return n;
}

void uno_chan_leave(int proc)
{
    struct uno_proc *p = uno_proc_of(proc);
    for (int i = 0; i < known_count; i++)
        if (p->link[i]) known[i]->ops->leave(p->link[i]);
    uno_proc_settle(proc);
}

struct uno_chan *const *uno_chan_usable(int *count)
{
    *count = usable_count;
    return usable;
}

void uno_chan_close_all(void)
{
    for (int i = 0; i < known_count; i++) {
        if (is_own(known[i]) || origin[i]->state == UNO_FOUND_OPEN) known[i]->ops->close(known[i]);
        known[i]->usable = 0;
    }
    uno_components_close();
    usable_count = 0;
    uno_chan_self.shares = uno_chan_self.guests = uno_chan_self.far = false;
    uno_door_close();
}
