# SPDX-License-Identifier: BSD-3-Clause
"""Frames of a GPU's memory, by stand-ins: a class that is no buffer but has __cuda_array_interface__, and serializers
of the family "cuda" for it. They arrive as device memory where they are deserialised, whoever passed them on."""

import pickle

import numpy as np
import pytest
from conftest import pair, run
from distributed.protocol import to_serialize
from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
from unisono.dask import device

CUDA = ("cuda", "dask", "pickle", "error")


class Memory:
    """Device memory: its bytes are reached by copy_to_host() alone."""

    def __init__(self, host):
        self._bytes = bytes(host)
        self.nbytes = len(self._bytes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (0, False), "version": 3}

    def copy_to_host(self):
        return np.frombuffer(self._bytes, dtype="u1")


class Array:
    """What a user has: device memory and a name."""

    def __init__(self, memory, name):
        self.memory, self.name = memory, name


@cuda_serialize.register(Array)
def dumps(array):
    return {"name": array.name}, [array.memory, pickle.dumps(array.name)]


@cuda_deserialize.register(Array)
def loads(header, frames):
    memory, name = frames
    assert isinstance(memory, Memory), type(memory)
    assert not isinstance(name, Memory) and pickle.loads(name) == header["name"]
    return Array(memory, header["name"])


@pytest.fixture
def gpu(monkeypatch):
    """A library that makes device memory."""
    monkeypatch.setattr(device, "makers", [Memory])


def an_array(n, name="a"):
    return Array(Memory(np.arange(n, dtype="u8").tobytes()), name)


def same(one, other):
    return one.name == other.name and (one.memory.copy_to_host() == other.memory.copy_to_host()).all()


@pytest.mark.parametrize("n", [0, 10, 1000, 1 << 18])
def test_there(gpu, n):
    async def test():
        sent = an_array(n)
        async with pair() as (a, b):
            await a.write({"x": to_serialize(sent), "y": to_serialize(np.arange(5000))}, serializers=CUDA)
            got = await b.read(deserializers=CUDA)
            assert same(got["x"], sent) and (got["y"] == np.arange(5000)).all()
            await a.write("behind")
            assert await b.read() == "behind"

    run(test())


def test_passed_on(monkeypatch):
    """A process without a GPU hands the message on as it came; the next one makes device memory of it."""

    async def test():
        sent = [an_array(3000, "one"), an_array(7, "two")]
        async with pair(deserialize=False) as (a, b), pair() as (c, d):
            monkeypatch.setattr(device, "makers", [])
            await a.write([to_serialize(x) for x in sent], serializers=CUDA)
            message = await b.read(deserializers=CUDA)
            await c.write(message, serializers=CUDA)
            monkeypatch.setattr(device, "makers", [Memory])
            got = await d.read(deserializers=CUDA)
            assert all(map(same, got, sent))

    run(test())


def test_nobody_makes_device_memory(monkeypatch):
    async def test():
        monkeypatch.setattr(device, "makers", [])
        async with pair() as (a, b):
            await a.write(to_serialize(an_array(5)), serializers=CUDA)
            with pytest.raises(RuntimeError, match="rmm, numba, cupy"):
                await b.read(deserializers=CUDA)
            await a.write("lives on")
            assert await b.read() == "lives on"

    run(test())


def test_marks_that_lie(gpu):
    """A mark beyond the frames is no message."""
    for marks in (7).to_bytes(8, "little"), b"half":
        with pytest.raises(EOFError):
            device.arrived((b"x", marks), True)
