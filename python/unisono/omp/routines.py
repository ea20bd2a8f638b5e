# SPDX-License-Identifier: BSD-3-Clause
"""The omp_* routines that need no speed, and the types of OpenMP. The others are functions of the C run-time."""

from __future__ import annotations

import enum
import operator

from . import _rt, env

TYPE_CHECKING = False  # as typing has it, without the time that its import takes
if TYPE_CHECKING:
    from typing import SupportsIndex

UNLIMITED = env.UNLIMITED


class omp_sched_t(enum.IntEnum):
    """Kinds of schedules for omp_set_schedule()."""

    omp_sched_static = 1
    omp_sched_dynamic = 2
    omp_sched_guided = 3
    omp_sched_auto = 4


class omp_proc_bind_t(enum.IntEnum):
    """Policies that omp_get_proc_bind() returns."""

    omp_proc_bind_false = 0
    omp_proc_bind_true = 1
    omp_proc_bind_master = 2
    omp_proc_bind_primary = 2
    omp_proc_bind_close = 3
    omp_proc_bind_spread = 4


globals().update(omp_sched_t.__members__)
globals().update(omp_proc_bind_t.__members__)


def omp_set_num_threads(num_threads: SupportsIndex) -> None:
    """How many threads the regions that this task meets from now on ask for, unless num_threads says otherwise."""
    n = operator.index(num_threads)
    if n < 1:
        raise ValueError(f"omp_set_num_threads({n}): at least 1 expected")
    _rt.icv_set("nthreads", n)


def omp_get_max_threads() -> int:
    """The most threads that a region without num_threads could get now."""
    return _rt.icv_get()[0]


def omp_get_num_procs() -> int:
    """Processors that this process may use."""
    return _rt.settings()[0]


def omp_set_dynamic(dynamic_threads: bool) -> None:
    """Whether a region may get fewer threads than asked for (never more than there are processors)."""
    _rt.icv_set("dynamic", bool(dynamic_threads))


def omp_get_dynamic() -> bool:
    """Whether the number of threads may be adjusted."""
    return bool(_rt.icv_get()[1])


def omp_set_nested(nested: bool) -> None:
    """True: regions inside regions get threads of their own. The same as omp_set_max_active_levels(many or 1)."""
    _rt.icv_set("max_active", UNLIMITED if nested else 1)


def omp_get_nested() -> bool:
    """Whether regions inside regions get threads of their own."""
    return _rt.icv_get()[2] > 1


def omp_set_max_active_levels(max_levels: SupportsIndex) -> None:
    """How deep regions with several threads may be nested."""
    n = operator.index(max_levels)
    if n >= 0:
        _rt.icv_set("max_active", min(n, UNLIMITED))


def omp_get_max_active_levels() -> int:
    """How deep regions with several threads may be nested."""
    return _rt.icv_get()[2]


def omp_get_supported_active_levels() -> int:
    """The most levels that the run-time could nest."""
    return UNLIMITED


def omp_set_schedule(kind: omp_sched_t | int, chunk_size: SupportsIndex = 0) -> None:
    """What schedule(runtime) means from now on for loops that this task meets. chunk_size < 1: the default."""
    kind = omp_sched_t(int(kind) & 0x7FFFFFFF)
    chunk = operator.index(chunk_size)
    if chunk < 1:
        chunk = 1 if kind in (omp_sched_t.omp_sched_dynamic, omp_sched_t.omp_sched_guided) else 0
    _rt.icv_set("sched", int(kind))
    _rt.icv_set("chunk", 0 if kind == omp_sched_t.omp_sched_auto else chunk)


def omp_get_schedule() -> tuple[omp_sched_t, int]:
    """(kind, chunk size) that schedule(runtime) means now."""
    _, _, _, kind, chunk, _ = _rt.icv_get()
    return omp_sched_t(kind), chunk


def omp_get_thread_limit() -> int:
    """The most threads that the program may have."""
    return _rt.settings()[1]


def omp_get_cancellation() -> bool:
    """Whether cancel does something (OMP_CANCELLATION)."""
    return bool(_rt.settings()[2])


def omp_get_max_task_priority() -> int:
    """The highest priority that a task can have (OMP_MAX_TASK_PRIORITY)."""
    return _rt.settings()[3]


def omp_get_proc_bind() -> omp_proc_bind_t:
    """How the threads of the next region are bound."""
    return omp_proc_bind_t(_rt.icv_get()[5])


def omp_init_lock_with_hint(hint: int = 0) -> _rt.Lock:
    """A new lock; hints say nothing here."""
    return _rt.omp_init_lock()


def omp_init_nest_lock_with_hint(hint: int = 0) -> _rt.Lock:
    """A new nestable lock; hints say nothing here."""
    return _rt.omp_init_nest_lock()


def omp_get_num_places() -> int:
    """How many places there are to bind threads to."""
    from . import places

    return len(places.table)


def omp_get_place_num_procs(place_num: int) -> int:
    """Processors in the place."""
    from . import places

    return len(places.table[place_num]) if 0 <= place_num < len(places.table) else 0


def omp_get_place_proc_ids(place_num: int) -> list[int]:
    """The processors of the place."""
    from . import places

    return list(places.table[place_num]) if 0 <= place_num < len(places.table) else []


def omp_get_partition_num_places() -> int:
    """How many places this thread's regions may use."""
    return _rt.partition()[1]


def omp_get_partition_place_nums() -> list[int]:
    """The numbers of the places that this thread's regions may use."""
    first, places = _rt.partition()
    return list(range(first, first + places))


def omp_set_affinity_format(text: str) -> None:
    """The format of omp_display_affinity(None)."""
    env.values["affinity_format"] = str(text)


def omp_get_affinity_format() -> str:
    """The format of omp_display_affinity(None)."""
    return env.values["affinity_format"]


def omp_capture_affinity(text: str | None = None) -> str:
    """The line that omp_display_affinity() prints."""
    from . import places

    return places.describe(text or env.values["affinity_format"])


def omp_display_affinity(text: str | None = None) -> None:
    """Prints where this thread runs."""
    print(omp_capture_affinity(text), flush=True)


def omp_display_env(verbose: bool = False) -> None:
    """Prints the control variables on standard error."""
    env.show(verbose)


def omp_is_initial_device() -> bool:
    """There is only the host."""
    return True


def omp_get_num_devices() -> int:
    """Devices other than the host."""
    return 0


def omp_get_initial_device() -> int:
    """The number of the host."""
    return 0


def omp_get_device_num() -> int:
    """The number of the device that this thread runs on."""
    return 0


def omp_get_default_device() -> int:
    """The device of target constructs without a device clause."""
    return 0


def omp_set_default_device(device_num: int) -> None:
    """There is only the host."""
    if operator.index(device_num) != 0:
        raise ValueError(f"omp_set_default_device({device_num}): there is only the host, 0")


omp_set_unnest_lock = _rt.omp_unset_nest_lock  # the name that OMP4Py gave it
