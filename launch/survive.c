// SPDX-License-Identifier: BSD-3-Clause
// The node's part in a job that survives its ranks (node.h): tells the living ranks of this host who is dead, passes
// their votes to the front and its decisions to them. What it decides is in agree.c. Called by node.c and pm.c.
// Always holds: a rank's bit is set before the front hears of its death, so that nobody on this host can take part in a
// decision without knowing what it knew.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/bell.h"
#include "base/pm.h"
#include "tree.h"

static void ring(struct uno_node *n, int index)
{
    if (!n->rank[index].exited) uno_bell_news(uno_job_door(n->job, (uint32_t)index));
}

static void mark(struct uno_node *n, int world)
{
    if (n->nlocal == 0 || n->job == NULL || world < 0 || world >= n->plan->nranks) return;
    uint64_t bit = 1ULL << world % 64;
    // Release: pairs with the acquire in uno_ft_look; raised before the word of news.
    if (atomic_fetch_or_explicit(&uno_job_failed(n->job)[world / 64], bit, memory_order_release) & bit) return;
    for (int i = 0; i < n->nlocal; i++)
        if (!n->rank[i].exited) uno_bell_death(uno_job_door(n->job, (uint32_t)i));
}

void uno_survive_died(struct uno_node *n, int index)
{
    struct uno_board *b = uno_job_board(n->job, (uint32_t)index);
    // Acquire: pairs with the rank's release of its state.
    uint32_t state = atomic_load_explicit(&b->state, memory_order_acquire);
    if (!n->plan->survive || n->ending || state == UNO_RANK_FINALIZED || state == UNO_RANK_ABORTED) return;
    // Release: pairs with the acquire in uno_local_is_dead: all that it stored is there.
    atomic_store_explicit(&b->state, UNO_RANK_FAILED, memory_order_release);
    mark(n, n->rank[index].world);
}

// ---- messages to ranks ----

static bool send_news(struct uno_node *n, int index, const char *value, size_t bytes)
{
    struct uno_pm_head h = {.op = UNO_PM_NEWS, .value_bytes = (int)bytes};
    struct iovec part[] = {{&h, sizeof h}, {(void *)(uintptr_t)value, bytes}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
    return sendmsg(n->rank[index].pm, &m, MSG_NOSIGNAL) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void listen_for_room(struct uno_node *n, int index)
{
    const struct uno_node_rank *r = &n->rank[index];
    uno_node_listen(n, r->pm, EPOLLIN | (r->news.len ? EPOLLOUT : 0), UNO_ON_PM, index);
}

static void tell_rank(struct uno_node *n, int index, const char *value, uint32_t bytes)
{
    struct uno_node_rank *r = &n->rank[index];
    if (r->exited || r->pm < 0) return;
    if (r->news.len > 0 || !send_news(n, index, value, bytes)) {
        uno_bytes_add(&r->news, &bytes, sizeof bytes);
        uno_bytes_add(&r->news, value, bytes);
        listen_for_room(n, index);
    }
    ring(n, index);
}

void uno_survive_flush(struct uno_node *n, int index)
{
    struct uno_node_rank *r = &n->rank[index];
    if (r->news.len == 0 || r->pm < 0) return;
    while (r->news.len > 0) {
        uint32_t bytes;
        memcpy(&bytes, uno_bytes_first(&r->news), sizeof bytes);
        if (!send_news(n, index, uno_bytes_first(&r->news) + sizeof bytes, bytes)) break;
        uno_bytes_drop(&r->news, sizeof bytes + bytes);
        ring(n, index);
    }
    listen_for_room(n, index);
}

static bool is_member(const char *data, size_t bytes, int world)
{
    uint64_t word;
    size_t at = sizeof(struct uno_ballot) + (size_t)world / 64 * sizeof word;
    if (at + sizeof word > bytes) return false;
    memcpy(&word, data + at, sizeof word);
    return word >> world % 64 & 1;
}

static void tell_ranks(struct uno_node *n, const char *data, uint32_t bytes)
{
    struct uno_ballot b;
    if (bytes < sizeof b) return;
    memcpy(&b, data, sizeof b);
    for (int i = 0; i < n->nlocal; i++) {
        if (b.kind != UNO_BALLOT_DECISION || is_member(data, bytes, n->rank[i].world)) tell_rank(n, i, data, bytes);
    }
}

void uno_survive_vote(struct uno_node *n, int index, const char *ballot, size_t bytes)
{
    uno_node_tell(n, UNO_VOTE, n->rank[index].world, 0, ballot, bytes);
}

// The rank cannot be reached by another one: it is ended, and all hear of it in the usual way.
static void kill_rank(struct uno_node *n, int world)
{
    for (int i = 0; i < n->nlocal; i++) {
        const struct uno_node_rank *r = &n->rank[i];
        if (r->world == world && r->pid > 0 && !r->exited) kill(-r->pid, SIGKILL);
    }
}

bool uno_survive_frame(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    if (f->type == UNO_FAILED)
        mark(n, f->arg >= 0 && f->arg < n->plan->nranks ? (int)f->arg : -1);
    else if (f->type == UNO_NEWS)
        tell_ranks(n, data, f->bytes);
    else if (f->type == UNO_KILL)
        kill_rank(n, f->rank);
    else
        return false;
    uno_tree_down(n, f, data);
    return true;
}
