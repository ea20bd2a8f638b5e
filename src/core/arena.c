// SPDX-License-Identifier: BSD-3-Clause
// The arena (arena.h): one sparse anonymous file, mapped whole when the first block is taken. Blocks of up to 32 KiB
// come in sizes of powers of two, many to a chunk; larger ones are runs of chunks, whose memory goes back to the system
// when they are given. Called by src/api/memory.c and, for windows, src/rma/borrow.c.
//
// Always holds: chunk 0 is the key alone; the table lies outside, so a program that writes too far does not break it.
#define _GNU_SOURCE
#include "core/arena.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/free.h"
#include "base/job.h"

#define CHUNK ((size_t)65536)
#define SMALLEST ((size_t)64)
#define CLASSES 10                  // sizes SMALLEST << class
#define LARGE ((size_t)2 << 20)     // a huge page; blocks from here on ask for them
#define MOST ((uint64_t)1 << 40)    // bytes of addresses

// State of a chunk in the table: free, of small blocks (CLASS + class), in a run (RUN; its first: RUN + its length).
enum { FREE = 0, CLASS = 1, RUN = 16 };

static struct {
    char *base;    // NULL: not made
    int fd;
    bool refused, expected;
    size_t chunks, lowest;    // lowest: no free chunk lies below
    uint32_t *state;          // [chunks]
    void *given[CLASSES];     // free blocks of a size, each with the next one in its first bytes
    unsigned char key[16];
} arena;

// Whether a file may be so large: the limit on files would end us by a signal.
static uint64_t file_limit(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY ? r.rlim_cur : MOST;
}

// Room for all memory of the machine, as addresses.
static size_t room(void)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), size = (uint64_t)1 << 30;
    while (size < all && size < MOST) size *= 2;
    return size <= file_limit() ? (size_t)size : 0;
}

static bool map_arena(size_t size)
{
    // Aligned to 2 MiB: what is mapped too much before and behind goes.
    char *p = mmap(NULL, size + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    size_t before = (LARGE - (uintptr_t)p % LARGE) % LARGE;
    if (before) munmap(p, before);
    if (before < LARGE) munmap(p + before + size, LARGE - before);
    void *at = mmap(p + before, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, arena.fd, 0);
    if (at == MAP_FAILED) {
        munmap(p + before, size);
        return false;
    }
    arena.base = at;
    madvise(at, size, MADV_DONTDUMP);
    return true;
}

static bool make_arena(void)
{
    size_t size = room();
    if (size == 0 || getrandom(arena.key, sizeof arena.key, 0) != (ssize_t)sizeof arena.key) return false;
    arena.chunks = size / CHUNK;
    arena.state = calloc(arena.chunks, sizeof *arena.state);
    arena.fd = arena.state ? memfd_create("unisono-alloc", MFD_CLOEXEC) : -1;
    if (arena.fd >= 0 && ftruncate(arena.fd, (off_t)size) == 0 && map_arena(size)) {
        memcpy(arena.base, arena.key, sizeof arena.key);
        arena.state[0] = RUN + 1;
        arena.lowest = 1;
        return true;
    }
    if (arena.fd >= 0) close(arena.fd);
    free(arena.state);
    return false;
}

static size_t run_length(size_t chunk)
{
    uint32_t s = arena.state[chunk];
    return s > RUN ? s - RUN : 1;
}

// The first chunk of a free run; 0: there is none.
static size_t find_run(size_t chunks, size_t align)
{
    for (size_t at = arena.lowest, end; at + chunks <= arena.chunks; at = end) {
        at = (at + align - 1) / align * align;
        end = at;
        while (end < arena.chunks && end < at + chunks && arena.state[end] == FREE) end++;
        if (end == at + chunks) return at;
        if (end < arena.chunks) end += run_length(end);
    }
    return 0;
}

static void *take_run(size_t bytes, size_t align)
{
    size_t chunks = (bytes + CHUNK - 1) / CHUNK;
    if (!uno_memory_has(bytes)) return NULL;
    size_t at = chunks < arena.chunks ? find_run(chunks, align > CHUNK ? align / CHUNK : 1) : 0;
    if (at == 0) return NULL;
    for (size_t i = 0; i < chunks; i++) arena.state[at + i] = RUN;
    arena.state[at] = RUN + (uint32_t)chunks;
    if (at == arena.lowest) arena.lowest += chunks;
    char *p = arena.base + at * CHUNK;
    uno_dump_keep(p, chunks * CHUNK);
    if (bytes >= LARGE) madvise(p, chunks * CHUNK, MADV_HUGEPAGE);    // advice alone: refused, it changes nothing
    return p;
}

static void *take_small(int class)
{
    size_t size = SMALLEST << class;
    if (!arena.given[class]) {
        char *p = take_run(CHUNK, CHUNK);
        if (!p) return NULL;
        arena.state[(size_t)(p - arena.base) / CHUNK] = CLASS + (uint32_t) class;
        for (size_t at = CHUNK; at > 0;) {
            at -= size;
            memcpy(p + at, &arena.given[class], sizeof(void *));
            arena.given[class] = p + at;
        }
    }
    void *p = arena.given[class];
    memcpy(&arena.given[class], p, sizeof(void *));
    return p;
}

void *uno_arena_take(size_t bytes, size_t align)
{
    if (!arena.base && (arena.refused || !make_arena())) {
        arena.refused = true;
        return NULL;
    }
    size_t size = bytes > align ? bytes : align;
    for (int class = 0; class < CLASSES; class ++)
        if (size <= SMALLEST << class) return take_small(class);
    return take_run(bytes, align);
}

bool uno_arena_has(const void *p)
{
    return arena.base && (const char *)p >= arena.base && (size_t)((const char *)p - arena.base) < arena.chunks * CHUNK;
}

static void give_run(size_t chunk)
{
    size_t chunks = run_length(chunk);
    // Where the system refuses, the memory stays with the arena and is used again.
    (void)fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(chunk * CHUNK),
                    (off_t)(chunks * CHUNK));
    uno_dump_forget(arena.base + chunk * CHUNK, chunks * CHUNK);
    for (size_t i = 0; i < chunks; i++) arena.state[chunk + i] = FREE;
    if (chunk < arena.lowest) arena.lowest = chunk;
}

