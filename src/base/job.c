// SPDX-License-Identifier: BSD-3-Clause
// Lays out, creates and maps the job segment (job.h). Called by mpiexec, by its host daemons and by a singleton's
// MPI_Init.
#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/machine.h"

#define PAGE 4096UL
#define KEPT_BYTES ((size_t)32 << 10)    // that stay, zeroed, of a chunk that is given back
#define KEPT_CHUNKS 64                   // the first ones, in which they do; these are taken first
#define LAYOUT                                                                                                         \
    ((uint32_t)(sizeof(struct uno_machine) << 24 ^ sizeof(struct uno_door) << 18 ^ sizeof(struct uno_job_head) << 12 ^ \
                sizeof(struct uno_board)))

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static uint64_t pair_bytes(uint32_t nlocal)
{
    if (nlocal > UNO_PAIR_FEW) return UNO_PAIR_LEAST;
    uint64_t share = UNO_PAIRS_MOST / (nlocal > 1 ? nlocal - 1 : 1), most = 2 * uno_own_cache();
    uint64_t bytes = most < share ? most : share;
    return bytes < UNO_PAIR_BYTES ? UNO_PAIR_BYTES : round_up(bytes, UNO_HEAP_CHUNK);
}

static uint64_t wide_bytes(uint32_t nlocal)
{
    if (nlocal > UNO_PAIR_FEW) return 0;
    uint64_t share = UNO_WIDE_MOST / (UNO_WIDE_BLOCKS * nlocal * nlocal), most = uno_own_cache() / 2;
    return (most < share ? most : share) / PAGE * PAGE;
}

static void lay_out_job(struct uno_job_head *h, uint32_t nlocal, uint32_t nworld)
{
    h->machine_off = round_up(sizeof *h, UNO_LINE);
    size_t at = round_up(h->machine_off + sizeof(struct uno_machine), PAGE);
    h->board_off = at;
    at = round_up(at + nlocal * sizeof(struct uno_board), PAGE);
    h->door_off = at;
    at = round_up(at + nlocal * sizeof(struct uno_door), PAGE);
    h->active_off = at;
    at = round_up(at + (size_t)nlocal * ((nlocal + 63) / 64) * sizeof(uint64_t), PAGE);
    h->failed_off = at;
    at = round_up(at + ((size_t)nworld + 63) / 64 * sizeof(uint64_t), PAGE);
    h->pair_off = at;
    h->pair_bytes = pair_bytes(nlocal);
    h->turn_off = at + (size_t)nlocal * nlocal * h->pair_bytes;
    h->turn_bytes = nlocal > UNO_PAIR_FEW ? UNO_TURN_LEAST : UNO_TURN_BYTES;
    at = round_up(h->turn_off + (size_t)nlocal * nlocal * h->turn_bytes, PAGE);
    h->wide_off = at;
    h->wide_bytes = wide_bytes(nlocal);
    at = round_up(at + (size_t)nlocal * nlocal * UNO_WIDE_BLOCKS * h->wide_bytes, UNO_HEAP_CHUNK);
    h->heap_off = at;
    h->bytes = at + (size_t)UNO_HEAP_CHUNKS * UNO_HEAP_CHUNK;
}

static size_t job_bytes(const struct uno_job_spec *spec)
{
    struct uno_job_head h;
    lay_out_job(&h, spec->nlocal, spec->nworld);
    return h.bytes;
}

static void format(struct uno_job_head *h, const struct uno_job_spec *spec)
{
    memcpy(h->magic, UNO_JOB_MAGIC, sizeof h->magic);
    h->layout = LAYOUT;
    h->nlocal = spec->nlocal;
    h->nworld = spec->nworld;
    h->universe_size = spec->universe_size;
    h->nhosts = spec->nhosts;
    h->host = spec->host;
    h->processors = spec->processors;
    h->survive = spec->survive;
    h->job_id = spec->job_id;
    memcpy(h->secret, spec->secret, sizeof h->secret);
    lay_out_job(h, spec->nlocal, spec->nworld);
    uno_machine_find(uno_job_machine(h));
    h->ordered = spec->nlocal == spec->nworld;
    for (uint32_t i = 0; i < spec->nlocal; i++) {
        h->ordered &= spec->world_rank[i] == (int)i;
        struct uno_board *b = uno_job_board(h, i);
        b->world_rank = spec->world_rank[i];
        b->appnum = spec->appnum[i];
        b->host = (int32_t)spec->host;
        b->sharers = spec->sharers ? spec->sharers[i] : (int32_t)spec->nlocal;
    }
}

