// SPDX-License-Identifier: BSD-3-Clause
// A connection between two jobs: a stream socket that carries frames. Inside a host they travel as they are, between
// hosts sealed (seal.h), after a greeting by which each side gets the other's nonce. With the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "chan/proc.h"
#include "dpm/sock.h"

#define DPM_KEY 16    // bytes of a port's key

enum dpm_frame {
    DPM_BROKEN,    // not sent: the connection is of no more use, the body says why
    DPM_HELLO,     // connect: the key of the port (struct dpm_hello)
    DPM_GREET,     // accept: taken; both sides gather who they are (struct dpm_greet)
    DPM_CARDS,     // connect: its processes
    DPM_TAKEN,     // accept: the context, its processes
    DPM_COMMIT,    // connect: both sides have all
    DPM_REFUSE,    // either: no, and why (text)
    DPM_HERE,      // accept, sealed: it knows the key
    DPM_MET        // either: all of its processes are linked with all of the other side
};

// far: some of its processes are on another host than the one that says so.
struct dpm_hello {
    unsigned char key[DPM_KEY];
    uint64_t far;
    struct uno_kernel kernel;    // containers of one host may have the same network, and share no memory
};
struct dpm_greet {
    uint64_t far;
};

struct dpm_greeting;
struct dpm_seal;

struct dpm_wire {
    struct dpm_sock sock;
    // A frame came; the function may free the wire.
    void (*frame)(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes);
    void *owner;
    char *in, *out;
    size_t got, room;                 // of the frame under way, its head included
    size_t most;                      // largest body that is believed
    size_t left, sent;                // bytes in out, of them those that the kernel has
    struct dpm_seal *seal;            // NULL: inside a host
    struct dpm_greeting *greeting;    // until the other side has greeted; NULL: inside a host, too
    struct sockaddr_storage from;     // whence it came, between hosts
    bool wrong;                       // what broke it is no accident
    bool far;                         // the other side is on another host, or some of its processes are
    uint64_t deadline;                // the owner's business
    struct dpm_wire *next;            // likewise
};

// fd is connected, or about to be, and watched from here on. NULL: the reason is kept, fd is closed.
struct dpm_wire *dpm_wire_new(int fd);
struct dpm_wire *dpm_wire_sealed(int fd, const unsigned char key[DPM_KEY], bool dials);
void dpm_wire_free(struct dpm_wire *w);
void dpm_wire_trust(struct dpm_wire *w);    // it has shown the key: it may send much
int dpm_wire_send(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes) UNO_MUST_USE;
bool dpm_wire_flushed(const struct dpm_wire *w);
