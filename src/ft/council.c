// SPDX-License-Identifier: BSD-3-Clause
// Agreements by messages (council.h). The lowest living member leads: it gathers votes, proposes, waits until all that
// live have accepted, decides. When it dies the next one leads.
//
// Always holds: what was decided was accepted before by every member that lived then. So whoever leads next holds it
// and proposes the same, and whoever holds nothing knows that nothing was decided.
#include "ft/council.h"

#include <stdlib.h>
#include <string.h>

bool uno_council_make(struct uno_council *c, int n, int me)
{
    size_t words = uno_council_words(n);
    uint64_t *all = calloc(UNO_COUNCIL_SETS * words, sizeof *all);
    if (!all) return false;
    *c = (struct uno_council){.n = n, .me = me, .lead = -1, .round = -1};
    for (int i = 0; i < UNO_COUNCIL_SETS; i++) c->set[i] = all + (size_t)i * words;
    return true;
}

void uno_council_free(struct uno_council *c)
{
    free(c->set[0]);
}

static void say(struct uno_council *c, int to, enum uno_say_what what)
{
    bool holds = what != UNO_SAY_VOTE && what != UNO_SAY_CALL;
    struct uno_say s = {.what = what, .round = c->round, .motion = holds ? c->motion : c->vote};
    c->tell(c, to, &s, c->set[holds ? UNO_OUT : UNO_KNOWN], c->set[UNO_DEAD]);
}

static void say_to_all(struct uno_council *c, enum uno_say_what what, enum uno_council_set but)
{
    for (int i = 0; i < c->n; i++)
        if (i != c->me && !uno_set_has(c->set[but], i)) say(c, i, what);
}

// ---- what is heard ----

static void add_dead(struct uno_council *c, const uint64_t *dead)
{
    for (size_t w = 0; w < uno_council_words(c->n); w++) c->set[UNO_DEAD][w] |= dead[w];
    c->set[UNO_DEAD][c->me / 64] &= ~(1ULL << c->me % 64);    // a decision alone may say that
}

static void hold(struct uno_council *c, const struct uno_say *say, const uint64_t *out)
{
    c->round = say->round;
    c->motion = say->motion;
    memcpy(c->set[UNO_OUT], out, uno_council_words(c->n) * sizeof *out);
}

static void count_vote(struct uno_council *c, int from, const struct uno_say *say, const uint64_t *known)
{
    if (uno_set_has(c->set[UNO_VOTED], from)) return;
    c->vote.flag &= say->motion.flag;
    for (size_t w = 0; w < uno_council_words(c->n); w++) c->set[UNO_KNOWN][w] &= known[w];
}

static void accept(struct uno_council *c, int from, const struct uno_say *said, const uint64_t *out)
{
    if (!c->decided) {
        // Its time is over; or it takes this member for dead.
        if (said->round != from || from < c->lead || from < c->round || from > c->me) return;
        hold(c, said, out);
        c->lead = from;
    }
    say(c, from, UNO_SAY_ACCEPT);
}

void uno_council_hear(struct uno_council *c, int from, const struct uno_say *say, const uint64_t *sets)
{
    const uint64_t *first = sets, *dead = sets + uno_council_words(c->n);
    if (!c->decided) add_dead(c, dead);
    if (say->what == UNO_SAY_PROPOSAL) {
        accept(c, from, say, first);
    } else if (say->what == UNO_SAY_VOTE || say->what == UNO_SAY_HELD) {
        if (say->what == UNO_SAY_VOTE) count_vote(c, from, say, first);
        if (say->what == UNO_SAY_HELD && !c->asked && !c->decided && say->round > c->round) hold(c, say, first);
        uno_set_add(c->set[UNO_VOTED], from);
    } else if (say->what == UNO_SAY_ACCEPT) {
        if (c->asked) uno_set_add(c->set[UNO_ACCEPTED], from);
    } else if (say->what == UNO_SAY_DECISION && !c->decided) {
        hold(c, say, first);
        c->decided = true;
    }
}

void uno_council_lost(struct uno_council *c, int member)
{
    uno_set_add(c->set[UNO_DEAD], member);
    uno_set_add(c->set[UNO_GONE], member);
}

// ---- what is done ----

// All others are in the set or dead.
static bool all_have(const struct uno_council *c, enum uno_council_set set)
{
    for (int i = 0; i < c->n; i++)
        if (i != c->me && !uno_set_has(c->set[set], i) && !uno_set_has(c->set[UNO_DEAD], i)) return false;
    return true;
}

static void turn_to(struct uno_council *c, int lead)
{
    c->lead = lead;
    if (lead != c->me)
        say(c, lead, c->round < 0 ? UNO_SAY_VOTE : UNO_SAY_HELD);
    else if (lead > 0)
        say_to_all(c, UNO_SAY_CALL, UNO_DEAD);
}

static void propose(struct uno_council *c)
{
    if (c->round < 0) {
        c->motion = c->vote;
        for (size_t w = 0; w < uno_council_words(c->n); w++) {
            c->set[UNO_OUT][w] = c->set[UNO_DEAD][w];
            if (c->set[UNO_OUT][w] & ~c->set[UNO_KNOWN][w]) c->motion.uneasy = 1;
        }
    }
    c->round = c->me;
    c->asked = true;
    say_to_all(c, UNO_SAY_PROPOSAL, UNO_DEAD);
}

// Who has turned to this member hears of the decision, and who counts as dead without being so.
static void pass_on(struct uno_council *c)
{
    for (int i = 0; i < c->n; i++) {
        if (i == c->me || uno_set_has(c->set[UNO_GONE], i)) continue;
        if (uno_set_has(c->set[UNO_VOTED], i) || uno_set_has(c->set[UNO_OUT], i)) say(c, i, UNO_SAY_DECISION);
    }
}

void uno_council_step(struct uno_council *c)
{
    if (c->decided) {
        pass_on(c);
        return;
    }
    int lead = c->lead < 0 ? 0 : c->lead;
    while (uno_set_has(c->set[UNO_DEAD], lead)) lead++;    // at the latest this member
    if (lead != c->lead) turn_to(c, lead);
    if (lead != c->me) return;
    if (!c->asked && (c->round >= 0 || all_have(c, UNO_VOTED))) propose(c);
    if (!c->asked || !all_have(c, UNO_ACCEPTED)) return;
    c->decided = true;
    say_to_all(c, UNO_SAY_DECISION, UNO_GONE);
}

// It has accepted what is proposed now, and who holds a motion holds what was decided.
bool uno_council_answer(struct uno_say *say)
{
    if (say->what == UNO_SAY_PROPOSAL)
        say->what = UNO_SAY_ACCEPT;
    else if (say->what == UNO_SAY_HELD)
        say->what = UNO_SAY_DECISION;
    else
        return false;
    return true;
}
