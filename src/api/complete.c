// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": waiting and testing in all forms, and the other questions about a
// request.
#include "api/p2p.h"
#include "base/patience.h"
#include "core/progress.h"

static bool is_idle(MPI_Request r)
{
    return r == MPI_REQUEST_NULL || !r->active;
}

// Ends one completed (or idle) request: status out, handle updated. The operation's error class.
static int finish_request(MPI_Request *req, MPI_Status *status)
{
    MPI_Request r = *req;
    if (is_idle(r)) {
        if (status != MPI_STATUS_IGNORE) uno_status_empty(status);
        return MPI_SUCCESS;
    }
    return uno_wait(req, status);
}

static MPI_Comm comm_of(MPI_Request r)
{
    return r != MPI_REQUEST_NULL && uno_request_is_live(r) && r->comm ? r->comm->handle : MPI_COMM_SELF;
}

static int check_array(int count, const MPI_Request requests[])
{
    if (!uno_world.checks) return MPI_SUCCESS;
    int err = uno_check_count(count);
    if (!err && count > 0) err = uno_check_pointer(requests, "array_of_requests");
    for (int i = 0; i < count && !err; i++) err = uno_check_request(requests[i]);
    return err;
}

static bool has_ended(MPI_Request r)
{
    return is_idle(r) || uno_request_is_done(r);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Wait");
    int err = uno_world.checks ? uno_check_request(*request) : MPI_SUCCESS;
    if (err) return uno_raise_self("MPI_Wait", err);
    MPI_Comm comm = MPI_COMM_SELF;
    if (!is_idle(*request)) {
        uno_wait_request(*request);
        comm = comm_of(*request);
    }
    err = finish_request(request, status);
    if (err) return uno_raise_comm(comm, "MPI_Wait", err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Test");
    int err = uno_world.checks ? uno_check_request(*request) : MPI_SUCCESS;
    if (err) return uno_raise_self("MPI_Test", err);
    if (!has_ended(*request)) uno_look_for(*request);
    *flag = has_ended(*request);
    if (*flag) {
        MPI_Comm comm = comm_of(*request);
        err = finish_request(request, status);
        if (err) return uno_raise_comm(comm, "MPI_Test", err);
    }
    uno_leave();
    return MPI_SUCCESS;
}

struct set {
    int count;
    MPI_Request *requests;
    int index;
};

// Ready when one active request has ended (index says which), or none is active (MPI_UNDEFINED).
static bool any_ended(void *arg)
{
    struct set *s = arg;
    bool active = false;
    for (int i = 0; i < s->count; i++) {
        MPI_Request r = s->requests[i];
        if (is_idle(r)) continue;
        active = true;
        if (uno_request_is_done(r)) {
            s->index = i;
            return true;
        }
    }
    s->index = MPI_UNDEFINED;
    return !active;
}

static bool all_ended(void *arg)
{
    struct set *s = arg;
    while (s->index < s->count && has_ended(s->requests[s->index])) s->index++;
    return s->index == s->count;
}

// all_ended of a wait, which is for the last one that has not ended: most often it ends last.
static bool wait_all(void *arg)
{
    struct set *s = arg;
    if (all_ended(s)) return true;
    while (has_ended(s->requests[s->count - 1])) s->count--;
    uno_patience_for(&s->requests[s->count - 1]->done);
    return false;
}

// Ends all; statuses may be ignored. MPI_ERR_IN_STATUS when one failed.
static int finish_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int failed = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        MPI_Status *s = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int err = finish_request(&requests[i], s);
        if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = err;
        if (err) failed = MPI_ERR_IN_STATUS;
    }
    return failed;
}

