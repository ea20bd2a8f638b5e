// SPDX-License-Identifier: BSD-3-Clause
// Links: their memory, and the sizes of it. Called by tcp.c, dial.c and lanes.c.
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define NEAR_BRIM ((size_t)512 << 10)    // inside one host: caches hold what is under way. bench: bw over tcp

struct uno_param uno_tcp_buffer =
    UNO_PARAM_INT("tcp_buffer", 2 << 20, 1 << 18, 1 << 28,
                  "bytes a connection keeps of what it has sent until that is acknowledged (by default small messages "
                  "fill a quarter of it where the job has one host)");
UNO_PARAM_DECLARE(uno_tcp_buffer);
static struct uno_param eager_max =
    UNO_PARAM_INT("tcp_eager_max", TCP_DATA_MAX, 64, TCP_DATA_MAX,
                  "largest message sent at once over tcp, in bytes; at most a quarter of tcp_buffer, and 64k where a "
                  "rank is reached by several networks");
UNO_PARAM_DECLARE(eager_max);
static struct uno_param check = UNO_PARAM_CHOICE(
    "tcp_check", "auto", "auto|yes|no",
    "whether what tcp carries has checksums of ours (CRC32C); auto: between hosts. Headers always have");
UNO_PARAM_DECLARE(check);

void tcp_settle_sizes(void)
{
    bool near = uno_chan_self.job->nhosts == 1 && uno_tcp_buffer.origin == UNO_PARAM_DEFAULT;
    long page = sysconf(_SC_PAGESIZE);
    uno_tcp_buffer.num = (uno_tcp_buffer.num + page - 1) / page * page;
    uno_tcp_state.brim = near ? NEAR_BRIM : (size_t)uno_tcp_buffer.num;
    if (eager_max.num > uno_tcp_buffer.num / 4) eager_max.num = uno_tcp_buffer.num / 4;
}

// Maps fresh memory twice in a row, so that what wraps around lies in one piece.
static char *map_ring(size_t bytes)
{
    int fd = memfd_create("unisono-tcp", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    char *p = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0) p = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int half = 0; half < 2 && p != MAP_FAILED; half++) {
        void *at = mmap(p + (size_t)half * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        if (at != MAP_FAILED) continue;
        munmap(p, 2 * bytes);
        p = MAP_FAILED;
    }
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

// Where the link to a process is kept.
static struct uno_link **place_of(int proc)
{
    return uno_proc_is_guest(proc) ? &uno_proc_of(proc)->link[uno_tcp.index] : &uno_tcp_state.link[proc];
}

void tcp_free_link(struct tcp_link *l)
{
    struct uno_link **place = place_of(l->base.proc);
    if (*place == &l->base) *place = NULL;
    struct tcp_link **at = &uno_tcp_state.first;
    while (*at && *at != l) at = &(*at)->next;
    if (*at) *at = l->next;
    if (uno_tcp_state.hot == l) uno_tcp_state.hot = NULL;
    if (l->sock.fd >= 0) close(l->sock.fd);
    if (l->ring) munmap(l->ring, 2 * (size_t)uno_tcp_buffer.num);
    free(l->buf);
    free(l->tries_told);
    free(l);
}

struct tcp_link *tcp_make_link(int proc)
{
    struct tcp_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->sock = (struct tcp_sock){TCP_LINKED, -1};
    l->ring = map_ring((size_t)uno_tcp_buffer.num);
    l->buf = malloc(TCP_INPUT);
    if (!l->ring || !l->buf) {
        tcp_free_link(l);
        return NULL;
    }
    l->main = l;
    l->checks = check.num == 0 ? uno_local_of(proc) < 0 : check.num == 1;
    l->way = (struct tcp_way){TCP_NOWHERE, TCP_NOWHERE};
    l->base = (struct uno_link){.chan = &uno_tcp,
                                .ops = uno_tcp.ops,
                                .proc = proc,
                                .eager_max = (uint32_t)eager_max.num,
                                .data_max = TCP_MIXED_MAX,
                                .lends = true};
    l->next = uno_tcp_state.first;
    uno_tcp_state.first = l;
    return l;
}

struct tcp_link *tcp_link_of(int proc)
{
    struct uno_link *known = *place_of(proc);
    if (known) return tcp_of(known);
    struct tcp_link *l = tcp_make_link(proc);
    if (l) *place_of(proc) = &l->base;
    return l;
}
