# SPDX-License-Identifier: BSD-3-Clause
"""What `compare` runs and what its figures are held against: jobs by set, and the figures to reach. Data only.

A job is (set, ranks, arguments of unisono-bench). A target picks one figure from a job's records and compares ours
with the best peer ("ratio", best = smallest or largest by `field`), with a constant ("limit"), or with another figure
of ours ("own": the quotient, times in seconds; "beyond": the difference).
"""

BATCH = ["--sync", "batch"]
COLD = ["--cache", "flush", "--flush-bytes", "4M", "--iterations", "600"]  # as between pieces of a program's own work

JOBS = {
    # key: (set, ranks, arguments)
    "lat": ("core", 2, ["lat", "--sizes", "1,64,1K,4K,16K,64K,256K,1M,4M"]),
    "bw": ("core", 2, ["bw", "--sizes", "8,1K,64K,512K,4M"]),
    "bibw": ("core", 2, ["bibw", "--sizes", "64K,512K,4M"]),
    "mt": ("core", 2, ["lat", "--sizes", "1", "--thread-level", "multiple"]),
    "mtlat": ("core", 2, ["mt-lat", "--sizes", "1", "--threads", "2"]),
    "coll": ("core", 2, ["barrier", "allreduce", "--sizes", "8,64K,1M", *BATCH]),
    "move": ("core", 2, ["bcast", "alltoall", "allgather", "--sizes", "8,64K", *BATCH]),
    "cold": ("cold", 2, ["lat", "--sizes", "8,1K,8K,16K,32K,64K", *COLD]),
    "coldcoll": ("cold", 2, ["bcast", "gather", "allreduce", "alltoall", "--sizes", "8,8K,16K,32K", *COLD]),
    "over8": ("over", 8, ["barrier", "allreduce", "alltoall", "--sizes", "8", *BATCH]),
    "over16": ("over", 16, ["barrier", "allreduce", "alltoall", "--sizes", "8", *BATCH]),
    "pairs8": ("over", 8, ["mbw", "mlat", "--sizes", "8"]),
    "idle": ("life", 2, ["idle"]),
    "mem": ("life", 32, ["mem"]),
    "init": ("life", 2, ["init"]),
    "hello2": ("life", 2, ["hello"]),
    "hello32": ("life", 32, ["hello"]),
    "hello128": ("life", 128, ["hello"]),
    "ddt": ("types", 2, ["ddt-lat", "--sizes", "16K,1M", "--variant", "all"]),
    "icoll": (
        "overlap",
        2,
        ["ibarrier", "iallreduce", "ibcast", "ialltoall", "iallgather", "pallreduce", "--sizes", "8,64K,1M", *BATCH],
    ),
    "ovl": ("overlap", 2, ["ovl-coll", "--variant", "allreduce", "--sizes", "64K,1M"]),
    "part": ("part", 2, ["part-lat", "--sizes", "1K,64K,1M,4M"]),
    "early": (
        "part",
        2,
        [
            *["part-pbw", "part-over", "part-avail", "part-early", "--sizes", "8M", "--parts", "8", "--threads", "1"],
            *["--noise", "single", "--noise-us", "1000", "--iterations", "30"],
        ],
    ),
    "halo": ("pattern", 8, ["halo3d", "--sizes", "64K", "--variant", "all", "--threads", "2"]),
    "sweep": ("pattern", 4, ["sweep3d", "--sizes", "64K", "--variant", "all", "--threads", "2"]),
    "connect": ("grow", 2, ["connect"]),
    "spawn4": ("grow", 1, ["spawn", "--depth", "4"]),
    "hello4": ("grow", 4, ["hello"]),
    "inlat": ("grow", 2, ["lat", "--sizes", "8,4K,64K,1M"]),
    "inbw": ("grow", 2, ["bw", "--sizes", "8,64K,512K"]),
    "bridgelat": ("grow", 1, ["lat", "--sizes", "8,4K,64K,1M", "--bridge"]),
    "bridgebw": ("grow", 1, ["bw", "--sizes", "8,64K,512K", "--bridge"]),
    "tsock": ("tcp", 2, ["floor"]),
    "tlat": ("tcp", 2, ["lat", "--sizes", "1,4K,64K,1M,4M"]),
    "tbw": ("tcp", 2, ["bw", "--sizes", "8,64K,1M,4M"]),
    "tcoll": ("tcp", 2, ["allreduce", "--sizes", "8,64K", *BATCH]),
    "tput": ("tcp", 2, ["put-lat", "get-lat", "acc-lat", "--sizes", "8,64K,1M"]),
    "death": ("survive", 8, ["death"]),
    "agree": ("survive", 8, ["agree", "comm-shrink"]),
    "rma": ("rma", 2, ["put-lat", "get-lat", "acc-lat", "getacc-lat", "--sizes", "8,64K,1M"]),
    "rmasync": ("rma", 2, ["put-lat", "get-lat", "acc-lat", "--sizes", "8", "--variant", "all"]),
    "rmaword": ("rma", 2, ["fop-lat", "cas-lat", "rma-sync"]),
    "rmabarrier": ("rma", 2, ["barrier", *BATCH]),
    "rmabw": ("rma", 2, ["put-bw", "get-bw", "put-bibw", "get-bibw", "rput", "rget", "--sizes", "8,64K"]),
    "rmapassive": ("rma", 2, ["passive", "--sizes", "8,64K"]),
    "rmamake": ("rma", 2, ["win-make", "--sizes", "64K"]),
    "rma8": ("rma", 8, ["put-mlat", "put-allall", "xchg-put", "--sizes", "8", *BATCH]),
    "rma8word": ("rma", 8, ["fop-lat", "cas-lat", "lock-turns", *BATCH]),
    "rma64": ("rma", 64, ["lock-all"]),
}
for kind in ("create", "shared", "dynamic"):
    row = ["put-lat", "get-lat", "acc-lat", "fop-lat", "cas-lat", "--sizes", "8,1M", "--win", kind]
    JOBS[f"rma{kind}"] = ("rma", 2, row)
