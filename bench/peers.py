# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs to compare: where each comes from, how the suite is built for it, how a job is started on it.

Used by bench/compare alone. A peer is a virtual environment with PyPI packages in a cache folder outside the build tree
(${XDG_CACHE_HOME:-~/.cache}/unisono/peers); ours is an installed prefix. Any subset of them may be missing.
"""

import fcntl
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "unisono" / "peers"
PACKAGES = {"mpich": ["mpich"], "openmpi": ["openmpi"], "impi": ["impi-rt", "impi-devel"]}
TITLES = {"ours": "Unisono", "mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}
# What makes each send everything over TCP on the loopback: words for mpiexec, variables.
TCP = {
    "ours": (["--set", "chan=tcp", "--set", "rma_path=2"], {}),
    "mpich": ([], {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"}),
    "openmpi": (shlex.split("--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo"), {}),
    "impi": (
        [],
        {
            "I_MPI_FABRICS": "ofi",
            "FI_PROVIDER": "tcp",
            "I_MPI_OFI_PROVIDER": "tcp",
            "FI_TCP_IFACE": "lo",
            "I_MPI_COLL_INTRANODE": "pt2pt",
        },
    ),
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def install(name):
    """The environment of one peer, made on first use; None if it cannot be had (no network, say)."""
    home = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (home / "bin" / "mpiexec").exists():
            return home
        say(f"compare: installing {' '.join(PACKAGES[name])} from PyPI into {home}")
        made = subprocess.run([sys.executable, "-m", "venv", home], capture_output=True, text=True)
        if made.returncode == 0:
            pip = [home / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES[name]]
            made = subprocess.run(pip, capture_output=True, text=True)
        if made.returncode != 0:
            say(f"compare: {name} left out: {(made.stderr or made.stdout).strip().splitlines()[-1]}")
            return None
    return home


# What makes a job go on when a rank dies; who is not here has no process failure, or not all of its functions.
SURVIVE = {"ours": ["--survive"], "openmpi": ["--with-ft", "ulfm"]}


class Mpi:
    """One MPI: name, title, compiler, environment and command of a job."""

    def __init__(self, name, binary, mpiexec, env):
        self.name, self.title, self.binary, self.mpiexec, self.env = (
            name,
            TITLES[name],
            str(binary),
            [str(w) for w in mpiexec],
            env,
        )
        self.mpicc = None  # the compiler of the binary

    def over_tcp(self):
        """The same MPI made to send everything over TCP."""
        words, env = TCP[self.name]
        return Mpi(self.name, self.binary, [*self.mpiexec, *words], {**self.env, **env})

    def surviving(self):
        """The same MPI, whose jobs go on when a rank dies; None without process failure. Ours with the suite that it
        was installed with: what is compiled for the standard ABI knows no extensions."""
        if self.name not in SURVIVE:
            return None
        own = pathlib.Path(self.mpiexec[0]).with_name("unisono-bench")
        binary = own if self.name == "ours" else self.binary
        return Mpi(self.name, binary, [*self.mpiexec, *SURVIVE[self.name]], self.env)

    def command(self, np, args):
        return [*self.mpiexec, "-n", str(np), self.binary, *args]

    def environ(self):
        env = dict(os.environ)
        for key, value in self.env.items():
            env[key] = value + (":" + env[key] if key == "PATH" else "")
        return env


def compile_with(mpicc, out, env=None, shared=False):
    """Builds the suite, or a library of it; kept while no source is newer. None if it does not compile."""
    sources = sorted(str(p) for p in HERE.glob("*.c"))
    headers = [str(p) for p in HERE.glob("*.h")]
    out.parent.mkdir(parents=True, exist_ok=True)
    newest = max(os.path.getmtime(p) for p in sources + headers)
    if out.exists() and out.stat().st_mtime > max(newest, os.path.getmtime(mpicc)):
        return out
    say(f"compare: compiling the suite with {mpicc}")
    draft = out.with_suffix(f".{os.getpid()}")
    flags = ["-O2", "-shared", "-fPIC"] if shared else ["-O2"]
    made = subprocess.run([str(mpicc), *flags, "-o", str(draft), *sources], env=env, capture_output=True, text=True)
    if made.returncode != 0:
        say(f"compare: {mpicc} does not compile the suite: {made.stderr.strip().splitlines()[0]}")
        return None
    draft.replace(out)
    return out


def find_all(wanted, ours, built):
    """The MPIs that are there, in the order asked for; `built` is the folder for the binaries."""
    homes = {name: install(name) for name in wanted if name in PACKAGES}
    mpis = []
    abi = None
    mpicc = homes["mpich"] / "bin" / "mpicc_abi" if homes.get("mpich") else None
    if mpicc:
        abi = compile_with(mpicc, built / "unisono-bench.abi")
    own_mpicc = ours and ours / "bin" / "mpicc"
    if not abi and own_mpicc and own_mpicc.exists():
        abi, mpicc = compile_with(own_mpicc, built / "unisono-bench.ours"), own_mpicc
    for name in wanted:
        home = homes.get(name)
        if name == "ours":
            if ours and (ours / "bin" / "mpiexec").exists() and abi:
                env = {"LD_LIBRARY_PATH": str(ours / "lib"), "PATH": str(ours / "bin")}
                mpis.append(Mpi(name, abi, [ours / "bin" / "mpiexec"], env))
            else:
                say(f"compare: ours left out: no mpiexec in {ours}/bin (build it, or name its prefix with --ours)")
        elif name == "mpich" and home and abi:
            mpis.append(
                Mpi(
                    name,
                    abi,
                    [home / "bin" / "mpiexec"],
                    {"PATH": str(home / "bin"), "LD_LIBRARY_PATH": str(home / "lib")},
                )
            )
        elif name == "impi" and home:
            env = {"PATH": str(home / "bin"), "LD_LIBRARY_PATH": str(home / "lib"), "I_MPI_FABRICS": "shm"}
            # Its library for the standard ABI takes MPI_SEEK_SET for another one (2021.18).
            own = {**os.environ, "I_MPI_ROOT": str(home), "I_MPI_CC": "gcc"}
            binary = compile_with(home / "bin" / "mpicc", built / "unisono-bench.impi", own) or abi
            if binary:
                mpis.append(Mpi(name, binary, [home / "bin" / "mpiexec"], env))
        elif name == "openmpi" and home:
            env = {"PATH": str(home / "bin")}
            path = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
            binary = compile_with(home / "bin" / "mpicc", built / "unisono-bench.openmpi", path)
            start = [home / "bin" / "mpiexec", "--allow-run-as-root", "--oversubscribe"]
            if binary:
                mpis.append(Mpi(name, binary, start, env))
    for mpi in mpis:
        mpi.mpicc = homes["openmpi"] / "bin" / "mpicc" if mpi.name == "openmpi" else mpicc
    return mpis


def report_python():
    """Python with matplotlib, in an environment of its own; None if it cannot be had."""
    home = CACHE / "report"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / ".report.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "done").exists():
            say(f"compare: installing matplotlib from PyPI into {home}, for the pictures")
            made = subprocess.run([sys.executable, "-m", "venv", home], capture_output=True, text=True)
            if made.returncode == 0:
                made = subprocess.run(
                    [home / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "matplotlib"],
                    capture_output=True,
                    text=True,
                )
            if made.returncode != 0:
                say(f"compare: no report: {(made.stderr or made.stdout).strip().splitlines()[-1]}")
                return None
            (home / "done").touch()
    return str(home / "bin" / "python")
