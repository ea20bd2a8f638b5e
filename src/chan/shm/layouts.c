// SPDX-License-Identifier: BSD-3-Clause
// Direct copies between layouts: what each side keeps of a descriptor whose memory is a list of runs on either end, and
// the copy itself, many runs per system call. Called by direct.c. Always holds: a list of the peer's is a copy, made
// when the transfer was agreed on; the peer changes its own only after the end.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/uio.h>

#include "chan/self.h"
#include "chan/shm/ring.h"

#define RUNS_PER_CALL 256    // which move at least half a megabyte, while the lists stay in the first cache

bool shm_copy_plain(int pid, void *mine, void *theirs, size_t n, bool reading)
{
    struct iovec here = {mine, n}, there = {theirs, n};
    ssize_t got =
        reading ? process_vm_readv(pid, &here, 1, &there, 1, 0) : process_vm_writev(pid, &here, 1, &there, 1, 0);
    return got == (ssize_t)n;
}

bool shm_layouts_begin(struct shm_link *l, int i, const struct uno_mem *mem)
{
    if (!l->layouts) l->layouts = calloc(2 * SHM_DESCS, sizeof *l->layouts);
    if (!l->layouts) return false;
    struct shm_layouts *y = &l->layouts[i];
    *y = (struct shm_layouts){.one = *mem->run, .nmine = mem->runs};
    y->mine = mem->runs > 1 ? mem->run : &y->one;
    return true;
}

bool shm_layouts_begun(const struct shm_link *l, int i)
{
    return l->layouts && l->layouts[i].nmine;
}

bool shm_layouts_fetch(struct shm_link *l, int i, const struct uno_rts *from)
{
    struct shm_layouts *y = &l->layouts[i];
    size_t n = from->direct;
    void *there = (void *)(uintptr_t)from->addr;
    struct uno_run *list = malloc(n * sizeof *list);
    if (!list) return false;
    *list = (struct uno_run){there, from->bytes};
    if (n > 1 &&
        !shm_copy_plain(uno_job_board(uno_chan_self.job, l->local)->pid, list, there, n * sizeof *list, true)) {
        free(list);
        return false;
    }
    y->theirs = list;
    y->ntheirs = n;
    return true;
}

const struct shm_layouts *shm_layouts_of(const struct shm_link *l, int i)
{
    return l->layouts && l->layouts[i].theirs ? &l->layouts[i] : NULL;
}

void shm_layouts_forget(struct shm_link *l, int i)
{
    if (!shm_layouts_begun(l, i)) return;
    free(l->layouts[i].theirs);
    l->layouts[i] = (struct shm_layouts){.nmine = 0};
}

// A place in a list of runs: byte `at` of the message, `in` of the run.
struct cursor {
    const struct uno_run *run;
    size_t at, in;
};

static struct cursor cursor_at(const struct uno_run *run, size_t n, size_t at)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (run[middle].end > at)
            high = middle;
        else
            low = middle + 1;
    }
    return (struct cursor){run + low, at, at - (low ? run[low - 1].end : 0)};
}

// n bytes from the cursor on, inside its run, go to the end of the list v.
static void take(struct cursor *c, size_t n, struct iovec *v, int *count)
{
    char *at = c->run->at + c->in;
    struct iovec *last = *count ? &v[*count - 1] : NULL;
    if (last && (char *)last->iov_base + last->iov_len == at)
        last->iov_len += n;
    else
        v[(*count)++] = (struct iovec){at, n};
    c->at += n;
    c->in += n;
    if (c->at < c->run->end) return;
    c->run++;
    c->in = 0;
}

bool shm_copy_layouts(int pid, const struct shm_layouts *y, size_t at, size_t n, bool reading)
{
    struct iovec mine[RUNS_PER_CALL], theirs[RUNS_PER_CALL];
    struct cursor m = cursor_at(y->mine, y->nmine, at), t = cursor_at(y->theirs, y->ntheirs, at);
    for (size_t bytes; n > 0; n -= bytes) {
        int nm = 0, nt = 0;
        for (bytes = 0; bytes < n && nm < RUNS_PER_CALL && nt < RUNS_PER_CALL;) {
            size_t k = n - bytes;
            if (k > m.run->end - m.at) k = m.run->end - m.at;
            if (k > t.run->end - t.at) k = t.run->end - t.at;
            take(&m, k, mine, &nm);
            take(&t, k, theirs, &nt);
            bytes += k;
        }
        ssize_t got = reading ? process_vm_readv(pid, mine, (unsigned long)nm, theirs, (unsigned long)nt, 0)
                              : process_vm_writev(pid, mine, (unsigned long)nm, theirs, (unsigned long)nt, 0);
        if (got != (ssize_t)bytes) return false;
    }
    return true;
}
