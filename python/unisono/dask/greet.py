# SPDX-License-Identifier: BSD-3-Clause
"""How two processes become acquainted: a few lines of JSON over a TCP connection to a listener's host and port.

The connection then stays open without a word: its end tells that the other process has gone. ::

    connecting                                            listening
    {"unisono-dask": 1, "who", "job", "rank"}       ->
                                                    <-    {"unisono-dask": 1, "who", "key", "job", "rank", "known"}
    {"want": "nothing" | "world" | "port"}          ->    nothing: they have a link, or are one process
                                                    <-    {"tag": number} | {"port": name of an MPI port}
"""

import asyncio
import json

VERSION = 1
LINE = 2048  # bytes of a line at most; an MPI port's name has up to 1,024


class Stranger(ValueError):
    """What came is not of this protocol, or of another version of it; the text says what."""


async def say(sock, **fields):
    """Sends a line."""
    await asyncio.get_running_loop().sock_sendall(sock, json.dumps(fields).encode() + b"\n")


async def hear(sock):
    """A line of the other side as a dict. ConnectionError: it has closed; Stranger: it speaks something else."""
    loop = asyncio.get_running_loop()
    text = b""
    while not text.endswith(b"\n"):
        part = await loop.sock_recv(sock, LINE - len(text)) if len(text) < LINE else b""
        if not part and len(text) < LINE:
            raise ConnectionResetError("the other side closed the connection while it was made")
        text += part
        if not text.startswith(b"{") or (len(text) >= LINE and not text.endswith(b"\n")):
            raise Stranger(f"it does not speak the protocol of mpi://: {text[:40]!r}")
    try:
        fields = json.loads(text)
        if isinstance(fields, dict):
            return fields
    except ValueError:
        pass
    raise Stranger(f"it does not speak the protocol of mpi://: {text[:40]!r}")


async def hear_field(sock, name, kind):
    """One field of the other side's next line."""
    fields = await hear(sock)
    if not isinstance(fields.get(name), kind):
        raise Stranger(f"its answer has no {name}: {str(fields)[:80]}")
    return fields[name]


async def hear_hello(sock, **more):
    """The first line of the other side: checked for its version, and that all is there, with more names and kinds."""
    fields = await hear(sock)
    version = fields.get("unisono-dask")
    if version != VERSION:
        raise Stranger(f"it is of version {version!r} of unisono-dask's protocol, this process of {VERSION}")
    kinds = {"who": str, "job": str, "rank": int, **more}
    if not all(isinstance(fields.get(name), kind) for name, kind in kinds.items()):
        raise Stranger(f"its first line is incomplete: {str(fields)[:80]}")
    return fields


def hello(hub, **more):
    """The fields of this process's first line."""
    return {"unisono-dask": VERSION, "who": hub.me, "job": hub.job, "rank": hub.rank, **more}
