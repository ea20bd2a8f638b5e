# SPDX-License-Identifier: BSD-3-Clause
"""Parses the text of a directive into names, clauses and expressions. Used by the rewriter only.

A Directive knows its words ("parallel", "for"), its clauses in order, and for each clause the list of variables and the
expressions as syntax trees, so that renaming a variable in a block reaches the directives inside it.
"""

import ast
import keyword
import re

from ._rt import walk
from .grammar import BEGUN, CLAUSES, COMBINED, CONFLICTS, LISTS, ONCE, STANDALONE
from .source import located

_NAME = re.compile(r"[^\W\d]\w*\Z")
_OPEN = re.compile(r"\s*\(")
_WORD = re.compile(r"\s*,?\s*([^\W\d]\w*)")


class Part(str):
    """The operator of a reduction over a part of a variable; index is the tree of what stands in its brackets."""

    index = None


class Clause:
    """One clause: its kind, names (variables), exprs (syntax trees), value (kind words, operator, numbers) and
    modifier. sections: for each name of a reduction None or the number of the expression that says which part."""

    sections = ()

    def __init__(self, kind, names=(), exprs=(), value=None, modifier=None):
        self.kind, self.names, self.exprs, self.value = kind, list(names), list(exprs), value
        self.modifier = modifier


class Directive:
    """A parsed directive; `where` is the AST node that errors point at."""

    inside = None  # the kind of the construct right around it, where the text shows one

    def __init__(self, words, clauses, argument, where, filename):
        self.words, self.clauses, self.argument = words, clauses, argument
        self.where, self.filename = where, filename
        self.ending = []  # what the construct's reductions do before the threads' results are put together

    @property
    def name(self):
        return " ".join(self.words)

    @property
    def standalone(self):
        return self.name in STANDALONE or (self.name == "ordered" and bool(self.all("depend", "doacross")))

    def all(self, *kinds):
        return [c for c in self.clauses if c.kind in kinds]

    def one(self, kind):
        for clause in self.clauses:
            if clause.kind == kind:
                return clause
        return None

    def names(self, *kinds):
        return [n for c in self.all(*kinds) for n in c.names]

    def expr(self, kind):
        clause = self.one(kind)
        return clause.exprs[0] if clause else None

    def reductions(self, *kinds):
        """Pairs (operator, name) in order; the operator is a Part where only a part of the variable is meant."""
        result = []
        for c in self.all(*(kinds or ("reduction",))):
            for n, section in zip(c.names, c.sections):
                operator = c.value if section is None else Part(c.value)
                if section is not None:
                    operator.index = c.exprs[section]
                result.append((operator, n))
        return result

    def modified(self, kind, modifier):
        """The names in clauses of the kind that have the modifier."""
        return [n for c in self.all(kind) if c.modifier == modifier for n in c.names]

    def part(self, *words):
        """The same clauses under some of the words, for the halves of a combined directive."""
        return Directive(list(words), self.clauses, self.argument, self.where, self.filename)

    def error(self, message):
        return located(message, self.where, self.filename)


class _Parser:
    def __init__(self, text, where, filename):
        self.text, self.at, self.where, self.filename = text, 0, where, filename

    def fail(self, message):
        return located(f"omp({self.text.strip()!r}): {message}", self.where, self.filename)

    def word(self):
        found = _WORD.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        return found.group(1)

    def peek(self):
        at, word = self.at, self.word()
        self.at = at
        return word

    def done(self):
        return not self.text[self.at :].strip(" \t\r\n,")

    def parens(self):
        """The text inside the parentheses that follow, or None."""
        found = _OPEN.match(self.text, self.at)
        if not found:
            return None
        begin = at = found.end()
        depth, quote = 1, None
        while at < len(self.text):
            c = self.text[at]
            if quote:
                at += c == "\\"
                quote = None if c == quote else quote
            elif c in "\"'":
                quote = c
            elif c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
                if depth == 0:
                    self.at = at + 1
                    return self.text[begin:at]
            at += 1
        raise self.fail("a parenthesis is not closed")

    def expression(self, text, kind):
        plain = text.strip()
        if plain.isidentifier() and not keyword.iskeyword(plain):
            return ast.copy_location(ast.Name(plain, ast.Load()), self.where)
        if plain.isdecimal() and plain[0] != "0":
            return ast.copy_location(ast.Constant(int(plain)), self.where)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            raise self.fail(f"{kind}({text}): not a Python expression") from None
        for node in walk(tree):
            if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
                raise self.fail(f"{kind}({text}): no yield or await here")
            if hasattr(node, "lineno"):
                ast.copy_location(node, self.where)
        return tree

    def variables(self, text, kind):
        names = [n.strip() for n in (text or "").split(",")]
        for n in names:
            if not _NAME.match(n):
                raise self.fail(f"{kind}({text}): {n!r} is not the name of a variable")
        return names


def split(text, separator=","):
    """The parts of text between separators that are not inside brackets or strings."""
    parts, depth, begin, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return parts + [text[begin:]]


