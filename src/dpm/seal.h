// SPDX-License-Identifier: BSD-3-Clause
// Keeps what jobs tell each other over a network secret and unaltered: the first words between two hosts carry the
// secrets of their processes. Both sides know a key (of a port), or agree on one (over a socket of the user's); each
// direction of a connection has a key of its own from that and the nonces of both sides, each frame a number. A key
// has DPM_KEY bytes (wire.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define DPM_NONCE 32    // of what each side says first
#define DPM_TAG 16      // bytes that sealing adds

struct dpm_seal {
    unsigned char out[32], in[32];
    uint64_t nout, nin;    // frames so far
};

int dpm_seal_open(void) UNO_MUST_USE;    // finds libsodium
int dpm_nonce(unsigned char nonce[DPM_NONCE]) UNO_MUST_USE;
void dpm_seal_begin(struct dpm_seal *s, const unsigned char *key, const unsigned char *dialer,
                    const unsigned char *answerer, bool dials);

// Two sides that share no key agree on one by the public halves of two pairs, which whoever listens may know.
int dpm_seal_pair(unsigned char public[DPM_NONCE], unsigned char secret[32]) UNO_MUST_USE;
void dpm_seal_agree(unsigned char *key, const unsigned char secret[32], const unsigned char theirs[DPM_NONCE]);

// text: n bytes, and room for DPM_TAG more. head is not hidden, but cannot be altered.
void dpm_seal_put(struct dpm_seal *s, const void *head, size_t head_bytes, void *text, size_t n);
// The reverse, of n bytes with the tag. False: it is not what the other side sent.
bool dpm_seal_take(struct dpm_seal *s, const void *head, size_t head_bytes, void *text, size_t n);
