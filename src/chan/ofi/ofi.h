// SPDX-License-Identifier: BSD-3-Clause
// The libfabric channel's own header: frames, links, and which file does what. Experimental: docs/design/fabrics.md.
//
//   ofi.c       the component: open, poll, sleep, close            send.c      frames on their way out
//   receive.c   the completion queue; frames that arrive           card.c      where ranks are reached
//   choose.c    which provider and which of its domains            endpoint.c  all that libfabric opens for us
//   write.c     between memory here and there: large messages      landing.c   the same, the receiver's part
//   window.c    memory open to all, for one-sided operations
//   link.c      links: their beginning, their end                  library.c   libfabric itself, loaded
//   missing.c   instead of all these, where libfabric's headers were missing at build time
//
// Invariant: numbered frames of a link come in order; at most OFI_WINDOW of them are not acknowledged, so that what a
// rank that does not look leaves with the provider is bounded. The library lock is held everywhere.
#pragma once
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdint.h>

#include "chan/access.h"
#include "chan/chan.h"

#define OFI_VERSION FI_VERSION(1, 14)    // of the interface that we ask for
#define OFI_DATA_MAX 16256               // payload of a frame: with the headers, ofi_rxm sends it without asking first
#define OFI_WINDOW 128                   // frames of a link that the other side has not acknowledged
#define OFI_PROVIDER 64                  // room for a provider's name
#define OFI_NAME 256                     // and for an address
#define OFI_NO_CARD UINT32_MAX
#define OFI_PORTS 4    // domains (network interfaces) of a process that are used, at most
#define OFI_AHEAD 2    // writes of a link that a port has at a time

// In uno_hdr.chan. END: the sender closes its channel, and nothing more comes from this life of it. PULL: the receiver
// of a large message opens its memory for it; LANDED: all of it is there.
enum ofi_sort { OFI_MESSAGE, OFI_END, OFI_ACK, OFI_PULL, OFI_LANDED, OFI_SORT_END };

// This header, then h.bytes of payload.
struct ofi_frame {
    uint64_t job;
    uint32_t from;             // world rank
    uint32_t crc;              // CRC32C of the frame, taken with 0 here; 0: it has none
    uint32_t life, to_life;    // of the sender's channel, and of the receiver's that it is meant for
    uint32_t seq;              // of a MESSAGE or END, from 1 in each life
    uint32_t ack;              // all frames up to this one have arrived
    struct uno_hdr h;
};

#define OFI_FRAME (sizeof(struct ofi_frame) + OFI_DATA_MAX)

// Behind the header of a PULL and of a LANDED.
struct ofi_pull {
    uint64_t landing, bytes;
    uint32_t offer;
    uint32_t ports;    // bits: those of the receiver by which the memory is open
    struct {
        uint64_t addr, key;
    } at[OFI_PORTS];
};
struct ofi_landed {
    uint64_t landing;
    uint32_t crc;    // as in a frame, of the whole message
    int32_t err;     // class of what kept it from coming
};

struct ofi_link;
struct ofi_offer;
struct ofi_slab;

// What libfabric hands back with a completion: the first member of what it belongs to.
struct ofi_op {
    struct fi_context2 context;
    bool writes;    // struct ofi_write, else struct ofi_buf
};

// Memory for one frame, under way in either direction.
struct ofi_buf {
    struct ofi_op op;
    struct ofi_link *link;    // sending: to whom
    struct ofi_buf *next;     // while it is free, or not sent yet
    struct ofi_frame *frame;
    struct ofi_slab *slab;
    uint32_t bytes;    // sending
    uint32_t port;     // receiving: where
};

// A piece of a large message that a provider has.
struct ofi_write {
    struct ofi_op op;
    struct ofi_link *link;
    struct ofi_offer *offer;    // NULL: it was given up
    size_t at, bytes;
    uint32_t lane;
    bool used;
    bool again;    // its lane failed: the next one that has room takes it
};

