// SPDX-License-Identifier: BSD-3-Clause
// Seals frames (seal.h) by ChaCha20-Poly1305 of libsodium. A nonce is the number of the frame: the keys are fresh for
// each connection.
#include "dpm/seal.h"

#include <mpi.h>
#include <string.h>
#include <sys/random.h>

#include "base/sodium.h"
#include "dpm/wire.h"

static int (*derive)(unsigned char *out, const unsigned char *in, unsigned long long n, const unsigned char *key);
static int (*mix)(unsigned char *out, const unsigned char *secret, const unsigned char *public);
static int (*encrypt)(unsigned char *out, unsigned long long *out_bytes, const unsigned char *in, unsigned long long n,
                      const unsigned char *head, unsigned long long head_bytes, const unsigned char *unused,
                      const unsigned char *nonce, const unsigned char *key);
static int (*decrypt)(unsigned char *out, unsigned long long *out_bytes, unsigned char *unused, const unsigned char *in,
                      unsigned long long n, const unsigned char *head, unsigned long long head_bytes,
                      const unsigned char *nonce, const unsigned char *key);

int dpm_seal_open(void)
{
    const struct uno_symbol wanted[] = {
        {"crypto_auth", (void **)&derive},
        {"crypto_aead_chacha20poly1305_ietf_encrypt", (void **)&encrypt},
        {"crypto_aead_chacha20poly1305_ietf_decrypt", (void **)&decrypt},
    };
    return decrypt ? MPI_SUCCESS : uno_sodium_find(wanted, sizeof wanted / sizeof wanted[0]);
}

int dpm_seal_pair(unsigned char public[DPM_NONCE], unsigned char secret[32])
{
    int (*pair)(unsigned char *public, unsigned char *secret);
    const struct uno_symbol wanted[] = {{"crypto_box_keypair", (void **)&pair}, {"crypto_scalarmult", (void **)&mix}};
    int err = dpm_seal_open();
    if (!err) err = uno_sodium_find(wanted, sizeof wanted / sizeof wanted[0]);
    if (!err) pair(public, secret);
    return err;
}

void dpm_seal_agree(unsigned char *key, const unsigned char secret[32], const unsigned char theirs[DPM_NONCE])
{
    unsigned char common[32], hash[32];
    mix(common, secret, theirs);
    derive(hash, (const unsigned char *)"join", 4, common);
    memcpy(key, hash, DPM_KEY);
}

int dpm_nonce(unsigned char nonce[DPM_NONCE])
{
    if (getrandom(nonce, DPM_NONCE, 0) == DPM_NONCE) return MPI_SUCCESS;
    return uno_fail_errno(MPI_ERR_OTHER, "get random bytes");
}

void dpm_seal_begin(struct dpm_seal *s, const unsigned char *key, const unsigned char *dialer,
                    const unsigned char *answerer, bool dials)
{
    unsigned char long_key[32] = {0}, text[8 + 2 * DPM_NONCE] = "port";
    memcpy(long_key, key, DPM_KEY);
    memcpy(text + 8, dialer, DPM_NONCE);
    memcpy(text + 8 + DPM_NONCE, answerer, DPM_NONCE);
    *s = (struct dpm_seal){.nout = 0};
    text[7] = 1;    // from the side that dials
    derive(dials ? s->out : s->in, text, sizeof text, long_key);
    text[7] = 2;    // from the other
    derive(dials ? s->in : s->out, text, sizeof text, long_key);
}

static void number(unsigned char nonce[12], uint64_t n)
{
    memset(nonce, 0, 12);
    memcpy(nonce, &n, sizeof n);
}

void dpm_seal_put(struct dpm_seal *s, const void *head, size_t head_bytes, void *text, size_t n)
{
    unsigned char nonce[12];
    number(nonce, s->nout++);
    encrypt(text, NULL, text, n, head, head_bytes, NULL, nonce, s->out);
}

bool dpm_seal_take(struct dpm_seal *s, const void *head, size_t head_bytes, void *text, size_t n)
{
    unsigned char nonce[12];
    number(nonce, s->nin++);
    return n >= DPM_TAG && decrypt(text, NULL, NULL, text, n, head, head_bytes, nonce, s->in) == 0;
}
