// SPDX-License-Identifier: BSD-3-Clause
// The table of tokens (token.h). Called by everything here that announces a message or answers an announcement. Always
// holds: an entry that is free has the kind FREE and the generation that its next token will carry.
#include "p2p/token.h"

#include <stdlib.h>

#include "base/fail.h"
#include "core/world.h"

#define FIRST_ROOM 64

struct entry {
    void *object;
    uint32_t generation, next_free;    // next_free: index + 1, 0 at the end
    int32_t proc;
    uint32_t kind;    // enum uno_token_kind
};

static struct {
    struct entry *at;
    uint32_t room, free;    // free: index + 1 of the entry used next
} table;

static void grow_table(void)
{
    uint32_t room = table.room ? 2 * table.room : FIRST_ROOM;
    struct entry *at = room > table.room ? realloc(table.at, room * sizeof *at) : NULL;
    if (!at) uno_world_abort(1, "out of memory for the messages under way");
    for (uint32_t i = room; i-- > table.room;) {
        at[i] = (struct entry){.generation = 1, .next_free = table.free};
        table.free = i + 1;
    }
    table.at = at;
    table.room = room;
}

uint64_t uno_token_take(enum uno_token_kind kind, void *object, int proc)
{
    if (__builtin_expect(table.free == 0, 0)) grow_table();
    uint32_t i = table.free - 1;
    struct entry *e = &table.at[i];
    table.free = e->next_free;
    e->object = object;
    e->kind = kind;
    e->proc = proc;
    return (uint64_t)e->generation << 32 | i;
}

static struct entry *entry_of(uint64_t token)
{
    uint32_t i = (uint32_t)token;
    if (i >= table.room || table.at[i].generation != token >> 32) return NULL;
    return &table.at[i];
}

void *uno_token_find(uint64_t token, enum uno_token_kind kind, int proc)
{
    const struct entry *e = entry_of(token);
    return e && e->kind == kind && e->proc == proc ? e->object : NULL;
}

bool uno_token_pass(uint64_t token, const void *from, void *to)
{
    struct entry *e = entry_of(token);
    if (!e || e->kind == UNO_TOKEN_FREE || e->object != from) return false;
    e->object = to;
    return true;
}

void uno_token_give(uint64_t token)
{
    struct entry *e = entry_of(token);
    if (!e) return;
    e->kind = UNO_TOKEN_FREE;
    if (++e->generation == 0) e->generation = 1;
    e->next_free = table.free;
    table.free = (uint32_t)token + 1;
}

void *uno_token_end(uint64_t token)
{
    const struct entry *e = entry_of(token);
    if (!e || (e->kind != UNO_TOKEN_LENT && e->kind != UNO_TOKEN_SEND && e->kind != UNO_TOKEN_RECV)) return NULL;
    void *object = e->object;
    uno_token_give(token);
    return object;
}

void uno_token_each(int proc, void (*fn)(uint64_t token, enum uno_token_kind kind, void *object, void *arg), void *arg)
{
    for (uint32_t i = 0; i < table.room; i++) {
        const struct entry *e = &table.at[i];
        if (e->kind == UNO_TOKEN_FREE || (proc >= 0 && e->proc != proc)) continue;
        fn((uint64_t)e->generation << 32 | i, (enum uno_token_kind)e->kind, e->object, arg);
    }
}

void uno_tokens_close(void)
{
    free(table.at);
    table.at = NULL;
    table.room = table.free = 0;
}
