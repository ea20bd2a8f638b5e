// SPDX-License-Identifier: BSD-3-Clause
// The I/O thread (async.h). It takes no lock of the library: it puts what it has done on a list and rings the door of
// its own process, where a poller completes the requests. So the lock need not be real for its sake.
// Always holds: `queue` guards both lists and the words beside them; the poller is queued while anything is under way.
#include "io/async.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/door.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/world.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/outcome.h"

#define QUICK 16384    // bytes that take as long as waking a thread, some microseconds

struct task {
    struct task *next;
    struct uno_access access;
    struct uno_outcome *outcome;    // of an access that all members agree on, else NULL
    MPI_Request request;
    int err;
    char why[MPI_MAX_ERROR_STRING];    // the reason, kept in the I/O thread
};

struct list {
    struct task *first, **last;
};

static struct {
    pthread_mutex_t queue;
    pthread_cond_t more;
    pthread_t thread;
    bool running, stop;
    bool busy;    // a task is being done, by this thread or by one that waits for it: one at a time
    struct list todo, done;
    _Atomic uint32_t ended;    // tasks on `done`
    int pending;               // under the library's lock: tasks whose request is not complete
    struct uno_poller poller;
} async = {.queue = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void put(struct list *l, struct task *t)
{
    t->next = NULL;
    if (!l->first) l->last = &l->first;
    *l->last = t;
    l->last = &t->next;
}

static struct task *take(struct list *l)
{
    struct task *t = l->first;
    if (t) l->first = t->next;
    return t;
}

static void do_task(struct task *t)
{
    t->err = uno_access_run(&t->access);
    snprintf(t->why, sizeof t->why, "%s", t->err ? uno_fail_text() : "");
}

static void *work(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&async.queue);
    while (!async.stop || async.todo.first) {
        struct task *t = async.busy ? NULL : take(&async.todo);
        if (!t) {
            pthread_cond_wait(&async.more, &async.queue);
            continue;
        }
        async.busy = true;
        pthread_mutex_unlock(&async.queue);
        do_task(t);
        pthread_mutex_lock(&async.queue);
        async.busy = false;
        put(&async.done, t);
        // Release: pairs with the acquire in complete_ended.
        atomic_fetch_add_explicit(&async.ended, 1, memory_order_release);
        uno_door_ring(uno_world.door);
    }
    pthread_mutex_unlock(&async.queue);
    return NULL;
}

// The reason is told when the user asks for the outcome, in the thread that does.
static int tell_reason(MPI_Request r)
{
    struct task *t = r->extra;
    return t->err ? uno_fail(t->err, "%s", t->why) : MPI_SUCCESS;
}

static void free_task(MPI_Request r)
{
    free(r->extra);
}

static void complete(struct task *t)
{
    uno_status_set_bytes(&t->request->status, t->access.moved);
    uno_access_end(&t->access);
    t->access.file->pending--;
    uno_request_done(t->request, t->err);
}

// What all members came to; where this one failed, its own reason is the one to tell.
static void hear_outcome(void *arg, int error, const char *why)
{
    struct task *t = arg;
    if (!t->err) {
        t->err = error;
        snprintf(t->why, sizeof t->why, "%s", why);
    }
    complete(t);
}

// The own part is over.
static void end_task(struct task *t)
{
    if (t->outcome)
        uno_outcome_tell(t->outcome, t->err, hear_outcome, t);
    else
        complete(t);
}

static int complete_ended(struct uno_poller *self)
{
    int n = 0;
    // Acquire: pairs with the release in work.
    while (atomic_load_explicit(&async.ended, memory_order_acquire) > 0) {
        pthread_mutex_lock(&async.queue);
        struct task *t = take(&async.done);
        pthread_mutex_unlock(&async.queue);
        // Relaxed: only this poller counts down, under the library's lock.
        atomic_fetch_sub_explicit(&async.ended, 1, memory_order_relaxed);
        end_task(t);
        async.pending--;
        n++;
    }
    if (async.pending == 0) uno_poller_remove(self);
    return n;
}

