// SPDX-License-Identifier: BSD-3-Clause
// The rules that choose algorithms: the built-in ones (rules.c), and those that are read (rules_read.c). Used by
// choose.c, which asks them.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "coll/choose.h"

struct uno_rule {
    enum uno_coll_kind kind;
    int ranks;
    size_t bytes;
    int alg;    // enum uno_alg; from UNO_ALG_END on: algorithms of components (outside.h)
};

struct uno_rules {
    const struct uno_rule *rule;
    size_t n;
};

extern const struct uno_rules uno_rules_built_in;
extern const struct uno_rules uno_rules_crowded;    // where ranks outnumber cores, after those
extern const struct uno_rules uno_rules_sharing;    // for messages among such ranks of one host, likewise
extern struct uno_rules uno_rules_loaded;           // of components, of a file, and coll_force

// From how many bytes on it is for so many ranks.
size_t uno_rule_bytes(const struct uno_rule *r, int ranks);

// The rules for messages and those for inside a host do not meet.
bool uno_rule_in_host(int alg);
