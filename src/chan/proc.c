// SPDX-License-Identifier: BSD-3-Clause
// The table of processes of other jobs (proc.h), in chunks that stay where they are. Called by groups (core/group.c),
// by what meets processes (dpm, coll/intercomm.c) and by the channels that reach them.
#include "chan/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/component.h"
#include "base/hex.h"
#include "base/invariant.h"
#include "base/machine.h"
#include "chan/chan.h"
#include "chan/home.h"

#define CHUNK 64
#define CHUNKS 1024    // more processes than one that all talk to could keep connections to

static struct uno_proc *chunk[CHUNKS];
static int entries;    // those ever used: below chunks * CHUNK
static int guests;     // taken
static struct uno_card own;
static bool own_known;

struct uno_proc *uno_proc_of(int proc)
{
    int i = proc - uno_chan_self.nprocs;
    uno_assert(i >= 0 && i < entries);
    return &chunk[i / CHUNK][i % CHUNK];
}

int uno_proc_guests(void)
{
    return guests;
}

void uno_proc_each(void (*fn)(int proc, struct uno_proc *p))
{
    for (int i = 0; i < entries; i++) {
        struct uno_proc *p = &chunk[i / CHUNK][i % CHUNK];
        if (p->used) fn(uno_chan_self.nprocs + i, p);
    }
}

int uno_proc_find(uint64_t job, int rank)
{
    if (job == uno_chan_self.job->job_id) return rank >= 0 && rank < uno_chan_self.nprocs ? rank : -1;
    for (int i = 0; i < entries; i++) {
        const struct uno_proc *p = &chunk[i / CHUNK][i % CHUNK];
        if (p->used && p->card.rank == rank && p->card.job == job) return uno_chan_self.nprocs + i;
    }
    return -1;
}

static int free_entry(void)
{
    for (int i = 0; i < entries && guests < entries; i++)
        if (!chunk[i / CHUNK][i % CHUNK].used) return i;
    if (entries == CHUNK * CHUNKS) return -1;
    if (!chunk[entries / CHUNK]) chunk[entries / CHUNK] = calloc(CHUNK, sizeof(struct uno_proc));
    return chunk[entries / CHUNK] ? entries++ : -1;
}

// It may have been met before other hosts came to reach it.
static void learn_net(struct uno_card *known, const struct uno_card *card)
{
    known->net_bytes = card->net_bytes;
    memcpy(known->net, card->net, sizeof known->net);
}

static const char *say_algorithms(void)
{
    const char *text = uno_components_text(1u << UNO_COMPONENT_COLLECTIVE);
    return *text ? text : "none";
}

int uno_proc_meet(const struct uno_card *card)
{
    if (card->rank < 0 || card->local < 0 || card->net_bytes > sizeof card->net)
        return uno_fail(MPI_ERR_OTHER, "the other side tells a process that cannot be"), -1;
    int proc = uno_proc_find(card->job, card->rank);
    if (proc < 0 && card->job != uno_chan_self.job->job_id) {
        if (card->algorithms != uno_components_hash(1u << UNO_COMPONENT_COLLECTIVE))
            return uno_fail(MPI_ERR_OTHER,
                            "the processes of the other job have loaded other collective algorithms than these (%s): "
                            "give both jobs the same component_path",
                            say_algorithms()),
                   -1;
        const char *strange = uno_machine_meet(card->machine, card->alike);
        if (strange) return uno_fail(MPI_ERR_OTHER, "rank %d of the other job: %s", card->rank, strange), -1;
        int i = free_entry();
        if (i < 0) return uno_fail(MPI_ERR_NO_MEM, "no room for one more process of another job"), -1;
        chunk[i / CHUNK][i % CHUNK] = (struct uno_proc){.card = *card, .used = true};
        guests++;
        proc = uno_chan_self.nprocs + i;
    }
    if (proc < 0) return uno_fail(MPI_ERR_OTHER, "the other side names a rank %d of this job", card->rank), -1;
    if (uno_proc_is_guest(proc) && card->net_bytes > 0) learn_net(&uno_proc_of(proc)->card, card);
    uno_proc_hold(proc);
    // Relaxed: our own next poll looks whether it has announced itself already.
    atomic_fetch_add_explicit(&uno_chan_self.door->fresh, 1, memory_order_relaxed);
    return proc;
}

void uno_proc_hold(int proc)
{
    if (!uno_proc_is_guest(proc)) return;
    struct uno_proc *p = uno_proc_of(proc);
    uno_assert(p->used);
    p->refs++;
    p->left = false;
}

