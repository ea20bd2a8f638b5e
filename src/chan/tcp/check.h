// SPDX-License-Identifier: BSD-3-Clause
// What proves that a frame is as it was sent: a CRC32C against damage, or, where the connection is authenticated
// (parameter tcp_auth), Poly1305 under a key that no other frame has: alteration, replay, reordering and omission are
// noticed, whatever causes them. Never both.
//
// Each direction of a connection has a key of its own, from the job's secret and the nonces of the handshake. Frame n
// of the direction has block n of the ChaCha20 stream under that key: one half for its header, the other for its
// payload.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCP_KEY 32
#define TCP_KEYS_AT_ONCE 16    // of frames, made together: ChaCha20 is several times faster that way

struct tcp_check {
    unsigned char tag[16];    // CRC32C, TCP_CRC and zeros, or the MAC; zeros: there is none
};
#define TCP_CRC 4    // the byte that is 1 where there is a CRC32C

// One direction of a connection. Zeroed: not authenticated.
struct tcp_keys {
    bool on;
    unsigned char key[TCP_KEY];
    uint64_t next;     // number of the next frame
    uint64_t batch;    // blocks are those of frames from batch * TCP_KEYS_AT_ONCE on
    unsigned char block[TCP_KEYS_AT_ONCE][2][TCP_KEY];
};

// A checksum under way.
struct tcp_sum {
    _Alignas(16) unsigned char state[256];    // of Poly1305, as its library wants it
    uint32_t crc;
    bool keyed, none;
};

int tcp_check_open(void);                                                     // finds the library
void tcp_keys_begin(struct tcp_keys *k, const unsigned char key[TCP_KEY]);    // frames are counted from 0

enum tcp_part { TCP_HEAD, TCP_PAYLOAD };
const unsigned char *tcp_key_of(struct tcp_keys *k, enum tcp_part part);    // of the next frame; NULL: no keys

void tcp_check(struct tcp_check *c, const unsigned char *key, const void *data, size_t n);
bool tcp_check_same(const struct tcp_check *a, const struct tcp_check *b);    // in constant time

// The same in parts.
void tcp_sum_begin(struct tcp_sum *s, const unsigned char *key);
void tcp_sum_none(struct tcp_sum *s);    // instead: nothing is summed, the result is zeros
void tcp_sum_add(struct tcp_sum *s, const void *data, size_t n);
void tcp_sum_end(struct tcp_sum *s, struct tcp_check *c);
