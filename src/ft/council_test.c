// SPDX-License-Identifier: BSD-3-Clause
// Unit test of agreements by messages (council.c): members are played in one process, and the next thing to happen is
// drawn: a member begins, a message arrives, a death is noticed. A member dies after any of the messages that it sends.
// All that decide decide alike, whoever died, also those that died later; all that live decide; nothing else is decided
// than what was voted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ft/council.h"

#define MOST 5
#define QUEUE 256
#define SEEDS 20000

struct letter {
    struct uno_say say;
    uint64_t set[2];
};

struct member {
    struct uno_council council;
    bool begun, over, dead;
    int lives;           // messages that it sends before it dies, -1: it does not die of that
    bool mortal;         // it may die at any moment
    bool knows[MOST];    // that a member has died, or cannot be reached
    struct uno_motion got;
    uint64_t out;
};

static struct member member[MOST];
static struct letter box[MOST][MOST][QUEUE];    // to, from
static int head[MOST][MOST], tail[MOST][MOST];
static int n, cut[2];    // two members that cannot reach each other, -1
static uint64_t state;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % below;
}

static bool is_cut(int a, int b)
{
    return (a == cut[0] && b == cut[1]) || (a == cut[1] && b == cut[0]);
}

// The last ones that it has sent may be lost.
static void die(int i)
{
    member[i].dead = true;
    for (int to = 0; to < n; to++) tail[to][i] -= (int)draw((unsigned)(tail[to][i] - head[to][i]) + 1);
}

static void post(int from, int to, const struct uno_say *say, const uint64_t *first, const uint64_t *dead)
{
    if (member[from].dead || is_cut(from, to)) return;
    if (member[from].lives == 0) {
        die(from);
        return;
    }
    if (member[from].lives > 0) member[from].lives--;
    assert_true(tail[to][from] < QUEUE);
    box[to][from][tail[to][from]++] = (struct letter){*say, {*first, *dead}};
}

static void tell(struct uno_council *c, int to, const struct uno_say *say, const uint64_t *first, const uint64_t *dead)
{
    assert_true(to >= 0 && to < n && to != c->me);
    post(c->me, to, say, first, dead);
}

static void step(int i)
{
    struct member *m = &member[i];
    uno_council_step(&m->council);
    if (!m->council.decided || m->dead) return;    // who dies in the middle tells nobody
    m->over = true;
    m->got = m->council.motion;
    m->out = m->council.set[UNO_OUT][0];
}

static void begin(int i)
{
    struct member *m = &member[i];
    m->begun = true;
    m->council.tell = tell;
    m->council.vote = (struct uno_motion){.flag = (1 << n) - 1 - (1 << i), .offer = 100 + (uint64_t)i};
    for (int k = 0; k < n; k++) {
        if (m->knows[k]) uno_council_lost(&m->council, k);
        if (m->knows[k] && draw(2)) uno_set_add(m->council.set[UNO_KNOWN], k);
    }
    step(i);
}

static void take_letter(int i, int from)
{
    struct letter l = box[i][from][head[i][from]++];
    if (!member[i].over) {
        uno_council_hear(&member[i].council, from, &l.say, l.set);
        step(i);
    } else if (uno_council_answer(&l.say)) {
        post(i, from, &l.say, &l.set[0], &l.set[1]);
    }
}

static void notice(int i, int who)
{
    member[i].knows[who] = true;
    if (!member[i].begun || member[i].over) return;
    uno_council_lost(&member[i].council, who);
    step(i);
}

// What a process has sent is received before its death is noticed.
static bool can_notice(int i, int who)
{
    bool lost = member[who].dead || is_cut(i, who);
    return i != who && lost && !member[i].knows[who] && (head[i][who] == tail[i][who] || !member[i].begun);
}

// One thing that can happen, from a place that is drawn on. False: nothing can.
static bool happen(void)
{
    unsigned places = (unsigned)n * (unsigned)n, first = draw(places);
    for (unsigned p = 0; p < places; p++) {
        int i = (int)((first + p) % places) / n, who = (int)((first + p) % places) % n;
        if (member[i].dead) continue;
        if (!member[i].begun && i == who) return begin(i), true;
        if (member[i].mortal && i == who && draw(3) == 0) return die(i), true;
        if (member[i].begun && head[i][who] < tail[i][who]) return take_letter(i, who), true;
        if (can_notice(i, who)) return notice(i, who), true;
    }
    return false;
}

static void play(uint64_t seed, bool with_cut)
{
    state = seed * 0x9e3779b97f4a7c15ULL + 1;
    n = 1 + (int)draw(MOST);
    if (with_cut && n < 3) n = 3;    // of two alone each is the other's dead
    memset(member, 0, sizeof member);
    memset(head, 0, sizeof head);
    memset(tail, 0, sizeof tail);
    cut[0] = with_cut ? (int)draw((unsigned)n) : -1;
    cut[1] = with_cut ? (cut[0] + 1 + (int)draw((unsigned)n - 1)) % n : -1;
    for (int i = 0; i < n; i++) {
        assert_true(uno_council_make(&member[i].council, n, i));
        member[i].mortal = !with_cut && draw(3) == 0;
        member[i].lives = with_cut || draw(2) ? -1 : (int)draw(draw(2) ? 3 : 3 * (unsigned)n);
    }
    while (happen()) continue;
}

static uint64_t dead_ones(void)
{
    uint64_t set = 0;
    for (int i = 0; i < n; i++) set |= (uint64_t)member[i].dead << i;
    return set;
}

static void check_alike(uint64_t seed, uint64_t but)
{
    const struct member *first = NULL;
    for (int i = 0; i < n; i++) {
        const struct member *m = &member[i];
        if (!m->over || but >> i & 1) continue;
        if (!first) first = m;
        if (memcmp(&m->got, &first->got, sizeof m->got) != 0 || m->out != first->out)
            fail_msg("seed %llu: member %d has decided otherwise", (unsigned long long)seed, i);
    }
}

static void deaths(void **unused)
{
    (void)unused;
    int died = 0, took_over = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false);
        uint64_t dead = dead_ones();
        check_alike(seed, 0);
        for (int i = 0; i < n; i++) {
            const struct member *m = &member[i];
            if (!m->over && !m->dead) fail_msg("seed %llu: member %d waits for ever", (unsigned long long)seed, i);
            died += m->dead;
            if (!m->over) continue;
            assert_false(m->out & ~dead);
            assert_true(m->dead || !(m->got.flag & 1 << i));
            assert_true(dead || (m->got.flag == 0 && !m->got.uneasy));
            took_over += m->council.round > 0;
        }
        for (int i = 0; i < n; i++) uno_council_free(&member[i].council);
    }
    assert_true(died > SEEDS / 2 && took_over > SEEDS / 20);    // it was about something
}

// One of the two is out, and hears so; all others agree on that, or had decided before anybody knew.
static void cuts(void **unused)
{
    (void)unused;
    int put_out = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, true);
        uint64_t out = 0;
        for (int i = 0; i < n; i++) {
            if (!member[i].over) fail_msg("seed %llu: member %d waits for ever", (unsigned long long)seed, i);
            out |= member[i].out & 1ULL << i;
        }
        assert_false(out & ~(1ULL << cut[0] | 1ULL << cut[1]));
        check_alike(seed, out);
        put_out += out != 0;
        for (int i = 0; i < n; i++) uno_council_free(&member[i].council);
    }
    assert_true(put_out > SEEDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(deaths), cmocka_unit_test(cuts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
