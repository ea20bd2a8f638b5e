# SPDX-License-Identifier: BSD-3-Clause
"""unisono.fast without mpi4py: MPI started by ctypes, a handle given as a number; threads exchange at the same time.

Runs on any CPython; on a free-threaded one the module must not bring the GIL back. With NumPy arrays as arguments where
NumPy is there, and with a Buffer. Its arguments are values of the
standard ABI: MPI_THREAD_MULTIPLE, MPI_COMM_WORLD, MPI_ERRORS_RETURN.
"""

import array
import ctypes
import sys
import threading

free = hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()
mpi = ctypes.CDLL("libmpi_abi.so.1", mode=ctypes.RTLD_GLOBAL)
level = ctypes.c_int()
MULTIPLE, WORLD, RETURN = map(int, sys.argv[1:4])
mpi.MPI_Init_thread(None, None, MULTIPLE, ctypes.byref(level))
from unisono import fast  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

comm = fast.Comm(WORLD)
assert level.value == MULTIPLE and comm.size == 2
failures = []


def work(t):
    try:
        out, into = (numpy.zeros(1, "q") if numpy else array.array("q", [0]) for _ in range(2))
        peer = 1 - comm.rank
        bound = fast.Buffer(out), fast.Buffer(into)
        for i in range(500):
            out[0] = 1000 * t + i
            send, receive = (out, into) if i % 2 else bound
            request = comm.Irecv(receive, peer, t)
            comm.Send(send, peer, t)
            request.Wait()
            assert into[0] == 1000 * t + i, (t, i, into[0])
    except BaseException as error:
        failures.append(error)


threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
assert not free or not sys._is_gil_enabled(), "the module brought the GIL back"
mpi.MPI_Comm_set_errhandler(ctypes.c_void_p(WORLD), ctypes.c_void_p(RETURN))
try:
    comm.Send(b"", 5)
except RuntimeError as error:
    assert "rank" in str(error)
else:
    raise AssertionError("a wrong rank raised nothing")
mpi.MPI_Finalize()
print("free-threaded" if free else "with the GIL", "arrays" if numpy else "no NumPy")
