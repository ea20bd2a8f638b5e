# SPDX-License-Identifier: BSD-3-Clause
"""The ways in and out of constructs, as statements. Used by the modules that rewrite them.

An exception that leaves a worksharing construct may be caught inside the region while other threads wait at the
construct's barriers: the thread tells the run-time how many of them it will not come to. What a thread is in the middle
of is counted, so that a construct that comes through a call where it may not be is an error and not a wait for ever.
"""

import ast

from ._rt import walk
from .build import PREFIX, assign, const, expr, name

WORK, MASTER = 1, 2  # enum rt_within
_BARRIERS = {PREFIX + "meet": 1, PREFIX + "gather": 2, PREFIX + "reduce": 1}


def barriers(statements):
    """How many barriers are in statements of our own."""
    calls = (n.func for s in statements for n in walk(s, ast.Call))
    return sum(_BARRIERS.get(f.id, 0) for f in calls if isinstance(f, ast.Name))


def otherwise(body, *failed):
    """The body; when an exception leaves it, the statements `failed`, and on it goes."""
    handler = ast.ExceptHandler(None, None, [*failed, ast.Raise(None, None)])
    return ast.Try(body, [handler], [], [])


def loop_or_fail(r, loop, body, ahead):
    """The part of a loop's or sections' construct that runs the user's code; `ahead`: the barriers that follow it."""
    return [assign(loop, const(None)), loop_part(r, loop, body, ahead)]


def loop_part(r, loop, body, ahead):
    """The same for a second part, when the loop is there already."""
    return otherwise(body, expr(r.call("loop_failed", name(loop), const(ahead))))


def work_or_fail(r, body, ahead):
    """A block that one thread, or each, runs as its part of a single or scope; the run-time knows that it is in it."""
    return [otherwise(body, expr(r.call("work_failed", const(ahead)))), expr(r.call("leave", const(WORK)))]
