// SPDX-License-Identifier: BSD-3-Clause
// An index by tag of a long queue (match.h): a hash table of tags, and per tag a list in the queue's order. It holds no
// element alive and knows nothing of its kind.
#pragma once
#include <stdbool.h>

struct uno_index;

// The place of an element in an index: valid until it is removed or the index is dropped.
struct uno_entry;

struct uno_index *uno_index_new(void);    // NULL: no memory
void uno_index_drop(struct uno_index *ix);

// Puts what at the end of its tag's list. NULL: no memory, the index is as before.
struct uno_entry *uno_index_add(struct uno_index *ix, int tag, void *what);
void uno_index_remove(struct uno_index *ix, struct uno_entry *e);

void *uno_index_first(const struct uno_index *ix, int tag);    // NULL: none
