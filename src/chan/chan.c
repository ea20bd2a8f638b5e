// SPDX-License-Identifier: BSD-3-Clause
// The list of channels, in the order in which they are asked for a peer. Called by core (open, close, progress) and p2p
// (connect).
#include "chan/chan.h"

#include <mpi.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "chan/door.h"
#include "chan/proc.h"
#include "chan/self.h"

extern struct uno_chan uno_self, uno_shm, uno_tcp;

static struct uno_chan *const known[] = {&uno_self, &uno_shm, &uno_tcp};
#define KNOWN ((int)(sizeof known / sizeof known[0]))

static struct uno_param wanted =
    UNO_PARAM_TEXT("chan", "", "channels to use, separated by commas (self is always there); empty: all");
UNO_PARAM_DECLARE(wanted);

static struct uno_chan *usable[KNOWN];
static int usable_count;

static int is_wanted(const struct uno_chan_ops *ops)
{
    if (!wanted.text[0] || ops->can & UNO_CAN_ALWAYS) return 1;
    const char *name = ops->name;
    size_t n = strlen(name);
    for (const char *p = wanted.text; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == 0)) return 1;
    return 0;
}

static int check_names(void)
{
    const char *names[KNOWN];
    for (int i = 0; i < KNOWN; i++) names[i] = known[i]->ops->name;
    for (const char *p = wanted.text; *p;) {
        size_t n = strcspn(p, ",");
        int found = 0;
        for (int i = 0; i < KNOWN; i++) found |= strlen(names[i]) == n && strncmp(names[i], p, n) == 0;
        if (n && !found) {
            char word[32] = "";
            memcpy(word, p, n < sizeof word - 1 ? n : sizeof word - 1);
            const char *near = uno_nearest(word, names, KNOWN);
            return uno_fail(MPI_ERR_ARG, "parameter chan: no channel is called '%s'%s%s", word,
                            near ? "; nearest: " : "", near ? near : "");
        }
        p += n + (p[n] == ',');
    }
    return MPI_SUCCESS;
}

_Static_assert(KNOWN == UNO_CHANNELS, "an entry of a process has a place for each channel");

// Opens what is wanted and not open so far; the usable ones stay in the order in which they are asked.
static int open_wanted(void)
{
    int err = MPI_SUCCESS;
    usable_count = 0;
    for (int i = 0; i < KNOWN && !err; i++) {
        struct uno_chan *c = known[i];
        c->index = i;
        if (!c->usable && is_wanted(c->ops)) {
            err = c->ops->open(c);
            c->usable = err == MPI_SUCCESS;
            if (err == UNO_DECLINED) err = MPI_SUCCESS;
        }
        if (!c->usable) continue;
        usable[usable_count++] = c;
        if (c->ops->can & UNO_CAN_SHARE) uno_chan_self.shares = true;
    }
    return err;
}

int uno_chan_open_all(void)
{
    int err = check_names();
    if (!err) err = uno_door_open();
    return err ? err : open_wanted();
}

int uno_chan_open_guests(void)
{
    if (uno_chan_self.guests) return MPI_SUCCESS;
    uno_chan_self.guests = true;
    return open_wanted();
}

int uno_chan_connect(int proc, struct uno_link **link)
{
    for (int i = 0; i < usable_count; i++) {
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
    for (int i = 0; i < KNOWN; i++)
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
    for (int i = 0; i < KNOWN; i++) {
        known[i]->ops->close(known[i]);
        known[i]->usable = 0;
    }
    usable_count = 0;
    uno_chan_self.shares = uno_chan_self.guests = false;
    uno_door_close();
}
