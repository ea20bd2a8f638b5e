// SPDX-License-Identifier: BSD-3-Clause
// Keeps and serves the keys of a node's ranks (pm.h). One request of a rank is under way at a time, so nothing needs a
// queue. A rank's answers fit its socket's buffer; if a write fails, the rank is gone and its end is reported
// elsewhere.
#include "pm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/pm.h"
#include "tree.h"

struct entry {
    struct entry *next;
    int rank;
    char *key;
    struct uno_bytes value;
};

// Somebody waits for a key: local rank `asker` of host `host`.
struct wish {
    struct wish *next;
    int rank, host;
    int64_t asker;
    char *key;
};

struct uno_pm {
    struct entry *entries;
    struct wish *wishes;
    int in_fence, below_in_fence;
    bool *fenced;    // by local rank
};

struct uno_pm *uno_pm_open(struct uno_node *n)
{
    struct uno_pm *pm = uno_xalloc(sizeof *pm);
    pm->fenced = uno_xalloc((size_t)n->nlocal * sizeof *pm->fenced);
    return pm;
}

int uno_pm_connect(struct uno_node *n, int index)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return -1;
    n->rank[index].pm = pair[0];
    uno_nonblock(pair[0], true);
    if (uno_node_listen(n, pair[0], EPOLLIN, UNO_ON_PM, index)) return pair[1];
    close(pair[1]);
    return -1;
}

