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

/* Process failure: classes of the forum's User Level Failure Mitigation. */
#define MPIX_ERR_PROC_FAILED 16301         /* a process that the operation needs has failed */
#define MPIX_ERR_PROC_FAILED_PENDING 16302 /* a receive from any source may wait for a failed one; it stays pending */
#define MPIX_ERR_REVOKED 16303             /* the communicator was revoked */

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
