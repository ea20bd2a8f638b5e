// SPDX-License-Identifier: BSD-3-Clause
// Session objects. Called by src/api/session.c and by raising of errors.
// Always holds: sessions may be made before the library is open and by several threads, so the pool has its own mutex.
#include "core/session.h"

#include <pthread.h>
#include <stdint.h>

#include "base/invariant.h"
#include "core/errh.h"
#include "core/info.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Session), .magic = UNO_SESSION_MAGIC};

struct MPI_ABI_Session *uno_session(MPI_Session h)
{
    return uno_head_is(h, UNO_SESSION_MAGIC) ? h : NULL;
}

struct MPI_ABI_Session *uno_session_new(void)
{
    pthread_mutex_lock(&mutex);
    struct MPI_ABI_Session *s = uno_pool_get(&pool);
    pthread_mutex_unlock(&mutex);
    if (s) s->errhandler = &uno_errors_are_fatal;
    return s;
}

void uno_session_drop(struct MPI_ABI_Session *s)
{
    uno_assert(s->head.magic == UNO_SESSION_MAGIC);
    uno_errh_drop(s->errhandler);
    if (s->info) uno_info_drop(s->info);
    pthread_mutex_lock(&mutex);
    uno_pool_put(&pool, s);
    pthread_mutex_unlock(&mutex);
}