static void send_answer(struct uno_node *n, int index, const struct uno_pm_head *h, const void *value)
{
    struct iovec part[] = {{(void *)(uintptr_t)h, sizeof *h}, {(void *)(uintptr_t)value, (size_t)h->value_bytes}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
    if (index >= 0 && index < n->nlocal) (void)!sendmsg(n->rank[index].pm, &m, MSG_NOSIGNAL);
}

static void answer(struct uno_node *n, int index, enum uno_pm_op op, const void *value, size_t bytes)
{
    struct uno_pm_head h = {.op = (int)op, .value_bytes = (int)bytes};
    send_answer(n, index, &h, value);
}

// rank -1 in an answer: there is a value; -2: the key's owner is gone.
static void deliver(struct uno_node *n, int host, int64_t asker, const struct entry *e)
{
    struct uno_frame f = {
        .bytes = (uint32_t)e->value.len, .type = UNO_PM_VALUE, .rank = -1, .node = host, .arg = asker};
    uno_tree_route(n, &f, uno_bytes_first(&e->value));
}

void uno_pm_refuse(struct uno_node *n, int host, int64_t asker)
{
    struct uno_frame f = {.type = UNO_PM_VALUE, .rank = -2, .node = host, .arg = asker};
    uno_tree_route(n, &f, NULL);
}

static struct entry *find(const struct uno_pm *pm, int rank, const char *key)
{
    for (struct entry *e = pm->entries; e != NULL; e = e->next) {
        if (e->rank == rank && strcmp(e->key, key) == 0) return e;
    }
    return NULL;
}

// Answers the ranks that wait for a key of that rank: with the entry, or, where e is NULL, that none of its keys will
// come.
static void settle_wishes(struct uno_node *n, int rank, const struct entry *e)
{
    for (struct wish **at = &n->pm->wishes; *at != NULL;) {
        struct wish *w = *at;
        if (w->rank != rank || (e != NULL && strcmp(w->key, e->key) != 0)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        if (e != NULL)
            deliver(n, w->host, w->asker, e);
        else
            uno_pm_refuse(n, w->host, w->asker);
        free(w->key);
        free(w);
    }
}

void uno_pm_gone(struct uno_node *n, int rank)
{
    settle_wishes(n, rank, NULL);
}

static void put(struct uno_node *n, int rank, const char *key, const void *value, size_t bytes)
{
    struct entry *e = find(n->pm, rank, key);
    if (e == NULL) {
        e = uno_xalloc(sizeof *e);
        *e = (struct entry){.next = n->pm->entries, .rank = rank, .key = uno_xstrdup(key)};
        n->pm->entries = e;
    }
    uno_bytes_drop(&e->value, e->value.len);
    uno_bytes_add(&e->value, value, bytes);
    settle_wishes(n, rank, e);
}

static bool has_ended(const struct uno_node *n, int rank)
{
    for (int i = 0; i < n->nlocal; i++) {
        if (n->rank[i].world == rank) return n->rank[i].exited;
    }
    return true;
}

// The key is one of a rank of this host's.
static void look_up(struct uno_node *n, int rank, const char *key, int host, int64_t asker)
{
    const struct entry *e = find(n->pm, rank, key);
    if (e != NULL) {
        deliver(n, host, asker, e);
        return;
    }
    if (has_ended(n, rank)) {
        uno_pm_refuse(n, host, asker);
        return;
    }
    struct wish *w = uno_xalloc(sizeof *w);
    *w = (struct wish){.next = n->pm->wishes, .rank = rank, .host = host, .asker = asker, .key = uno_xstrdup(key)};
    n->pm->wishes = w;
}

// A question carries the asking host before the key.
static void ask(struct uno_node *n, int index, int rank, const char *key)
{
    struct uno_bytes b = {0};
    if (rank < 0 || rank >= n->plan->nranks) return;
    uno_bytes_add(&b, &n->index, sizeof n->index);
    uno_bytes_add(&b, key, strlen(key) + 1);
    struct uno_frame f = {
        .bytes = (uint32_t)b.len, .type = UNO_PM_GET, .rank = rank, .node = n->plan->rank_host[rank], .arg = index};
    uno_tree_route(n, &f, uno_bytes_first(&b));
    uno_bytes_free(&b);
}

void uno_pm_frame(struct uno_node *n, const struct uno_frame *f, const char *data)
{
    int host;
    if (f->type == UNO_ANSWER || f->type == UNO_ENDED) {
        struct uno_pm_head h = {.op = f->type == UNO_ANSWER ? UNO_PM_REQUEST : UNO_PM_ENDED,
                                .value_bytes = (int)f->bytes,
                                .more = f->rank,
                                .ticket = (int)(f->arg >> 32)};
        send_answer(n, (int32_t)f->arg, &h, data);
    } else if (f->type == UNO_PM_VALUE) {
        answer(n, (int)f->arg, f->rank == -1 ? UNO_PM_ASK : UNO_PM_NONE, data, f->bytes);
    } else if (f->bytes > sizeof host && data[f->bytes - 1] == '\0') {
        memcpy(&host, data, sizeof host);
        look_up(n, f->rank, data + sizeof host, host, f->arg);
    }
}

void uno_pm_fence_over(struct uno_node *n)
{
    struct uno_frame f = {.type = UNO_PM_FENCE, .rank = -1, .node = -1};
    uno_tree_down(n, &f, NULL);
    n->pm->in_fence = n->pm->below_in_fence = 0;
    for (int i = 0; i < n->nlocal; i++) {
        if (n->pm->fenced[i]) answer(n, i, UNO_PM_MEET, NULL, 0);
        n->pm->fenced[i] = false;
    }
}

static void fence_step(struct uno_node *n)
{
    if (n->pm->in_fence < n->nlocal || n->pm->below_in_fence < uno_tree_children(n->tree)) return;
    struct uno_frame f = {.type = UNO_PM_FENCE, .rank = -1, .node = -1};
    if (n->root)
        uno_pm_fence_over(n);
    else
        uno_relay_send(&n->up, &f, NULL);
}

void uno_pm_fence_below(struct uno_node *n)
{
    n->pm->below_in_fence++;
    fence_step(n);
}

// A piece of a request to the front; the front gets it whole.
static void gather(struct uno_node *n, int index, const struct uno_pm_head *h, const char *piece)
{
    struct uno_node_rank *r = &n->rank[index];
    uno_bytes_add(&r->ask, piece, (size_t)h->value_bytes);
    if (h->more > 0 && r->ask.len < UNO_PM_REQUEST_MAX) return;
    int64_t from = (int64_t)h->ticket << 32 | index;
    uno_node_tell(n, UNO_REQUEST, r->world, from, uno_bytes_first(&r->ask), r->ask.len);
    uno_bytes_free(&r->ask);
}

static void serve(struct uno_node *n, int index, const char *data, size_t bytes)
{
    struct uno_pm_head h;
    if (bytes < sizeof h) return;
    memcpy(&h, data, sizeof h);
    const char *key = data + sizeof h;
    size_t rest = bytes - sizeof h;
    if (h.key_bytes < 0 || h.value_bytes < 0 || (size_t)h.key_bytes + (size_t)h.value_bytes != rest) return;
    if (h.op != UNO_PM_MEET && (h.key_bytes < 1 || key[h.key_bytes - 1] != '\0')) return;
    if (h.op == UNO_PM_PUT) {
        put(n, n->rank[index].world, key, key + h.key_bytes, (size_t)h.value_bytes);
        answer(n, index, UNO_PM_PUT, NULL, 0);
    } else if (h.op == UNO_PM_ASK) {
        ask(n, index, h.rank, key);
    } else if (h.op == UNO_PM_VOTE) {
        uno_survive_vote(n, index, key + h.key_bytes, (size_t)h.value_bytes);
    } else if (h.op == UNO_PM_REQUEST) {
        gather(n, index, &h, key + h.key_bytes);
    } else if (h.op == UNO_PM_MEET && !n->pm->fenced[index]) {
        n->pm->fenced[index] = true;
        n->pm->in_fence++;
        fence_step(n);
    }
}

void uno_pm_request(struct uno_node *n, int index)
{
    static char data[sizeof(struct uno_pm_head) + UNO_PM_KEY_MAX + UNO_PM_VALUE_MAX];
    struct uno_node_rank *r = &n->rank[index];
    ssize_t got;
    while (r->pm >= 0 && (got = recv(r->pm, data, sizeof data, 0)) >= 0) {
        if (got > 0) {
            serve(n, index, data, (size_t)got);
            continue;
        }
        close(r->pm);
        r->pm = -1;
    }
}
