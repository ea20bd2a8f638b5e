// SPDX-License-Identifier: BSD-3-Clause
// Which layouts are copied directly between two processes, and the lists of their runs. Called by send.c and deliver.c.
// Always holds: a request has a list only while an offer or an accepted transfer needs it.
#include "p2p/direct.h"

#include <stdlib.h>

#include "base/param.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "chan/self.h"
#include "p2p/p2p.h"

// A run costs the kernel about 300 ns, shared by both ranks; the ring 80 ns a KiB (bench: ddt-lat --variant rows).
static struct uno_param run_min = UNO_PARAM_INT("direct_run", 4096, 1, 1 << 30,
                                                "bytes that the runs of a layout must have on average to be copied "
                                                "from layout to layout; below, it is packed and streamed");
UNO_PARAM_DECLARE(run_min);

bool uno_direct_worth(size_t n, size_t runs)
{
    return runs <= 1 || runs <= n / (size_t)run_min.num;
}

// A copy made just now has lines that the receiver's core may still have from when it read them last: those of the ring
// have left it before they are written again (Zen 4, 256 KiB, ps per byte: 130 in one chiplet and 500 in two for lines
// that another core has, 25 for others). Where a ring stays in the caches, such a copy costs what writing the
// ring does, and copying from it comes on top: the message goes through the ring as long as that holds two (Xeon 167,
// sendrecv-rep, us: 16 KiB 5.0 to 2.0, 128 KiB 19 to 9.8; 256 KiB 35 to 41; 4 ranks on two cores 16 KiB 15.9 to 3.8).
size_t uno_direct_least(const struct uno_link *link)
{
    if (!link->heap) return 0;
    size_t spread = uno_thresholds_spread(), ring = uno_chan_self.job->pair_bytes;
    if (spread) return spread;
    return (ring < UNO_PAIR_BYTES ? ring : UNO_PAIR_BYTES) / 2;
}

// Longer ones go in wide blocks where rings do not grow (Xeon 167, sendrecv-rep, us: 256 KiB 40 to 21, 1 MiB 212 to
// 112; 4 ranks on two cores 256 KiB 96 to 66, 1 MiB 509 to 534).
size_t uno_direct_copied_max(const struct uno_link *link)
{
    size_t least = uno_direct_least(link), wide = link->heap ? uno_chan_self.job->wide_bytes : 0;
    if (uno_thresholds_spread() || wide < least) return least ? least - 1 : 0;
    return wide;
}

// Lines of a message that its receiver has copied across are in that one's cache, too, and to write them again takes
// each of them back (Emerald Rapids, allreduce in place by doubling, us: 2 ranks 16 KiB 6.2 to 2.9, 32 KiB 10.5 to 4.4;
// 4 ranks on two cores 32 KiB 39 to 19, 64 KiB 56 to 32, 128 KiB 51 to 47, 256 KiB 67 to 72, 8 ranks 227 to 298).
size_t uno_direct_rewritten_max(const struct uno_link *link)
{
    size_t copied = link->heap ? uno_direct_copied_max(link) : 0;
    return copied < UNO_TURN_BYTES ? copied : UNO_TURN_BYTES;
}

size_t uno_direct_waited_max(const struct uno_link *link, bool in_row)
{
    if (!link->heap || uno_chan_self.nlocal > UNO_PAIR_FEW) return 0;
    return (size_t)uno_thresholds_eager_waited(&uno_thresholds, uno_patience.crowded, in_row);
}

bool uno_direct_pays(const struct MPI_ABI_Request *r, const struct uno_link *link)
{
    return r->move.mode != UNO_COPIED || r->move.bytes >= uno_direct_least(link);
}

bool uno_direct_memory(MPI_Request r, size_t n, struct uno_run *one, struct uno_mem *mem)
{
    *one = (struct uno_run){(char *)(uintptr_t)r->move.buf, n};
    *mem = (struct uno_mem){one, 1};
    if (!r->move.type) return true;
    size_t most = uno_packer_runs(&r->move.packer);
    if (!uno_direct_worth(r->move.room, most)) return false;
    struct uno_run *list = malloc(most * sizeof *list);
    if (!list) return false;
    *mem = (struct uno_mem){list, uno_packer_list(&r->move.packer, list)};
    r->move.runs = list;
    return true;
}

void uno_direct_forget(MPI_Request r)
{
    free(r->move.runs);
    r->move.runs = NULL;
}

bool uno_direct_withdraw(MPI_Request r, struct uno_link *link)
{
    if (r->move.direct >= 0 && !link->ops->withdraw(link, &(struct uno_rts){.desc = (uint32_t)r->move.direct}))
        return false;
    r->move.direct = -1;
    uno_direct_forget(r);
    return true;
}