// Where nothing but accesses to files is waited for, this thread does those that nobody has begun, or the first of
// them. Beside them messages must move on, so that the I/O thread does the accesses then.
static void do_accesses(int count, const MPI_Request requests[], bool first)
{
    for (int i = 0; i < count; i++)
        if (!has_ended(requests[i]) && !uno_request_is_own_work(requests[i])) return;
    for (int i = 0; i < count; i++)
        if (!has_ended(requests[i]) && requests[i]->ops->poll(requests[i]) && first) return;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    uno_enter("MPI_Waitall");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Waitall", err);
    struct uno_waiting what = {0};
    for (int i = 0; i < count; i++) {
        if (has_ended(requests[i])) continue;
        do_accesses(count - i, requests + i, false);
        what = (struct uno_waiting){requests[i]->comm, requests[i]->rank, requests[i]->tag, true};
        struct set s = {count, requests, i};
        uno_wait_until(wait_all, &s, &what);
        uno_patience_for(NULL);
        break;
    }
    MPI_Comm comm = count > 0 ? comm_of(requests[0]) : MPI_COMM_SELF;
    err = finish_all(count, requests, statuses);
    if (err) return uno_raise_comm(comm, "MPI_Waitall", err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Testall");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Testall", err);
    struct set s = {count, requests, 0};
    *flag = all_ended(&s);
    if (!*flag) {
        uno_look(NULL);
        *flag = all_ended(&s);
    }
    if (*flag) {
        MPI_Comm comm = count > 0 ? comm_of(requests[0]) : MPI_COMM_SELF;
        err = finish_all(count, requests, statuses);
        if (err) return uno_raise_comm(comm, "MPI_Testall", err);
    }
    uno_leave();
    return MPI_SUCCESS;
}

static int finish_any(const char *call, struct set *s, int *index, MPI_Status *status)
{
    *index = s->index;
    if (s->index == MPI_UNDEFINED) {
        if (status != MPI_STATUS_IGNORE) uno_status_empty(status);
    } else {
        MPI_Comm comm = comm_of(s->requests[s->index]);
        int err = finish_request(&s->requests[s->index], status);
        if (err) return uno_raise_comm(comm, call, err);
    }
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    if (!index) return uno_refuse_null(MPI_COMM_SELF, __func__, "index");
    uno_enter("MPI_Waitany");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Waitany", err);
    struct set s = {count, requests, 0};
    if (!any_ended(&s)) do_accesses(count, requests, true);
    uno_wait_until(any_ended, &s, NULL);
    return finish_any("MPI_Waitany", &s, index, status);
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    if (!index) return uno_refuse_null(MPI_COMM_SELF, __func__, "index");
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Testany");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Testany", err);
    struct set s = {count, requests, 0};
    *flag = any_ended(&s);
    if (!*flag) {
        uno_look(NULL);
        *flag = any_ended(&s);
    }
    if (!*flag) {
        *index = MPI_UNDEFINED;
        uno_leave();
        return MPI_SUCCESS;
    }
    return finish_any("MPI_Testany", &s, index, status);
}

// Ends those that are done and lists them. outcount is MPI_UNDEFINED when none was active.
static int finish_some(const char *call, struct set *s, int *outcount, int indices[], MPI_Status statuses[])
{
    int n = 0, failed = MPI_SUCCESS;
    bool active = false;
    MPI_Comm comm = MPI_COMM_SELF;
    for (int i = 0; i < s->count; i++) {
        if (is_idle(s->requests[i])) continue;
        active = true;
        if (!uno_request_is_done(s->requests[i])) continue;
        comm = comm_of(s->requests[i]);
        MPI_Status *st = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[n];
        int err = finish_request(&s->requests[i], st);
        if (st != MPI_STATUS_IGNORE) st->MPI_ERROR = err;
        if (err) failed = MPI_ERR_IN_STATUS;
        indices[n++] = i;
    }
    *outcount = active ? n : MPI_UNDEFINED;
    if (failed) return uno_raise_comm(comm, call, failed);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    if (!outcount) return uno_refuse_null(MPI_COMM_SELF, __func__, "outcount");
    uno_enter("MPI_Waitsome");
    int err = check_array(incount, requests);
    if (!err && incount > 0) err = uno_check_pointer(indices, "array_of_indices");
    if (err) return uno_raise_self("MPI_Waitsome", err);
    struct set s = {incount, requests, 0};
    if (!any_ended(&s)) do_accesses(incount, requests, true);
    uno_wait_until(any_ended, &s, NULL);
    return finish_some("MPI_Waitsome", &s, outcount, indices, statuses);
}

int MPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    if (!outcount) return uno_refuse_null(MPI_COMM_SELF, __func__, "outcount");
    uno_enter("MPI_Testsome");
    int err = check_array(incount, requests);
    if (!err && incount > 0) err = uno_check_pointer(indices, "array_of_indices");
    if (err) return uno_raise_self("MPI_Testsome", err);
    struct set s = {incount, requests, 0};
    if (!any_ended(&s)) uno_look(NULL);
    return finish_some("MPI_Testsome", &s, outcount, indices, statuses);
}

