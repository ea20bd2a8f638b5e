# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest (-p mpi_as_tcp): the scheme tcp is served by mpi://'s backend, so that tests which spell
``tcp://`` run on it. Counts the connections and says at the end how many there were."""

from distributed.comm import registry
from unisono.dask import MPIBackend, MPIComm

registry.backends["tcp"] = MPIBackend("tcp://")
count = 0
make = MPIComm.__init__


def counted(self, *arguments, **words):
    global count
    count += 1
    make(self, *arguments, **words)


MPIComm.__init__ = counted


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"ends of connections by MPI: {count}")
