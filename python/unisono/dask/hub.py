# SPDX-License-Identifier: BSD-3-Clause
"""The hub: what this process knows of others, one per process. It lets the engine (module _mpi) take its steps on every
event loop that uses mpi://, and turns what the engine learns into connections.

Always holds: one link per pair of processes carries all their connections; whoever takes a step hears the news of all
loops and hands each to its own.
"""

import asyncio
import itertools
import logging
import os
import uuid

import dask
from distributed.comm.addressing import unparse_host_port
from distributed.comm.core import CommClosedError
from distributed.protocol.utils import host_array
from tornado.netutil import bind_sockets

from . import _mpi
from .greet import Stranger, hear, hear_field, hear_hello, hello, say
from .loops import Meeting, Place, dial, fail, give, memory_kept, on, seconds, settle, source, wake_after

logger = logging.getLogger(__name__)

STEP_BUSY, STEP_MORE, STEP_NEWS = 1, 2, 4  # of engine.h
DEAD, CLOSE, OPEN, ACCEPT, REFUSE = 0, 2, 3, 4, 5  # enum kind of engine.h; DEAD is the engine's own


class Peer:
    """Another process, or this one (sock is None). `here` and `there` are the hosts of the two by their addresses."""

    def __init__(self, who, handle, rank, sock=None):
        self.who = who
        self.sock = sock
        self.here = sock.getsockname()[0] if sock else None
        self.link = _mpi.Link(handle, rank, sock is None, self)


