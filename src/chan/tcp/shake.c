// SPDX-License-Identifier: BSD-3-Clause
// The handshake's messages: each carries a keyed hash (crypto_auth of libsodium, the key is the job's secret) over
// itself and the nonce of the other side, so that only a process of the job can speak, and only now. Called by dial.c.
// libsodium is looked for when the channel opens: a job inside one host does not need it.
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/random.h>

#include "base/fail.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define MAGIC "UNISONO1"
#define LIBRARY "libsodium.so.23"

typedef int auth_fn(unsigned char *out, const unsigned char *in, unsigned long long n, const unsigned char *key);
typedef int equal_fn(const unsigned char *a, const unsigned char *b);

static auth_fn *auth;     // crypto_auth
static equal_fn *same;    // crypto_verify_32: in constant time; 0 when equal

_Static_assert(sizeof(struct tcp_greeting) == 104, "a greeting has no holes");

int tcp_shake_open(void)
{
    if (auth) return MPI_SUCCESS;
    void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return uno_fail(MPI_ERR_OTHER, "the tcp channel needs " LIBRARY " (Debian, Ubuntu: package libsodium23): %s",
                        dlerror());
    auth = (auth_fn *)(uintptr_t)dlsym(lib, "crypto_auth");
    same = (equal_fn *)(uintptr_t)dlsym(lib, "crypto_verify_32");
    if (auth && same) return MPI_SUCCESS;
    auth = NULL;
    return uno_fail(MPI_ERR_OTHER, LIBRARY " lacks crypto_auth or crypto_verify_32");
}

int tcp_nonce(unsigned char *nonce)
{
    if (getrandom(nonce, TCP_NONCE, 0) == TCP_NONCE) return MPI_SUCCESS;
    return uno_fail_errno(MPI_ERR_OTHER, "get random bytes");
}

static void prove(const struct tcp_greeting *g, const unsigned char *other_nonce, unsigned char *proof)
{
    unsigned char text[sizeof *g - sizeof g->proof + TCP_NONCE] = {0};
    memcpy(text, g, sizeof *g - sizeof g->proof);
    if (other_nonce) memcpy(text + sizeof *g - sizeof g->proof, other_nonce, TCP_NONCE);
    auth(proof, text, sizeof text, uno_chan_self.job->secret);
}

void tcp_sign(struct tcp_greeting *g, const unsigned char *other_nonce)
{
    memcpy(g->magic, MAGIC, sizeof g->magic);
    g->from = uno_chan_self.proc;
    g->life = uno_tcp_state.life;
    prove(g, other_nonce, g->proof);
}

const char *tcp_verify(const struct tcp_greeting *g, enum tcp_step step, const unsigned char *other_nonce)
{
    unsigned char proof[sizeof g->proof];
    if (memcmp(g->magic, MAGIC, sizeof g->magic) != 0) return "what it sent is no greeting";
    prove(g, other_nonce, proof);
    if (same(proof, g->proof) != 0) return "it does not know the job's secret";
    if (g->step != step) return "it is out of step";
    if (g->to != uno_chan_self.proc) return "it looks for another rank";
    if (g->from < 0 || g->from >= uno_chan_self.nprocs || g->from == g->to) return "its rank is impossible";
    return NULL;
}
