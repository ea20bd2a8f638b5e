// SPDX-License-Identifier: BSD-3-Clause
// What point-to-point counts of announced sends (peer.h), and the failure of a process, which tools are told.
#include "base/event.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/traffic.h"
#include "p2p/peer.h"

static struct uno_event failed = {.name = "process_failed",
                                  .help = "a process is gone, or cannot be reached any more: its rank in "
                                          "its MPI_COMM_WORLD",
                                  .elements = "rank"};
UNO_EVENT_DECLARE(failed);

void uno_send_announced(MPI_Request r)
{
    r->move.begun = uno_ticks();
}

void uno_send_ended(MPI_Request r, struct uno_link *link, enum uno_protocol by)
{
    struct uno_traffic *t = &link->chan->sent[by];
    UNO_TRAFFIC_COUNT(t, r->move.bytes);
    uno_count_add(&t->ticks, uno_ticks() - r->move.begun);
}

void uno_process_failed(int proc)
{
    uno_event_tell(&failed, (int64_t[]){uno_proc_rank(proc)});
}
