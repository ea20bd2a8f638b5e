# SPDX-License-Identifier: BSD-3-Clause
"""Places for threads: parses OMP_PLACES, knows the machine's cores and sockets. Imported only when the user asks for
places.

The topology comes from hwloc when its library is installed (in the XML that it exports, which all its versions read
alike), else from the kernel's own tables.
"""

import os
import re
import socket
import sys
import threading

from . import _rt, env

table = []
_CPU = "/sys/devices/system/cpu/cpu{}/topology/{}"


def _read(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def _group(cpus, file):
    """The cpus by what the kernel's table says about each; every cpu alone where it says nothing."""
    groups = {}
    for cpu in cpus:
        groups.setdefault(_read(_CPU.format(cpu, file)) or str(cpu), []).append(cpu)
    return list(groups.values())


_HWLOC = {"threads": ("PU",), "cores": ("Core",), "sockets": ("Package", "Socket"), "numa_domains": ("NUMANode",)}


def hwloc_xml():
    """What hwloc knows about this machine, as XML; empty without the library."""
    import ctypes

    try:
        lib = ctypes.CDLL("libhwloc.so.15")
    except OSError:
        return ""
    topology, text, size = ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_int()
    if lib.hwloc_topology_init(ctypes.byref(topology)) < 0:
        return ""
    try:
        if lib.hwloc_topology_load(topology) < 0 or lib.hwloc_topology_export_xmlbuffer(
            topology, ctypes.byref(text), ctypes.byref(size), ctypes.c_ulong(0)
        ):
            return ""
        xml = text.value.decode(errors="replace")
        lib.hwloc_free_xmlbuffer(topology, text)
        return xml
    finally:
        lib.hwloc_topology_destroy(topology)


def from_hwloc(name, cpus, xml):
    """The places of that name among the cpus in hwloc's XML; None when it knows none."""
    objects = [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in re.findall(r"<object ([^>]*)>", xml)]
    kinds = _HWLOC.get(name)
    if name == "ll_caches":
        kinds = (max((o["type"] for o in objects if re.fullmatch(r"L\dCache", o.get("type", ""))), default=None),)
    places = []
    for o in objects:
        if kinds and o.get("type") in kinds and "cpuset" in o:
            mask = 0
            for word in o["cpuset"].split(","):  # groups of 32 bits, the highest first
                mask = mask << 32 | int(word or "0", 16)
            places.append([c for c in cpus if mask >> c & 1])
    return [p for p in places if p] or None


def _abstract(name, cpus):
    found = from_hwloc(name, cpus, hwloc_xml()) or []
    return found if sorted(sum(found, [])) == cpus else from_kernel(name, cpus)


def from_kernel(name, cpus):
    """The same from the kernel's tables; None for a name that nobody knows."""
    if name == "threads":
        return [[c] for c in cpus]
    if name == "cores":
        return _group(cpus, "thread_siblings_list")
    if name == "sockets":
        return _group(cpus, "physical_package_id")
    if name in ("numa_domains", "ll_caches"):
        return _group(cpus, "package_cpus_list")
    return None


def _interval(text):
    """lower[:length[:stride]] -> numbers."""
    parts = [int(p) for p in text.split(":")]
    lower, length, stride = parts[0], parts[1] if len(parts) > 1 else 1, parts[2] if len(parts) > 2 else 1
    return [lower + i * stride for i in range(length)]


def _one(text):
    """{a,b:len:stride} [:count[:stride]] -> places."""
    found = re.fullmatch(r"\{([^}]*)\}\s*((?::-?\d+){0,2})", text.strip())
    if not found:
        raise ValueError(text)
    cpus = [c for part in found.group(1).split(",") for c in _interval(part)]
    rest = [int(p) for p in found.group(2).split(":")[1:]]
    count, stride = rest[0] if rest else 1, rest[1] if len(rest) > 1 else len(cpus)
    return [[c + i * stride for c in cpus] for i in range(count)]


def parse(text, cpus):
    """The places that the text means on these cpus; ValueError when it means none."""
    found = re.fullmatch(r"([a-z_]+)\s*(?:\(\s*(\d+)\s*\))?", text.strip().lower())
    if found:
        places = _abstract(found.group(1), cpus)
        if places is None:
            raise ValueError(text)
        return places[: int(found.group(2))] if found.group(2) else places
    places = [p for part in re.split(r",(?![^{]*\})", text) for p in _one(part)]
    places = [[c for c in p if c in cpus] for p in places]
    return [p for p in places if p]


def read(text):
    """Sets the places from OMP_PLACES, or one per core."""
    cpus = sorted(os.sched_getaffinity(0))
    try:
        places = parse(text or "cores", cpus)
    except ValueError:
        print(
            f"unisono.omp: OMP_PLACES={text!r} is ignored: cores, threads, sockets or a list of {{...}} expected",
            file=sys.stderr,
        )
        places = parse("cores", cpus)
    table[:] = places
    if _rt.icv_get()[5] == 0:
        if env.values["binds"]:
            return  # false: no thread is bound, whatever the clauses say
        _rt.setting("bind", 1)
        _rt.icv_set("bind", 1)  # this thread has its control variables already
    _rt.set_places(places)
    _rt.bind_self(0)  # the initial thread, as the standard asks


def show():
    """OMP_DISPLAY_AFFINITY: the line of the calling thread, in one write."""
    sys.stderr.write(describe(env.values["affinity_format"]) + "\n")
    sys.stderr.flush()


def describe(text):
    """The affinity format with its fields filled in."""
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    level = _rt.omp_get_level()
    fields = {
        "L": level,
        "i": threading.get_native_id(),
        "n": _rt.omp_get_thread_num(),
        "N": _rt.omp_get_num_threads(),
        "H": socket.gethostname(),
        "P": os.getpid(),
        "A": cpus,
        "T": 1,
        "t": 0,
        "a": _rt.omp_get_ancestor_thread_num(level - 1),
    }
    long_ = {
        "nesting_level": "L",
        "thread_num": "n",
        "num_threads": "N",
        "host": "H",
        "process_id": "P",
        "thread_affinity": "A",
        "ancestor_tnum": "a",
        "native_thread_id": "i",
        "num_teams": "T",
        "team_num": "t",
    }

    def fill(m):
        key = long_.get(m.group(3) or "", m.group(4))
        if key == "%":
            return "%"
        value = str(fields.get(key, m.group(0)))
        width = int(m.group(2) or 0)
        return (
            value.rjust(width, "0" if m.group(1) and "0" in m.group(1) else " ")
            if m.group(1) and "." in m.group(1)
            else value.ljust(width)
        )

    return re.sub(r"%(0?\.|\.)?(\d+)?(?:\{(\w+)\}|([A-Za-z%]))", fill, text)
