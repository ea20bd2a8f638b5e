// SPDX-License-Identifier: BSD-3-Clause
// The complete checks of point-to-point arguments, for calls that fail the quick one.
#include "api/p2p.h"
#include "p2p/sign.h"

static int check_data(struct uno_args a)
{
    int err = uno_check_count(a.count);
    if (!err) err = uno_check_type(a.type);
    if (!err) err = uno_check_buffer(a.buf, a.count, uno_type(a.type));
    return err;
}

// In the checking mode: no byte of a receive buffer may be written twice.
static int check_overlap(struct uno_args a)
{
    struct uno_packer p;
    ptrdiff_t at;
    uno_packer_init(&p, a.buf, a.count, uno_type(a.type));
    if (!uno_packer_overlaps(&p, &at)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "the datatype, %lld times, writes the byte at %lld of the buffer more than once",
                    (long long)a.count, (long long)at);
}

int uno_check_send(struct uno_args a)
{
    int err = uno_check_comm(a.comm);
    if (!err) err = uno_check_dest(uno_comm(a.comm), a.rank, "destination");
    if (!err) err = uno_check_tag(a.tag);
    return err ? err : check_data(a);
}

int uno_check_recv(struct uno_args a)
{
    int err = uno_check_comm(a.comm);
    if (!err) err = uno_check_source(uno_comm(a.comm), a.rank);
    if (!err) err = uno_check_recv_tag(a.tag);
    if (!err) err = check_data(a);
    return err || !uno_signing.num ? err : check_overlap(a);
}

int uno_check_request_closely(MPI_Request r)
{
    if (uno_request_is_live(r)) return MPI_SUCCESS;
    int err = uno_check_running();
    if (err || r == MPI_REQUEST_NULL) return err;
    return uno_fail(MPI_ERR_REQUEST, "the request %p is not alive (completed and freed, or never made by MPI)",
                    (void *)r);
}