bool uno_arena_give(const void *p)
{
    if (!uno_arena_has(p)) return false;
    size_t at = (size_t)((const char *)p - arena.base), chunk = at / CHUNK;
    uint32_t state = arena.state[chunk];
    if (chunk == 0) return false;
    if (state > RUN && at % CHUNK == 0) {
        give_run(chunk);
        return true;
    }
    if (state < CLASS || state >= RUN || at % (SMALLEST << (state - CLASS)) != 0) return false;
    char *block = arena.base + at;
    memcpy(block, &arena.given[state - CLASS], sizeof(void *));
    arena.given[state - CLASS] = block;
    return true;
}

void uno_arena_expect(void)
{
    arena.expected = true;
}

bool uno_arena_expected(void)
{
    return arena.expected;
}

// ---- for others ----

struct uno_arena_place uno_arena_place(const void *p, size_t bytes)
{
    struct uno_arena_place at = {0};
    if (bytes == 0 || !uno_arena_has(p) || !uno_arena_has((const char *)p + bytes - 1)) return at;
    at.pid = getpid();
    at.fd = arena.fd;
    at.offset = (uint64_t)((const char *)p - arena.base);
    memcpy(at.key, arena.key, sizeof at.key);
    return at;
}

bool uno_arena_map(const struct uno_arena_place *at, size_t bytes, struct uno_arena_view *view)
{
    unsigned char key[sizeof at->key];
    int fd = uno_open_of((int)at->pid, (int)at->fd);
    if (fd < 0) return false;
    bool same = pread(fd, key, sizeof key, 0) == (ssize_t)sizeof key && memcmp(key, at->key, sizeof key) == 0;
    size_t before = (size_t)at->offset % (size_t)sysconf(_SC_PAGESIZE), mapped = before + bytes;
    void *p = MAP_FAILED;
    if (same)
        p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)(at->offset - before));
    close(fd);
    if (p == MAP_FAILED) return false;
    madvise(p, mapped, MADV_DONTDUMP);
    uno_dump_keep(p, mapped);
    *view = (struct uno_arena_view){p, mapped, (char *)p + before};
    return true;
}

void uno_arena_unmap(struct uno_arena_view *view)
{
    if (view->map) munmap(view->map, view->mapped);
    *view = (struct uno_arena_view){0};
}
