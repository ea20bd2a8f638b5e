// SPDX-License-Identifier: BSD-3-Clause
// The numbering of handles (number.h). Called by src/api/handles.c at any time and from any thread, so it has its own
// mutex.
// Always holds: handle[n] is the handle with number FIRST + n; slot[] finds n by the handle's address, open addressing,
// at most half full.
#include "core/number.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST 1024

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const void **handle;
static int *slot;         // n + 1, 0 when free
static int used, room;    // slot has 2 * room entries, room a power of two

static int *find_slot(const void *h)
{
    size_t mask = 2 * (size_t)room - 1, at = ((uintptr_t)h >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & mask;
    while (slot[at] && handle[slot[at] - 1] != h) at = (at + 1) & mask;
    return &slot[at];
}

static int grow_table(void)
{
    int wider = room ? 2 * room : 64;
    const void **h = realloc(handle, (size_t)wider * sizeof *h);
    if (!h) return 0;
    handle = h;
    int *s = calloc(2 * (size_t)wider, sizeof *s);
    if (!s) return 0;
    free(slot);
    slot = s;
    room = wider;
    for (int n = 0; n < used; n++) *find_slot(handle[n]) = n + 1;
    return 1;
}

static int number_of(const void *h)
{
    int *s = room ? find_slot(h) : NULL;
    if (s && *s) return FIRST + *s - 1;
    if (!s || used == room) {
        if (!grow_table()) return 0;
        s = find_slot(h);
    }
    handle[used++] = h;
    *s = used;
    return FIRST + used - 1;
}

int uno_number_of(const void *h)
{
    if ((uintptr_t)h < FIRST) return (int)(uintptr_t)h;
    pthread_mutex_lock(&mutex);
    int number = number_of(h);
    pthread_mutex_unlock(&mutex);
    return number;
}

void *uno_number_find(int number)
{
    if (number < FIRST) return number < 0 ? NULL : (void *)(uintptr_t)number;
    pthread_mutex_lock(&mutex);
    const void *h = number - FIRST < used ? handle[number - FIRST] : NULL;
    pthread_mutex_unlock(&mutex);
    return (void *)(uintptr_t)h;
}
