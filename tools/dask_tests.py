# SPDX-License-Identifier: BSD-3-Clause
"""Where dask.distributed's own tests come from: no package on PyPI has them, the source package of Debian does.

source() is its folder, unpacked in the cache; PACKAGES is an environment (tools/venv) of the release it is of. Used by
suite 70-dask and by judge dask (tools/judges).
"""

import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "unisono/judges"
DEBIAN, VERSION = "trixie", "2024.12.1"
PACKAGES = [
    f"distributed=={VERSION}",
    f"dask[array,dataframe]=={VERSION}",
    "pandas<3",
    "pyarrow",
    "pytest",
    "pytest-timeout",
    "pytest-rerunfailures",
    "numpy<2.3",
    "aiohttp",
]


def fetch(place):
    """Debian's archive of the source, below place."""
    subprocess.run([TOP / "tools/need", "dpkg-dev", "to fetch sources", "xz-utils", "to unpack them"], check=True)
    words = [TOP / "tools/private-apt", place / "apt", DEBIAN, "deb-src"]
    apt = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]
    words = ["apt-get", "source", "--only-source", "--download-only", "-qq", "dask.distributed"]
    # Of the package only the upstream part is needed; that the rest is out of date at the mirror does not matter.
    said = subprocess.run(words, cwd=place, env={**os.environ, "APT_CONFIG": apt}, capture_output=True, text=True)
    found = sorted(place.glob(f"dask.distributed_{VERSION}*.orig.tar.*"))
    if not found:
        raise FileNotFoundError(f"Debian {DEBIAN} has no source of dask.distributed {VERSION}: {said.stderr.strip()}")
    return found[0]


def source():
    """The folder of the unpacked source; fetched when it is not there."""
    place = HOME / "dask"
    folder = place / f"distributed-{VERSION}"
    if not (folder / "complete").exists():
        place.mkdir(parents=True, exist_ok=True)
        archive = fetch(place)
        folder.mkdir(exist_ok=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder, "--strip-components=1"], check=True)
        (folder / "complete").touch()
    return folder


AS_TCP = TOP / "tests/dask/as_tcp"
PATIENT = TOP / "tests/dask/patient"
# What concerns connections comes first in the judge's work: connections, servers, workers and their faults, clients,
# schedulers, shuffles.
FIRST = """comm/tests/test_comms tests/test_core tests/test_batched tests/test_queues tests/test_locks tests/test_actor
    tests/test_utils_comm tests/test_failed_workers tests/test_nanny tests/test_worker tests/test_client_executor
    tests/test_worker_client deploy/tests/test_local tests/test_steal tests/test_client tests/test_scheduler
    shuffle/tests/test_merge shuffle/tests/test_shuffle""".split()
CONNECTED = re.compile(r"gen_cluster|cluster\(|\bc, s\b|connect\(|listen|Client|Scheduler|Nanny|popen")
WAYS = {
    "direct": "its helpers with addresses mpi://",
    "scheme": "mpi:// as the default scheme",
    "name": "the scheme tcp served by mpi://'s backend",
    "tcp": "tcp:// itself",
}


def files(folder):
    """Its files with tests that can meet a connection, relative to the folder of the source; FIRST ones first."""
    first = [f"distributed/{name}.py" for name in FIRST]
    found = sorted((folder / "distributed").rglob("test_*.py"))
    names = [str(path.relative_to(folder)) for path in found if CONNECTED.search(path.read_text(encoding="utf-8"))]
    return first + [name for name in names if name not in first]


def pytest_words(python, *files):
    """The words that run some of its tests; one line per failure, at the end."""
    usual = (
        "-v",
        "-rfE",
        "-p",
        "no:cacheprovider",
        "--timeout",
        "600",
        "-o",
        "timeout_method=signal",
        "-o",
        "addopts=",
    )
    return [python, "-m", "pytest", *usual, *files]


def environment(way, site):
    """What makes the tests run one of WAYS; site is where unisono-dask is installed."""
    given = {"PYTHONPATH": f"{site}:{PATIENT}", "PYTEST_PLUGINS": "patient"}
    if way == "scheme":
        given["DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME"] = "mpi"
    if way == "name":
        given["PYTHONPATH"] += f":{AS_TCP}"
        given["PYTEST_PLUGINS"] += ",mpi_as_tcp"
    return given