IO_ACCESS = ("explicit", "individual", "collective", "shared", "ordered", "nonblocking")
IO_TILES = [f"io-tile-{d}/{how}" for d in ("write", "read") for how in ("tile", "tile-own", "small", "one")]
for place, folder in (("disk", "/var/tmp"), ("memory", "/dev/shm")):  # a file system with a disk, and one in memory
    file = ["--file", f"{folder}/unisono-compare-io"]
    JOBS |= {
        f"iofloor-{place}": ("io", 1, ["io-floor", "io-beside", "--sizes", "4K,1M", *file]),
        f"iotile-{place}": ("io", 2, ["io-tile-write", "io-tile-read", "--sizes", "4M", *file]),
    }
    for access in (*IO_ACCESS, "posix"):  # posix: the system's own calls, by both ranks at once
        row = ["io-write", "io-read", "--sizes", "4K,1M", "--variant", access, *file]
        JOBS[f"io-{place}-{access}"] = ("io", 2, row)
PY_SIZES = ["--sizes", "1,8,64,512,4K,32K,256K,1M,4M", "--against-c"]
JOBS |= {  # the suite in Python; --against-c: the figure in C from the same processes
    "pylat": ("python", 2, ["py", "lat", *PY_SIZES]),
    "pyraw": ("python", 2, ["py", "lat", "--buffer", "raw", *PY_SIZES]),
    "pyfast": ("python", 2, ["py", "lat", "--buffer", "fast", *PY_SIZES]),
    "pypickle": ("python", 2, ["py", "lat", "--buffer", "pickle", *PY_SIZES]),
    "pybw": ("python", 2, ["py", "bw", "--sizes", "8,64K,1M"]),
    "pyrma": ("python", 2, ["py", "put-lat", "get-lat", "acc-lat", "fop-lat", "cas-lat", "--sizes", "8,64K"]),
    "pyio": ("python", 2, ["py", "io-write", "io-read", "--sizes", "4K,1M", "--file", "/dev/shm/unisono-compare-io"]),
    "pycoll": ("python", 2, ["py", "barrier", "bcast", "allreduce", "alltoall", "--sizes", "8,64K", *BATCH]),
}
for parts in (1, 8, 32, 128):
    JOBS[f"part{parts}"] = ("part", 2, ["part-lat", "--sizes", "1K,64K,1M,4M", "--parts", str(parts), "--threads", "1"])
