#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What texts must hold: licence lines, a head, partners of atomics, names in the tour, no paths of one machine, "per".

Called by tests/suites/20-house.
"""

import ctypes
import re
import sys

from house import TOP, Finding, bare, text_of, tracked, verdict

SPDX = "SPDX-License-Identifier: BSD-3-Clause"
ATOMIC = re.compile(r"\b(?:atomic_(?!init|bool|int|uint|flag_clear_init)\w+|__atomic_\w+|__sync_\w+)\s*\(")
PARTNER = re.compile(r"pair|partner|acquire|release|acq_rel|seq_cst|relaxed", re.IGNORECASE)
MACHINE = re.compile(
    r"/(?:work|root)/|\.\./shared|shared/(?:DESIGN|STYLE|SYSTEMS|BENCH)|/tmp/brief"
    r"|\bhttps?://(?!opensource\.org|spdx\.org|www\.mpi-forum\.org|www\.w3\.org|github\.com)"
)


def licence():
    """The first line (the second after #!) names the licence; a manual page's too."""
    for path in tracked(".c", ".h", ".cpp", ".py", ".sh", ".build", ".1", ".7", ".pyx", ".in") + scripts():
        head = text_of(path).splitlines()[:2]
        if path.suffix != ".in" and head and not any(SPDX in line for line in head):
            yield Finding("licence", path, 1, f"the first line must be {SPDX}")


def scripts():
    """Files without a suffix that begin with #!."""
    return [p for p in tracked("") if text_of(p).startswith("#!")]


def head():
    """A C source says what it does before anything else; test programs do so on their run: line."""
    for path in tracked(".c", ".h"):
        if path.parts[0] == "tests" or str(path) == "include/mpi.h":
            continue
        match = re.match(r"(?:(?://|/\*)[^\n]*\n)+", text_of(path))
        count = match.group().count("\n") - 1 if match else 0
        if count < 1:
            yield Finding("head", path, 1, "no head comment after the licence")


def paragraph(lines, number):
    """The lines around an atomic in which its comment may stand: up to eight above, to the blank line, and its own."""
    above = []
    for line in reversed(lines[max(0, number - 9) : number - 1]):
        if not line.strip():
            break
        above.append(line)
    return above + [lines[number - 1]]


def atomics():
    """Every atomic that orders memory says its partner in a comment; relaxed ones order nothing."""
    for path in tracked(".c", ".h"):
        if path.parts[0] not in ("src", "launch") or path.name.endswith("_test.c") or path.name.startswith("test_"):
            continue
        text = text_of(path)
        lines, code = text.splitlines(), bare(text).splitlines()
        for number, line in enumerate(code, 1):
            if not ATOMIC.search(line) or "memory_order_relaxed" in " ".join(code[number - 1 : number + 1]):
                continue
            comments = " ".join(c for t in paragraph(lines, number) for c in re.findall(r"//.*|/\*.*", t))
            if not PARTNER.search(comments):
                yield Finding("atomics", path, number, "an atomic without a comment that names its partner")


def tour():
    """Files and functions that the tour and the design notes name in `backticks` exist."""
    pages = [p for p in tracked(".md", under="docs") if p.name in ("tour.md", "budgets.md") or "design" in p.parts]
    code = "\n".join(text_of(p) for p in tracked(".c", ".h", ".py"))
    for path in pages:
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for name in re.findall(r"`([^`]+)`", line):
                if re.fullmatch(r"(?:src|launch|bench|tools|tests|include|docs|python)/[\w./-]*", name):
                    if not (TOP / name).exists():
                        yield Finding("tour", path, number, f"{name} does not exist", name)
                elif match := re.fullmatch(r"(\w+)\(\)", name):
                    if not re.search(rf"\b{match.group(1)}\s*\(", code):
                        yield Finding("tour", path, number, f"no function {name}", name)


# What C code and its world call by name without the tree defining it.
FOREIGN = re.compile(
    r"""
    P?MPIX?_\w+|_\w+|target_clones                       # the standard, the compiler
    |[A-Z][A-Z0-9]*_\w*                                  # constants and variables of systems and other programs
""",
    re.VERBOSE,
)
# `word`, word(), some_word, file.c
WRITTEN = re.compile(r"`(\w+)`|\b(\w+)\(\)|\b([a-z]\w*_\w+)\b|\b([\w/]+\.[ch])\b")


def libc(name):
    """Whether the C library, as linked into this very interpreter, has the function."""
    return hasattr(ctypes.CDLL(None), name)


def names():
    """What a comment in src/ or launch/ writes as a name (`word`, word(), some_word, file.c) exists in the tree."""
    words, files = (
        {p.stem for p in tracked(".c", ".h")},
        {p.name for p in tracked()} | {f"{p.parent.name}/{p.name}" for p in tracked()},
    )
    for path in tracked(".c", ".h", ".py", ".build") + scripts():
        text = text_of(path)
        words.update(re.findall(r"\w+", re.sub(r"//.*", "", text) if path.suffix in (".c", ".h") else text))
    for path in tracked(".c", ".h"):
        if path.parts[0] not in ("src", "launch"):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            comment = re.search(r"//(.*)", line)
            for name in WRITTEN.findall(comment[1] if comment else ""):
                name = next(n for n in name if n)
                known = "/".join(name.split("/")[-2:]) in files if "." in name else name in words
                if not known and not FOREIGN.fullmatch(name) and not libc(name):
                    yield Finding("names", path, number, f"a comment names {name}, which does not exist", name)


def machine():
    """No path of one machine and no host in a tracked file."""
    for path in tracked():
        if path.name == "check-texts.py":
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if match := MACHINE.search(line):
                yield Finding("machine", path, number, f"names {match.group()}")


def readme():
    """Every folder of sources opens with a README.md."""
    for top in ("src", "launch", "bench", "tests", "tools", "docs", "python", "include"):
        folders = [TOP / top, *[f for f in (TOP / top).glob("*") if top == "src"]]
        for folder in folders:
            if folder.is_dir() and any(folder.iterdir()) and not (folder / "README.md").exists():
                yield Finding("readme", folder.relative_to(TOP), 1, "has no README.md")


def index():
    """docs/README.md names every page beside it."""
    text = text_of(TOP / "docs" / "README.md")
    for path in tracked(".md", under="docs"):
        if path.parent.name == "docs" and path.name != "README.md" and f"`{path.name}`" not in text:
            yield Finding("index", path, 1, "docs/README.md does not name it")


UNIT = (
    "rank host process call message file line thread link pair communicator window node collective request core team"
    " region element piece step round channel size side socket job type handle function lane page slot entry block"
    " member group level iteration chunk task barrier construct suite test partition peer connection record"
).replace(" ", "|")
# "one line a host", "once a call", "2 MB a rank"; not "one of a pair", "four share a line".
NOUN = r" (?!(?:of|in|at|to|by|is|as|and|or|for|from|with|than|that|has|on|when|share|sends|inside|between)\b)[\w%/]+"
A_FOR_PER = re.compile(
    rf"\b(?:(?:one|once|twice)(?:{NOUN})?|(?:two|three|four|eight|\d+){NOUN}) an? (?:{UNIT})\b(?!['-])"
)


def per():
    """Rates are written with "per": one line per host."""
    for path in tracked(".c", ".h", ".py", ".md", ".1") + scripts():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if (match := A_FOR_PER.search(line)) and path.name != "check-texts.py":
                yield Finding("per", path, number, f'"{match.group()}": write "per"')


RULES = {
    "licence": licence,
    "head": head,
    "atomics": atomics,
    "tour": tour,
    "names": names,
    "machine": machine,
    "readme": readme,
    "index": index,
    "per": per,
}

if __name__ == "__main__":
    sys.exit(verdict(RULES))
