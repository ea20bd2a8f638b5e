// SPDX-License-Identifier: BSD-3-Clause
// Payloads that stay in the user's memory although their messages have left: the ring holds the header, and room for
// the payload. Most are acknowledged before the user asks for the memory back, and never copied; the others are copied
// into the ring, when a process that waits finds nothing else to do, before it sleeps, and when the connection breaks.
// Called by send.c, resend.c and tcp.c. Always holds: a loan's frame was given to the kernel as a whole by the present
// connection, or the link is `held`, which it never is between two calls of the channel but those of the next message.
#include <string.h>

#include "base/invariant.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/tcp/ring.h"

#define HUNGRY_US 1000    // a full ring is waited for so long, since acknowledgements are due

static _Atomic uint64_t uncopied;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_uncopied", &uncopied,
                     "messages of 16 KiB or more that were acknowledged before they were copied"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

bool tcp_lend(struct tcp_link *l, uint64_t at, const struct uno_msg *m)
{
    if (l->loans == TCP_LOANS || l->leaving) return false;
    l->loan[(l->first_loan + l->loans++) % TCP_LOANS] = (struct tcp_loan){at, m->data, m->lent};
    uno_tcp_state.loans++;
    return true;
}

const char *tcp_lent_at(const struct tcp_link *l, uint64_t at)
{
    for (uint32_t i = 0; i < l->loans; i++) {
        const struct tcp_loan *loan = &l->loan[(l->first_loan + i) % TCP_LOANS];
        if (loan->at == at) return loan->data;
    }
    return NULL;
}

static void give_back(uint64_t token)
{
    uno_tcp_state.loans--;
    if (!uno_tcp_state.closing) uno_send_returned(token);    // closing: p2p has forgotten it
}

void tcp_loan_acked(struct tcp_link *l, uint64_t at)
{
    const struct tcp_loan loan = l->loan[l->first_loan];
    if (l->loans == 0 || loan.at != at) return;
    l->first_loan = (l->first_loan + 1) % TCP_LOANS;
    l->loans--;
    uno_count_add(&uncopied, 1);
    give_back(loan.token);
}

// The last one: the others will be acknowledged before it.
static void settle_last(struct tcp_link *l)
{
    const struct tcp_loan loan = l->loan[(l->first_loan + --l->loans) % TCP_LOANS];
    struct tcp_frame *f = tcp_frame_at(l, loan.at);
    uno_assert(l->tail <= loan.at && loan.at < l->head);
    memcpy(f + 1, loan.data, f->h.bytes);
    give_back(loan.token);
}

void tcp_settle(struct tcp_link *l)
{
    while (l->loans > 0) settle_last(l);
}

void tcp_settle_unsent(struct tcp_link *l)
{
    while (l->loans > 0 && l->loan[(l->first_loan + l->loans - 1) % TCP_LOANS].at >= l->sent) settle_last(l);
}

void tcp_settle_all(void)
{
    if (uno_tcp_state.loans > 0) uno_tcp_state.settled = true;
    for (struct tcp_link *l = uno_tcp_state.first; l && uno_tcp_state.loans > 0; l = l->next) tcp_settle(l);
}

int tcp_settle_idle(uint64_t now)
{
    bool late = now - uno_tcp_state.last_use > HUNGRY_US * uno_ticks_per_us();
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next) {
        if (l->loans == 0 || (!late && (l->hungry || l->blocked))) continue;
        settle_last(l);
        return 1;
    }
    return 0;
}