del JOBS["part"]

LOW, HIGH = "smaller is better", "larger is better"


def ratio(name, job, row, size, want, field="value", better=LOW):
    return {
        "kind": "ratio",
        "name": name,
        "job": job,
        "row": row,
        "size": size,
        "want": want,
        "field": field,
        "better": better,
    }


def limit(name, job, row, want, size=0, field="value"):
    return {
        "kind": "limit",
        "name": name,
        "job": job,
        "row": row,
        "size": size,
        "want": want,
        "field": field,
        "better": LOW,
    }


def against(name, job, row, size, want, base):
    """One figure of ours over another: base = (job, row, size)."""
    return {
        "kind": "own",
        "name": name,
        "job": job,
        "row": row,
        "size": size,
        "want": want,
        "field": "value",
        "better": LOW,
        "against": base,
    }


def beyond(name, job, row, size, want, base):
    """What one figure of ours is more than another, in its unit: base = (job, row, size)."""
    return {**against(name, job, row, size, want, base), "kind": "beyond"}


TARGETS = [
    ratio("latency 1 B, us", "lat", "lat", 1, 0.75),
    ratio("latency 4 KiB, us", "lat", "lat", 4096, 0.8),
    ratio("latency 64 KiB, us", "lat", "lat", 65536, 0.75),
    ratio("latency 1 MiB, us", "lat", "lat", 1 << 20, 0.5),
    ratio("latency 4 MiB, us", "lat", "lat", 4 << 20, 0.65),
    ratio("message rate 8 B, M/s", "bw", "bw", 8, 2.0, "Mmsg_s", HIGH),
    ratio("bandwidth 64 KiB, MB/s", "bw", "bw", 65536, 1.3, "MB_s", HIGH),
    ratio("bandwidth 512 KiB, MB/s", "bw", "bw", 1 << 19, 1.3, "MB_s", HIGH),
    ratio("bandwidth 4 MiB, MB/s", "bw", "bw", 4 << 20, 1.3, "MB_s", HIGH),
    ratio("both ways 512 KiB, MB/s", "bibw", "bibw", 1 << 19, None, "MB_s", HIGH),
    ratio("two thread pairs 1 B, us", "mtlat", "mt-lat", 1, None),
    against("thread multiple / single, 1 B", "mt", "lat", 1, 1.15, ("lat", "lat", 1)),
    ratio("barrier, us", "coll", "barrier", 0, 0.75),
    ratio("allreduce 8 B, us", "coll", "allreduce", 8, 0.75),
    ratio("allreduce 64 KiB, us", "coll", "allreduce", 65536, 0.6),
    ratio("allreduce 1 MiB, us", "coll", "allreduce", 1 << 20, 0.6),
    ratio("bcast 64 KiB, us", "move", "bcast", 65536, 0.75),
    ratio("alltoall 8 B, us", "move", "alltoall", 8, 0.75),
    ratio("alltoall 64 KiB, us", "move", "alltoall", 65536, 0.75),
    ratio("allgather 8 B, us", "move", "allgather", 8, 0.75),
    ratio("allgather 64 KiB, us", "move", "allgather", 65536, 0.75),
    *(
        ratio(f"after 4 MiB of other data: {row} {text}, us", job, row, size, want)
        for job, row, sizes in (
            ("cold", "lat", ((8, None), (1024, 1.0), (8192, 0.75), (16384, 0.75), (32768, 0.75), (65536, 0.75))),
            *(
                ("coldcoll", row, ((8, None), (8192, 0.75), (32768, 0.75)))
                for row in ("bcast", "gather", "allreduce", "alltoall")
            ),
        )
        for size, want in sizes
        for text in (f"{size // 1024} KiB" if size > 1000 else f"{size} B",)
    ),
    ratio("8 ranks on few cores: barrier, us", "over8", "barrier", 0, 0.7),
    ratio("8 ranks on few cores: allreduce 8 B, us", "over8", "allreduce", 8, 0.7),
    ratio("8 ranks on few cores: alltoall 8 B, us", "over8", "alltoall", 8, 0.7),
    ratio("16 ranks on few cores: barrier, us", "over16", "barrier", 0, 0.7),
    ratio("16 ranks on few cores: allreduce 8 B, us", "over16", "allreduce", 8, 0.7),
    ratio("16 ranks on few cores: alltoall 8 B, us", "over16", "alltoall", 8, 0.7),
    ratio("8 ranks: 4 pairs, rate 8 B, M/s", "pairs8", "mbw", 8, None, "Mmsg_s", HIGH),
    limit("idle receive, % of a core", "idle", "idle", 1),
    limit("memory per rank at 32 ranks, KiB", "mem", "mem", 2048),
    limit("hello 2 ranks, s", "hello2", "hello", 0.06),
    ratio("hello 32 ranks, s", "hello32", "hello", 0, None),
    limit("hello 128 ranks, s", "hello128", "hello", 1.5),
    ratio("column of a 2,048 x 2,048 matrix, us", "ddt", "ddt-lat/columns", 16384, 0.7),
    ratio("64 columns of it, us", "ddt", "ddt-lat/columns", 1 << 20, 0.7),
    ratio("64 columns as one block, us", "ddt", "ddt-lat/panel", 1 << 20, None),
    ratio("indexed gather 16 KiB, us", "ddt", "ddt-lat/indexed", 16384, 0.7),
    ratio("indexed gather 1 MiB, us", "ddt", "ddt-lat/indexed", 1 << 20, 0.7),
    ratio("mixed struct 16 KiB, us", "ddt", "ddt-lat/struct", 16384, 0.7),
    ratio("mixed struct 1 MiB, us", "ddt", "ddt-lat/struct", 1 << 20, 0.7),
    ratio("rows of 4 KiB, 1 MiB, us", "ddt", "ddt-lat/rows", 1 << 20, None),
    ratio("ibarrier, us", "icoll", "ibarrier", 0, 1.0),
    *(
        ratio(f"{row} {text}, us", "icoll", row, size, 1.0)
        for row in ("iallreduce", "ibcast", "ialltoall", "iallgather", "pallreduce")
        for size, text in ((8, "8 B"), (65536, "64 KiB"), (1 << 20, "1 MiB"))
    ),
    ratio("iallreduce 1 MiB with computation, us", "ovl", "ovl-coll/allreduce", 1 << 20, None),
    limit("connect and accept, us", "connect", "connect", 1000),
    against("spawn of 4 / start of a job of 4", "spawn4", "spawn", 0, 1.2, ("hello4", "hello", 0)),
    ratio("spawn of 4, ms", "spawn4", "spawn", 0, None),
    *(
        against(
            f"latency to a spawned rank / inside a job, {text}", "bridgelat", "lat", size, 1.1, ("inlat", "lat", size)
        )
        for size, text in ((8, "8 B"), (4096, "4 KiB"), (65536, "64 KiB"), (1 << 20, "1 MiB"))
    ),
    *(
        against(f"a window to a spawned rank / inside a job, {text}", "bridgebw", "bw", size, 1.1, ("inbw", "bw", size))
        for size, text in ((8, "8 B"), (65536, "64 KiB"), (1 << 19, "512 KiB"))
    ),
    against("TCP: 1 B / plain spinning sockets", "tlat", "lat", 1, 1.15, ("tsock", "socket-lat", 1)),
    ratio("TCP: latency 1 B, us", "tlat", "lat", 1, None),
    ratio("TCP: latency 4 KiB, us", "tlat", "lat", 4096, None),
    ratio("TCP: latency 64 KiB, us", "tlat", "lat", 65536, None),
    ratio("TCP: latency 1 MiB, us", "tlat", "lat", 1 << 20, None),
    ratio("TCP: latency 4 MiB, us", "tlat", "lat", 4 << 20, None),
    ratio("TCP: message rate 8 B, M/s", "tbw", "bw", 8, None, "Mmsg_s", HIGH),
    ratio("TCP: bandwidth 64 KiB, MB/s", "tbw", "bw", 65536, None, "MB_s", HIGH),
    ratio("TCP: bandwidth 1 MiB, MB/s", "tbw", "bw", 1 << 20, None, "MB_s", HIGH),
    ratio("TCP: bandwidth 4 MiB, MB/s", "tbw", "bw", 4 << 20, 1.0, "MB_s", HIGH),
    ratio("TCP: allreduce 8 B, us", "tcoll", "allreduce", 8, None),
    limit("8 ranks: a death is known after, us", "death", "death", 1000),
    limit("8 ranks: agree, us", "agree", "agree/agree", 200),
    ratio("8 ranks: shrink and free, us", "agree", "comm-shrink", 0, None),
]
for parts in (1, 8, 32, 128):
    for size, text in ((1024, "1 KiB"), (65536, "64 KiB"), (1 << 20, "1 MiB"), (4 << 20, "4 MiB")):
        TARGETS.append(limit(f"partitioned / plain, {parts} x, {text}", f"part{parts}", "part-lat", 1.2, size, "ratio"))
