# SPDX-License-Identifier: BSD-3-Clause
"""unisono.fast: the MPI calls that matter, from Python with the least overhead.

``Comm(comm)`` takes a communicator of mpi4py's (the two may be used side by side) and offers Send, Recv, Isend, Irecv,
Sendrecv, Send_init, Recv_init, Barrier, Bcast, Reduce, Allreduce, Scan, Exscan, Gather, Scatter, Allgather and Alltoall
with mpi4py's argument names, on objects of the buffer protocol (bytearray, array, memoryview, NumPy). NumPy arrays
are the cheapest of these; ``Buffer(obj)`` binds any of them once, which saves what is left. Units are elements of the
buffer; MPI errors are raised as ``mpi4py.MPI.Exception``. The GIL is released only when a call has to wait. ::

    from mpi4py import MPI
    from unisono import fast

    comm = fast.Comm(MPI.COMM_WORLD)
    buf = fast.Buffer(bytearray(8))
    if comm.rank == 0:
        comm.Send(buf, 1)
    elif comm.rank == 1:
        comm.Recv(buf, 0)
"""

from ._fast import Buffer, Comm, Request, startall, waitall

__all__ = ["Buffer", "Comm", "Request", "startall", "waitall"]
