// SPDX-License-Identifier: BSD-3-Clause
// The shared file pointer (pointer.h). Called by the file object and by src/api/file_move.c.
// Always holds: whoever asks rank 0 waits for the answer, so a process has one question per file on its way.
#include "io/pointer.h"

#include "base/param.h"
#include "core/progress.h"
#include "io/file.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/team.h"

enum { ADD, SET, ANSWER };

struct note {
    uint64_t what, value;
};

// For testing what members on several hosts do.
static struct uno_param messages =
    UNO_PARAM_BOOL("file_pointer_messages", 0, "the shared file pointer by messages on one host too, as between hosts");
UNO_PARAM_DECLARE(messages);

int uno_pointer_make(struct MPI_ABI_File *f)
{
    f->word = &f->shared;
    if (f->comm->size == 1 || !uno_share_possible(f->comm, !messages.num)) return MPI_SUCCESS;
    int err = uno_share_make(f->comm, sizeof *f->word, &f->share);
    if (!err) f->word = (_Atomic uint64_t *)(void *)f->share.base;
    return err;
}

void uno_pointer_drop(struct MPI_ABI_File *f)
{
    if (f->share.base) uno_share_drop(&f->share);
}

static uint64_t apply(struct MPI_ABI_File *f, uint64_t what, uint64_t value)
{
    // Acq_rel: pairs with itself: what was written before the pointer moved is in the file for who takes it next.
    return what == ADD ? atomic_fetch_add_explicit(f->word, value, memory_order_acq_rel)
                       : atomic_exchange_explicit(f->word, value, memory_order_acq_rel);
}

static const char *deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    const struct note *n = payload;
    struct MPI_ABI_Comm *c = uno_context_find(h->ctx);
    struct MPI_ABI_File *f = c ? uno_file(c->owner) : NULL;
    if ((!f || c->broken) && uno_peers_ever_failed()) return NULL;    // it is given up, and may be closed already
    if (!f) return "a message for a file that is not open arrived";
    if ((unsigned)h->src >= (unsigned)c->size || uno_comm_proc(c, h->src) != link->proc)
        return "a message about a file came from a process that has it not";
    if (n->what == ANSWER) {
        if (!f->asking || h->src != 0) return "an answer that nobody waits for arrived";
        f->answer = n->value;
        f->answered = true;
        uno_wake_waiters();
        return NULL;
    }
    if (c->rank != 0 || n->what > SET) return "a question about a file came to the wrong rank";
    struct note back = {ANSWER, apply(f, n->what, n->value)};
    struct uno_msg m = {.kind = UNO_FILE, .src = 0, .bytes = sizeof back, .ctx = c->context, .data = &back};
    return uno_peer_answer(link, &m, NULL) ? "an answer could not be sent" : NULL;
}

static const struct uno_kind row = {.number = UNO_FILE,
                                    .name = "shared file pointer",
                                    .least = sizeof(struct note),
                                    .most = sizeof(struct note),
                                    .whole = true,
                                    .deliver = deliver};
UNO_KIND_DECLARE(row);

static bool nobody_asks(void *arg)
{
    return !((struct MPI_ABI_File *)arg)->asking;
}

static bool is_answered(void *arg)
{
    const struct MPI_ABI_File *f = arg;
    return f->answered || f->comm->broken;
}

static int ask(struct MPI_ABI_File *f, uint64_t what, uint64_t value, uint64_t *before)
{
    if (f->share.base || f->comm->rank == 0) {
        *before = apply(f, what, value);
        return MPI_SUCCESS;
    }
    struct uno_waiting why = {.comm = f->comm, .peer = 0, .tag = MPI_UNDEFINED};
    if (f->asking) uno_wait_until(nobody_asks, f, &why);
    struct uno_peer *p = uno_peer(f->comm, 0);
    if (!p) return f->comm->broken ? f->comm->broken : MPI_ERR_INTERN;
    f->asking = true;
    f->answered = false;
    struct note n = {what, value};
    struct uno_msg m = {.kind = UNO_FILE, .src = f->comm->rank, .bytes = sizeof n, .ctx = f->comm->context, .data = &n};
    int err = uno_peer_tell(p, &m, NULL);
    if (!err) uno_wait_until(is_answered, f, &why);
    if (!err && !f->answered) err = uno_fail(f->comm->broken, "a process that has the file open has failed");
    f->asking = false;
    uno_wake_waiters();
    *before = f->answer;
    return err;
}

int uno_pointer_add(struct MPI_ABI_File *f, uint64_t n, uint64_t *before)
{
    return ask(f, ADD, n, before);
}

int uno_pointer_set(struct MPI_ABI_File *f, uint64_t value)
{
    uint64_t before;
    return ask(f, SET, value, &before);
}

static int beyond(void)
{
    return uno_fail(MPI_ERR_ARG, "the access ends beyond 63 bits in the file");
}

// Back again where that leads too far.
static int move_by(struct MPI_ABI_File *f, uint64_t n, uint64_t *before)
{
    int err = uno_pointer_add(f, n, before);
    if (err || n <= INT64_MAX - *before) return err;
    uint64_t undone;
    err = uno_pointer_add(f, -n, &undone);
    return err ? err : beyond();
}

int uno_pointer_order(struct MPI_ABI_File *f, int err, uint64_t n, uint64_t *before)
{
    struct uno_file_turn *all = f->turn;
    struct uno_team team = uno_team_all(f->comm, 0);
    all[f->comm->rank] = (struct uno_file_turn){.bytes = n, .err = uno_file_worst(f, err)};
    int lost = uno_team_gather(&team, all, sizeof *all);
    if (!lost && f->comm->rank == 0) {
        uint64_t sum = 0, begin = 0;
        int64_t worst = 0;
        bool fits = true;
        for (int r = 0; r < f->comm->size; r++) {
            fits = fits && !__builtin_add_overflow(sum, all[r].bytes, &sum);
            if (all[r].err > worst) worst = all[r].err;
        }
        if (!worst) {
            err = fits ? move_by(f, sum, &begin) : beyond();
            worst = uno_file_worst(f, err);
        }
        for (int r = 0; r < f->comm->size; r++) {
            all[r].err = worst;
            all[r].begin = begin;
            begin += all[r].bytes;
        }
    }
    if (!lost) lost = uno_team_bcast(&team, all, (size_t)f->comm->size * sizeof *all);
    if (err || lost) return err ? err : lost;
    if (all[0].err) return uno_file_verdict(f, all[0].err);
    *before = all[f->comm->rank].begin;
    return MPI_SUCCESS;
}