TARGETS.append(
    limit("8 x 1 MiB, last late: (rest - 2 us) / plain", "early", "part-pbw", 0.125, 8 << 20, "rest_less_2us")
)
for kind, job in (("allocate", "rma"), ("create", "rmacreate"), ("shared", "rmashared"), ("dynamic", "rmadynamic")):
    goal = (0.75, 0.7, 0.6, 0.6) if kind in ("allocate", "shared") else (None,) * 4
    word = "rmaword" if kind == "allocate" else job
    TARGETS += [
        ratio(f"{kind}: put 8 B and flush, us", job, "put-lat/flush", 8, goal[0]),
        ratio(f"{kind}: get 8 B and flush, us", job, "get-lat/flush", 8, goal[0]),
        ratio(f"{kind}: put 1 MiB, us", job, "put-lat/flush", 1 << 20, goal[1]),
        ratio(f"{kind}: get 1 MiB, us", job, "get-lat/flush", 1 << 20, goal[1]),
        ratio(f"{kind}: accumulate 8 B, us", job, "acc-lat/flush", 8, None),
        ratio(f"{kind}: accumulate 1 MiB, us", job, "acc-lat/flush", 1 << 20, goal[2]),
        ratio(f"{kind}: fetch_and_op, us", word, "fop-lat", 0, goal[3]),
        ratio(f"{kind}: compare_and_swap, us", word, "cas-lat", 0, goal[3]),
    ]
