# SPDX-License-Identifier: BSD-3-Clause
"""The sweep: every power of two from 1 B to 64 MiB for messages and collectives, on 2, 4 and 8 ranks, over all MPIs.

Used by compare (`--sets sweep`). Rounds are interleaved over the MPIs. Before and after each figure the job itself
measures the way of a cache line from core to core (`--line`): virtual cores may be threads of one core for a while, or
of two chiplets, and figures are two to five times as high then; verdict.py compares those of the same state only. A job
is a group of rows at a range of sizes; one that does not end in time is named, what it had printed counts, and that MPI
is not asked for this job again.
"""

import json
import os
import time

import peers

COUNTS = [2, 4, 8]
PAIR_ROWS = ["lat", "bw", "bibw", "mbw"]  # of two ranks; mbw is the message rate
PAIRS_ROWS = ["mlat", "mbw", "mbibw"]  # of several pairs
VECTOR_ROWS = ["bcast", "reduce", "allreduce", "reduce-scatter", "scan"]  # every rank has the size, twice
BLOCK_ROWS = ["allgather", "alltoall", "gather", "scatter", "allgatherv", "alltoallv", "gatherv", "scatterv"]
ROWS = [*PAIR_ROWS, *PAIRS_ROWS[::2], *VECTOR_ROWS, *BLOCK_ROWS]
# Name, sizes as powers of two, whether the data are checked (64 MiB would be filled and read six times).
PIECES = [("small", range(14), True), ("middle", range(14, 20), True), ("large", range(20, 27), False)]
QUICK = [("quick", [3, 12, 16], True)]
KEPT = ["row", "size", "value", "line_us"]  # of a record; line_us: before and after it, absent where not measured
MEMORY = 2 << 30  # bytes of message buffers that a job may take
ROWS_PER_JOB = 4  # what a job that hangs takes with it
# Seconds per size, of two ranks and of more: larger ones until buffers are in use and ways have been tried.
SAMPLING = {"small": (0.01, 0.03), "middle": (0.03, 0.1), "large": (0.1, 0.1)}


def buffers(row, size, np):
    """Bytes of message buffers of a job at a size."""
    if row in BLOCK_ROWS:
        return 2 * size * np * np
    if row in VECTOR_ROWS:
        return 2 * size * np
    return 2 * np * min(64 * size, max(size, 64 << 20))  # a window, as the suite bounds it


def memory_limit():
    """MEMORY, or a quarter of what is there."""
    return min(MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)


def rows_of(np, only):
    rows = [*(PAIR_ROWS if np == 2 else PAIRS_ROWS), *VECTOR_ROWS, *BLOCK_ROWS]
    return [row for row in rows if not only or row in only]


def jobs(o):
    """[{np, piece, rows, sizes, args}]; rows that memory allows the same sizes share jobs."""
    made = []
    for np in o.np or COUNTS:
        for piece, powers, checked in QUICK if o.quick else PIECES:
            groups = {}
            for row in rows_of(np, o.only):
                sizes = tuple(1 << p for p in powers if buffers(row, 1 << p, np) <= memory_limit())
                groups.setdefault(sizes, []).append(row)
            for sizes, rows in groups.items():
                for i in range(0, len(rows), ROWS_PER_JOB):
                    made.append(job(np, piece, rows[i : i + ROWS_PER_JOB], sizes, checked, o))
    return [one for one in made if one["sizes"] and one["rows"]]


def job(np, piece, rows, sizes, checked, o):
    seconds = str(0.002 if o.quick else o.time or SAMPLING[piece][np > 2])
    # Half the first size comes before and is not kept: OSU, too, comes to a size by all smaller ones, and what a
    # library grows for a communicator that is used much, it has by then.
    run_up = [sizes[0] // 2] if sizes and sizes[0] > 1 and not o.quick else []
    words = ",".join(map(str, [*run_up, *sizes]))
    args = [*rows, "--sizes", words, "--sync", o.sync, "--time", seconds, "--line"]
    return {"np": np, "piece": piece, "rows": rows, "sizes": sizes, "args": args + ([] if checked else ["--no-check"])}


def name_of(one):
    return f"np {one['np']} {one['piece']} {'+'.join(one['rows'])}"


def kept(out, sizes):
    """What the verdict needs of a job's output at these sizes: the library, [[row, size, value, line times]]."""
    lines = [text for text in out.splitlines() if text.startswith("{") and text.endswith("}")]
    records = [record for record in map(json.loads, lines) if "value" in record]
    library = " ".join(records[0]["library"].split()) if records else ""
    return library, [[*map(r.get, KEPT)] for r in records if r["size"] in sizes]


def one_job(mpi, one, run, o):
    """A run of the sweep's raw data."""
    words = [*o.wrap_words, *mpi.command(one["np"], [*one["args"], "--format", "json"])]
    status, out, err = run(words, mpi.environ(), o.timeout)
    library, records = kept(out, one["sizes"])
    result = {"mpi": mpi.name, "library": library, "np": one["np"], "job": name_of(one), "records": records}
    if status is None:
        result["failed"] = f"no end after {o.timeout:g} s"
    elif status != 0:
        lines = [text for text in err.strip().splitlines() if text.strip()]
        result["failed"] = f"status {status}: {lines[0][:160] if lines else 'no message'}"
    return result


def measure(mpis, o, run, progress):
    """Raw data of all rounds: a list of runs."""
    found = []
    try:
        rounds(mpis, o, run, progress, found)
    except KeyboardInterrupt:
        peers.say("compare: stopped; what was measured counts")
    progress("")
    return found


def rounds(mpis, o, run, progress, found):
    left_out, begun = set(), time.monotonic()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    for turn in range(o.rounds):
        for one in jobs(o):
            for mpi in mpis:
                if (mpi.name, name_of(one)) in left_out:
                    continue
                spent = time.monotonic() - begun
                progress(f"round {turn + 1}/{o.rounds}, {spent:.0f} s: {name_of(one)[:60]} on {mpi.title}")
                result = one_job(mpi, one, run, o)
                found.append({**result, "turn": f"{stamp}/{turn}"})
                if "failed" in result:
                    left_out.add((mpi.name, name_of(one)))
                    peers.say(f"compare: {mpi.title}: {name_of(one)}: {result['failed']}; not asked again")
