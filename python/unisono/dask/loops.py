# SPDX-License-Identifier: BSD-3-Clause
"""What happens on one event loop and is heard on another: futures, meetings of two processes, listening sockets."""

import asyncio
import logging
import socket

import dask
from distributed.comm.addressing import unparse_host_port

from . import _mpi

logger = logging.getLogger(__name__)


def seconds():
    """How long a connection may take to be made, as a number in text."""
    return str(max(1, round(dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect")))))


def settle(future):
    """Ends a future unless somebody has (a cancelled reader)."""
    if not future.done():
        future.set_result(None)


def fail(future, error):
    if not future.done():
        future.set_exception(error)


def give(future, value):
    if not future.done():
        future.set_result(value)


def on(loop, function, *arguments):
    """Calls the function on that loop: at once if this is its thread."""
    try:
        if asyncio._get_running_loop() is loop:
            function(*arguments)
        else:
            loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        if not loop.is_closed():
            raise


class Meeting:
    """Called by the engine when an accept or a connect has ended; its future is the communicator's handle."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future()

    def __call__(self, error, handle):
        on(self.loop, self._end, error, handle)

    def _end(self, error, handle):
        if self.future.done():  # nobody waits any more
            if not error:
                _mpi.drop(handle)
        elif error:
            self.future.set_exception(OSError(f"MPI does not connect the two processes: {error}"))
        else:
            self.future.set_result(handle)


class Place:
    """Where a listener listens."""

    def __init__(self, hub, listener, sockets):
        self.hub = hub
        self.listener = listener
        self.loop = asyncio.get_running_loop()
        self.sockets = sockets
        self.key = next(hub.numbers)
        self.address = min((s.getsockname() for s in sockets), key=len)[:2]  # IPv4's is the shorter one
        self.greeting = set()  # tasks
        for sock in sockets:
            self.loop.add_reader(sock.fileno(), self._acceptable, sock)

    def _acceptable(self, sock):
        for _ in range(64):
            try:
                conn, _ = sock.accept()
            except (BlockingIOError, ConnectionError):
                return
            except OSError as error:
                logger.warning("%s: cannot accept a connection: %s", unparse_host_port(*self.address), error)
                return
            conn.setblocking(False)
            task = self.loop.create_task(self.hub.welcome(self, conn))
            self.greeting.add(task)
            task.add_done_callback(self.greeting.discard)

    def close(self):
        """No more connections; those that are there stay."""
        self.hub.places.pop(self.key, None)
        if self.hub.bound.get(self.address) is self:
            del self.hub.bound[self.address]
        for sock in self.sockets:
            if not self.loop.is_closed():
                self.loop.remove_reader(sock.fileno())
            sock.close()
        for task in list(self.greeting):
            task.cancel()


async def dial(loop, host, port):
    """A connected socket, by the first of the host's addresses that answers."""
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for last, (family, kind, protocol, _, address) in enumerate(found, 1 - len(found)):
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except BaseException as error:
            sock.close()
            if last == 0 or not isinstance(error, OSError):
                raise
    raise OSError(f"host {host!r} has no address")
