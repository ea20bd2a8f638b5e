# SPDX-License-Identifier: BSD-3-Clause
"""The suite in Python for bench/compare: an environment with mpi4py, NumPy, unisono.bench and unisono.fast for each ABI.

One environment serves all libraries of the standard ABI, so that the same compiled binding runs on each; Open MPI has
its own. mpi4py is built from its source distribution. Environments live in the cache beside the peers; ours are
installed again when their sources change.
"""

import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import peers

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["bench", "fast"]


def sources():
    """The folder that holds the packages: of the source tree, or beside an installed bench/."""
    for folder in (HERE.parent / "python" / "unisono", HERE.parent / "python"):
        if (folder / "fast" / "fast.h").exists():
            return folder
    return None


def digest(folder):
    """What the installed packages were made from."""
    found = hashlib.sha256()
    for name in PACKAGES:
        for path in sorted((folder / name).rglob("*")):
            if path.suffix in (".py", ".c", ".h", ".toml"):
                found.update(path.read_bytes())
    return found.hexdigest()


def pip(home, words, env=None):
    """None, or the last line of what went wrong."""
    command = [home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *words]
    done = subprocess.run([str(w) for w in command], env=env, capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip().splitlines()[-1]


def install(home, mpi, folder):
    """Fills an environment; None, or why it cannot be."""
    env = {**mpi.environ(), "MPICC": str(mpi.mpicc), "CFLAGS": "-O2"}
    if not (home / "binding").exists():
        peers.say(f"compare: installing NumPy and mpi4py (built by {mpi.mpicc}) into {home}")
        shutil.rmtree(home, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", home], capture_output=True, text=True)
        why = made.stderr.strip() if made.returncode else pip(home, ["numpy", "setuptools", "wheel"])
        why = why or pip(home, ["--no-cache-dir", "--no-binary=mpi4py", "mpi4py"], env)
        if why:
            return why
        (home / "binding").touch()
    with tempfile.TemporaryDirectory() as copy:  # pip leaves files where it builds
        for name in PACKAGES:
            shutil.copytree(folder / name, pathlib.Path(copy) / name)
        words = [pathlib.Path(copy) / name for name in PACKAGES]
        return pip(home, ["--no-build-isolation", "--no-deps", "--force-reinstall", *words], env)


def python_of(mpi):
    """The interpreter whose mpi4py runs on this library; None after one line if it cannot be had. Kept in mpi.python."""
    if hasattr(mpi, "python"):
        return mpi.python
    mpi.python, folder = None, sources()
    home = peers.CACHE / f"python-{'openmpi' if mpi.name == 'openmpi' else 'abi'}"
    if not folder or not mpi.mpicc:
        peers.say(f"compare: no Python rows on {mpi.title}: no {'sources' if mpi.mpicc else 'compiler'} for the binding")
        return None
    peers.CACHE.mkdir(parents=True, exist_ok=True)
    with open(peers.CACHE / f".{home.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, now = home / "packages", digest(folder)
        if not stamp.exists() or stamp.read_text() != now:
            why = install(home, mpi, folder)
            if why:
                peers.say(f"compare: no Python rows on {mpi.title}: {why}")
                return None
            stamp.write_text(now)
    mpi.python = str(home / "bin" / "python")
    return mpi.python


def command(mpi, np, args, built):
    """Words of a job of the suite in Python; None where there is no binding."""
    python = python_of(mpi)
    if not python:
        return None
    words = [*mpi.mpiexec, "-n", str(np), python, "-m", "unisono.bench", *args]
    if "--against-c" in args:
        family = "openmpi" if mpi.name == "openmpi" else "abi"
        library = peers.compile_with(mpi.mpicc, built / f"unisono-bench.{family}.so", mpi.environ(), shared=True)
        words += ["--c-suite", str(library)]
    return words


def renamed(record):
    """The record under the name that compare shows: py-lat, py-lat-raw."""
    buffer = record.get("buffer", "numpy")
    if "row" in record and not record["row"].startswith("py-"):
        record["row"] = f"py-{record['row']}" + (f"-{buffer}" if buffer != "numpy" else "")
    return record


def environment(mpi):
    """Of a job: nothing that would lead Python to other packages."""
    env = mpi.environ()
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    return {**env, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
