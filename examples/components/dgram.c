// SPDX-License-Identifier: BSD-3-Clause
// An example of a channel from outside the library: processes of one host send each other datagrams over local sockets.
// It is the least that the contract <unisono/channel.h> asks for: whole messages, no direct copies, no payload lent.
// Its sockets have names without files, which are free again when the process ends. The kernel lets any process of this
// user or another send to them, so this is for learning, not for work.
//
//   make && mpiexec --set component_path=$PWD --set chan=dgram -n 4 ./program
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <unisono/channel.h>

#define PAYLOAD 16384
#define KEPT_MAX (1 << 20)    // of a link: the kernel's queue may be as short as ten messages

struct frame {
    uint64_t job;
    int32_t from;    // rank in MPI_COMM_WORLD
    int32_t pad;
    struct uno_hdr h;
    char payload[PAYLOAD];
};
#define HEAD offsetof(struct frame, payload)

// A message that waits until the receiver takes it, as long as it needs.
struct kept {
    struct kept *next;
    struct frame f;
};

// The link to one process.
struct dgram_link {
    struct uno_link base;
    struct sockaddr_un to;
    socklen_t to_bytes;
    bool lost;
    struct kept *first, **last;
    size_t kept;    // bytes of those
};

static const struct uno_component_host *library;
static const struct uno_channel_host *host;
static struct uno_chan *channel;
static struct dgram_link **links;    // by rank, NULL until first used
static int fd = -1;
static bool polling;

static socklen_t name_socket(struct sockaddr_un *a, int rank)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "unisono-dgram-%016llx-%d",
                     (unsigned long long)host->job(), rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void ring_all(void)
{
    for (int i = 0; i < host->size(); i++)
        if (host->near(i)) host->ring(i);
}

static int dgram_open(struct uno_chan *self)
{
    if (fd >= 0) return 0;    // other jobs are about to be met, which this channel does not reach
    struct sockaddr_un own;
    socklen_t bytes = name_socket(&own, host->rank());
    channel = self;
    links = calloc((size_t)host->size(), sizeof *links);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (links && fd >= 0 && bind(fd, (struct sockaddr *)&own, bytes) == 0) {
        ring_all();    // who was early tries again
        return 0;
    }
    return library->fail(MPI_ERR_OTHER, "the channel dgram cannot make its socket: %s", strerror(errno));
}

static struct dgram_link *link_of(int proc)
{
    if (links[proc]) return links[proc];
    struct dgram_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->base = (struct uno_link){
        .chan = channel, .ops = channel->ops, .proc = proc, .eager_max = PAYLOAD, .data_max = PAYLOAD};
    l->last = &l->first;
    l->to_bytes = name_socket(&l->to, proc);
    return links[proc] = l;
}

static int dgram_connect(struct uno_chan *self, int proc, struct uno_link **link)
{
    (void)self;
    if (proc == host->rank() || !host->near(proc)) return UNO_DECLINED;
    struct dgram_link *l = link_of(proc);
    if (!l) return library->fail(MPI_ERR_NO_MEM, "no memory for a link to rank %d", proc);
    *link = &l->base;
    return 0;
}

// 0, UNO_FULL or an error. A receiver whose queue is full, or that has not made its socket so far, is tried again.
static int push(struct dgram_link *l, struct frame *f, const void *payload)
{
    struct iovec part[2] = {{f, HEAD}, {(void *)(uintptr_t)payload, f->h.bytes}};
    struct msghdr out = {
        .msg_name = &l->to, .msg_namelen = l->to_bytes, .msg_iov = part, .msg_iovlen = f->h.bytes ? 2 : 1};
    if (sendmsg(fd, &out, MSG_NOSIGNAL) >= 0) {
        host->ring(l->base.proc);
        return 0;
    }
    if (errno == EAGAIN || errno == ECONNREFUSED || errno == ENOBUFS || errno == EINTR) return UNO_FULL;
    return library->fail(MPI_ERR_OTHER, "send to rank %d by the channel dgram: %s", l->base.proc, strerror(errno));
}

static void drop_first(struct dgram_link *l)
{
    struct kept *k = l->first;
    l->first = k->next;
    if (!l->first) l->last = &l->first;
    l->kept -= HEAD + k->f.h.bytes;
    free(k);
}

// 0: nothing is kept any more.
static int push_kept(struct dgram_link *l)
{
    int err = 0;
    while (l->first && !(err = push(l, &l->first->f, l->first->f.payload))) drop_first(l);
    return err;
}

static int keep(struct dgram_link *l, const struct frame *head, const struct uno_msg *m)
{
    if (l->kept >= KEPT_MAX) return UNO_FULL;
    struct kept *k = malloc(offsetof(struct kept, f.payload) + m->bytes);
    if (!k) return library->fail(MPI_ERR_NO_MEM, "no memory for a message to rank %d", l->base.proc);
    memcpy(&k->f, head, HEAD);
    if (m->packer)
        host->pack(m->packer, k->f.payload, m->bytes);
    else if (m->bytes)
        memcpy(k->f.payload, m->data, m->bytes);
    k->next = NULL;
    *l->last = k;
    l->last = &k->next;
    l->kept += HEAD + m->bytes;
    return 0;
}

