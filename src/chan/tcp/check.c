// SPDX-License-Identifier: BSD-3-Clause
// Checksums and MACs of frames (check.h), the latter by libsodium. Called by send.c and receive.c.
#include "chan/tcp/check.h"

#include <mpi.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fail.h"
#include "base/sodium.h"
#include "chan/tcp/tcp.h"

static int (*mac)(unsigned char *out, const unsigned char *in, unsigned long long n, const unsigned char *key);
static int (*mac_init)(void *state, const unsigned char *key);
static int (*mac_update)(void *state, const unsigned char *in, unsigned long long n);
static int (*mac_final)(void *state, unsigned char *out);
static int (*same)(const unsigned char *a, const unsigned char *b);
static int (*stream)(unsigned char *out, const unsigned char *in, unsigned long long n, const unsigned char *nonce,
                     uint64_t first_block, const unsigned char *key);

int tcp_check_open(void)
{
    size_t (*state_bytes)(void);
    const struct uno_symbol wanted[] = {
        {"crypto_onetimeauth", (void **)&mac},
        {"crypto_onetimeauth_init", (void **)&mac_init},
        {"crypto_onetimeauth_update", (void **)&mac_update},
        {"crypto_onetimeauth_final", (void **)&mac_final},
        {"crypto_onetimeauth_statebytes", (void **)&state_bytes},
        {"crypto_verify_16", (void **)&same},
        {"crypto_stream_chacha20_xor_ic", (void **)&stream},
    };
    int err = uno_sodium_find(wanted, sizeof wanted / sizeof wanted[0]);
    if (err || state_bytes() <= sizeof((struct tcp_sum *)0)->state) return err;
    return uno_fail(MPI_ERR_OTHER, "libsodium's state of Poly1305 is larger than expected");
}

void tcp_keys_begin(struct tcp_keys *k, const unsigned char key[TCP_KEY])
{
    memset(k, 0, sizeof *k);
    k->on = true;
    k->batch = UINT64_MAX;
    memcpy(k->key, key, TCP_KEY);
}

const unsigned char *tcp_key_of(struct tcp_keys *k, enum tcp_part part)
{
    static const unsigned char nonce[8];    // the key is fresh: no other nonce is ever used with it
    if (!k->on) return NULL;
    uint64_t batch = k->next / TCP_KEYS_AT_ONCE;
    if (batch != k->batch) {
        memset(k->block, 0, sizeof k->block);
        stream(&k->block[0][0][0], &k->block[0][0][0], sizeof k->block, nonce, batch * TCP_KEYS_AT_ONCE, k->key);
        k->batch = batch;
    }
    return k->block[k->next % TCP_KEYS_AT_ONCE][part];
}

static void put_crc(struct tcp_check *c, uint32_t crc)
{
    memset(c, 0, sizeof *c);
    memcpy(c->tag, &crc, sizeof crc);
    c->tag[TCP_CRC] = 1;
}

void tcp_check(struct tcp_check *c, const unsigned char *key, const void *data, size_t n)
{
    if (key)
        mac(c->tag, data, n, key);
    else
        put_crc(c, uno_crc32c(0, data, n));
}

bool tcp_check_same(const struct tcp_check *a, const struct tcp_check *b)
{
    return same(a->tag, b->tag) == 0;
}

void tcp_sum_begin(struct tcp_sum *s, const unsigned char *key)
{
    s->keyed = key != NULL;
    s->none = false;
    s->crc = 0;
    if (key) mac_init(s->state, key);
}

void tcp_sum_none(struct tcp_sum *s)
{
    s->none = true;
}

void tcp_sum_add(struct tcp_sum *s, const void *data, size_t n)
{
    if (s->none) return;
    if (s->keyed)
        mac_update(s->state, data, n);
    else
        s->crc = uno_crc32c(s->crc, data, n);
}

void tcp_sum_end(struct tcp_sum *s, struct tcp_check *c)
{
    if (s->none)
        *c = (struct tcp_check){{0}};
    else if (s->keyed)
        mac_final(s->state, c->tag);
    else
        put_crc(c, s->crc);
}
