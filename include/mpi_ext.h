/* SPDX-License-Identifier: BSD-3-Clause */
/* Unisono's extensions to MPI: few, all prefixed MPIX_, documented here. Everything else is in mpi.h, the standard ABI.
 */
#ifndef UNISONO_MPI_EXT_H
#define UNISONO_MPI_EXT_H

#include <mpi.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The doorbell: MPI completions as a file descriptor, so that an event loop (poll, epoll, asyncio, libuv) waits for MPI
 * without polling it. The pattern of one turn:
 *
 *     MPIX_Doorbell_arm(n, requests, &ready);
 *     if (!ready) { wait until the descriptor is readable; goto the line above }
 *     MPI_Testsome(n, requests, ...);
 *
 * Readable means that something may have completed; it is never missed, but may be early. An armed, idle process uses
 * no CPU. Not for use by several threads at once; other threads may call MPI at any time. */

/* The descriptor, the same for the life of the library; owned by it (do not read or close it). Readable while armed
 * when a message, a completion or room to send may be there. Errors: MPI_ERR_ARG fd is NULL; MPI_ERR_OTHER no
 * descriptor can be made, or MPI is not running. */
int MPIX_Doorbell_fd(int *fd);

/* Clears the descriptor, makes progress as long as a blocking call would poll (parameter wait_spin_us) and arms the
 * doorbell. *ready is 1 when one of the count requests has completed (or is inactive or MPI_REQUEST_NULL): do not wait
 * then. Else 0: the descriptor becomes readable when there is something to look at. With count 0 it does not poll: for
 * a loop that tests its requests after arming and before it waits. Errors: MPI_ERR_REQUEST a handle is not alive;
 * MPI_ERR_COUNT. */
int MPIX_Doorbell_arm(int count, const MPI_Request requests[], int *ready);

/* Ends the armed state: the descriptor stays quiet. Peers pay a system call per message while a rank is armed. */
int MPIX_Doorbell_disarm(void);

/* MPI_Comm_accept and MPI_Comm_connect as requests, with the same arguments: root's port_name and info count (info
 * "timeout": seconds until MPI_ERR_PORT). The request ends when *newcomm, which is MPI_COMM_NULL until then, is the
 * intercommunicator; any call that makes progress moves it on, and the doorbell tells of it. MPI_Cancel at the root
 * takes it back on all ranks of comm unless the other side is bound already: then it ends as ever. Errors, by the
 * request: MPI_ERR_PORT the port is wrong or closed, or nobody answers in time; MPI_ERR_INFO_VALUE. */
int MPIX_Comm_iaccept(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm,
                      MPI_Request *request);
int MPIX_Comm_iconnect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm,
                       MPI_Request *request);

/* Process failure, as in the forum's User Level Failure Mitigation, for jobs started with mpiexec --survive: such a job
 * goes on when a rank dies. An operation that needs a dead process raises MPIX_ERR_PROC_FAILED at its communicator's
 * error handler (set MPI_ERRORS_RETURN); collective operations do on any communicator with a dead member. The usual
 * answer:
 *
 *     MPIX_Comm_revoke(comm);              everybody leaves what they do on comm
 *     MPIX_Comm_shrink(comm, &smaller);    a communicator of those that live
 *
 * See docs/survive.md. Errors of all: MPI_ERR_COMM; MPI_ERR_ARG a pointer is NULL; MPI_ERR_UNSUPPORTED_OPERATION the
 * communicator is of one job and there is no mpiexec, or a process is in both of its groups. */
#define MPIX_ERR_PROC_FAILED 16301         /* a process that the operation needs has failed */
#define MPIX_ERR_PROC_FAILED_PENDING 16302 /* a receive from any source may wait for a failed one; it stays pending */
#define MPIX_ERR_REVOKED 16303             /* the communicator was revoked */

/* All operations on comm that are under way or begun later, on all members, end with MPIX_ERR_REVOKED, but for those
 * below. Not collective. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);

/* The members (of an intercommunicator: of both groups) that this process knows to be dead, in the order in which it
 * learnt of them. Local. The caller frees the group. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);

/* Acknowledges the first num_to_ack of them; *num_acked: how many are acknowledged now. Receives from MPI_ANY_SOURCE,
 * which otherwise end with MPIX_ERR_PROC_FAILED (nonblocking: are told MPIX_ERR_PROC_FAILED_PENDING and stay), then
 * wait for the living; MPIX_Comm_agree does not raise the acknowledged ones. Local. failure_ack: all that are known;
 * failure_get_acked: which ones. */
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);

/* The living members agree: *flag becomes the bits that all their flags have in common, the same everywhere, whoever
 * dies meanwhile. MPIX_ERR_PROC_FAILED, on all: a member is dead that not all had acknowledged (*flag is agreed all the
 * same). Works on a revoked communicator. iagree: *flag is read at the call and written when the request ends. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);

/* A communicator of the living members in their old order, the same everywhere: all agree on who is dead. Works on a
 * revoked communicator. MPI_COMM_NULL where a group of an intercommunicator has died out. ishrink: *newcomm is
 * MPI_COMM_NULL until the request ends. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
