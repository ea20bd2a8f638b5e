// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": probes, plain and matched, and the receives of matched messages.
// A message handle holds an unexpected message taken off its queue; MPI_MESSAGE_NO_PROC is the one from MPI_PROC_NULL.
#include <stdlib.h>

#include "api/p2p.h"
#include "core/progress.h"

#define MESSAGE_MAGIC 0x554d5347u

struct MPI_ABI_Message {
    struct uno_head head;
    struct MPI_ABI_Comm *comm;
    struct uno_unexp *unexp;
};

static struct uno_pool messages = {.bytes = sizeof(struct MPI_ABI_Message), .magic = MESSAGE_MAGIC};

struct probe {
    const struct uno_args *a;
    struct MPI_ABI_Comm *comm;
    struct uno_unexp *found;
    int refused;    // why there will be none
};

static bool arrived(void *arg)
{
    struct probe *p = arg;
    struct uno_match *m = &p->comm->match[0];
    if (!p->comm->revoked) p->found = uno_match_posting(m, p->a->rank, p->a->tag);
    if (p->found || !m->hurt) return p->found != NULL;
    p->refused = uno_comm_refusal(p->comm, p->a->rank, false);
    if (!p->refused && p->a->rank == MPI_ANY_SOURCE && uno_comm_is_uneasy(p->comm))
        p->refused = uno_fail(UNO_ERR_PROC_FAILED, "a process that might send has failed");
    return p->refused != MPI_SUCCESS;
}

static int check_probe(const struct uno_args *a)
{
    if (!uno_world.checks) return uno_check_comm(a->comm);
    int err = uno_check_comm(a->comm);
    if (!err) err = uno_check_source(uno_comm(a->comm), a->rank);
    return err ? err : uno_check_recv_tag(a->tag);
}

static void tell_status(const struct uno_unexp *u, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE) return;
    int kept = status->MPI_ERROR;
    uno_status_empty(status);
    status->MPI_ERROR = kept;
    if (u) {
        status->MPI_SOURCE = u->src;
        status->MPI_TAG = u->tag;
        uno_status_set_bytes(status, (MPI_Count)uno_unexp_bytes(u));
    } else {
        status->MPI_SOURCE = MPI_PROC_NULL;
    }
}

// Takes the message off the queue into a handle.
static int take_message(struct probe *p, MPI_Message *message)
{
    MPI_Message m = uno_pool_get(&messages);
    if (!m) return uno_fail(MPI_ERR_NO_MEM, "no memory for a message handle");
    uno_match_take(&p->comm->match[0], p->found);
    m->unexp = p->found;
    m->comm = p->comm;
    uno_comm_hold(p->comm);
    *message = m;
    return MPI_SUCCESS;
}

// All four probes. flag NULL: wait. message NULL: leave the message queued.
static int probe(const struct uno_args *a, int *flag, MPI_Message *message, MPI_Status *status)
{
    uno_enter(a->call);
    int err = check_probe(a);
    if (err) return uno_raise_comm(a->comm, a->call, err);
    struct probe p = {.a = a, .comm = uno_comm(a->comm)};
    if (a->rank == MPI_PROC_NULL && !p.comm->revoked) {
        if (flag) *flag = 1;
        if (message) *message = MPI_MESSAGE_NO_PROC;
        tell_status(NULL, status);
        uno_leave();
        return MPI_SUCCESS;
    }
    struct uno_waiting what = {p.comm, a->rank, a->tag, true};
    if (flag) {
        if (!arrived(&p)) uno_look(&what), arrived(&p);
        *flag = p.found != NULL;
    } else {
        uno_wait_until(arrived, &p, &what);
    }
    err = p.refused;
    if (p.found) {
        tell_status(p.found, status);
        if (message) err = take_message(&p, message);
    } else if (message) {
        *message = MPI_MESSAGE_NULL;
    }
    return uno_finish_comm(a->comm, a->call, err);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return probe(&(struct uno_args){.call = "MPI_Probe", .rank = source, .tag = tag, .comm = comm}, NULL, NULL, status);
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (!flag) return uno_refuse_null(comm, __func__, "flag");
    return probe(&(struct uno_args){.call = "MPI_Iprobe", .rank = source, .tag = tag, .comm = comm}, flag, NULL,
                 status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    if (!message) return uno_refuse_null(comm, __func__, "message");
    return probe(&(struct uno_args){.call = "MPI_Mprobe", .rank = source, .tag = tag, .comm = comm}, NULL, message,
                 status);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    if (!flag) return uno_refuse_null(comm, __func__, "flag");
    if (!message) return uno_refuse_null(comm, __func__, "message");
    return probe(&(struct uno_args){.call = "MPI_Improbe", .rank = source, .tag = tag, .comm = comm}, flag, message,
                 status);
}

static int check_message(MPI_Message m)
{
    if (uno_head_is(m, MESSAGE_MAGIC)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_REQUEST, "the message handle is not alive (null, or received already)");
}

static int check_data(const struct uno_args *a)
{
    if (!uno_world.checks) return MPI_SUCCESS;
    int err = uno_check_running();
    if (!err) err = uno_check_count(a->count);
    if (!err) err = uno_check_type(a->type);
    return err ? err : uno_check_buffer(a->buf, a->count, uno_type(a->type));
}

// Starts the receive of a matched message; *message becomes MPI_MESSAGE_NULL.
static int imrecv(const struct uno_args *a, MPI_Message *message, MPI_Request *request)
{
    int err = check_data(a);
    if (err) return err;
    struct uno_where from = {.comm = &uno_comm_self, .rank = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    MPI_Message m = *message;
    if (m == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        return uno_irecv((void *)(uintptr_t)a->buf, a->count, uno_type(a->type), &from, request);
    }
    err = check_message(m);
    if (err) return err;
    MPI_Request r = uno_request_new(UNO_REQ_RECV);
    if (!r) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    from = (struct uno_where){.comm = m->comm, .rank = m->unexp->src, .tag = m->unexp->tag};
    uno_recv_setup(r, (void *)(uintptr_t)a->buf, a->count, uno_type(a->type), &from);    // takes over the handle's hold
    if (r->move.type) uno_packer_init(&r->move.packer, r->move.buf, r->move.count, r->move.type);
    uno_recv_unexpected(r, m->unexp);
    uno_pool_put(&messages, m);
    *message = MPI_MESSAGE_NULL;
    *request = r;
    return MPI_SUCCESS;
}

static MPI_Comm comm_of(MPI_Message m)
{
    return uno_head_is(m, MESSAGE_MAGIC) ? m->comm->handle : MPI_COMM_SELF;
}

int uno_mrecv(const struct uno_args *a, MPI_Message *message, MPI_Status *status)
{
    if (!message) return uno_refuse_null(MPI_COMM_SELF, a->call, "message");
    uno_enter(a->call);
    MPI_Comm comm = comm_of(*message);
    MPI_Request r;
    int err = imrecv(a, message, &r);
    if (!err) {
        uno_wait_request(r);
        err = uno_wait(&r, status);
    }
    return uno_finish_comm(comm, a->call, err);
}

int uno_imrecv(const struct uno_args *a, MPI_Message *message, MPI_Request *request)
{
    if (!message) return uno_refuse_null(MPI_COMM_SELF, a->call, "message");
    if (!request) return uno_refuse_null(MPI_COMM_SELF, a->call, "request");
    uno_enter(a->call);
    MPI_Comm comm = comm_of(*message);
    return uno_finish_comm(comm, a->call, imrecv(a, message, request));
}