// Who waits for the task that is next does it, unless the thread has begun: waking that takes longer than most do.
static bool do_at_once(MPI_Request r)
{
    struct task *t = r->extra;
    pthread_mutex_lock(&async.queue);
    bool mine = async.todo.first == t && !async.busy;
    if (mine) {
        take(&async.todo);
        async.busy = true;
    }
    pthread_mutex_unlock(&async.queue);
    if (!mine) return false;
    int depth = uno_lock_drop();
    do_task(t);
    pthread_mutex_lock(&async.queue);
    async.busy = false;
    if (async.todo.first) pthread_cond_signal(&async.more);
    pthread_mutex_unlock(&async.queue);
    uno_lock_retake(depth);
    end_task(t);
    if (--async.pending == 0) uno_poller_remove(&async.poller);
    return true;
}

static const struct uno_request_ops ops = {.name = "file", .end = tell_reason, .free = free_task, .poll = do_at_once};

static int start_thread(void)
{
    if (async.running) return MPI_SUCCESS;
    sigset_t all, old;
    sigfillset(&all);
    async.stop = false;
    pthread_sigmask(SIG_SETMASK, &all, &old);    // signals are for the program's threads
    int e = pthread_create(&async.thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e) return uno_fail(MPI_ERR_OTHER, "start the I/O thread: %s", strerror(e));
    async.running = true;
    return MPI_SUCCESS;
}

static void enqueue(struct task *t)
{
    async.pending++;
    async.poller.fn = complete_ended;
    uno_poller_add(&async.poller);
    pthread_mutex_lock(&async.queue);
    put(&async.todo, t);
    pthread_cond_signal(&async.more);
    pthread_mutex_unlock(&async.queue);
}

static int make_task(const struct uno_access *a, struct task **task)
{
    struct task *t = calloc(1, sizeof *t);
    MPI_Request r = t ? uno_request_new(UNO_REQ_OTHER) : NULL;
    int err = r ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    if (!err && a->agreed) err = uno_outcome_open(a->file, &t->outcome);
    if (err) {
        if (r) uno_request_release(r);
        free(t);
        return err;
    }
    t->access = *a;
    t->request = r;
    r->ops = &ops;
    r->extra = t;
    r->rank = MPI_UNDEFINED;
    r->comm = a->file->comm;
    uno_comm_hold(r->comm);
    a->file->pending++;
    *task = t;
    return MPI_SUCCESS;
}

int uno_async_ended(const struct uno_access *a, MPI_Request *request)
{
    struct task *t;
    int err = make_task(a, &t);
    if (err) return err;
    *request = t->request;
    end_task(t);
    return MPI_SUCCESS;
}

// Whether to wake the thread would take longer than the access, which does not wait for a disk.
static bool is_quick(const struct uno_access *a)
{
    return !a->atomic && a->direct < 0 && (a->write || a->file->in_memory) && uno_view_runs(a->view, a->bytes) <= 4;
}

int uno_async_start(const struct uno_access *a, MPI_Request *request)
{
    struct task *t;
    bool at_once = a->view->rep->kind == UNO_REP_USER || (a->bytes <= QUICK && is_quick(a));
    struct uno_access now = *a;
    if (!at_once && a->bytes <= QUICK && uno_access_read_now(&now)) return uno_async_ended(&now, request);
    int err = at_once ? MPI_SUCCESS : start_thread();
    if (!err) err = make_task(a, &t);
    if (err) return err;
    *request = t->request;
    if (!at_once) {
        enqueue(t);
        return MPI_SUCCESS;
    }
    int depth = uno_lock_drop();
    do_task(t);
    uno_lock_retake(depth);
    end_task(t);
    return MPI_SUCCESS;
}

int uno_async_refused(struct MPI_ABI_File *f, int err)
{
    struct uno_outcome *o;
    char why[MPI_MAX_ERROR_STRING];
    snprintf(why, sizeof why, "%s", uno_fail_text());
    if (uno_outcome_open(f, &o) == MPI_SUCCESS) uno_outcome_tell(o, err, NULL, NULL);
    return uno_fail(err, "%s", why);
}

const void *uno_async_buffer(MPI_Request request)
{
    return ((const struct task *)request->extra)->access.buf;
}

void uno_async_close(void)
{
    if (!async.running) return;
    pthread_mutex_lock(&async.queue);
    async.stop = true;
    pthread_cond_signal(&async.more);
    pthread_mutex_unlock(&async.queue);
    pthread_join(async.thread, NULL);
    async.running = false;
}