def _words(p):
    """The words of the directive, the longest combination that is known."""
    first = p.word()
    if first is None:
        raise p.fail("a directive expected")
    if first in ("cancellation", "declare"):
        second = p.word()
        if f"{first} {second}" not in CLAUSES:
            raise p.fail(f"unknown directive {first} {second or ''}".rstrip())
        return [f"{first} {second}"]
    if first == "target" and p.peek() in ("data", "enter", "exit", "update"):
        name = f"target {p.word()}"
        if name in ("target enter", "target exit"):
            name += f" {p.word()}"
        if name not in CLAUSES:
            raise p.fail(f"unknown directive {name}")
        return [name]
    if first not in CLAUSES:
        raise p.fail(f"unknown directive {first!r}{_guess(first, CLAUSES)}")
    words = [first]
    while (*words, p.peek()) in BEGUN:
        words.append(p.word())
    if len(words) > 1 and tuple(words) not in COMBINED:
        raise p.fail(f"unknown directive {' '.join(words)!r}")
    return words


def _guess(word, known):
    import difflib

    close = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _argument(p, words):
    """What stands in parentheses right after the directive's name."""
    name = words[-1]
    if name == "critical":
        text = p.parens()
        return p.variables(text, name)[0] if text is not None else ""
    if name == "declare target":
        p.parens()
    if name in ("flush", "threadprivate"):
        text = p.parens()
        if text is None and name == "threadprivate":
            raise p.fail("a list of variables expected")
        return p.variables(text, name) if text is not None else []
    if name in ("cancel", "cancellation point"):
        kind = p.word()
        if kind not in ("parallel", "for", "sections", "taskgroup"):
            raise p.fail("one of parallel, for, sections, taskgroup expected")
        return kind
    if name == "declare reduction":
        return _declared(p)
    if name == "depobj":
        return p.expression(p.parens() or "", name)
    return None


def _held(p, tree):
    """The depend object of depobj(...), as a clause: a variable, an element or an attribute."""
    if not isinstance(tree, (ast.Name, ast.Subscript, ast.Attribute)):
        raise p.fail("depobj: a variable, an element or an attribute expected in parentheses")
    return Clause("object", [tree.id]) if isinstance(tree, ast.Name) else Clause("object", exprs=[tree])


def _declared(p):
    text = p.parens()
    parts = split(text or "", ":")
    if len(parts) < 3:
        raise p.fail("declare reduction(name : types : combiner) expected")
    return parts[0].strip(), ":".join(parts[2:]).strip()


def parse(text, where, filename):
    """The Directive that the text says; OmpSyntaxError with its place when it says none."""
    from .clauses import clause

    p = _Parser(text, where, filename)
    words = p.words = _words(p)
    argument = _argument(p, words)
    allowed = set().union(*(CLAUSES[w] for w in words))
    if words[0] == "parallel" and len(words) > 1:
        allowed.discard("nowait")
    clauses = []
    if words == ["depobj"]:
        clauses.append(_held(p, argument))
    while not p.done():
        kind = p.word()
        if kind is None:
            raise p.fail(f"unexpected {p.text[p.at :].strip()[:20]!r}")
        if kind not in allowed:
            known = any(kind in c for c in CLAUSES.values())
            raise p.fail(
                f"clause {kind!r} does not belong to {' '.join(words)}"
                if known
                else f"unknown clause {kind!r}{_guess(kind, allowed)}"
            )
        clauses.append(clause(p, kind))
    _check(p, words, clauses)
    return Directive(words, clauses, argument, where, filename)


def _check(p, words, clauses):
    kinds = [c.kind for c in clauses]
    for kind in ONCE:
        if kinds.count(kind) > 1:
            raise p.fail(f"clause {kind} given twice")
    _check_if(p, words, [c.value for c in clauses if c.kind == "if"])
    for one, other in CONFLICTS:
        if one in kinds and other in kinds:
            raise p.fail(f"{one} and {other} exclude each other")
    seen = {}
    for c in clauses:
        if c.kind not in LISTS | {"reduction", "in_reduction", "linear"}:
            continue
        if c.modifier == "inscan" and not {"for", "simd"} & set(words):
            raise p.fail("reduction(inscan, ...) belongs to for, parallel for and simd")
        for n in c.names:
            before = seen.setdefault(n, c.kind)
            if before != c.kind and {before, c.kind} not in ({"firstprivate", "lastprivate"}, {"shared", "copyin"}):
                raise p.fail(f"variable {n!r} is both in {before} and in {c.kind}")
            if sum(d.names.count(n) for d in clauses if d.kind == c.kind) > 1:
                raise p.fail(f"variable {n!r} is twice in {c.kind}")
    if "nowait" in kinds and "copyprivate" in kinds:
        raise p.fail("copyprivate needs the barrier that nowait removes")
    if len({c.modifier == "inscan" for c in clauses if c.kind == "reduction"}) > 1:
        raise p.fail("either all reductions of a loop are inscan or none")
    if any(c.modifier == "inscan" for c in clauses) and {"schedule", "ordered"} & set(kinds):
        raise p.fail("a loop with an inscan reduction has neither schedule nor ordered")
    if words == ["depobj"] and len(clauses) != 2:
        raise p.fail("depobj needs one of depend(...), update(...), destroy")
    if words == ["scan"] and len(clauses) != 1:
        raise p.fail("scan needs inclusive(list) or exclusive(list)")
    if "taskloop" in words and any(c.modifier == "conditional" for c in clauses):
        raise p.fail("lastprivate(conditional: ...) belongs to worksharing constructs")


def _check_if(p, words, modifiers):
    """One if for the whole directive, or one for each of the constructs that it names."""
    for m in modifiers:
        if modifiers.count(m) > 1 or (None in modifiers and len(modifiers) > 1):
            raise p.fail("clause if given twice")
        if m is not None and m not in words:
            raise p.fail(f"if({m}: ...): one of {', '.join(words)} expected before the colon")
