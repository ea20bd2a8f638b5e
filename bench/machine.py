# SPDX-License-Identifier: BSD-3-Clause
"""Describes the machine for the records of a comparison: processor, caches, memory, kernel, governor, load."""

import os
import pathlib
import platform
import time


def first(path, default=""):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return default


def field(path, key):
    for line in first(path).splitlines():
        if line.lower().startswith(key.lower()):
            return line.split(":", 1)[1].strip()
    return ""


def model_code():
    """Vendor, family and model of the processor by number: names of virtual ones say little."""
    names = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}
    vendor = field("/proc/cpuinfo", "vendor_id")
    if not vendor:
        return platform.machine()
    family, model = field("/proc/cpuinfo", "cpu family"), field("/proc/cpuinfo", "model\t")
    return f"{names.get(vendor, vendor)} family {family} model {model}"


def caches():
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if first(index / "type") != "Instruction":
            found.append(f"L{first(index / 'level')} {first(index / 'size')}")
    return ", ".join(found)


def describe():
    flags = field("/proc/cpuinfo", "flags").split()
    return {
        "processor": field("/proc/cpuinfo", "model name") or platform.machine(),
        "model_code": model_code(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "vector": next((f for f in ("avx512f", "avx2", "avx", "sse4_2") if f in flags), "none known"),
        "virtual": "hypervisor" in flags,
        "memory": field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "governor": first("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not told"),
        "load": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }
