# SPDX-License-Identifier: BSD-3-Clause
"""The helpers of distributed's own tests (check_*), called with addresses of mpi://. Run by pytest in the folder of its
source (tools/dask_tests.py)."""

import re
from functools import partial

import pytest
from distributed.comm import CommClosedError
from distributed.comm.tests import test_comms
from distributed.tests import test_core
from distributed.utils_test import gen_test

CONNECTIONS = ["many_listeners", "deserialize", "deserialize_roundtrip", "comm_closed_implicit", "comm_closed_explicit"]
SERVERS = ["rpc", "rpc_message_lifetime", "rpc_with_many_connections", "large_packets", "identity"]


def named(host, port=None):
    """Whether an address has that host, and that port or any."""

    def check(address):
        found = re.fullmatch(r"(?:mpi://)?(.*):(\d+)", address)
        assert found and (host is None or found[1] == host) and int(found[2]) == (port or int(found[2])) > 0

    return check


@pytest.mark.parametrize("name", CONNECTIONS)
@gen_test()
async def test_connections(name):
    await getattr(test_comms, f"check_{name}")("mpi://127.0.0.1")


@pytest.mark.parametrize("name", SERVERS)
@gen_test()
async def test_servers(name):
    await getattr(test_core, f"check_{name}")("mpi://")


@pytest.mark.parametrize(
    "address, listening, contact",
    [("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("127.0.0.1:3291", "127.0.0.1", "127.0.0.1"), ("", "0.0.0.0", None)],
)
@gen_test()
async def test_client_server(address, listening, contact):
    await test_comms.check_client_server(f"mpi://{address}", named(listening), named(contact))


@gen_test()
async def test_connect_timeout():
    await test_comms.check_connect_timeout("mpi://127.0.0.1:44444")


@pytest.mark.parametrize("check", ["repr", "addresses"])
@gen_test()
async def test_pair(check):
    a, b = await test_comms.get_comm_pair("mpi://127.0.0.1")
    await getattr(test_comms, f"check_{check}")(a, b)


@gen_test()
async def test_closed_on_read_error():
    reader, writer = await test_comms.get_comm_pair("mpi://127.0.0.1")
    with pytest.raises(test_comms.asyncio.TimeoutError):
        await test_comms.wait_for(reader.read(), 0.01)
    await writer.close()
    assert reader.closed() and writer.closed()
    with pytest.raises(CommClosedError):
        await reader.read()


@gen_test()
async def test_end_of_file_while_decoding():
    await partial(test_comms.check_deserialize_eoferror, "mpi://127.0.0.1")()
