# SPDX-License-Identifier: BSD-3-Clause
"""What happens on one event loop and is heard on another: futures, meetings of two processes, listening sockets."""

import asyncio
import logging
import socket

import dask
from distributed.comm.addressing import unparse_host_port
from distributed.utils import ensure_ip, get_ip, get_ipv6

from . import _mpi

logger = logging.getLogger(__name__)

REST_S = 1  # before a listener is looked at again whose connection could not be accepted


def seconds():
    """How long a connection may take to be made, as a number in text."""
    return str(max(1, round(dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect")))))


def memory_kept():
    """How many bytes of memory that large messages arrived in are kept for the next ones."""
    return dask.utils.parse_bytes(dask.config.get("unisono.memory-kept", "128 MiB"))


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


class Wait:
    """What a reader awaits, for asyncio a future: but where the doorbell's callback ends it, the reader goes on within
    that callback, a turn of the event loop earlier.

    Always holds: a reader goes on outside of the engine's step, and with no task running.
    """

    __slots__ = ("_asyncio_future_blocking", "_cancelled", "_context", "_done", "_loop", "_wake")
    woken = {}  # by loop whose doorbell's callback runs now: those that have ended in it

    def __init__(self, loop):
        self._loop = loop
        self._asyncio_future_blocking = False
        self._done = self._cancelled = False
        self._wake = self._context = None

    def get_loop(self):
        return self._loop

    def done(self):
        return self._done

    def cancelled(self):
        return self._cancelled

    def result(self):
        if self._cancelled:
            raise asyncio.CancelledError
        if not self._done:
            raise asyncio.InvalidStateError("nothing has arrived yet")

    def exception(self):
        return self.result()

    def add_done_callback(self, callback, *, context=None):
        """One callback, that of the task which awaits this."""
        self._wake, self._context = callback, context
        if self._done:
            self.wake_later()

    def remove_done_callback(self, callback):
        removed = int(self._wake == callback)
        if removed:
            self._wake = None
        return removed

    def cancel(self, msg=None):
        if self._done:
            return False
        self._done = self._cancelled = True
        self.wake_later()
        return True

    def set_result(self, _):
        """Called by the engine, or by settle(), on the thread of the loop."""
        self._done = True
        woken = Wait.woken.get(self._loop)
        if woken is None:
            self.wake_later()
        else:
            woken.append(self)

    def wake(self):
        if self._wake:
            self._context.run(self._wake, self)

    def wake_later(self):
        if self._wake:
            self._loop.call_soon(self._wake, self, context=self._context)

    def __await__(self):
        if not self._done:
            self._asyncio_future_blocking = True
            yield self
        return self.result()


def wake_after(loop, function):
    """Calls function(loop), a callback of the loop, and then lets those readers go on whose waits have ended in it."""
    Wait.woken[loop] = woken = []
    try:
        function(loop)
    finally:
        del Wait.woken[loop]
        for n, one in enumerate(woken, 1):
            try:
                one.wake()
            except BaseException:  # a task that ends the program: the others go on if the loop does
                for other in woken[n:]:
                    other.wake_later()
                raise


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


def source(host):
    """This machine's address by which it reaches a host: the local address that a socket of tcp:// would have."""
    ip = ensure_ip(host)
    return get_ipv6(ip) if ":" in ip else get_ip(ip)


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
        self.resting = False  # the last connection could not be accepted
        for sock in sockets:
            self._watch(sock)

    def _watch(self, sock):
        if sock.fileno() >= 0:
            self.loop.add_reader(sock.fileno(), self._acceptable, sock)

    def _acceptable(self, sock):
        for _ in range(64):
            try:
                conn, _ = sock.accept()
            except (BlockingIOError, ConnectionError):
                return
            except OSError as error:  # no descriptors left, for one: who waits makes the socket readable all the time
                if not self.resting:
                    logger.warning("%s: cannot accept a connection: %s", unparse_host_port(*self.address), error)
                self.resting = True
                self.loop.remove_reader(sock.fileno())
                self.loop.call_later(REST_S, self._watch, sock)
                return
            self.resting = False
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
