// SPDX-License-Identifier: BSD-3-Clause
// Compares what the ranks of a job have loaded (alike.h). Inside a host through the place for it in the job segment,
// which belongs to whoever comes first; between hosts that rank asks mpiexec, which keeps what the first host said.
#include "chan/alike.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/component.h"
#include "base/job.h"
#include "base/patience.h"
#include "base/pm.h"
#include "chan/self.h"

enum { WRITING = 1, READY = 2 };    // beside the local index of who does, from bit 2 on

// Whether the place is this rank's. Else *state is that of READY, or of a rank that died while it wrote.
static bool take_place(struct uno_job_list *l, uint32_t *state)
{
    uint32_t mine = uno_chan_self.local << 2 | WRITING;
    *state = 0;
    // Acquire: pairs with the release in uno_alike_check of the rank that came first.
    if (atomic_compare_exchange_strong_explicit(&l->state, state, mine, memory_order_acquire, memory_order_acquire))
        return true;
    struct uno_patience p = {0};
    while (*state & WRITING && !uno_local_is_dead((int)(*state >> 2))) {
        uno_patience_copy(&p);
        *state = atomic_load_explicit(&l->state, memory_order_acquire);    // Acquire: as above
    }
    return false;
}

static int ask_mpiexec(const struct uno_component_list *own)
{
    struct uno_pm_call call;
    char words[UNO_COMPONENT_TEXT + 400];
    if (!uno_pm_there()) return MPI_SUCCESS;
    int n = snprintf(words, sizeof words, "components%c%d%c%s%c%s", 0, own->rank, 0, own->host, 0, own->text);
    errno = uno_pm_command(&call, words, (size_t)n + 1);
    if (errno) return uno_fail_errno(MPI_ERR_OTHER, "compare components with other hosts");
    return call.mpi_class ? uno_fail(call.mpi_class, "%s", call.text) : MPI_SUCCESS;
}

int uno_alike_check(void)
{
    struct uno_job_list *l = &uno_chan_self.job->components;
    char host[256] = "", why[400];
    uint32_t state;
    gethostname(host, sizeof host - 1);
    struct uno_component_list own = {uno_chan_self.proc, host, uno_components_text(UNO_COMPONENTS_ALIKE)};
    if (take_place(l, &state)) {
        l->rank = own.rank;
        snprintf(l->text, sizeof l->text, "%s", own.text);
        // Release: pairs with the acquire in take_place.
        atomic_store_explicit(&l->state, uno_chan_self.local << 2 | READY, memory_order_release);
        return uno_chan_self.job->nhosts > 1 ? ask_mpiexec(&own) : MPI_SUCCESS;
    }
    struct uno_component_list first = {l->rank, host, l->text};
    bool differ = state & READY && uno_components_differ(&own, &first, why, sizeof why);
    return differ ? uno_fail(MPI_ERR_OTHER, "%s", why) : MPI_SUCCESS;
}
