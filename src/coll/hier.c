// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator share a host (hier.h), found once. The builders are in hier_build.c. Called by coll.c.
#include "coll/hier.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/param.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/construct.h"
#include "coll/segment.h"
#include "p2p/fail.h"
#include "p2p/place.h"

static struct uno_param enabled =
    UNO_PARAM_BOOL("coll_hier", 1, "collectives over hosts: inside each host first, then between one rank per host");
UNO_PARAM_DECLARE(enabled);

static bool may_span(const struct MPI_ABI_Comm *c)
{
    if (!enabled.num || c->inter || c->size < 3 || uno_agree_on()) return false;
    return uno_places_differ(c);
}

// Fills place, member, first from the host of each rank.
static void lay_out_hosts(struct uno_hier *h, int size)
{
    for (int r = 0; r < size; r++) {
        if (h->host[r] == h->hosts) h->hosts++;
        h->place[r] = h->first[h->host[r] + 1]++;
    }
    for (int i = 0; i < h->hosts; i++) h->first[i + 1] += h->first[i];
    h->blocks = true;
    for (int r = 0; r < size; r++) {
        int at = h->first[h->host[r]] + h->place[r];
        h->member[at] = r;
        if (at != r) h->blocks = false;
    }
}

static int make_node(struct MPI_ABI_Comm *c, struct uno_hier *h)
{
    int from = h->first[h->mine], n = h->first[h->mine + 1] - from;
    int *proc = malloc((size_t)n * sizeof *proc);
    if (!proc) return uno_fail(MPI_ERR_NO_MEM, "no memory for the ranks of a host");
    for (int i = 0; i < n; i++) proc[i] = c->group->proc[h->member[from + i]];
    struct MPI_ABI_Group *g = uno_group_make(n, proc);
    free(proc);
    if (!g) return uno_fail(MPI_ERR_NO_MEM, "no memory for the ranks of a host");
    int err = uno_comm_create(c, g, &h->node);
    uno_group_drop(g);
    if (!err) uno_comm_tie(h->node, c);
    if (!err) h->node->freed = true;    // no handle of the user's: not missed at the end
    return err;
}

void uno_hier_free(struct uno_hier *h)
{
    if (!h) return;
    if (h->node) uno_comm_drop(h->node);
    free(h);
}

// All tables in one block behind the struct.
static struct uno_hier *new_hier(size_t size)
{
    struct uno_hier *h = calloc(1, sizeof *h + (4 * size + 1) * sizeof(int));
    if (!h) return NULL;
    h->host = (int *)(h + 1);
    h->place = h->host + size;
    h->member = h->place + size;
    h->first = h->member + size;
    return h;
}

static int settle_layout(struct MPI_ABI_Comm *c, struct uno_hier **out)
{
    size_t size = (size_t)c->size;
    struct uno_hier *h = new_hier(size);
    int err = h ? uno_places(c, h->host) : uno_fail(MPI_ERR_NO_MEM, "no memory for the hosts of %d ranks", c->size);
    if (!err) {
        lay_out_hosts(h, c->size);
        h->mine = h->host[c->rank];
        if (h->hosts > 1 && h->hosts < c->size) err = make_node(c, h);
    }
    if (!err && h->node) {
        *out = h;
        uno_log(2, "%s: collectives over %d hosts, %d ranks on this one", c->name, h->hosts, h->node->size);
    } else {
        uno_hier_free(h);
    }
    return err;
}

struct uno_hier *uno_hier_get(struct MPI_ABI_Comm *comm, bool settle, int *err)
{
    struct uno_coll *u = uno_coll_of(comm, err);
    if (!u) return NULL;
    if (u->hier_known) return u->hier;
    if (!settle || !may_span(comm)) return NULL;
    *err = settle_layout(comm, &u->hier);
    u->hier_known = !*err;
    return *err ? NULL : u->hier;
}
