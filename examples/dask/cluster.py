# SPDX-License-Identifier: BSD-3-Clause
"""A Dask cluster on this machine whose bytes travel by MPI: the sum of an array and its transpose.

pip install "dask[array]"
python examples/dask/cluster.py
"""

import dask.array as da
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(protocol="mpi", n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        print("scheduler", client.scheduler.address)
        x = da.random.random((4000, 4000), chunks=(1000, 1000))
        print("sum of x and its transpose:", (x + x.T).sum().compute())