// A way from a port of ours to one of the peer's.
struct ofi_lane {
    fi_addr_t addr;
    uint32_t port, far;
    bool broken;    // it failed, and is not used any more
    struct ofi_write write[OFI_AHEAD];
};

struct ofi_link {
    struct uno_link base;
    struct ofi_link *next;
    bool reached;          // the addresses are known, and those of the peer's present life
    bool lost;             // given up
    bool bye;              // that life of the peer has ended
    bool gone;             // and our part of it, too: the next one is awaited
    bool tell;             // acknowledge as soon as possible
    bool ended;            // our END is under way, or has arrived
    uint32_t peer_life;    // 0: not known yet
    uint32_t seq, acked, got, untold;
    uint32_t flying;                         // frames that the provider has
    struct ofi_buf *unsent, *unsent_last;    // those that it did not take yet, in order
    struct ofi_lane lane[OFI_PORTS];         // if `reached`; frames go by the first one
    uint32_t lanes, writing;                 // writes that the provider has
    uint32_t direct;                         // offers and landings
    struct ofi_offer *streams;               // large messages that the peer has asked for, in order
    struct ofi_landing *pulls;               // those that it is still to be asked for
    uint64_t due;                            // ns: it failed, and is given up then; 0: it is well
    uint64_t settle;                         // ns: lost, and what the provider may still touch ends then; 0: nothing
    int err;                                 // with this class
    const char *why;
};

// How a rank is reached, as it travels; names of ports that it does not have are left away.
struct ofi_card {
    uint32_t life, ports;       // life 0: it has no such channel
    uint32_t machine, alike;    // kind of its processor, and what its host had settled on (base/machine.h)
    char provider[OFI_PROVIDER];
    struct {
        uint64_t fabric;    // a number for its name: ports of one fabric reach each other
        unsigned char name[OFI_NAME];
        uint64_t bytes;
    } port[OFI_PORTS];
};

// What libfabric opened for us in one domain.
struct ofi_port {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    int fd;        // readable when the completion queue has something; -1: the provider has none
    bool alone;    // registrations belong to the endpoint
};

struct ofi_chan {
    struct ofi_card card;    // our own
    struct ofi_port port[OFI_PORTS];
    uint32_t ports;
    bool mute;        // no port's queue has a descriptor
    bool remote;      // the provider writes into the memory of others
    bool checks;      // frames and large messages have a CRC32C
    bool windows;     // memory is opened to all, which read and write it
    uint64_t keys;    // of registrations so far, where we choose them
    struct ofi_slab *slabs;
    struct ofi_link **link;      // [nprocs], NULL until needed
    struct ofi_link *first;      // those that are not NULL
    uint32_t life;               // of this channel, drawn when it opens
    struct ofi_buf *idle;        // to send with
    uint32_t made;               // of these so far, without those that links which are lost hold
    struct ofi_buf *unposted;    // to receive with: the provider did not take them back yet
    int epoll, timer;
    bool ticking;         // the timer is armed
    uint32_t looks;       // that a process which was woken still takes
    bool busy;            // the completion queue is being read
    bool sleepy;          // a thread is about to sleep
    const void *dozer;    // that thread, or one that sleeps already (a mark of its own)
    bool restless;        // some link has something to be tried again
    bool closing;
    bool stranger_told;
    uint32_t flying;      // frames that the provider has, of links that are not lost
    uint64_t last_use;    // ticks of the last arrival or departure
    uint64_t last_look;
};
extern struct uno_chan uno_ofi;
extern struct ofi_chan uno_ofi_state;

static inline struct ofi_link *ofi_of(struct uno_link *link)
{
    return (struct ofi_link *)link;
}

