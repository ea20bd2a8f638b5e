# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest (-p patient) for distributed's own tests: a test may take a multiple of the time that it says, and
a worker's process START times that to start, since a machine that is busy with other work is not what they judge."""

import functools
import inspect

from distributed import utils_test

TIMES = 3
START = 15  # seconds that a cluster of gen_cluster gives its workers


def patient(make):
    """The decorator gen_test or gen_cluster with longer time-outs."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*words, **named):
        given = signature.bind(*words, **named)
        given.apply_defaults()
        given.arguments["timeout"] *= TIMES
        if "worker_kwargs" in given.arguments:
            start = {"death_timeout": TIMES * START}
            given.arguments["worker_kwargs"] = {**start, **(given.arguments["worker_kwargs"] or {})}
        return make(*given.args, **given.kwargs)

    return made


utils_test.gen_test = patient(utils_test.gen_test)
utils_test.gen_cluster = patient(utils_test.gen_cluster)