// Straight from the user's memory where nothing stands before it.
static int dgram_send(struct uno_link *link, const struct uno_msg *m)
{
    struct dgram_link *l = (struct dgram_link *)link;
    struct frame f;
    if (l->lost) return UNO_FULL;
    int err = push_kept(l);
    if (err > 0) return err;
    f.job = host->job();
    f.from = host->rank();
    f.pad = 0;
    f.h = (struct uno_hdr){.kind = m->kind, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    if (!l->first && !m->packer) {
        err = push(l, &f, m->data);
        if (err != UNO_FULL) return err;
    }
    err = keep(l, &f, m);
    if (err) return err;
    err = push_kept(l);
    return err == UNO_FULL ? 0 : err;
}

static bool makes_sense(const struct frame *f, ssize_t bytes)
{
    if (bytes < (ssize_t)HEAD || f->job != host->job() || f->h.bytes > PAYLOAD) return false;
    return bytes == (ssize_t)(HEAD + f->h.bytes) && f->from >= 0 && f->from < host->size() && host->near(f->from);
}

// One datagram, whole. 0: there is none.
static int take_one(void)
{
    static struct frame f;
    ssize_t got = recv(fd, &f, sizeof f, 0);
    if (got < 0) return 0;
    struct dgram_link *l = makes_sense(&f, got) ? link_of(f.from) : NULL;
    if (!l || l->lost) return 1;
    const char *wrong = host->deliver(&l->base, &f.h, f.payload);
    if (wrong) host->lost(&l->base, wrong);
    return 1;
}

// What is delivered may make the library poll again, while the frame is in use.
static int dgram_poll(struct uno_chan *self, int budget)
{
    int n = 0;
    (void)self;
    if (polling) return 0;
    polling = true;
    for (int i = 0; i < host->size(); i++)
        if (links[i] && push_kept(links[i]) > 0) host->lost(&links[i]->base, "its socket does not take messages");
    while (n < budget && take_one()) n++;
    if (n) ring_all();    // anyone may have found our queue full
    polling = false;
    return n;
}

static int dgram_poll_link(struct uno_link *link)
{
    return dgram_poll(link->chan, 16);
}

// Never called: payloads are delivered whole.
static size_t dgram_look(struct uno_link *link, size_t n, const void **at)
{
    (void)link;
    (void)at;
    return n;
}

static int dgram_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    (void)link;
    (void)mem;
    (void)rts;
    return UNO_DECLINED;
}

static int dgram_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token)
{
    (void)link;
    (void)rts;
    (void)mem;
    (void)token;
    return UNO_DECLINED;
}

static bool dgram_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    (void)link;
    (void)rts;
    return true;
}

static bool dgram_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    (void)link;
    (void)rts;
    (void)copy;
    return true;
}

static void dgram_lose(struct uno_link *link, int err)
{
    struct dgram_link *l = (struct dgram_link *)link;
    (void)err;    // no direct copy was under way
    l->lost = true;
    while (l->first) drop_first(l);
}

static int dgram_wait_fd(struct uno_chan *self)
{
    (void)self;
    return fd;
}

static void dgram_leave(struct uno_link *link)
{
    (void)link;    // other jobs are not reached
}

// What is kept has ten seconds to leave.
static void dgram_close(struct uno_chan *self)
{
    (void)self;
    for (int i = 0; links && i < host->size(); i++) {
        for (int tries = 0; links[i] && tries < 10000 && push_kept(links[i]) == UNO_FULL; tries++) usleep(1000);
        while (links[i] && links[i]->first) drop_first(links[i]);
        free(links[i]);
    }
    free(links);
    links = NULL;
    if (fd >= 0) close(fd);
    fd = -1;
}

static const struct uno_chan_ops table = {.open = dgram_open,
                                          .connect = dgram_connect,
                                          .send = dgram_send,
                                          .poll = dgram_poll,
                                          .poll_link = dgram_poll_link,
                                          .look = dgram_look,
                                          .offer = dgram_offer,
                                          .accept = dgram_accept,
                                          .withdraw = dgram_withdraw,
                                          .replace = dgram_replace,
                                          .lose = dgram_lose,
                                          .wait_fd = dgram_wait_fd,
                                          .leave = dgram_leave,
                                          .close = dgram_close};

// Once per process. It declines where the environment asks for that, to show how it looks.
static const char *start(const struct uno_component_host *library_host)
{
    library = library_host;
    host = library->services;
    return getenv("DGRAM_OFF") ? "the environment variable DGRAM_OFF is set" : NULL;
}

static const struct uno_component component = {UNO_COMPONENT_IS_CHANNEL,
                                               .name = "dgram",
                                               .version = "1.0",
                                               .about = "one host: datagrams over local sockets (an example)",
                                               .priority = 10,
                                               .can = UNO_CAN_ON_REQUEST,
                                               .open = start,
                                               .table = &table};
UNO_COMPONENT_EXPORT(&component);
