# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest (-p mpi_as_tcp): says at the end how many ends of connections were mpi://'s. That they are, is the
work of sitecustomize.py beside it (the name tcp) or of distributed.comm.default-scheme. What the tests wrap connections
with, LockedComm, is of the class TCP and takes no other; here it takes ours too, and asks that for its state."""

from distributed import utils_test
from unisono.dask import MPIComm

count = 0
make = MPIComm.__init__


def counted(self, *arguments, **words):
    global count
    count += 1
    make(self, *arguments, **words)


MPIComm.__init__ = counted


class LockedComm(utils_test.LockedComm):
    local_address = property(lambda self: self.comm.local_address)
    peer_address = property(lambda self: self.comm.peer_address)

    def closed(self):
        return self.comm.closed()

    def abort(self):
        self.comm.abort()


utils_test.TCP = (utils_test.TCP, MPIComm)
utils_test.LockedComm = LockedComm


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"ends of connections by MPI: {count}")
