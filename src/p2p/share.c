// SPDX-License-Identifier: BSD-3-Clause
// Makes shares (share.h). Rank 0 makes a memfd and announces where it is open; the others open it through /proc, as
// they find the job segment, and check a random key in it. Where one of them may not, a share that fits lies in the
// heap of rank 0's job, which all have mapped already; one that fits a chunk of it lies there if there is one, for a
// file costs each member some system calls, and rank 0 a look at the system's memory. Called by meet.c; made for
// windows and files.
//
// Always holds: the first page is the key and the count of users, then the members' bytes.
#define _GNU_SOURCE
#include "p2p/share.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/free.h"
#include "base/job.h"
#include "base/param.h"
#include "chan/proc.h"
#include "core/world.h"
#include "p2p/place.h"
#include "p2p/team.h"

static struct uno_param by_file = UNO_PARAM_BOOL(
    "share_memfd", 1, "memory that ranks of a host share (windows, files) is a memfd; else the job's heap");
UNO_PARAM_DECLARE(by_file);

#define PAGE ((size_t)4096)
#define KEY 16

struct head {
    unsigned char key[KEY];
    _Atomic uint32_t users;    // of the heap: members that have not let go
};

// What rank 0 announces.
struct place {
    int32_t pid, fd;    // fd -1: there is none, and `error` says why
    int32_t error;      // an errno value
    int64_t first;      // chunk of the job's heap, -1
    unsigned char key[KEY];
};

static bool all_here(const struct MPI_ABI_Comm *c, const int *host)
{
    int r = 0;
    while (r < c->size && uno_place_is_here(c, host, r)) r++;
    return r == c->size;
}

// Found once per communicator. Where it fails the communicator is broken, and whatever comes next says so.
static bool all_met_here(struct MPI_ABI_Comm *c)
{
    if (c->near) return c->near > 0;
    int *host = malloc((size_t)c->size * sizeof *host);
    int err = host ? uno_places(c, host) : uno_fail(MPI_ERR_NO_MEM, "no memory for the hosts of %d ranks", c->size);
    c->near = !err && all_here(c, host) ? 1 : -1;
    free(host);
    return c->near > 0;
}

bool uno_share_possible(struct MPI_ABI_Comm *c, bool wanted)
{
    if (c->inter) return false;
    if (!uno_comm_is_mixed(c)) return wanted && all_here(c, NULL);
    struct uno_team team = uno_team_all(c, 0);
    int64_t refused = !wanted;
    return all_met_here(c) && !uno_team_most(&team, &refused) && !refused;
}

static int map_file(int fd, struct uno_share *s)
{
    void *p = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) return errno;
    madvise(p, s->mapped, MADV_DONTDUMP);
    uno_dump_keep(p, s->mapped);
    s->map = p;
    s->base = (char *)p + PAGE;
    return 0;
}

// Whether so much may be laid out: the system's memory, and the limit on files, beyond which a signal would end us.
static int may_grow(size_t bytes)
{
    struct rlimit file;
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY && bytes > file.rlim_cur) return EFBIG;
    return uno_memory_has(bytes) ? 0 : ENOMEM;
}

static int make_file(struct uno_share *s, struct place *at)
{
    int err = may_grow(s->mapped);
    if (err) return err;
    int fd = memfd_create("unisono-share", MFD_CLOEXEC);
    if (fd < 0) return errno;
    if (ftruncate(fd, (off_t)s->mapped) != 0 || getrandom(at->key, KEY, 0) != KEY) err = errno;
    if (!err) err = map_file(fd, s);
    if (err || !s->map) {    // either both or none
        close(fd);
        return err;
    }
    memcpy(((struct head *)s->map)->key, at->key, KEY);
    at->fd = fd;
    return 0;
}

static int open_file(struct uno_share *s, const struct place *at)
{
    unsigned char key[KEY];
    int fd = uno_open_of((int)at->pid, (int)at->fd);
    if (fd < 0) return errno;
    bool same = pread(fd, key, KEY, 0) == KEY && memcmp(key, at->key, KEY) == 0;
    int err = same ? map_file(fd, s) : ESTALE;
    close(fd);
    return err;
}

