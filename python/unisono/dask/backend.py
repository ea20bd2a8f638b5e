# SPDX-License-Identifier: BSD-3-Clause
"""What dask.distributed asks of a backend: addresses, a connector, listeners. MPIBackend is the entry point's."""

import asyncio
import contextvars
import logging

from distributed.comm.addressing import parse_host_port, unparse_host_port
from distributed.comm.core import BaseListener, CommClosedError, Connector
from distributed.comm.registry import Backend
from distributed.comm.utils import ensure_concrete_host
from distributed.utils import ensure_ip

from .comm import MPIComm
from .hub import hub
from .loops import source

logger = logging.getLogger(__name__)


def split(loc, default_port=None):
    """(host, port) of an address without its scheme; ValueError tells what is wrong with it."""
    host, port = parse_host_port(loc, default_port)
    if not 0 <= int(port) <= 65535:
        raise ValueError(f"port {port} of address {loc!r} is out of range (0 .. 65535)")
    return host, int(port)


def refuse_encryption(address, arguments):
    """mpi:// has none, so it refuses where Dask's configuration demands it, as tcp:// does."""
    if arguments.get("require_encryption"):
        raise RuntimeError(
            f"encryption required by Dask configuration, refusing communication from/to {address!r}: use tls://"
        )


class MPIConnector(Connector):
    """Connects to listeners of this process, of ranks of the same MPI_COMM_WORLD, and of any other process."""

    def __init__(self, prefix="mpi://"):
        self.prefix = prefix

    async def connect(self, address, deserialize=True, **connection_args):
        refuse_encryption(self.prefix + address, connection_args)
        host, port = split(address)
        end, own = await hub().connect(host, port)
        return MPIComm(end, self.prefix + own, self.prefix + address, deserialize)


class MPIListener(BaseListener):
    """Accepts connections at one host and port."""

    def __init__(
        self,
        address,
        comm_handler,
        deserialize=True,
        allow_offload=True,
        default_host=None,
        default_port=0,
        prefix="mpi://",
        **connection_args,
    ):
        super().__init__()
        refuse_encryption(prefix + address, connection_args)
        self.ip, self.port = split(address, default_port)
        self.prefix = prefix
        self.default_host = default_host
        self.comm_handler = comm_handler
        self.deserialize = deserialize
        self.allow_offload = allow_offload
        self.place = None  # in the hub, while it listens
        self.bound_address = None
        self._tasks = set()
        self._context = None  # variables of the context in which it was started

    async def start(self):
        self.loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.place = hub().listen(self, self.ip, self.port)
        self.bound_address = self.place.address

    def stop(self):
        place, self.place = self.place, None
        if place is not None:
            place.close()

    def accept(self, end, own, other):
        """Called by the hub, on this listener's loop: a connection is there. The addresses are without scheme."""
        comm = MPIComm(end, self.prefix + own, self.prefix + other, self.deserialize)
        comm.allow_offload = self.allow_offload
        # Not in the context of whoever connects in this process, or was first to use mpi:// on this loop.
        task = self.loop.create_task(self._handle(comm), context=self._context.copy())
        self._tasks.add(task)  # the loop alone keeps no task alive
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, comm):
        try:
            await self.on_connection(comm)
        except CommClosedError:
            logger.info("Connection from %s closed before handshake completed", comm.peer_address)
            return
        except Exception as error:
            logger.warning("Connection from %s: the handshake failed: %r", comm.peer_address, error)
            comm.abort()
            return
        await self.comm_handler(comm)

    def get_host_port(self):
        """The listening address as a (host, port) tuple."""
        if self.bound_address is None:
            raise ValueError("invalid operation on a listener that was not started")
        return self.bound_address

    @property
    def listen_address(self):
        return self.prefix + unparse_host_port(*self.get_host_port())

    @property
    def contact_address(self):
        host, port = self.get_host_port()
        return self.prefix + unparse_host_port(ensure_concrete_host(host, default_host=self.default_host), port)


class MPIBackend(Backend):
    """The backend of the scheme mpi."""

    def __init__(self, prefix="mpi://"):
        self.prefix = prefix

    def get_connector(self):
        return MPIConnector(self.prefix)

    def get_listener(self, loc, handle_comm, deserialize, **connection_args):
        return MPIListener(loc, handle_comm, deserialize, prefix=self.prefix, **connection_args)

    def get_address_host(self, loc):
        return parse_host_port(loc)[0]

    def get_address_host_port(self, loc):
        return parse_host_port(loc)

    def resolve_address(self, loc):
        host, port = parse_host_port(loc)
        return unparse_host_port(ensure_ip(host), port)

    def get_local_address_for(self, loc):
        host, _ = parse_host_port(loc)
        return unparse_host_port(source(host), None)
