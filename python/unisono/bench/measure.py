# SPDX-License-Identifier: BSD-3-Clause
"""How one (row, size) is sampled, as the C suite does it (bench/measure.c).

Warm-up until two blocks agree, a batch long enough for the clock, blocks of samples until the interval of the median is
narrow or the time is over. Rank 0 decides and broadcasts the plan of each block; ranks send their times back after it,
so nothing but the row's own traffic runs between the clock reads. The garbage collector waits meanwhile.
"""

import array
import gc
import os
import sys
from types import SimpleNamespace

from . import clock, rows, stats

BLOCK, CAP = 256, 20000
now = clock.now
STOPS = ("", "ci", "time", "cap", "fixed")
SYNCS = ("", "batch", "barrier", "window", "apart")
BATCH, BARRIER, WINDOW, APART = 1, 2, 3, 4
_flush: list[bytearray] = []


def sync_kind(r: object) -> int:
    """How ranks start a sample."""
    o = r.o
    if r.row.sample or r.row.flags & rows.THREADED:
        return BATCH
    if o.sync == "apart":
        return APART if r.row.flags & rows.SPAN else BATCH
    if o.sync != "auto":
        return BARRIER if o.sync == "window" and o.cache == "flush" else SYNCS.index(o.sync)
    if not r.row.flags & rows.SPAN:
        return BATCH
    if o.cache == "flush":
        return BARRIER
    return WINDOW if r.size * o.groups <= os.cpu_count() else BATCH


def perform(r: object, n: int) -> None:
    """n operations, or one sample of a row that times itself."""
    if r.operation:
        r.operation(r, n)
    else:
        r.row.sample(r)


def validate(r: object) -> int:
    """One validated operation: 0 or 1 on all ranks alike."""
    if r.o.no_check or not r.row.check:
        perform(r, 1)
        return 0
    if r.row.fill:
        r.row.fill(r)
    r.comm.Barrier()
    perform(r, 1)
    bad = r.row.check(r)
    if bad >= 0:
        print(f"unisono.bench: {r.row.name}, size {r.bytes}, rank {r.rank}: wrong data from byte {bad} on",
              file=sys.stderr, flush=True)  # fmt: skip
    return int(r.comm.allreduce(bad >= 0, op=r.mpi.LOR))


def warm_up(r: object) -> float:
    """Blocks of growing length until two agree within 10 %; seconds per operation, alike on all ranks."""
    last, left, n = 1e9, 0.2 * r.o.time, r.o.warmup or 1
    for _ in range(16):
        r.comm.Barrier()
        start = now()
        r.operation(r, n)
        took = now() - start
        each = took / n
        left -= took
        enough = bool(r.o.warmup) or left < 0 or (took > 1e-3 and 0.9 * last < each < 1.1 * last)
        each, enough, factor = r.comm.bcast((each, enough, 1 if took > 1e-3 else 4))
        last = each
        if enough:
            break
        n *= factor
    return last


def batch_length(r: object, each: float, sync: int) -> int:
    """Operations per sample."""
    if r.o.compat:
        return r.o.iterations  # the peers' figure: the mean of one loop
    if r.o.samples == "each" or sync not in (BATCH, APART) or r.o.cache != "hot":
        return 1
    cost, tick = clock.measure()
    want = max(200e-6, 100 * tick, 100 * cost)
    if r.row.flags & rows.THREADED or r.size > os.cpu_count():
        want = 2e-3
    return max(1, min(10**6, int(want / max(each, 1e-9) + 1)))


def flush(size: int) -> None:
    """Walks a buffer as large as asked, so that message buffers leave the caches."""
    if not _flush or len(_flush[0]) != size:
        _flush[:] = [bytearray(size)]
    _flush[0][:] = _flush[0].translate(bytes(range(256)))


def wait_until(when: float) -> bool:
    """Spins until that time; True if it was over already."""
    late = now() > when
    while now() < when:
        pass
    return late


def calls_apart(r: object, n: int) -> float:
    """Seconds per call where a barrier before each one is not part of it."""
    total = 0.0
    for _ in range(n):
        r.comm.Barrier()
        start = now()
        r.operation(r, 1)
        total += now() - start
    return total / n


def one_sample(r: object, plan: SimpleNamespace, i: int) -> tuple[float, float, float, float]:
    """(seconds per operation, start, end, late) of one sample."""
    if r.o.cache == "flush":
        flush(r.o.flush_bytes)
    if r.o.root < 0:
        r.root = i % r.size
        if r.row.prepare:
            r.row.prepare(r)
    late, batch, operation = False, plan.batch, r.operation
    if plan.sync == WINDOW:
        late = wait_until(plan.start + i * plan.spacing + clock.offset)
    else:
        r.comm.Barrier()
    r.inner = None
    if not operation:
        start = now()
        took = r.row.sample(r)
        return took, start - clock.offset, now() - clock.offset, late
    start = now()
    if plan.sync == APART:
        took = calls_apart(r, batch)
        return took, start - clock.offset, now() - clock.offset, late
    operation(r, batch)
    end = now()
    if r.inner:
        start, end = r.inner
    return (end - start) / batch, start - clock.offset, end - clock.offset, late


