// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Partitioned point-to-point communication". The work is in p2p/partitioned.c; requests are made
// in twice/partitioned.c, started, waited for and freed like all persistent ones. Pready and Parrived are called by
// several threads at once.
#include "api/p2p.h"
#include "p2p/partitioned.h"

// A partitioned request of the wanted direction; it must be active when `active`.
static int check_request(MPI_Request r, bool send, bool active)
{
    int err =
        r == MPI_REQUEST_NULL ? uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL has no partitions") : uno_check_request(r);
    if (err) return err;
    if (r->kind != UNO_REQ_PARTITIONED) return uno_fail(MPI_ERR_REQUEST, "the request is not a partitioned one");
    if (uno_part_is_send(r) != send) return uno_fail(MPI_ERR_REQUEST, "the request is a %s", send ? "receive" : "send");
    if (active && !r->active) return uno_fail(MPI_ERR_REQUEST, "the request is not active (call MPI_Start first)");
    return MPI_SUCCESS;
}

static int raise_request(const char *call, MPI_Request r, int err)
{
    uno_enter(call);
    bool known = r != MPI_REQUEST_NULL && uno_request_is_live(r) && r->comm;
    return known ? uno_raise_comm(r->comm->handle, call, err) : uno_raise_self(call, err);
}

// Something about the call was not as usual: says what. Names the call only here, because a Pready takes no longer than
// the store of a name.
static __attribute__((noinline, cold)) int refused(const char *call, int i, MPI_Request r)
{
    int err = check_request(r, true, true);
    return raise_request(call, r, err ? err : uno_part_refusal(r, i));
}

static __attribute__((noinline)) int ready(const char *call, int i, MPI_Request r)
{
    return uno_part_ready(r, i) ? MPI_SUCCESS : refused(call, i, r);
}

int MPI_Pready(int partition, MPI_Request request)
{
    if (uno_part_ready_alone(request, partition)) return MPI_SUCCESS;
    return ready("MPI_Pready", partition, request);
}

int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    int err = MPI_SUCCESS;
    if (__builtin_expect(partition_low > partition_high, 0)) {
        err = check_request(request, true, true);
        if (!err)
            err = uno_fail(MPI_ERR_ARG, "partition_low %d is above partition_high %d", partition_low, partition_high);
        return raise_request("MPI_Pready_range", request, err);
    }
    for (long i = partition_low; i <= partition_high && !err; i++)
        if (!uno_part_ready_alone(request, (int)i)) err = ready("MPI_Pready_range", (int)i, request);
    return err;
}

int MPI_Pready_list(int length, const int partitions[], MPI_Request request)
{
    int err = uno_check_count(length);
    if (!err && length > 0) err = uno_check_pointer(partitions, "array_of_partitions");
    if (!err && length == 0) err = check_request(request, true, true);
    if (err) return raise_request("MPI_Pready_list", request, err);
    for (int i = 0; i < length && !err; i++)
        if (!uno_part_ready_alone(request, partitions[i])) err = ready("MPI_Pready_list", partitions[i], request);
    return err;
}

int MPI_Parrived(MPI_Request request, int partition, int *flag)
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    bool arrived = true, null = request == MPI_REQUEST_NULL;    // MPI-4.1, 4.2.2: null and inactive ones have arrived
    int err = null ? uno_check_running() : check_request(request, false, false);
    if (!err && !null) err = uno_part_arrived(request, partition, &arrived);
    if (err) return raise_request("MPI_Parrived", request, err);
    *flag = arrived;
    return MPI_SUCCESS;
}
