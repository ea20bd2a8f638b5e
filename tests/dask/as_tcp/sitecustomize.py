# SPDX-License-Identifier: BSD-3-Clause
"""For tests, and the processes that they start: once the registry of backends is imported, tcp is mpi:// there.
Found by its folder in PYTHONPATH."""

import importlib.abc
import importlib.util
import sys

REGISTRY = "distributed.comm.registry"


class Loader(importlib.abc.Loader):
    """The registry's own loader, and then our backend under the other name."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.backends = Backends()


class Backends(dict):
    """The dict of backends: who registers tcp first, Dask itself, registers ours. Tests may replace it later."""

    def __setitem__(self, name, backend):
        if name == "tcp" and name not in self:
            from unisono.dask import MPIBackend

            backend = MPIBackend("tcp://")
        super().__setitem__(name, backend)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        spec.loader = Loader(spec.loader)
        return spec


sys.meta_path.insert(0, Finder())