// ---- link.c ----
struct ofi_link *ofi_link_of(int proc);    // made when there is none; NULL: memory is out
bool ofi_reach(struct ofi_link *l);        // whether the peer's address is known; false: not now, or never
void ofi_fail(struct ofi_link *l, const char *why, bool soon);    // soon: nobody else will tell of it
void ofi_give_up(struct ofi_link *l);
void ofi_begin_anew(struct ofi_link *l, uint32_t life);    // with a new life of the peer
void ofi_part(struct ofi_link *l);                         // from a life that has ended

// ---- ofi.c ----
void ofi_stir(void);         // something is under way: a thread that sleeps for all looks now and again
void ofi_try_again(void);    // the same, and links have something to be tried again

// ---- send.c ----
int ofi_send(struct uno_link *link, const struct uno_msg *m);
bool ofi_put(struct ofi_link *l, enum ofi_sort sort, const void *data, uint32_t bytes);    // false: try again later
void ofi_flush(struct ofi_link *l);    // what the provider did not take so far
void ofi_drop_unsent(struct ofi_link *l);
void ofi_sent(struct ofi_buf *b, const char *why);    // it has left; why: it has not, NULL: it has

uint32_t ofi_crc(struct ofi_frame *f, uint32_t bytes);
void ofi_wake(const struct ofi_link *l);    // the peer, where the provider cannot

// ---- receive.c ----
int ofi_drain(void);    // returns how many completions there were
int ofi_post_all(void);
void ofi_post_again(void);    // what the provider did not take back so far

// ---- write.c ----
int ofi_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
bool ofi_withdraw(struct uno_link *link, const struct uno_rts *rts);
bool ofi_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy);
const char *ofi_pulled(struct ofi_link *l, const struct ofi_pull *p);    // NULL, or what is wrong with it
bool ofi_stream(struct ofi_link *l);    // writes what can be written; whether something must be tried again
void ofi_written(struct ofi_write *w, const char *why);        // why: it was not, NULL: it was
void ofi_end_offers(struct ofi_link *l, int err, bool all);    // not all: those of which the provider has nothing
void ofi_offers_close(void);
bool ofi_access_takes(struct uno_link *link, const struct uno_access_card *card, size_t bytes);
int ofi_access_start(struct uno_link *link, const struct uno_access_card *card, const struct uno_access *a);

// ---- window.c ----
void ofi_windows_ready(void);    // says that it can, if so

// ---- landing.c ----
int ofi_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
bool ofi_pull_all(struct ofi_link *l);    // asks for what is to be asked for; whether something is left
const char *ofi_landed(struct ofi_link *l, const struct ofi_landed *d);
void ofi_end_landings(struct ofi_link *l, int err, bool all);    // not all: those that the peer was not asked for
void ofi_landings_close(void);

// ---- library.c ----
struct ofi_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int err);
    uint32_t (*version)(void);
};
extern struct ofi_library ofi_library;

// Loads it. NULL, or why it cannot be had.
const char *ofi_load(void);

// ---- choose.c ----
void ofi_prepare(void);    // before libfabric is loaded

// Fills in the ports' info, and what the provider can. MPI_SUCCESS, or an error with a line that says why.
int ofi_choose(void);

// ---- endpoint.c ----
int ofi_ports_open(void);
void ofi_ports_close(void);    // safe after a failed open

// A chain of free buffers; NULL: there is no memory.
struct ofi_buf *ofi_buffers(uint32_t count);
void *ofi_desc(const struct ofi_buf *b, uint32_t port);    // of its registration there, NULL: none is wanted

// Memory for these ways of access (FI_WRITE: a port reads it and writes elsewhere). NULL: the provider refuses, or
// gives no key.
struct fid_mr *ofi_register(struct ofi_port *p, const void *at, size_t bytes, uint64_t access);

// ---- card.c ----
int ofi_publish(uint32_t life);    // 0: that this rank has no such channel
void ofi_unpublish(void);

// 0, UNO_FULL: it has not said so yet, or its present life has not begun. Another value: it never will, with the
// reason in *why.
int ofi_find_card(const struct ofi_link *l, struct ofi_card *card, const char **why);