TARGETS += [
    ratio("put 64 KiB, us", "rma", "put-lat/flush", 65536, None),
    ratio("get_accumulate 8 B, us", "rma", "getacc-lat/flush", 8, None),
    ratio("get_accumulate 1 MiB, us", "rma", "getacc-lat/flush", 1 << 20, None),
    *(
        ratio(f"put 8 B in {sync}, us", "rmasync", f"put-lat/{sync}", 8, want)
        for sync, want in (("lock", 0.75), ("lock_all", None), ("pscw", None), ("fence", None))
    ),
    *(
        ratio(f"accumulate 8 B in {sync}, us", "rmasync", f"acc-lat/{sync}", 8, None)
        for sync in ("lock", "lock_all", "pscw", "fence")
    ),
    beyond("fence less our barrier, us", "rmaword", "rma-sync/fence", 0, 0.05, ("rmabarrier", "barrier", 0)),
    limit("post, start, complete, wait, us", "rmaword", "rma-sync/pscw", 0.3),
    ratio("puts 8 B in a window, M/s", "rmabw", "put-bw/flush", 8, None, "Mmsg_s", HIGH),
    ratio("gets 8 B in a window, M/s", "rmabw", "get-bw/flush", 8, None, "Mmsg_s", HIGH),
    ratio("puts 64 KiB in a window, MB/s", "rmabw", "put-bw/flush", 65536, None, "MB_s", HIGH),
    ratio("puts 64 KiB both ways, MB/s", "rmabw", "put-bibw/flush", 65536, None, "MB_s", HIGH),
    ratio("rput 8 B in a window, M/s", "rmabw", "rput/flush", 8, None, "Mmsg_s", HIGH),
    limit("put 8 B: target computing / idle", "rmapassive", "passive", 1.05, 8, "ratio"),
    limit("put 64 KiB: target computing / idle", "rmapassive", "passive", 1.05, 65536, "ratio"),
    *(
        ratio(f"window made and freed, {kind}, us", "rmamake", f"win-make/{kind}", 65536, None)
        for kind in ("allocate", "create", "shared", "dynamic")
    ),
    ratio("8 ranks: puts 8 B of 4 pairs, us", "rma8", "put-mlat/flush", 8, None),
    ratio("8 ranks: all put 8 B to all, us", "rma8", "put-allall/flush_all", 8, None),
    ratio("8 ranks: 8 B to both neighbours, us", "rma8", "xchg-put", 8, None),
    ratio("8 ranks: fetch_and_op on one word, us", "rma8word", "fop-lat", 0, None),
    ratio("8 ranks: exclusive lock in turn, us", "rma8word", "lock-turns", 0, 0.3),
    ratio("64 ranks: lock_all, us", "rma64", "lock-all", 0, 0.1),
    against("TCP: put 8 B and flush / half a round trip", "tput", "put-lat", 8, 2.2, ("tlat", "lat", 1)),
    ratio("Python (mpi4py): latency 8 B, us", "pylat", "py-lat", 8, 0.8),
    ratio("Python (mpi4py): put 8 B and flush, us", "pyrma", "py-put-lat/flush", 8, None),
    ratio("Python (mpi4py): fetch_and_op, us", "pyrma", "py-fop-lat", 0, None),
    ratio("Python (mpi4py): allreduce 8 B, us", "pycoll", "py-allreduce", 8, None),
    *(
        ratio(f"Python (mpi4py): {row} {text}, us", "pyio", f"py-{row}/individual", size, None)
        for row in ("io-write", "io-read")
        for size, text in ((4096, "4 KiB"), (1 << 20, "1 MiB"))
    ),
    *(
        {
            "kind": "own",
            "name": f"unisono.fast over C / mpi4py over C, 8 B, {what}",
            "job": f"py{buffer}",
            "row": f"py-lat-{buffer}",
            "size": 8,
            "want": want,
            "field": "delta",
            "better": LOW,
            "against": ("pylat", "py-lat", 8),
        }
        for what, buffer, want in (("bound", "raw", 0.5), ("NumPy arrays", "fast", 0.3))
    ),
]
for place in ("disk", "memory"):
    floor, tiles = f"iofloor-{place}", f"iotile-{place}"
    TARGETS += [
        limit(f"file, {place}: write_at 1 MiB / pwrite", floor, "io-floor/write", 1.03, 1 << 20, "over_posix"),
        limit(f"file, {place}: write_at 4 KiB / pwrite", floor, "io-floor/write", 1.1, 4096, "over_posix"),
        limit(
            f"file, {place}: iwrite beside computation / the longer", floor, "io-beside", 1.2, 1 << 20, "over_longer"
        ),
        against(  # 0.7 of one contiguous writer
            f"file, {place}: tiles of 4 KiB together / one writer",
            *(tiles, "io-tile-write/tile", 4 << 20, 1 / 0.7, (tiles, "io-tile-write/one", 4 << 20)),
        ),
    ]
    TARGETS += [
        ratio(
            f"file, {place}: io-{way}/{access} {text}, us",
            *(f"io-{place}-{access}", f"io-{way}/{access}", size, None if access == "posix" else 0.9),
        )
        for access in (*IO_ACCESS, "posix")
        for way in ("write", "read")
        for size, text in ((4096, "4 KiB"), (1 << 20, "1 MiB"))
    ]
    TARGETS += [ratio(f"file, {place}: {row} 4 MiB, us", tiles, row, 4 << 20, 0.9) for row in IO_TILES]
