# SPDX-License-Identifier: BSD-3-Clause
"""MPIComm: a connection of Dask's, whose messages travel by MPI. It is one end (module _mpi) and its two addresses."""

import asyncio
import logging
import sys
import weakref

from distributed.comm.core import Comm, CommClosedError
from distributed.comm.utils import from_frames, to_frames
from distributed.protocol import dumps, loads
from distributed.utils import ensure_memoryview

from . import _mpi, device
from .loops import Wait

logger = logging.getLogger(__name__)

WHOLE = sys.maxsize  # bytes of a frame before it is cut into pieces: never
PLAIN = 64 << 10  # bytes of a message up to which nobody asks whether another thread should deserialise it


def dangling(end, text):
    """For a connection that nobody has closed and nobody refers to any more."""
    if not end.closed:
        logger.warning("Closing dangling connection %s", text)
    end.close()


class MPIComm(Comm):
    """One side of a connection; belongs to the event loop that runs when it is made."""

    def __init__(self, end, local_addr, peer_addr, deserialize=True):
        self._end = end
        self._local_addr = local_addr
        self._peer_addr = peer_addr
        self._loop = asyncio.get_running_loop()
        super().__init__(deserialize=deserialize)
        self._finalizer = weakref.finalize(self, dangling, end, repr(self))
        self._finalizer.atexit = False

    @property
    def local_address(self):
        return self._local_addr

    @property
    def peer_address(self):
        return self._peer_addr

    async def read(self, deserializers=None):
        try:
            # The engine ends the wait when a message is there, or nothing will be.
            while (frames := self._end.take()) is None:
                wait = Wait(self._loop)
                self._end.wait(wait)
                await wait
        except BaseException:
            self.abort()  # also when cancelled: the next reader must not get the message that this one waited for
            raise
        try:
            if type(frames) is tuple:
                frames = device.arrived(frames, self.deserialize)
            if len(frames) == 1 and len(frames[0]) <= PLAIN:
                return loads(frames, deserialize=self.deserialize, deserializers=deserializers)
            return await from_frames(
                frames, deserialize=self.deserialize, deserializers=deserializers, allow_offload=self.allow_offload
            )
        except EOFError:
            self.abort()
            raise CommClosedError("the message ends before its time") from None

    async def write(self, msg, serializers=None, on_error="message"):
        if self._end.closed:
            raise CommClosedError("the connection is closed")
        if _mpi.plain(msg):
            frames = dumps(msg)
        else:
            frames = await to_frames(
                msg,
                allow_offload=self.allow_offload,
                serializers=serializers,
                on_error=on_error,
                context={"sender": self.local_info, "recipient": self.remote_info, **self.handshake_options},
                frame_split_size=WHOLE,
            )
        try:
            return self._send(frames)
        except CommClosedError:
            raise
        except BaseException:
            self.abort()
            raise

    def _send(self, frames):
        try:
            return self._end.send(frames)
        except (BufferError, TypeError):  # before anything was sent
            if any(map(device.is_device, frames)):
                return self._end.send_marked(device.departing(frames))
            return self._end.send([ensure_memoryview(f) for f in frames])  # a frame's memory is not in one piece

    async def close(self):
        """Returns when all that was written has left this process, or cannot any more."""
        end = self._end
        if end.sending and not end.closed:
            future = self._loop.create_future()
            end.flush(future)
            await future
        self.abort()

    def abort(self):
        if self._finalizer.detach():
            self._end.close()

    def closed(self):
        return self._end.closed
