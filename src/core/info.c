// SPDX-License-Identifier: BSD-3-Clause
// Info objects. Called by src/api/info.c and by the readers of hints.
// Always holds: keys of one object differ; an object is used by one thread at a time, the pool by any (it has its own
// mutex, because info calls are allowed before MPI_Init, when the library lock does not exist yet).
#include "core/info.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "core/world.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Info), .magic = UNO_INFO_MAGIC};
static struct MPI_ABI_Info env;    // MPI_INFO_ENV, filled when first asked for

static int fill_env(void)
{
    static char text[65536], *argv[4096];
    int argc = 0;
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    for (size_t at = 0; at < n && argc < 4095; at += strlen(text + at) + 1) argv[argc++] = text + at;
    env.head = (struct uno_head){.magic = UNO_INFO_MAGIC, .refs = 1};
    int err = uno_info_fill_env(&env, argc, argv);
    env.readonly = true;
    return err;
}

struct MPI_ABI_Info *uno_info(MPI_Info h)
{
    if (h == MPI_INFO_ENV) {
        pthread_mutex_lock(&mutex);
        // The number of processes is known once the library is open: filled again then.
        static int filled_in = -1;
        int phase =
            atomic_load_explicit(&uno_world.phase, memory_order_acquire);    // pairs with the release in uno_world_open
        if (filled_in != phase) {
            env.readonly = false;
            if (fill_env() == MPI_SUCCESS) filled_in = phase;    // memory was out: the rest at the next call
        }
        pthread_mutex_unlock(&mutex);
        return &env;
    }
    return uno_head_is(h, UNO_INFO_MAGIC) ? h : NULL;
}

struct MPI_ABI_Info *uno_info_new(void)
{
    pthread_mutex_lock(&mutex);
    struct MPI_ABI_Info *i = uno_pool_get(&pool);
    pthread_mutex_unlock(&mutex);
    return i;
}

static void free_pair(struct uno_info_pair *p)
{
    free(p->value);
    free(p);
}

void uno_info_drop(struct MPI_ABI_Info *i)
{
    uno_assert(i->head.magic == UNO_INFO_MAGIC);
    for (struct uno_info_pair *p = i->first, *next; p; p = next) {
        next = p->next;
        free_pair(p);
    }
    pthread_mutex_lock(&mutex);
    uno_pool_put(&pool, i);
    pthread_mutex_unlock(&mutex);
}

struct MPI_ABI_Info *uno_info_copy(const struct MPI_ABI_Info *from)
{
    struct MPI_ABI_Info *i = uno_info_new();
    if (!i) return NULL;
    for (const struct uno_info_pair *p = from->first; p; p = p->next) {
        if (uno_info_set(i, p->key, p->value) == MPI_SUCCESS) continue;
        uno_info_drop(i);
        return NULL;
    }
    return i;
}

static struct uno_info_pair **find_place(struct MPI_ABI_Info *i, const char *key)
{
    struct uno_info_pair **at = &i->first;
    while (*at && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    return at;
}

const char *uno_info_find(const struct MPI_ABI_Info *i, const char *key)
{
    for (const struct uno_info_pair *p = i ? i->first : NULL; p; p = p->next) {
        if (strcmp(p->key, key) == 0) return p->value;
    }
    return NULL;
}

int uno_info_set(struct MPI_ABI_Info *i, const char *key, const char *value)
{
    struct uno_info_pair **at = find_place(i, key);
    char *copy = strdup(value);
    if (!copy) return uno_fail(MPI_ERR_NO_MEM, "no memory for the value of key `%s`", key);
    if (*at) {
        free((*at)->value);
        (*at)->value = copy;
        return MPI_SUCCESS;
    }
    struct uno_info_pair *p = malloc(sizeof *p + strlen(key) + 1);
    if (!p) {
        free(copy);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for key `%s`", key);
    }
    p->next = NULL;
    p->value = copy;
    strcpy(p->key, key);
    *at = p;
    i->nkeys++;
    return MPI_SUCCESS;
}

bool uno_info_remove(struct MPI_ABI_Info *i, const char *key)
{
    struct uno_info_pair **at = find_place(i, key), *p = *at;
    if (!p) return false;
    *at = p->next;
    i->nkeys--;
    free_pair(p);
    return true;
}

size_t uno_infos_live(void)
{
    return pool.live;
}

static const char *thread_level_word(void)
{
    switch (uno_world.thread_level) {
    case MPI_THREAD_MULTIPLE: return "MPI_THREAD_MULTIPLE";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    default: return "MPI_THREAD_SINGLE";
    }
}

int uno_info_fill_env(struct MPI_ABI_Info *i, int argc, char **argv)
{
    char text[MPI_MAX_INFO_VAL] = "";
    int err = argc > 0 && argv && argv[0] ? uno_info_set(i, "command", argv[0]) : MPI_SUCCESS;
    size_t at = 0;
    for (int a = 1; a < argc && at < sizeof text; a++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", a > 1 ? " " : "", argv[a]);
    }
    if (!err && argc > 1) err = uno_info_set(i, "argv", text);
    char number[16];
    snprintf(number, sizeof number, "%d", uno_world.size > 0 ? uno_world.size : 1);
    if (!err) err = uno_info_set(i, "maxprocs", number);
    if (!err) err = uno_info_set(i, "soft", number);
    struct utsname u;
    if (!err && uname(&u) == 0) {
        err = uno_info_set(i, "host", uno_world.host[0] ? uno_world.host : u.nodename);
        if (!err) err = uno_info_set(i, "arch", u.machine);
    }
    if (!err && getcwd(text, sizeof text)) err = uno_info_set(i, "wdir", text);
    if (!err) err = uno_info_set(i, "thread_level", thread_level_word());
    if (err || !uno_world.job) return err;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)uno_world.job->job_id);
    return uno_info_set(i, "mpix_job", text);
}
