# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites teams, distribute, target and the directives that move data. There is no device but the host: a target block
runs here and at once, on the host's own data; the teams of a league run one after the other, each a team of one thread
until it meets a parallel construct. So both are regions with initial tasks of their own (rt.league)."""

import ast

from .build import const, expr
from .depend import depend_of
from .directive import Clause
from .grammar import CLAUSES
from .regions import outlined
from .rewrite import handles

_BOTH = {"firstprivate", "shared", "default"}


@handles("teams", "target")
def league(r, d, node, scope, known):
    if len(d.words) > 1:
        _split(d, node)
        d = node._omp
        scope.refresh(node)
    before = []
    if d.one("depend"):
        before = [expr(r.call("taskwait", depend_of(r, d, scope)))]
    teams = d.one("num_teams")
    count = teams.exprs[-1] if teams else const(1)

    def run(name_, args, collect):
        return r.call("league", name_, args, count, const(collect))

    return before + outlined(r, d, node, scope, known, run)


def _split(d, node):
    """The first word alone, with the others as a construct inside it."""
    first, rest = d.words[0], d.words[1:]
    theirs = set().union(*(CLAUSES[w] for w in rest))
    outer, inner = [], []
    for c in d.clauses:
        here = c.kind in CLAUSES[first] and (c.kind != "if" or c.value in (None, first))
        there = c.kind in theirs and (c.kind != "if" or c.value in (None, *rest))
        if here and there and c.kind not in _BOTH:
            here = c.kind == "reduction"  # each team has its own, and so has each of its threads
            there = c.kind != "reduction" or rest != ["distribute"]
        if here:
            outer.append(c)
        if there and not (first == "target" and c.kind in ("nowait", "depend")):
            inner.append(c)
    block = ast.copy_location(ast.With(node.items, node.body), node)
    block._omp = type(d)(rest, inner, None, d.where, d.filename)
    block._omp.inside = first
    node.body = [block]
    node._omp = type(d)([first], outer, None, d.where, d.filename)


@handles("distribute")
def distribute(r, d, node, scope, known):
    """Each team takes its share of the outermost loop and goes on as if that were the whole."""
    from . import loops, regions

    outermost = loops.nest(r, d, node.body)[0]
    chunk = d.one("dist_schedule")
    outermost.iter = r.call("share_of_team", outermost.iter, (chunk and chunk.exprs or [const(None)])[0])
    rest = [w for w in d.words[1:] if w != "simd"] or ["for"]
    clauses = [c for c in d.clauses if c.kind in {*CLAUSES["parallel"], *CLAUSES["for"]}]
    if rest == ["for"]:
        clauses = [c for c in clauses if c.kind in CLAUSES["for"] - {"order"}] + [Clause("nowait")]
    node._omp = type(d)(rest, clauses, None, d.where, d.filename)
    scope.refresh(node)
    handler = loops.for_loop if rest == ["for"] else regions.parallel
    return handler(r, node._omp, node, scope, known)


@handles("target data")
def target_data(r, d, node, scope, known):
    return r.block(node.body, scope, known) or [ast.Pass()]


@handles("target enter data", "target exit data", "target update", "declare target")
def nothing(r, d, node, scope, known):
    return [ast.Pass()]
