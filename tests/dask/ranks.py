# SPDX-License-Identifier: BSD-3-Clause
"""dask-mpi's initialize() under mpiexec: rank 0 is the scheduler, rank 1 the client, the others are workers, and all of
them talk over the processes of MPI_COMM_WORLD. Prints `ok`."""

import logging

import numpy as np
from dask_mpi import initialize
from distributed import Client

logging.getLogger("distributed").setLevel(logging.CRITICAL)

if __name__ == "__main__":
    initialize(protocol="mpi", dashboard=False, nthreads=1)
    with Client() as client:
        client.wait_for_workers(2, timeout=600)
        workers = list(client.scheduler_info()["workers"])
        assert all(w.startswith("mpi://") for w in workers), workers
        one = client.submit(np.ones, 1 << 20, workers=workers[:1])
        assert client.submit(np.sum, one, workers=workers[1:2]).result() == 1 << 20
        assert sum(client.gather(client.map(abs, range(100)))) == 4950
        print("ok", flush=True)
