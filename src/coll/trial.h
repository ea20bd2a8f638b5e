// SPDX-License-Identifier: BSD-3-Clause
// Trials: a blocking collective in a host goes as the rules say (choose.h) until another way has cost its ranks less.
// Which one does may change with the cores that the ranks are given, within seconds. So a communicator tries, for each
// kind and power of two of bytes, the ways that there are, one after the other: ranks time some calls of the way as it
// is and some of its rival, each says what its calls took, and all go by the sum. A rival that wins is tried once more
// in more calls before it takes over; one that loses by far is left out for longer and longer. Calls of up to
// 64 KiB that go by copies across processes are looked at, too, soon and now and then: where a copy takes three times
// what it should (chan/shm/dear.h), the other ways are tried at once. Used by shm.c and coll.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/choose.h"
#include "coll/segment.h"

#define UNO_TRIALS 64       // kinds and sizes of which a communicator keeps what was tried
#define UNO_TRIAL_WAYS 4    // slots, copies, windows, messages
#define UNO_TRIAL_BIT(way) (1u << ((way)-UNO_ALG_SLOTS))

// One kind, one power of two, one rule.
struct uno_trial {
    uint8_t kind, bits;    // bits of the bytes, 0: free
    uint8_t ruled, way, rival;
    bool again;                      // it was not ruled out at first sight
    bool clear;                      // the way as it is won by far
    bool sent;                       // messages have been tried
    bool copied;                     // copies have been given the time to gather pages
    bool looks;                      // its calls are timed to see whether copies have become dear
    uint8_t dear;                    // other ways that are tried at once, since they have
    uint8_t turn;                    // as in struct uno_trials, when it was last called
    uint16_t look, look_rest;        // calls until the next such look, and how many there were
    uint16_t uses;                   // the calls that this takes, 0: none
    uint16_t step;                   // of the trial under way, 0: none
    uint32_t left, rest;             // calls until the next one, and how many there were at first
    uint8_t lost[UNO_TRIAL_WAYS];    // how far a way has lost, and how often it is still left out
    uint8_t skip[UNO_TRIAL_WAYS];
    uint64_t cost;    // ticks of all ranks of a call as it is, the last time
};

// What a communicator keeps for them.
struct uno_trials {
    struct uno_trial_plan plan;
    bool rival;                // the call under way is a rival's
    bool dear;                 // the last look found copies dear
    uint8_t turn;              // how often that has changed so
    uint8_t passed;            // calls of uno_trial_looks
    unsigned others;           // calls that others wanted the trial to end
    struct uno_trial *open;    // the one under way: one at a time
    uint64_t began;            // ticks at which the call under way began that is timed, 0: none
    uint64_t sum[2];           // ticks of this rank in calls of the way as it is, of its rival
    uint64_t took, copies;     // likewise of its copies (uno_peer_memory_took), and how many these were
    uint64_t said, said_at;    // how often it has told them, the phase that published the last time
    struct uno_trial of[UNO_TRIALS];
};

// The way of the next call of a kind that is tried, the same on all ranks. ruled: what the rules say; ways: bits of
// those that it may go.
enum uno_alg uno_trial_way(struct uno_coll *u, enum uno_coll_kind kind, size_t bytes, enum uno_alg ruled,
                           unsigned ways);

// Of calls by copies that are too short for trials, but while these are dear, each fourth is asked for its way.
#define UNO_TRIAL_PASS 4

static inline bool uno_trial_looks(struct uno_trials *t)
{
    return t->dear || t->open || ++t->passed % UNO_TRIAL_PASS == 0;
}

// A call that is timed is over.
void uno_trial_time(struct uno_trials *t);

// A copy across processes of a call that is timed is over. took: uno_peer_memory_took of it.
void uno_trial_copied(struct uno_trials *t, uint32_t took);

static inline void uno_trial_end(struct uno_trials *t)
{
    if (__builtin_expect(t->began != 0, 0)) uno_trial_time(t);
}
