#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Includes point one way: api > {coll, ft, rma, io, topo, dpm, tool} > p2p > core > chan > base; platform #ifs: base.

Waits ask base/patience.h, and chan/peer_memory.h makes all copies across processes. Called by tests/suites/20-house. A
folder of the middle layer may use another one's header only by an exemption.
"""

import re
import sys

from house import Finding, bare, text_of, tracked, verdict

LAYERS = {
    "base": 0,
    "chan": 1,
    "core": 2,
    "p2p": 3,
    "coll": 4,
    "ft": 4,
    "rma": 4,
    "io": 4,
    "topo": 4,
    "dpm": 4,
    "tool": 4,
    "api": 5,
}
PLATFORM = re.compile(r"^\s*#\s*(?:el)?if.*__(?:x86_64|aarch64|AVX\w*|SSE\w*|ARM\w*|linux|riscv)__", re.MULTILINE)


def direction():
    """Includes that point up, or sideways between folders of one layer."""
    for path in tracked(".c", ".h", under="src"):
        folder = path.parts[1]
        if folder not in LAYERS:
            yield Finding("direction", path, 1, f"folder {folder} is in no layer")
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"/]+)/', line)
            other = match and match.group(1)
            if other in LAYERS and other != folder and LAYERS[other] >= LAYERS[folder]:
                yield Finding("direction", path, number, f"{folder} includes {other}", other)


def outside():
    """Sources of the library that include the launcher or the benchmarks; the launcher may use base alone.

    Both may use the contracts that are installed for components (include/unisono).
    """
    allowed = {"src": {*LAYERS, "unisono"}, "launch": {"base", "launch", "unisono"}}
    for top, folders in allowed.items():
        for path in tracked(".c", ".h", under=top):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                match = re.match(r'\s*#\s*include\s*"(\w+)/', line)
                if match and match.group(1) not in folders and match.group(1) not in path.parts:
                    yield Finding("outside", path, number, f"{top} includes {match.group(1)}")


def own_first():
    """A source beside a header of its name includes that header before any other of ours."""
    for path in tracked(".c", under="src"):
        own = path.with_suffix(".h")
        includes = re.findall(r'^\s*#\s*include\s*"([^"]+)"', text_of(path), re.MULTILINE)
        named = str(own.relative_to("src"))
        if named in includes and includes[0] != named:
            yield Finding("own-first", path, 1, f"include {named} first")


def platform():
    """Tests for a platform outside src/base."""
    for path in tracked(".c", ".h", under="src"):
        if path.parts[1] != "base":
            text = text_of(path)
            for match in PLATFORM.finditer(bare(text)):
                line = text.count("\n", 0, match.start() + 1) + 1
                yield Finding("platform", path, line, "platform #if outside src/base")


def patience():
    """What waits asks the one policy: nothing else gives the core away or rests the processor."""
    for path in tracked(".c", ".h", under="src"):
        if path.name.startswith("test_") or path.name.endswith("_test.c") or path.stem in ("patience", "wait"):
            continue
        for number, line in enumerate(bare(text_of(path)).splitlines(), 1):
            if match := re.search(r"\b(sched_yield|uno_pause|nanosleep|usleep)\s*\(", line):
                yield Finding("patience", path, number, f"calls {match.group(1)}: ask base/patience.h", match.group(1))


def peer_memory():
    """Copies to and from another process, by chan/peer_memory.c alone; base/calls.c times some within its own."""
    for path in tracked(".c", ".h", under="src"):
        if path.stem in ("peer_memory", "peer_memory_test", "calls", "calls_test"):
            continue
        for number, line in enumerate(bare(text_of(path)).splitlines(), 1):
            if match := re.search(r"\bprocess_vm_(?:read|write)v\b", line):
                yield Finding(
                    "peer-memory", path, number, f"calls {match.group()}: chan/peer_memory.h does", match.group()
                )


RULES = {
    "direction": direction,
    "outside": outside,
    "own-first": own_first,
    "platform": platform,
    "patience": patience,
    "peer-memory": peer_memory,
}

if __name__ == "__main__":
    sys.exit(verdict(RULES))
