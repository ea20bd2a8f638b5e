# SPDX-License-Identifier: BSD-3-Clause
"""What the checkers tools/check-*.py share: which files there are, C text without comments, functions, exemptions.

A finding is (rule, path, name, line, text); tools/exemptions.txt lists `rule path[:name] reason` for those that stay.
Always holds: an exemption that exempts nothing is itself a finding, so the list shrinks with the causes.
"""

import dataclasses
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
CONTROL = re.compile(r"\b(if|for|while|switch|return|sizeof|else|do)\b")


def tracked(*suffixes, under=""):
    """Files that git knows or would add, with one of the suffixes, as paths relative to the top."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", under or "."],
        cwd=TOP,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    paths = [pathlib.Path(p) for p in listing if (TOP / p).is_file()]
    return sorted(p for p in paths if not suffixes or p.suffix in suffixes)


def text_of(path):
    """The text of a file; "" when it is not text."""
    try:
        return (TOP / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def bare(text):
    """C text with comments, strings and characters blanked; lines stay where they are."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL)


@dataclasses.dataclass
class Function:
    """A function's definition in a C file."""

    name: str
    first: int
    last: int
    parameters: int
    nesting: int


def count_parameters(params):
    """Parameters of a list as written; commas inside parentheses (function pointers) do not count."""
    flat = re.sub(r"\([^()]*\)", "", params)
    return 0 if flat.strip() in ("", "void") else flat.count(",") + 1


def depth_of(body):
    """How deep the blocks of a function's body nest; its own braces are 0, initialisers do not count."""
    depth = deepest = 0
    blocks = []
    previous = ")"
    for char in body:
        if char == "{":
            blocks.append(previous not in "=,({[")
            depth += blocks[-1]
            deepest = max(deepest, depth)
        elif char == "}" and blocks:
            depth -= blocks.pop()
        if not char.isspace():
            previous = char
    return deepest - 1


def end_of_block(code, start):
    """The index just after the brace that closes the one at `start`."""
    depth = 0
    for index in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0 and code[index] == "}":
            return index + 1
    return len(code)


def functions(path):
    """The functions that a C file defines."""
    code = bare(text_of(path))
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.MULTILINE)
    head = re.compile(r"^[A-Za-z_][^;{}=]*?\b(\w+)\s*\(([^;{}]*)\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?\{", re.M)
    position = 0
    while match := head.search(code, position):
        brace = match.end() - 1
        position = end_of_block(code, brace)
        if CONTROL.fullmatch(match.group(1)):
            continue
        first = code.count("\n", 0, match.start()) + 1
        last = code.count("\n", 0, position) + 1
        yield Function(match.group(1), first, last, count_parameters(match.group(2)), depth_of(code[brace:position]))


def ours(include):
    """The path of a header of ours as #include names it, or None; mpi.h does not count."""
    return next(
        (
            base + include
            for base in ("src/", "include/", "launch/", "bench/", "tests/", "")
            if include != "mpi.h" and (TOP / (base + include)).is_file()
        ),
        None,
    )


def reach(path, seen):
    """All our headers that a file includes, directly or not."""
    for include in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text_of(path), re.MULTILINE):
        header = ours(include) or ours(f"{path.parent}/{include}")
        if header and header not in seen:
            seen.add(header)
            reach(TOP.joinpath(header).relative_to(TOP), seen)
    return seen


@dataclasses.dataclass
class Finding:
    """One thing that breaks a rule."""

    rule: str
    path: str
    line: int
    text: str
    name: str = ""


def exemptions():
    """{(rule, path or path:name): reason}."""
    found = {}
    for line in text_of("tools/exemptions.txt").splitlines():
        if line and not line.startswith("#"):
            rule, where, reason = line.split(None, 2)
            found[rule, where] = reason
    return found


def verdict(rules):
    """Prints findings and one line per rule; the exit status for main. `rules` maps names to functions of findings."""
    known = exemptions()
    used, failed = set(), 0
    for rule, find in rules.items():
        count = 0
        for finding in find():
            keys = {(rule, str(finding.path)), (rule, f"{finding.path}:{finding.name}")} & set(known)
            used |= keys
            if not keys:
                count += 1
                print(f"{finding.path}:{finding.line}: {finding.text} [{rule}]")
        for key in sorted(k for k in known if k[0] == rule and k not in used):
            count += 1
            print(f"tools/exemptions.txt: {' '.join(key)} exempts nothing any more [{rule}]")
        failed += count > 0
        print(f"{'FAILED' if count else 'ok'} {rule}")
    return 1 if failed else 0