int uno_job_create(const struct uno_job_spec *spec, int *fd)
{
    size_t bytes = job_bytes(spec);
    int f = memfd_create("unisono-job", 0);
    if (f < 0) return errno;
    int err = 0;
    if (ftruncate(f, (off_t)bytes) != 0) {
        err = errno;
        goto close_fd;
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f, 0);
    if (p == MAP_FAILED) {
        err = errno;
        goto close_fd;
    }
    format(p, spec);
    munmap(p, bytes);
    *fd = f;
    return 0;
close_fd:
    close(f);
    return err;
}

void uno_job_touch(void *pages, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    madvise(pages, bytes, MADV_POPULATE_WRITE);
#else
    (void)pages, (void)bytes;
#endif
}

static bool is_segment(int fd)
{
    char magic[sizeof((struct uno_job_head *)0)->magic];
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, UNO_JOB_MAGIC, sizeof magic) == 0;
}

int uno_open_of(int pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

int uno_job_find(const char *text, int *fd, int *local_index)
{
    int number, local, keeper = 0;
    *local_index = -1;
    if (sscanf(text, "%d:%d:%d", &number, &local, &keeper) < 2 || local < 0) return EINVAL;
    *local_index = local;
    *fd = number;
    if (is_segment(number)) return 0;
    int f = uno_open_of(keeper, number);
    if (f < 0) return errno;
    *fd = f;
    return 0;
}

int uno_job_map(int fd, struct uno_job_head **head)
{
    struct uno_job_head probe;
    if (pread(fd, &probe, sizeof probe, 0) != (ssize_t)sizeof probe) return EPROTO;
    if (memcmp(probe.magic, UNO_JOB_MAGIC, sizeof probe.magic) != 0 || probe.layout != LAYOUT) return EPROTO;
    void *p = mmap(NULL, probe.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) return errno;
    madvise(p, probe.bytes, MADV_DONTDUMP);
    *head = p;
    return 0;
}

static void give_back(struct uno_job_head *h, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        // Release: pairs with the acquire in claim; our use of the chunk is over.
        atomic_fetch_and_explicit(&h->heap_used[i / 64], ~(1ULL << i % 64), memory_order_release);
}

// Tries to take count chunks from first on; returns how many it got in a row (all, or given back again).
static size_t claim_chunks(struct uno_job_head *h, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = 1ULL << (first + i) % 64;
        // Acq_rel: pairs with the release in give_back.
        if (atomic_fetch_or_explicit(&h->heap_used[(first + i) / 64], bit, memory_order_acq_rel) & bit) {
            give_back(h, first, i);
            return i;
        }
    }
    return count;
}

int64_t uno_job_take(struct uno_job_head *h, size_t count)
{
    for (size_t first = 0; first + count <= UNO_HEAP_CHUNKS;) {
        size_t got = claim_chunks(h, first, count);
        if (got == count) return (int64_t)first;
        first += got + 1;
    }
    return -1;
}

// The pages go back, and are zero when they are next used. That interrupts the other cores and costs each process a
// fault per page at their next use. Emulators and sandboxes may take the advice and do nothing:
// then it is done by hand, as a word that is still there tells.
static void clear_chunks(void *at, size_t bytes)
{
    static const uint64_t mark = UINT64_MAX;
    memcpy(at, &mark, sizeof mark);
    uint64_t left = mark;
    if (madvise(at, bytes, MADV_REMOVE) == 0) memcpy(&left, at, sizeof left);
    if (left) memset(at, 0, bytes);
}

void uno_job_give(struct uno_job_head *h, size_t first, size_t count)
{
    clear_chunks(uno_job_chunk(h, first), count * UNO_HEAP_CHUNK);
    give_back(h, first, count);
}

void uno_job_give_short(struct uno_job_head *h, size_t first, size_t bytes)
{
    if (bytes > KEPT_BYTES || first >= KEPT_CHUNKS) {
        uno_job_give(h, first, 1);
        return;
    }
    memset(uno_job_chunk(h, first), 0, bytes);
    give_back(h, first, 1);
}
