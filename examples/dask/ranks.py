# SPDX-License-Identifier: BSD-3-Clause
"""The same under mpiexec, with dask-mpi: rank 0 is the scheduler, rank 1 runs this script, the others are workers.

MPICC=mpicc pip install --no-binary=mpi4py dask-mpi "dask[array]"
mpiexec -n 4 python examples/dask/ranks.py
"""

import dask.array as da
from dask.distributed import Client
from dask_mpi import initialize

if __name__ == "__main__":
    initialize(protocol="mpi", nthreads=1)
    with Client() as client:
        print("scheduler", client.scheduler.address)
        x = da.random.random((4000, 4000), chunks=(1000, 1000))
        print("sum of x and its transpose:", (x + x.T).sum().compute())