static void unmap(struct uno_share *s)
{
    if (s->map) munmap(s->map, s->mapped);
    s->map = NULL;
    s->base = NULL;
}

// In its heap: rank 0 takes chunks, the others know where the heap is.
static int64_t take_chunks(struct uno_share *s, int users)
{
    int64_t first = uno_job_take(s->job, s->chunks);
    if (first < 0) return first;
    struct head *h = uno_job_chunk(s->job, (size_t)first);
    // Relaxed: published by the message that names the chunk.
    atomic_store_explicit(&h->users, (uint32_t)users, memory_order_relaxed);
    return first;
}

static int refuse(const struct uno_share *s, int64_t error)
{
    errno = (int)error;
    return uno_fail_errno(MPI_ERR_NO_MEM, "share %zu bytes between the ranks of a host", s->bytes);
}

// As a memfd. *worst: 0, or the errno value of a member that could not; the same on all members.
static int share_file(struct uno_team *t, struct uno_share *s, int64_t *worst)
{
    struct place at = {.pid = getpid(), .fd = -1};
    if (t->me == 0) at.error = by_file.num ? make_file(s, &at) : ENOTSUP;
    int err = uno_team_bcast(t, &at, sizeof at);
    *worst = at.error;
    if (!err && !at.error) {
        if (t->me != 0) *worst = open_file(s, &at);
        err = uno_team_most(t, worst);
    }
    if (t->me == 0 && at.fd >= 0) close(at.fd);
    if (err || *worst) unmap(s);
    return err;
}

// In the heap. *worst as above.
static int share_heap(struct uno_team *t, struct uno_share *s, int64_t *worst)
{
    int64_t first = -1;
    s->job = uno_proc_job(uno_comm_proc(t->comm, 0));
    s->chunks = (s->mapped + UNO_HEAP_CHUNK - 1) / UNO_HEAP_CHUNK;
    if (t->me == 0 && s->chunks <= UNO_HEAP_CHUNKS) first = take_chunks(s, t->n);
    int err = uno_team_bcast(t, &first, sizeof first);
    *worst = first < 0 ? ENOMEM : 0;
    if (err || *worst) return err;
    s->first = (size_t)first;
    s->base = (char *)uno_job_chunk(s->job, s->first) + PAGE;
    uno_dump_keep(s->base - PAGE, s->mapped);
    return MPI_SUCCESS;
}

int uno_share_make(struct MPI_ABI_Comm *c, size_t bytes, struct uno_share *share)
{
    struct uno_share s = {.bytes = bytes, .mapped = PAGE + (bytes + PAGE - 1) / PAGE * PAGE};
    struct uno_team t = uno_team_all(c, 0);
    int64_t worst = ENOMEM;
    if (s.mapped < bytes || (int64_t)s.mapped < 0) return refuse(&s, EFBIG);
    bool small = s.mapped <= UNO_HEAP_CHUNK;
    int err = small ? share_heap(&t, &s, &worst) : MPI_SUCCESS;
    if (!err && worst) err = share_file(&t, &s, &worst);
    if (!err && worst && worst != ENOMEM && !small) err = share_heap(&t, &s, &worst);
    if (!err && worst) err = refuse(&s, worst);
    if (err) return err;
    *share = s;
    return MPI_SUCCESS;
}

void uno_share_drop(struct uno_share *share)
{
    if (!share->base) return;
    if (share->map) {
        unmap(share);
        return;
    }
    struct head *h = uno_job_chunk(share->job, share->first);
    share->base = NULL;
    // Acq_rel: pairs with itself: the last one comes after all others' last look at the memory.
    if (atomic_fetch_sub_explicit(&h->users, 1, memory_order_acq_rel) > 1) return;
    if (share->chunks == 1)
        uno_job_give_short(share->job, share->first, share->mapped);
    else
        uno_job_give(share->job, share->first, share->chunks);
}
