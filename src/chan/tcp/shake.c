// SPDX-License-Identifier: BSD-3-Clause
// The handshake's messages: each but the first carries a keyed hash (crypto_auth of libsodium, the key is the job's
// secret) over itself and the nonce of the other side, so that only a process of the job can speak, and only now: what
// was said once is of no use again. Called by dial.c. libsodium is looked for when the channel opens: a job inside one
// host does not need it.
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/random.h>

#include "base/fail.h"
#include "base/machine.h"
#include "base/sodium.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define MAGIC "UNISONO5"

static struct uno_param auth_param =
    UNO_PARAM_CHOICE("tcp_auth", "auto", "auto|no|yes",
                     "whether messages over tcp are authenticated, so that nobody on the way can alter them; auto: "
                     "between hosts that no common network joins");
UNO_PARAM_DECLARE(auth_param);

static int (*auth)(unsigned char *out, const unsigned char *in, unsigned long long n, const unsigned char *key);
static int (*same)(const unsigned char *a, const unsigned char *b);    // in constant time; 0 when equal

_Static_assert(sizeof(struct tcp_greeting) == 120, "a greeting has no holes");

int tcp_shake_open(void)
{
    const struct uno_symbol wanted[] = {{"crypto_auth", (void **)&auth}, {"crypto_verify_32", (void **)&same}};
    int err = uno_sodium_find(wanted, sizeof wanted / sizeof wanted[0]);
    return err ? err : tcp_check_open();
}

int tcp_nonce(unsigned char *nonce)
{
    if (getrandom(nonce, TCP_NONCE, 0) == TCP_NONCE) return MPI_SUCCESS;
    return uno_fail_errno(MPI_ERR_OTHER, "get random bytes");
}

// What this process and that one know alone: the job's secret, or what the two secrets of processes of different jobs
// give, in an order that both know.
static void secret_with(int proc, unsigned char *secret)
{
    struct uno_card own;
    if (!uno_proc_is_guest(proc) || uno_proc_own(&own) != MPI_SUCCESS) {
        memcpy(secret, uno_chan_self.job->secret, TCP_KEY);
        return;
    }
    const unsigned char *theirs = uno_proc_of(proc)->card.secret;
    bool first = memcmp(own.secret, theirs, TCP_KEY) < 0;
    auth(secret, first ? own.secret : theirs, TCP_KEY, first ? theirs : own.secret);
}

bool tcp_goes_first(int proc)
{
    if (!uno_proc_is_guest(proc)) return uno_chan_self.proc < proc;
    return uno_chan_self.job->job_id < uno_proc_of(proc)->card.job;
}

static void prove(const struct tcp_greeting *g, int proc, const unsigned char *other_nonce, unsigned char *proof)
{
    unsigned char secret[TCP_KEY];
    secret_with(proc, secret);
    unsigned char text[sizeof *g - sizeof g->proof + TCP_NONCE] = {0};
    memcpy(text, g, sizeof *g - sizeof g->proof);
    if (other_nonce) memcpy(text + sizeof *g - sizeof g->proof, other_nonce, TCP_NONCE);
    auth(proof, text, sizeof text, secret);
}

void tcp_sign(struct tcp_greeting *g, int to, const unsigned char *other_nonce)
{
    memcpy(g->magic, MAGIC, sizeof g->magic);
    g->machine = uno_machine_kind();
    g->alike = uno_machine_is_alike();
    if (!other_nonce) return;    // the challenge: it says nothing that is worth a proof
    g->from = uno_chan_self.proc;
    g->to = uno_proc_rank(to);
    g->job = uno_chan_self.job->job_id;
    g->life = uno_tcp_state.life;
    prove(g, to, other_nonce, g->proof);
}

const char *tcp_verify(const struct tcp_greeting *g, enum tcp_step step, const unsigned char *other_nonce)
{
    unsigned char proof[sizeof g->proof];
    if (memcmp(g->magic, MAGIC, sizeof g->magic) != 0) return "what it sent is no greeting";
    // Before all that has an order of bytes.
    const char *strange = uno_machine_refusal(g->machine);
    if (strange) return strange;
    int proc = other_nonce ? uno_proc_find(g->job, g->from) : -1;
    if (other_nonce && proc < 0) return "its rank is impossible";
    if (other_nonce) prove(g, proc, other_nonce, proof);
    if (other_nonce && same(proof, g->proof) != 0) return "it does not know the job's secret, or repeats what was said";
    if (g->step != step) return "it is out of step";
    if (!other_nonce) return NULL;
    if (g->to != uno_chan_self.proc) return "it looks for another rank";
    if (proc == uno_chan_self.proc) return "its rank is impossible";
    return NULL;
}

bool tcp_wants_auth(const struct sockaddr *peer)
{
    if (auth_param.text[0] != 'a') return auth_param.text[0] == 'y';
    return (uno_chan_self.job->nhosts > 1 || uno_chan_self.far) && !uno_net_is_near(peer);
}

// The key of one direction of a connection.
static void derive(struct tcp_keys *k, int from, int to, const unsigned char *dialer, const unsigned char *answerer)
{
    struct {
        char what[8];
        int32_t from, to;
        uint64_t job;    // of the side that sends
        unsigned char nonce[2][TCP_NONCE];
    } text = {.what = "frames", .from = uno_proc_rank(from), .to = uno_proc_rank(to)};
    int other = from == uno_chan_self.proc ? to : from;
    text.job = uno_proc_is_guest(from) ? uno_proc_of(from)->card.job : uno_chan_self.job->job_id;
    unsigned char key[TCP_KEY], secret[TCP_KEY];
    secret_with(other, secret);
    memcpy(text.nonce[0], dialer, TCP_NONCE);
    memcpy(text.nonce[1], answerer, TCP_NONCE);
    auth(key, (const unsigned char *)&text, sizeof text, secret);
    tcp_keys_begin(k, key);
}

void tcp_agree_keys(struct tcp_link *l, const unsigned char *dialer, const unsigned char *answerer)
{
    derive(&l->out_keys, uno_chan_self.proc, l->base.proc, dialer, answerer);
    derive(&l->in_keys, l->base.proc, uno_chan_self.proc, dialer, answerer);
}
