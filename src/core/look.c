// SPDX-License-Identifier: BSD-3-Clause
// Looks of a program that wants to go on meanwhile (progress.h). Called by the entry points.
#include "base/patience.h"
#include "base/wait.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/waiting.h"
#include "core/world.h"

// A program that looks in vain twice within that time does nothing else in between.
#define AGAIN_US 10

static struct {
    struct uno_patience p;
    uint64_t last, until;    // look in vain; they go on in any case until then; ticks
    bool again;              // nothing has come since
} looks;

static void look_in_vain(const struct uno_waiting *what)
{
    uint64_t now = uno_ticks();
    bool again = looks.again && now - looks.last < AGAIN_US * uno_ticks_per_us();
    looks.last = now;
    if (again && (now < looks.until || uno_patience_spin(&looks.p))) return;
    looks.p.yields = 0;
    if (again && uno_patience_yield(&looks.p)) {
        uno_lock_give_core();
        uno_progress();
    }
    looks.again = true;
    looks.p = (struct uno_patience){0};
    looks.until = uno_waiting_looks(what, &looks.p);
    looks.last = uno_ticks();
    looks.until += looks.last;
}

void uno_look(const struct uno_waiting *what)
{
    if (uno_progress())
        looks.again = false;
    else if (uno_patience.crowded)
        look_in_vain(what);
}

void uno_look_for(MPI_Request r)
{
    uno_look(&(struct uno_waiting){r->comm, r->rank, r->tag, true});
}
