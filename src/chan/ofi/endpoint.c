// SPDX-License-Identifier: BSD-3-Clause
// All that libfabric opens for us: in each domain one endpoint, its address vector, one completion queue for both
// directions; memory for frames, and registrations. Called by ofi.c when the channel opens and closes.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chan/ofi/ofi.h"

#define QUEUE 4096    // completions

// Buffers whose memory was got, and registered, in one piece.
struct ofi_slab {
    struct ofi_slab *next;
    void *memory;
    size_t bytes;
    struct fid_mr *mr[OFI_PORTS];
    struct ofi_buf buf[];
};

// With a descriptor, where the provider has one.
static int open_queue(struct ofi_port *p)
{
    struct fi_cq_attr attr = {.size = QUEUE, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    if (fi_cq_open(p->domain, &attr, &p->cq, NULL) == 0) {
        if (fi_control(&p->cq->fid, FI_GETWAIT, &p->fd) == 0) return 0;
        fi_close(&p->cq->fid);
    }
    p->cq = NULL;
    p->fd = -1;
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(p->domain, &attr, &p->cq, NULL);
}

static int open_endpoint(struct ofi_port *p)
{
    struct fi_av_attr attr = {.type = p->info->domain_attr->av_type};
    int e = fi_av_open(p->domain, &attr, &p->av, NULL);
    if (!e) e = fi_endpoint(p->domain, p->info, &p->ep, NULL);
    if (!e) e = fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!e) e = fi_ep_bind(p->ep, &p->av->fid, 0);
    return e ? e : fi_enable(p->ep);
}

static int open_port(struct ofi_port *p)
{
    const char *what = "the fabric";
    int e = ofi_library.fabric(p->info->fabric_attr, &p->fabric, NULL);
    if (!e) what = "its domain", e = fi_domain(p->fabric, p->info, &p->domain, NULL);
    if (!e) what = "its completion queue", e = open_queue(p);
    if (!e) what = "its endpoint", e = open_endpoint(p);
    p->alone = p->info->domain_attr->mr_mode & FI_MR_ENDPOINT;
    if (!e) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_OTHER, "libfabric's provider %s does not open %s %s: %s", p->info->fabric_attr->prov_name,
                    what, p->info->domain_attr->name, ofi_library.strerror(-e));
}

static void close_port(struct ofi_port *p)
{
    if (p->ep) fi_close(&p->ep->fid);
    if (p->av) fi_close(&p->av->fid);
    if (p->cq) fi_close(&p->cq->fid);
    p->ep = NULL;
    p->av = NULL;
    p->cq = NULL;
}

int ofi_ports_open(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    int err = ofi_choose();
    for (uint32_t i = 0; i < s->ports && !err; i++) {
        err = open_port(&s->port[i]);
        if (!err) s->mute |= s->port[i].fd < 0;
        if (!err || i == 0) continue;
        uno_log(1, "channel ofi: one domain fewer: %s", uno_fail_text());
        close_port(&s->port[i]);
        if (s->port[i].domain) fi_close(&s->port[i].domain->fid);
        if (s->port[i].fabric) fi_close(&s->port[i].fabric->fid);
        for (uint32_t k = i; k < s->ports; k++) ofi_library.freeinfo(s->port[k].info);
        s->ports = i;
        err = MPI_SUCCESS;
    }
    return err;
}

static void free_slab(struct ofi_slab *s)
{
    for (uint32_t i = 0; i < OFI_PORTS; i++)
        if (s->mr[i]) fi_close(&s->mr[i]->fid);
    munmap(s->memory, s->bytes);
    free(s);
}

void ofi_ports_close(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    for (uint32_t i = 0; i < s->ports; i++) close_port(&s->port[i]);
    while (s->slabs) {
        struct ofi_slab *slab = s->slabs;
        s->slabs = slab->next;
        free_slab(slab);
    }
    for (uint32_t i = 0; i < s->ports; i++) {
        struct ofi_port *p = &s->port[i];
        if (p->domain) fi_close(&p->domain->fid);
        if (p->fabric) fi_close(&p->fabric->fid);
        ofi_library.freeinfo(p->info);
    }
}

struct fid_mr *ofi_register(struct ofi_port *p, const void *at, size_t bytes, uint64_t access)
{
    struct fid_mr *mr = NULL;
    uint64_t key = 0, size = p->info->domain_attr->mr_key_size;
    if (!(p->info->domain_attr->mr_mode & FI_MR_PROV_KEY)) key = ++uno_ofi_state.keys;
    if (size < sizeof key) key &= (1ULL << 8 * size) - 1;
    if (fi_mr_reg(p->domain, at, bytes, access, 0, key, 0, &mr, NULL)) return NULL;
    bool good = !p->alone || (!fi_mr_bind(mr, &p->ep->fid, 0) && !fi_mr_enable(mr));
    if (good && access & (FI_REMOTE_WRITE | FI_REMOTE_READ)) good = fi_mr_key(mr) != FI_KEY_NOTAVAIL;
    if (good) return mr;
    fi_close(&mr->fid);
    return NULL;
}

// False: some provider refuses.
static bool register_slab(struct ofi_slab *s)
{
    for (uint32_t i = 0; i < uno_ofi_state.ports; i++) {
        struct ofi_port *p = &uno_ofi_state.port[i];
        if (!(p->info->domain_attr->mr_mode & FI_MR_LOCAL)) continue;
        s->mr[i] = ofi_register(p, s->memory, s->bytes, FI_SEND | FI_RECV);
        if (!s->mr[i]) return false;
    }
    return true;
}

struct ofi_buf *ofi_buffers(uint32_t count)
{
    struct ofi_slab *s = calloc(1, sizeof *s + count * sizeof s->buf[0]);
    if (!s) return NULL;
    s->bytes = count * (size_t)OFI_FRAME;
    s->memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s->memory == MAP_FAILED) {
        free(s);
        return NULL;
    }
    if (!register_slab(s)) {
        free_slab(s);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        s->buf[i].frame = (struct ofi_frame *)(void *)((char *)s->memory + i * OFI_FRAME);
        s->buf[i].slab = s;
        s->buf[i].next = i + 1 < count ? &s->buf[i + 1] : NULL;
    }
    s->next = uno_ofi_state.slabs;
    uno_ofi_state.slabs = s;
    return s->buf;
}

void *ofi_desc(const struct ofi_buf *b, uint32_t port)
{
    return b->slab->mr[port] ? fi_mr_desc(b->slab->mr[port]) : NULL;
}

_Static_assert(sizeof(struct ofi_frame) == 56 && OFI_FRAME % 8 == 0, "frames of a slab are aligned, without holes");