class Hub:
    """See the module. Made by hub() when the first connector or listener needs it."""

    def __init__(self):
        self.pid = os.getpid()
        self.me = uuid.uuid4().hex
        self.bell, self.controls, (self.rank, self.size, self.job) = _mpi.start(
            host_array, settle, CommClosedError, memory_kept()
        )
        self.numbers = itertools.count(1)
        self.places = {}  # by key
        self.bound = {}  # by (host, port): places of this process
        self.peers = {}  # by who
        self.reached = {}  # (host, port): (peer, key)
        self.reaching = {}  # (loop, host, port): task
        self.opening = {}  # by an end's id: (peer, loop, future)
        self.loops = set()
        self.parked = set()  # loops that found another thread at a step
        self.own = Peer(self.me, _mpi.own_comm(), 0)
        self.peers[self.me] = self.own

    def attach(self, loop):
        """Lets a loop take steps, for as long as it lives."""
        if loop in self.loops:
            return
        self.loops = {other for other in self.loops if not other.is_closed()} | {loop}
        loop.add_reader(self.bell, self._rung, loop)
        loop.add_reader(self.controls, self._spoken)

    def _rung(self, loop):
        wake_after(loop, self._take_step)

    def _take_step(self, loop):
        said = _mpi.step(False)
        if said & STEP_BUSY:
            # Another thread is at it, perhaps for long: not to be woken again and again meanwhile.
            loop.remove_reader(self.bell)
            self.parked.add(loop)
            said = _mpi.step(False)
        if said & STEP_MORE:
            loop.call_soon(self.step)
        self._follow(said)

    def _unpark(self, loop):
        loop.add_reader(self.bell, self._rung, loop)

    def step(self):
        """Takes a whole step: what has ended is handed out, and the doorbell is armed."""
        self._follow(_mpi.step(True))

    def _follow(self, said):
        """What a step leaves to do: its news, and the loops that found it under way."""
        if said & STEP_NEWS:
            self.hear()
        while self.parked and not said & STEP_BUSY:
            loop = self.parked.pop()
            on(loop, self._unpark, loop)

    def hear(self):
        """Hears what has happened."""
        while news := _mpi.news():
            for item in news:
                self._hear(item)

    def _spoken(self):
        for fd in _mpi.readable():
            self._silent(fd)

    def _hear(self, item):
        if len(item) == 3:
            call, error, handle = item
            call(error, handle)
            return
        peer, kind, to, origin, text = item
        if kind == DEAD:
            self._gone(peer)
        elif kind == OPEN:
            self._open(peer, to, origin, text)
        elif to in self.opening:
            _, loop, future = self.opening[to]
            on(loop, give, future, origin if kind == ACCEPT else 0)
        elif kind == ACCEPT:  # the one who asked has given up
            peer.link.tell(CLOSE, origin, 0, b"")

    def _open(self, peer, key, origin, text):
        try:
            own, other = text.decode().split(" ")
        except ValueError:
            own = other = None
        place = self.places.get(key)
        if place is None or place.loop.is_closed() or own is None:
            self._tell(peer, REFUSE, origin, 0)
        else:
            on(place.loop, self._accept, place, peer, origin, own, other)

    def _tell(self, peer, kind, to, origin):
        try:
            peer.link.tell(kind, to, origin, b"")
        except (CommClosedError, AttributeError):
            pass  # it has gone meanwhile

    def _accept(self, place, peer, origin, own, other):
        if place.key not in self.places or peer.link is None:
            self._tell(peer, REFUSE, origin, 0)
        else:
            end = _mpi.End(peer.link, place.loop, origin)
            self._tell(peer, ACCEPT, origin, end.id)
            place.listener.accept(end, own, other)
        self.hear()

    # Connecting

    async def connect(self, host, port):
        """(end, own address) of a new connection to a listener."""
        loop = asyncio.get_running_loop()
        self.attach(loop)
        peer, key = self._near(host, port) or await self._reach(loop, host, port)
        end = _mpi.End(peer.link, loop, 0)
        own = unparse_host_port(peer.here or source(host), 1 + end.id % 65535)
        future = loop.create_future()
        self.opening[end.id] = peer, loop, future
        try:
            peer.link.tell(OPEN, key, end.id, f"{unparse_host_port(host, port)} {own}".encode())
            self.hear()
            end.peer = await future
        except BaseException:
            end.close()
            raise
        finally:
            del self.opening[end.id]
        if end.peer == 0:
            end.close()
            self.reached.pop((host, port), None)
            raise ConnectionRefusedError(f"nobody listens at {unparse_host_port(host, port)} any more")
        return end, own

    def _near(self, host, port):
        """(peer, key) of a listener that is known already."""
        place = self.bound.get((host, port))
        if place:
            return self.own, place.key
        return self.reached.get((host, port))

    async def _reach(self, loop, host, port):
        """The same of one that is not known; several that ask at once share the answer."""
        task = self.reaching.get((loop, host, port))
        if task is None:
            task = loop.create_task(self._introduce(loop, host, port))
            self.reaching[loop, host, port] = task
            task.add_done_callback(lambda _: self.reaching.pop((loop, host, port), None))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _introduce(self, loop, host, port):
        # Who has asked may have given up: a listener that never answers must not keep this under way.
        async with asyncio.timeout(float(seconds())):
            return await self._introduce_over(await dial(loop, host, port), host, port)

    async def _introduce_over(self, sock, host, port):
        try:
            await say(sock, **hello(self))
            other = await hear_hello(sock, key=int)
            peer = self.own if other["who"] == self.me else self.peers.get(other["who"])
            if peer and (peer is self.own or other.get("known")):
                await say(sock, want="nothing")
            else:
                peer, sock = await self._befriend(sock, other), None
            self.reached[host, port] = peer, other["key"]
            return self.reached[host, port]
        except Stranger as error:
            raise OSError(f"{unparse_host_port(host, port)} is no address of mpi://: {error}") from None
        finally:
            if sock:
                sock.close()

    async def _befriend(self, sock, other):
        """A link with the process at the other end of the socket; this side has connected."""
        if other["job"] == self.job and 0 <= other["rank"] < self.size > 1:
            await say(sock, want="world")
            tag = await hear_field(sock, "tag", int)
            handle = _mpi.world_comm(other["rank"], self.rank, tag)
        else:
            await say(sock, want="port")
            meeting = Meeting()
            _mpi.connect(await hear_field(sock, "port", str), seconds(), meeting)
            handle = await self._meet(meeting)
        return self._link(other["who"], sock, handle, 0)

    async def _meet(self, meeting):
        """The communicator of an accept or a connect that has begun."""
        self.step()
        return await meeting.future

    def _link(self, who, sock, handle, rank):
        peer = Peer(who, handle, rank, sock)
        self.peers[who] = peer
        _mpi.watch(sock.fileno())
        self.step()
        return peer

    # Being connected to

    def listen(self, listener, host, port):
        """Begins to listen; the Place."""
        self.attach(asyncio.get_running_loop())
        backlog = int(dask.config.get("distributed.comm.socket-backlog"))
        for attempt in range(5):
            try:
                sockets = bind_sockets(port, address=host, backlog=backlog)
                break
            except OSError:
                if port != 0 or attempt == 4:  # a free port of one family may be taken in the other
                    raise
        place = Place(self, listener, sockets)
        self.places[place.key] = self.bound[place.address] = place
        return place

    async def welcome(self, place, sock):
        """A connection was accepted: answers it, or says once what is wrong with it."""
        limit = dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
        kept = False
        try:
            async with asyncio.timeout(limit):
                kept = await self._answer(place, sock)
        except (Stranger, TimeoutError) as error:
            said = "it did not say who it is" if isinstance(error, TimeoutError) else error
            logger.warning("A connection to %s was refused: %s", place.listener.listen_address, said)
        except OSError as error:
            logger.info("A connection to %s ended while it was made: %s", unparse_host_port(*place.address), error)
        finally:
            if not kept:
                sock.close()

    async def _answer(self, place, sock):
        other = await hear_hello(sock)
        await say(sock, **hello(self, key=place.key, known=other["who"] in self.peers))
        want = (await hear(sock)).get("want")
        if want == "nothing":
            return False
        if want == "world" and other["job"] == self.job and 0 <= other["rank"] < self.size:
            tag = next(self.numbers)
            handle = _mpi.world_comm(self.rank, other["rank"], tag)
            await say(sock, tag=tag)
            self._link(other["who"], sock, handle, 1)
            return True
        if want == "port":
            meeting = Meeting()
            port = _mpi.accept(seconds(), meeting)
            try:
                await say(sock, port=port)
                handle = await self._meet(meeting)
            finally:
                _mpi.close_port(port)
            self._link(other["who"], sock, handle, 0)
            return True
        raise Stranger(f"it wants {want!r}")

    # Parting

    def _silent(self, fd):
        """A control socket is readable: the other process has closed it, which is to say that it has gone."""
        for peer in list(self.peers.values()):
            if peer.sock and peer.sock.fileno() == fd:
                try:
                    if peer.sock.recv(64):
                        return
                except BlockingIOError:
                    return
                except OSError:
                    pass
                self._gone(peer)
                return
        _mpi.unwatch(fd)

    def _gone(self, peer):
        """Ends the link with a process, after what it has sent."""
        if peer.link is None:
            return
        if peer.sock:
            _mpi.unwatch(peer.sock.fileno())
            peer.sock.close()
        link, peer.link = peer.link, None
        if self.peers.get(peer.who) is peer:
            del self.peers[peer.who]
        self.reached = {where: found for where, found in self.reached.items() if found[0] is not peer}
        link.close()
        for other, loop, future in list(self.opening.values()):
            if other is peer:
                on(loop, fail, future, ConnectionResetError("the other process has gone"))


THE_HUB = None


def hub():
    """This process's hub. RuntimeError: the process was forked from one that has a hub."""
    global THE_HUB
    if THE_HUB is None:
        THE_HUB = Hub()
    elif THE_HUB.pid != os.getpid():
        raise RuntimeError(
            'this process was forked from one that uses mpi://; start it with multiprocessing\'s "spawn"'
        )
    return THE_HUB
