// SPDX-License-Identifier: BSD-3-Clause
// Addresses of this host, and listening on them: for the tcp channel and for the ports of dynamic processes.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/fail.h"

#define UNO_ADDRESSES 8

// Where a socket that listens is reached, as it travels.
struct uno_net {
    uint16_t port;    // network order
    uint8_t count, pad;
    struct {
        uint8_t family, bytes[16];
        uint8_t nic;     // those of one interface have the same number
        uint8_t bits;    // of it that its subnet has
        uint8_t pad;
    } addr[UNO_ADDRESSES];    // family 4 or 6
};

// The addresses that the parameters tcp_interface and tcp_exclude leave; without them, those that other hosts reach
// (far) or one of the loopback. The port is the caller's.
int uno_net_own(struct uno_net *net, bool far) UNO_MUST_USE;

// A socket that listens on all of them, at a port in tcp_port_range, which net gets. -1: the reason is kept.
int uno_net_listen(struct uno_net *net, int backlog) UNO_MUST_USE;

// Its length.
socklen_t uno_net_sockaddr(const struct uno_net *net, uint32_t i, struct sockaddr_storage *out);

// Whether that address lies in the subnet of this one.
bool uno_net_shares(const struct uno_net *own, uint32_t i, const struct uno_net *net, uint32_t k);

// Sends what leaves this socket from address i alone, by its interface where the system lets us.
void uno_net_leave_by(int fd, const struct uno_net *own, uint32_t i);

#define UNO_NET_TEXT 48    // room for an address as text
void uno_net_text(const struct sockaddr *a, char *text);

bool uno_net_is_near(const struct sockaddr *peer);    // this host, or one in a network that this host is in
bool uno_net_is_chosen(void);                         // by tcp_interface or tcp_exclude