void uno_proc_drop(int proc)
{
    if (!uno_proc_is_guest(proc)) return;
    struct uno_proc *p = uno_proc_of(proc);
    uno_assert(p->used && p->refs > 0);
    if (--p->refs > 0) return;
    p->left = true;
    uno_peer_leave(proc);
}

void uno_proc_settle(int proc)
{
    struct uno_proc *p = uno_proc_of(proc);
    if (!p->used || !p->left || p->peer) return;
    for (int i = 0; i < UNO_CHANNELS; i++)
        if (p->link[i]) return;
    if (p->home) uno_home_give(p->home);
    *p = (struct uno_proc){.used = false};
    guests--;
}

int uno_proc_rank(int proc)
{
    return uno_proc_is_guest(proc) ? uno_proc_of(proc)->card.rank : proc;
}

void uno_kernel_own(struct uno_kernel *k)
{
    struct stat numbering;
    char text[40] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    char *end = text;
    for (ssize_t i = 0; i < n; i++)    // the digits, without what stands between them
        if (uno_hex_digit(text[i]) >= 0) *end++ = text[i];
    *end = '\0';
    *k = (struct uno_kernel){.pids = stat("/proc/self/ns/pid", &numbering) == 0 ? numbering.st_ino : 0};
    if (!uno_hex_get(text, k->boot, sizeof k->boot)) memset(k->boot, 0, sizeof k->boot);
}

int uno_proc_own(struct uno_card *card)
{
    if (!own_known && getrandom(own.secret, sizeof own.secret, 0) != sizeof own.secret)
        return uno_fail_errno(MPI_ERR_OTHER, "draw a secret");
    if (!own_known) uno_kernel_own(&own.kernel);
    own_known = true;
    own.job = uno_chan_self.job->job_id;
    own.rank = uno_chan_self.proc;
    own.local = (int32_t)uno_chan_self.local;
    own.pid = getpid();
    own.fd = uno_chan_self.job_fd;
    own.host = (int32_t)uno_chan_self.job->host;
    own.machine = uno_machine_kind();
    own.alike = uno_machine_is_alike();
    own.algorithms = uno_components_hash(1u << UNO_COMPONENT_COLLECTIVE);
    // Acquire: pairs with the release of the channel that publishes them.
    own.net_bytes = atomic_load_explicit(&uno_chan_self.board->card_bytes, memory_order_acquire);
    memcpy(own.net, uno_chan_self.board->card, sizeof own.net);
    *card = own;
    return MPI_SUCCESS;
}

bool uno_proc_same_host(const struct uno_card *card)
{
    struct uno_card mine;
    return uno_proc_own(&mine) == MPI_SUCCESS && uno_kernel_same(&mine.kernel, &card->kernel);
}

// ---- those that share memory with this one ----

struct uno_home *uno_proc_home(int proc, int *error)
{
    struct uno_proc *p = uno_proc_of(proc);
    *error = 0;
    if (!p->home) p->home = uno_home_take(&p->card, error);
    return p->home;
}

bool uno_proc_is_near(int proc)
{
    int error;
    return uno_proc_is_guest(proc) ? uno_proc_home(proc, &error) != NULL : uno_local_of(proc) >= 0;
}

static uint32_t local_of(int proc)
{
    return (uint32_t)(uno_proc_is_guest(proc) ? uno_proc_of(proc)->card.local : uno_local_of(proc));
}

struct uno_job_head *uno_proc_job(int proc)
{
    return uno_proc_is_guest(proc) ? uno_proc_of(proc)->home->job : uno_chan_self.job;
}

struct uno_door *uno_proc_door(int proc)
{
    return uno_job_door(uno_proc_job(proc), local_of(proc));
}

struct uno_board *uno_proc_board(int proc)
{
    return uno_job_board(uno_proc_job(proc), local_of(proc));
}

static bool is_dead_guest(const struct uno_proc *p)
{
    return p->used && p->home && kill(p->card.pid, 0) != 0 && errno == ESRCH;
}

bool uno_proc_is_dead(int proc)
{
    return uno_proc_is_guest(proc) ? is_dead_guest(uno_proc_of(proc)) : uno_local_is_dead(uno_local_of(proc));
}

bool uno_neighbour_died(void)
{
    for (int i = 0; i < entries; i++)
        if (is_dead_guest(&chunk[i / CHUNK][i % CHUNK])) return true;
    return uno_somebody_died();
}
