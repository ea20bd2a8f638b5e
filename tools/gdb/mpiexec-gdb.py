# SPDX-License-Identifier: BSD-3-Clause
"""gdb's part of mpiexec --gdb: takes the ranks that mpiexec holds, each as an inferior, to their main; mpi rank N.

mpiexec (launch/debug.c) runs it inside gdb. Nothing of it is needed in a gdb that the user has started.
"""

import contextlib
import os
import signal
import time

import gdb

LET_GO = "SIGUSR1"  # what a held rank waits for (launch/debug.c)
INFERIOR = {}  # rank: number of its inferior
ended_well = False


def quietly(command):
    """What gdb would have said to a command."""
    return gdb.execute(command, to_string=True)


def run_to_main():
    """The selected inferior goes on to its main, if it has one."""
    try:
        gdb.parse_and_eval("(long)&main")
    except gdb.error:
        return
    gdb.Breakpoint("main", temporary=True, internal=True)
    quietly("continue")


def take(rank, pid):
    """Attaches to a held rank and lets it execute its program."""
    if INFERIOR:
        quietly("add-inferior")
    number = max(i.num for i in gdb.inferiors())
    quietly(f"inferior {number}")
    try:
        quietly(f"attach {pid}")
    except gdb.error as e:
        raise gdb.GdbError(f"Rank {rank} (process {pid}) cannot be attached to: {e}") from None
    INFERIOR[rank] = number
    quietly("tcatch exec")
    quietly(f"signal {LET_GO}")
    run_to_main()


@contextlib.contextmanager
def silence():
    """No word on each stop and change of inferiors; a gdb before 13 cannot be kept from that."""
    setting = "set suppress-cli-notifications"
    with contextlib.suppress(gdb.error):
        quietly(f"{setting} on")
    try:
        yield
    finally:
        with contextlib.suppress(gdb.error):
            quietly(f"{setting} off")


def start_ranks(words):
    quietly("set pagination off")
    with silence():
        for word in words.split():
            take(*map(int, word.split(":")))
        quietly("set schedule-multiple on")
    gdb.events.exited.connect(note_end)
    gdb.events.before_prompt.connect(before_prompt)
    if hasattr(gdb.events, "gdb_exiting"):
        gdb.events.gdb_exiting.connect(hold_again)
    select_rank(min(INFERIOR))
    if len(INFERIOR) > 1:
        print('"continue" lets all ranks go on; "mpi rank N" changes to another one.')


def hold_again(_event):
    """gdb lets go of what it attached to when it is quit; until mpiexec ends the ranks they should not run on."""
    for inferior in gdb.inferiors():
        if inferior.pid:
            with contextlib.suppress(OSError):
                os.kill(inferior.pid, signal.SIGSTOP)


def select_rank(rank):
    if rank not in INFERIOR:
        raise gdb.GdbError(f"Rank {rank} does not run under this gdb; these do: {', '.join(map(str, INFERIOR))}")
    with silence():
        quietly(f"inferior {INFERIOR[rank]}")
    print(f"rank {rank}, inferior {INFERIOR[rank]}, pid {gdb.selected_inferior().pid}")
    if gdb.selected_inferior().pid:
        gdb.execute("frame")


def note_end(event):
    """A rank has ended, which stops the others: unless it failed, they need not."""
    global ended_well
    ended_well = getattr(event, "exit_code", None) == 0


def before_prompt():
    """What the user types next is for a rank that is there."""
    global ended_well
    alive = [i for i in gdb.inferiors() if i.pid]
    while ended_well and alive:
        ended_well = False
        with silence(), contextlib.suppress(gdb.error):
            quietly(f"inferior {alive[0].num}")
        go_on()
        alive = [i for i in gdb.inferiors() if i.pid]


def go_on():
    """Continues. A process that is just ending cannot be traced for a moment, and gdb complains."""
    for _ in range(200):
        try:
            gdb.execute("continue")
            return
        except gdb.error:
            time.sleep(0.01)


class Job(gdb.Command):
    """Ranks that run under this gdb (mpiexec --gdb)."""

    def __init__(self):
        super().__init__("mpi", gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, words, from_tty):
        raise gdb.GdbError('"mpi" is followed by rank N.')


class Start(gdb.Command):
    """mpi start RANK:PID...: takes the ranks that mpiexec --gdb holds. mpiexec calls it."""

    def __init__(self):
        super().__init__("mpi start", gdb.COMMAND_RUNNING)

    def invoke(self, words, from_tty):
        start_ranks(words)


class Rank(gdb.Command):
    """mpi rank N: changes to the process of rank N, of those that run under this gdb."""

    def __init__(self):
        super().__init__("mpi rank", gdb.COMMAND_RUNNING)

    def invoke(self, words, from_tty):
        if not words.isdigit():
            raise gdb.GdbError("mpi rank N: the number of a rank is expected.")
        select_rank(int(words))


gdb.execute(f"source {os.path.join(os.path.dirname(os.path.abspath(__file__)), 'unisono-gdb.py')}")
Job()
Start()
Rank()
