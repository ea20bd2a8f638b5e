# SPDX-License-Identifier: BSD-3-Clause
"""unisono.dask: ``mpi://`` for dask.distributed. The bytes of a Dask cluster travel by MPI, without polling.

Once the distribution unisono-dask is installed, ``protocol="mpi"`` works wherever ``protocol="tcp"`` does; nothing has
to be imported. Addresses are ``mpi://HOST:PORT``. ::

    from dask.distributed import Client, LocalCluster

    if __name__ == "__main__":
        client = Client(LocalCluster(protocol="mpi"))
        print(client.submit(sum, range(10)).result())

From the command line: ``dask scheduler --protocol mpi``, ``dask worker mpi://HOST:8786``; under mpiexec with dask-mpi:
``dask_mpi.initialize(protocol="mpi")``. Manual: docs/dask.md.
"""

from .backend import MPIBackend, MPIConnector, MPIListener
from .comm import MPIComm

__all__ = ["MPIBackend", "MPIComm", "MPIConnector", "MPIListener"]
