# SPDX-License-Identifier: BSD-3-Clause
"""A process that listens with mpi://, prints its address, and serves until it is killed: echoes arrays plus one.
With `plain`: echoes any message as it is. With `die`: sends a large array and kills itself. With `farewell`: sends two
messages, closes, and ends."""

import asyncio
import os
import signal
import sys

import distributed.protocol.numpy  # noqa: F401
import numpy as np
from distributed.comm import CommClosedError, listen
from distributed.protocol import to_serialize

what = sys.argv[1] if len(sys.argv) > 1 else "echo"
over = asyncio.Event()


async def handle(comm):
    try:
        if what == "die":
            await comm.write(to_serialize(np.zeros(1 << 27)))  # 1 GiB
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "farewell":
            await comm.write(to_serialize(np.full(1 << 24, 3, dtype="u1")))
            await comm.write("farewell")
            await comm.close()
            over.set()
            return
        while True:
            message = await comm.read()
            await comm.write(message if what == "plain" else to_serialize(message + np.uint8(1)))
    except CommClosedError:
        pass


async def main():
    async with listen("mpi://127.0.0.1", handle) as listener:
        print(listener.contact_address, flush=True)
        await over.wait()


asyncio.run(main())
