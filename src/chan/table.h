// SPDX-License-Identifier: BSD-3-Clause
// Objects by number, as the peer names them: the offers and the landings of channels that carry large messages straight
// from memory to memory.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

#define UNO_TABLE_ROOM 16

struct uno_table {
    void **at;
    uint32_t room, hint;
    uint32_t born;    // objects ever entered, which tells those apart that had the same number
};

static inline void *uno_table_find(const struct uno_table *t, uint64_t index)
{
    return index < t->room ? t->at[index] : NULL;
}

// A zeroed object; NULL: memory is out.
static inline void *uno_table_enter(struct uno_table *t, size_t bytes, uint32_t *index)
{
    uint32_t i = 0;
    while (i < t->room && t->at[(t->hint + i) % t->room]) i++;
    if (i == t->room) {
        uint32_t room = t->room ? 2 * t->room : UNO_TABLE_ROOM;
        void **at = realloc(t->at, room * sizeof *at);
        if (!at) return NULL;
        memset(at + t->room, 0, (room - t->room) * sizeof *at);
        t->hint = t->room;
        t->at = at;
        t->room = room;
        i = 0;
    }
    void *object = calloc(1, bytes);
    if (!object) return NULL;
    *index = (t->hint + i) % t->room;
    t->hint = *index + 1;
    t->at[*index] = object;
    t->born++;
    return object;
}

// Takes the object out, which the caller frees.
static inline void uno_table_leave(struct uno_table *t, uint32_t index)
{
    uno_assert(uno_table_find(t, index));
    t->at[index] = NULL;
}

static inline void uno_table_empty(struct uno_table *t)
{
    for (uint32_t i = 0; i < t->room; i++) free(t->at[i]);
    free(t->at);
    *t = (struct uno_table){0};
}
