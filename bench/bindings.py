# SPDX-License-Identifier: BSD-3-Clause
"""The suite in Python for bench/compare: environments with mpi4py, NumPy, unisono.bench and unisono.fast.

Each library gets the binding that its users get: ours mpi4py's source distribution, built by mpicc; the peers mpi4py's
wheel from PyPI (Intel MPI the one of MPICH, whose ABI it has). Environments live in the cache beside the peers; our own
packages are installed again when their sources change.
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
FAMILY = {"ours": "abi", "mpich": "mpich", "impi": "mpich", "openmpi": "openmpi"}


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


def compiler(mpi):
    """The mpicc of a library's binding: the peer's own, or for ours the one that compiled the suite."""
    family = FAMILY[mpi.name]
    if family == "abi":
        return mpi.mpicc
    return next((c for c in (peers.CACHE / n / "bin/mpicc" for n in (family, mpi.name)) if c.exists()), None)


def install(home, mpi, folder):
    """Fills an environment; None, or why it cannot be."""
    env = {**environment(mpi), "MPICC": str(compiler(mpi)), "CFLAGS": "-O2"}
    if not (home / "binding").exists():
        peers.say(f"compare: installing NumPy and mpi4py into {home}")
        shutil.rmtree(home, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", home], capture_output=True, text=True)
        why = made.stderr.strip() if made.returncode else pip(home, ["numpy", "setuptools", "wheel"])
        source = ["--no-cache-dir", "--no-binary=mpi4py"] if FAMILY[mpi.name] == "abi" else []
        why = why or pip(home, [*source, "mpi4py"], env)
        if why:
            return why
        (home / "binding").touch()
    with tempfile.TemporaryDirectory() as copy:  # pip leaves files where it builds
        for name in PACKAGES:
            shutil.copytree(folder / name, pathlib.Path(copy) / name)
        words = [pathlib.Path(copy) / name for name in PACKAGES]
        return pip(home, ["--no-build-isolation", "--no-deps", "--force-reinstall", *words], env)


def python_of(mpi):
    """The interpreter whose mpi4py runs on this library, kept in mpi.python; None, after one line, if there is none."""
    if hasattr(mpi, "python"):
        return mpi.python
    mpi.python, folder = None, sources()
    home = peers.CACHE / f"python-{FAMILY[mpi.name]}"
    if not folder or not compiler(mpi):
        peers.say(f"compare: no Python rows on {mpi.title}: no sources or no compiler for the binding")
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
        out = built / f"unisono-bench.{FAMILY[mpi.name]}.so"
        library = peers.compile_with(compiler(mpi), out, environment(mpi), shared=True)
        words += ["--c-suite", str(library)]
    return words


def renamed(record):
    """The record under the name that compare shows: py-lat, py-lat-raw."""
    buffer = record.get("buffer", "numpy")
    if "row" in record and not record["row"].startswith("py-"):
        record["row"] = f"py-{record['row']}" + (f"-{buffer}" if buffer != "numpy" else "")
    return record


def environment(mpi):
    """A job's: nothing that would lead Python to other packages, and the library that mpi4py's wheel has to load."""
    env = mpi.environ()
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    if FAMILY[mpi.name] != "abi":
        lib = peers.CACHE / mpi.name / "lib"
        env |= {"MPI4PY_MPIABI": FAMILY[mpi.name], "LD_LIBRARY_PATH": f"{lib}:{lib / 'mpi'}"}
    return {**env, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