// The status of a request as it stands, which stays as it is.
static void peek(MPI_Request r, MPI_Status *status)
{
    if (is_idle(r)) {
        if (status != MPI_STATUS_IGNORE) uno_status_empty(status);
    } else {
        uno_request_finish(r, status);
    }
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Request_get_status");
    int err = uno_world.checks ? uno_check_request(request) : MPI_SUCCESS;
    if (err) return uno_raise_self("MPI_Request_get_status", err);
    if (!has_ended(request)) uno_look_for(request);
    *flag = has_ended(request);
    if (*flag) peek(request, status);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Request_get_status_all");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Request_get_status_all", err);
    struct set s = {count, (MPI_Request *)(uintptr_t)requests, 0};
    if (!all_ended(&s)) uno_look(NULL);
    *flag = all_ended(&s);
    for (int i = 0; i < count && *flag && statuses != MPI_STATUSES_IGNORE; i++) {
        peek(requests[i], &statuses[i]);
        statuses[i].MPI_ERROR = is_idle(requests[i]) ? MPI_SUCCESS : requests[i]->status.MPI_ERROR;
    }
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Request_get_status_any(int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    if (!index) return uno_refuse_null(MPI_COMM_SELF, __func__, "index");
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    uno_enter("MPI_Request_get_status_any");
    int err = check_array(count, requests);
    if (err) return uno_raise_self("MPI_Request_get_status_any", err);
    struct set s = {count, (MPI_Request *)(uintptr_t)requests, 0};
    if (!any_ended(&s)) uno_look(NULL);
    *flag = any_ended(&s);
    *index = *flag ? s.index : MPI_UNDEFINED;
    if (*flag) peek(s.index == MPI_UNDEFINED ? MPI_REQUEST_NULL : requests[s.index], status);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Request_get_status_some(int incount, const MPI_Request requests[], int *outcount, int indices[],
                                MPI_Status statuses[])
{
    if (!outcount) return uno_refuse_null(MPI_COMM_SELF, __func__, "outcount");
    uno_enter("MPI_Request_get_status_some");
    int err = check_array(incount, requests);
    if (!err && incount > 0) err = uno_check_pointer(indices, "array_of_indices");
    if (err) return uno_raise_self("MPI_Request_get_status_some", err);
    struct set s = {incount, (MPI_Request *)(uintptr_t)requests, 0};
    if (!any_ended(&s)) uno_look(NULL);
    int n = 0;
    bool active = false;
    for (int i = 0; i < incount; i++) {
        if (is_idle(requests[i])) continue;
        active = true;
        if (!uno_request_is_done(requests[i])) continue;
        if (statuses != MPI_STATUSES_IGNORE) {
            peek(requests[i], &statuses[n]);
            statuses[n].MPI_ERROR = requests[i]->status.MPI_ERROR;
        }
        indices[n++] = i;
    }
    *outcount = active ? n : MPI_UNDEFINED;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Request_free");
    MPI_Request r = *request;
    int err =
        r == MPI_REQUEST_NULL ? uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed") : uno_check_request(r);
    if (err) return uno_raise_self("MPI_Request_free", err);
    *request = MPI_REQUEST_NULL;
    if (r != &uno_request_sent) {
        bool pending = r->active && (!uno_request_is_done(r) || uno_recv_is_pending(r));
        if (pending)
            r->freed = true;    // its end frees it
        else
            uno_request_release(r);
    }
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request *request)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Cancel");
    MPI_Request r = *request;
    int err = r == MPI_REQUEST_NULL ? uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be cancelled")
                                    : uno_check_request(r);
    if (!err && !r->active) err = uno_fail(MPI_ERR_REQUEST, "an inactive request cannot be cancelled");
    if (!err && r->kind == UNO_REQ_COLL) err = uno_fail(MPI_ERR_REQUEST, "a collective operation cannot be cancelled");
    if (!err && r->ops && r->ops->cancel) err = r->ops->cancel(r);
    if (err) return uno_raise_comm(comm_of(r), "MPI_Cancel", err);
    uno_leave();
    return MPI_SUCCESS;
}