def collect(r: object, plan: SimpleNamespace, mine: list[tuple], extras: list[list[float]], all_: object) -> None:
    """Brings the block's times to rank 0 and turns them into samples."""
    MIN, MAX, SUM = r.mpi.MIN, r.mpi.MAX, r.mpi.SUM
    dur, start, end, late = (array.array("d", column) for column in zip(*mine, strict=True))

    def over(values: array.array, op: object) -> array.array:
        result = array.array("d", bytes(8 * len(values)))
        r.comm.Reduce(values, result, op=op)
        return result

    low, total, high = over(dur, MIN), over(dur, SUM), over(dur, MAX)
    first, last, out, late = over(start, MIN), over(start, MAX), over(end, MAX), over(late, MAX)
    share = 0.5 if r.row.flags & rows.HALF else 1
    for i in range(len(dur) if r.rank == 0 else 0):
        if late[i]:
            all_.late += 1
            continue
        main = high[i]
        if r.row.flags & rows.ROOT or r.row.sample:
            main = dur[i]
        elif r.row.flags & rows.SPAN and plan.sync == WINDOW:
            main = out[i] - (plan.start + i * plan.spacing)
        elif r.row.flags & rows.SPAN and plan.sync == BARRIER:
            main = out[i] - last[i]
        elif plan.sync == APART:
            main = total[i] / r.size
        for column, value in zip(all_.columns, (main, low[i], total[i] / r.size, high[i]), strict=True):
            column.append(value * share)
        all_.skew.append(last[i] - first[i])
        all_.extra.append(extras[i])


def decide(r: object, plan: SimpleNamespace, all_: SimpleNamespace, begun: float, each: float) -> None:
    """Rank 0: stop, or how long the next block is."""
    o, spent, n = r.o, now() - begun, len(all_.main)
    want = 1 if r.row.flags & rows.ONESHOT or o.compat and r.operation else o.iterations
    plan.stop = 0
    if want and n and n + all_.late >= want:
        plan.stop = 4
    elif n >= CAP - BLOCK:
        plan.stop = 3
    elif not want and n and spent > o.time:
        plan.stop = 2
    elif not want and n >= 30:
        ordered = sorted(all_.main)
        lo, hi = stats.interval(ordered)
        if hi - lo <= 2 * o.ci / 100 * stats.quantile(ordered, 0.5):
            plan.stop = 1
    room = (o.time - spent) / max(each * plan.batch + plan.spacing, 1e-7)
    count = want - n - all_.late if want else min(30 if n < 30 else 100, int(room / 2))
    plan.count = max(1, min(count, BLOCK))
    if all_.late * 5 > n:
        plan.spacing *= 1.5
    if n == 0 and (all_.late >= 30 or spent > 5 * o.time):
        plan.sync = BARRIER  # too busy a machine to start on time
    plan.start = now() + 300e-6 + 2 * each


def summarise(r: object, all_: SimpleNamespace, plan: SimpleNamespace) -> SimpleNamespace:
    """The figures of a size, on rank 0."""
    if r.o.raw and r.rank == 0:
        with open(r.o.raw, "a") as file:
            for i, value in enumerate(all_.main):
                variant = r.row.variants.index(r.variant) if r.variant else 0
                file.write(f"{r.row.name} {variant} {r.bytes} {i} {value:.9g}\n")
    extra = [stats.describe(list(column)) for column in zip(*all_.extra, strict=True)] if all_.extra else []
    return SimpleNamespace(
        s=stats.describe(all_.main), extra=extra, batch=plan.batch, stop=STOPS[plan.stop], sync=SYNCS[plan.sync],
        late=all_.late, checked=bool(not r.o.no_check and r.row.check), skew=stats.median(all_.skew),
        rank_min=stats.median(all_.low), rank_mean=stats.median(all_.mean), rank_max=stats.median(all_.high),
    )  # fmt: skip


def measure(r: object) -> tuple[SimpleNamespace, int]:
    """(figures, failed validations) of a row at a size; collective."""
    oneshot = bool(r.row.flags & rows.ONESHOT)
    failed, each = validate(r), 0.0
    all_ = SimpleNamespace(main=[], low=[], mean=[], high=[], skew=[], extra=[], late=0)
    all_.columns = (all_.main, all_.low, all_.mean, all_.high)
    plan = SimpleNamespace(batch=1, count=0, start=0.0, spacing=0.0, stop=0, sync=sync_kind(r))
    if r.operation:
        each = warm_up(r)
        plan.batch = batch_length(r, each, plan.sync)
    elif not oneshot:
        start = now()
        r.row.sample(r)
        each = now() - start
    if plan.sync == WINDOW:
        plan.spacing = 3 * each + 20e-6
    gc.disable()
    begun = now()
    while True:
        if r.rank == 0:
            decide(r, plan, all_, begun, each)
        plan = r.comm.bcast(plan)
        if plan.stop:
            break
        mine, extras = [], []
        for i in range(plan.count):
            mine.append(one_sample(r, plan, i))
            extras.append(list(r.extra))
        collect(r, plan, mine, extras, all_)
    gc.enable()
    if not oneshot:
        failed += validate(r)
    return summarise(r, all_, plan), failed
