# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest (-p mpi_as_tcp): says at the end how many ends of connections were mpi://'s. That they are, is the
work of sitecustomize.py beside it (the name tcp) or of distributed.comm.default-scheme."""

from unisono.dask import MPIComm

count = 0
make = MPIComm.__init__


def counted(self, *arguments, **words):
    global count
    count += 1
    make(self, *arguments, **words)


MPIComm.__init__ = counted


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"ends of connections by MPI: {count}")
