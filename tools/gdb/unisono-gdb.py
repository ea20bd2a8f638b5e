# SPDX-License-Identifier: BSD-3-Clause
"""gdb commands that show what MPI holds in a process or a core file: info mpi ranks, comms, queues, requests,
rings.

    (gdb) source PREFIX/share/unisono/unisono-gdb.py

Runs inside gdb and reads memory by the types in the library's debug information; nothing is called in the process and
nothing is changed. What is missing in a core file is said in one line.
"""

import gdb

ANY_SOURCE, ANY_TAG, PROC_NULL = -1, -2, -3  # the ABI's numbers, mpi.h
REMEDY = " (--set share_dump=yes keeps it there)"
LONGEST = 10000  # elements of one list that are followed: a process may be stopped while a list is being changed


def library():
    """Path of the library in this process, or None."""
    names = [o.filename for o in gdb.objfiles() if o.filename]
    return next((n for n in names if "libmpi_abi.so" in n.rsplit("/", 1)[-1]), None)


def variable(name):
    """A global variable of the library; says what is wrong when there is none."""
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("There is no process and no core file: attach to a rank, or load its core.")
    symbol = gdb.lookup_global_symbol(name)
    if symbol:
        return symbol.value()
    path = library()
    if path:
        raise gdb.GdbError(f"{path} has no debug information: it was stripped. Install it as it was built.")
    raise gdb.GdbError("This is no MPI process of Unisono: libmpi_abi.so is not loaded.")


def running():
    """uno_world of a process that is between MPI_Init and MPI_Finalize."""
    world = variable("uno_world")
    phase = named("enum uno_phase", world["phase"])
    if phase != "UNO_RUNNING":
        why = "has not been initialised yet" if phase == "UNO_BEFORE_INIT" else "is finalized"
        raise gdb.GdbError(f"MPI {why} in this process.")
    return world


def named(enum, value):
    """Name of a number in an enum of the library."""
    return next((f.name for f in gdb.lookup_type(enum).fields() if f.enumval == int(value)), str(int(value)))


def follow(first, step):
    """Elements of a linked list."""
    for _ in range(LONGEST):
        if not int(first):
            return
        yield first.dereference()
        first = step(first.dereference())
    if int(first):
        print(f"  ... and more: the list has more than {LONGEST} elements, or is being changed")


def offset(kind, field):
    """Of a field of a struct, in bytes."""
    return next(f.bitpos // 8 for f in kind.fields() if f.name == field)


def word(memory, at, size):
    """A number in what read_memory gave."""
    return int.from_bytes(bytes(memory[at : at + size]), "little")


def text(chars):
    return chars.string(errors="replace")


def plural(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def peer(number):
    return {ANY_SOURCE: "any", PROC_NULL: "MPI_PROC_NULL"}.get(int(number), str(int(number)))


def tag(number):
    return "any" if int(number) == ANY_TAG else str(int(number))


def name_of(comm):
    return text(comm["name"]) or f"communicator {int(comm['context']):#x}"


# ---- communicators ----


def communicators():
    """All communicators of this process; those that the library made for itself are among them."""
    return follow(variable("uno_comm_world").address, lambda c: c["next"])


def remarks(comm):
    """What is special about a communicator."""
    if int(comm["inter"]):
        yield f"remote size {int(comm['remote']['size'])}"
    for field, what in (("freed", "freed, still in use"), ("revoked", "revoked"), ("owner", "of a file")):
        if int(comm[field]):
            yield what
    if not int(comm["ready"]):
        yield "being made"
    if int(comm["failed"]):
        yield plural(int(comm["failed"]), "failed member")


def show_comms():
    running()
    print(f"{'handle':<16} {'size':>6} {'rank':>6}  {'context':<16} name")
    for c in communicators():
        place = f"{int(c['handle']):<#16x} {int(c['size']):>6} {int(c['rank']):>6}"
        rest = "".join(f" ({r})" for r in remarks(c))
        print(f"{place}  {int(c['context']):<#16x} {name_of(c)}{rest}")


# ---- queues ----


def posted_heads(match, npeers):
    """First posted receive of each source that has one. The array is read at once: it has one element per rank."""
    source = match["source"]
    kind = source.type.target().strip_typedefs()
    queue = next(f.type for f in kind.fields() if f.name == "posted")
    at = offset(kind, "posted") + offset(queue.strip_typedefs(), "head")
    memory = gdb.selected_inferior().read_memory(int(source), npeers * kind.sizeof) if npeers else b""
    for i in range(npeers):
        if word(memory, i * kind.sizeof + at, 8):
            yield source[i]["posted"]["head"]


def posted(match, npeers):
    """Posted receives, in the order posted."""
    heads = [*posted_heads(match, npeers), match["any"]["head"]]
    found = [r for head in heads for r in follow(head, lambda r: r["move"]["next"])]
    return sorted(found, key=lambda r: int(r["move"]["order"]))


def show_queue(title, receives, messages):
    print(f"{title}: {plural(len(receives), 'posted receive')}, {plural(len(messages), 'unexpected message')}")
    for r in receives:
        move = r["move"]
        room = f"count {int(move['count'])}, room for {plural(int(move['room']), 'byte')}"
        print(f"  posted:     source {peer(r['rank'])}, tag {tag(r['tag'])}, {room}")
    for u in messages:
        where, size = "", u["bytes"]
        if int(u["announced"]):
            where = ", still at its sender"
            size = u["parcel"]["data"].address.cast(gdb.lookup_type("struct uno_rts").pointer())["bytes"]
        print(f"  unexpected: source {peer(u['src'])}, tag {tag(u['tag'])}, {plural(int(size), 'byte')}{where}")


def show_queues():
    """Two queues per communicator; that of its collectives only while it holds something."""
    running()
    for c in communicators():
        for i, suffix in enumerate(("", ", inside collectives")):
            receives = posted(c["match"][i], int(c["npeers"]))
            messages = list(follow(c["match"][i]["first"], lambda u: u["next_all"]))
            if i == 0 or receives or messages:
                show_queue(name_of(c) + suffix, receives, messages)


# ---- requests ----


def objects(pool, kind):
    """The objects of a pool that are given out."""
    head = offset(kind, "head")
    at = head + offset(kind["head"].type.strip_typedefs(), "magic")
    step, count, magic = int(pool["stride"]), int(pool["per_slab"]), int(pool["magic"])
    for s in range(int(pool["slabs"])):
        slab = int(pool["slab"][s])
        memory = gdb.selected_inferior().read_memory(slab, step * count)
        for i in range(count):
            if word(memory, i * step + at, 4) == magic:
                yield gdb.Value(slab + i * step).cast(kind.pointer()).dereference()


def show_request(r):
    what = text(r["ops"]["name"]) if int(r["ops"]) else named("enum uno_request_kind", r["kind"])
    where = f", {name_of(r['comm'])}" if int(r["comm"]) else ""
    ends = ""
    if named("enum uno_request_kind", r["kind"]) in ("UNO_REQ_SEND", "UNO_REQ_RECV", "UNO_REQ_PARTITIONED"):
        ends = f", peer {peer(r['rank'])}, tag {tag(r['tag'])}"
    state = "done" if int(r["done"]) else "pending"
    extra = "".join(f", {f}" for f in ("persistent", "freed", "cancelled") if int(r[f]))
    print(f"{int(r.address):#x}: {what}{ends}{where}, {state}{extra}")


def show_requests():
    running()
    all_of_them = list(objects(variable("uno_request_pool"), variable("uno_request_sent").type))
    active = [r for r in all_of_them if int(r["active"])]
    print(f"{plural(len(active), 'active request')}, {len(all_of_them) - len(active)} inactive")
    for r in active:
        show_request(r)


# ---- ranks ----


def show_board(board, own):
    """One rank of this host, by what it tells the launcher."""
    state = named("enum uno_rank_state", board["state"]).removeprefix("UNO_RANK_").lower()
    waits = ""
    if int(board["asleep"]):
        waits = f", asleep in {text(board['wait_call'])}"
        waits += f" on {text(board['wait_comm'])}" if text(board["wait_comm"]) else ""
    print(f"{'*' if own else ' '} rank {int(board['world_rank'])}: pid {int(board['pid'])}, {state}{waits}")


def show_ranks():
    world = running()
    call = f", last call {text(world['call'])}" if int(world["call"]) else ""
    size, here, pid = int(world["size"]), int(world["nlocal"]), gdb.selected_inferior().pid
    print(f"rank {int(world['rank'])} of {size}, host {text(world['host'])}, pid {pid}{call}")
    own, first = int(world["local"]), world["board"] - int(world["local"])
    try:
        for i in sorted(range(here), key=lambda i: int(first[i]["world_rank"])):
            show_board(first[i], i == own)
    except gdb.MemoryError:
        print(f"The job's memory is not in this core file: what the other ranks do is not known{REMEDY}.")
    if size > here:
        print(f"{plural(size - here, 'rank')} on other hosts")


# ---- rings ----


UNIT = 16  # SHM_UNIT of src/chan/shm/ring.h: each of a line's units may begin a message


def begun(link):
    """Whether the line that is being read holds one more message: its next unit is stamped as the line is."""
    at, unit = int(link["rx_line"]), int(link["rx_unit"])
    if not at or unit * UNIT >= link["rx"]["slot"].type.target().sizeof:
        return False
    return word(gdb.selected_inferior().read_memory(at + unit * UNIT, 2), 0, 2) == int(link["rx_stamp"])


def unread(link):
    """Lines of the peer's ring with what was not read yet; those not begun have the stamp of the next lap."""
    slots = link["rx"]["slot"]
    count = slots.type.range()[1] + 1
    at, lap = int(link["rx_at"]), int(link["rx_lap"])
    for n in range(count):
        if int(slots[(at + n) % count]["h"]["stamp"]) != lap + (at + n >= count):
            return n + begun(link)
    return count


def show_ring(link):
    """Both directions between this process and one of this host."""
    name = f"process {int(link['base']['proc'])}{' of another job' if int(link['home']) else ''}"
    sent, known = int(link["sent"]), int(link["tx"]["taken"]) if int(link["tx"]) else 0
    read, left = int(link["taken"]), unread(link) if int(link["rx"]) else 0
    out = f"{plural(sent, 'line')} sent, {known} known to be read"
    print(f"{name}: {out}; {plural(read, 'line')} begun to be read, {left} not to the end")


def show_rings():
    """Processes are numbered as in MPI_COMM_WORLD; a line holds a message, several short ones, or the head of one."""
    running()
    # Optimised as one program the library may name it again where it was optimised out.
    there = [v for v in (s.value() for s in gdb.lookup_static_symbols("shm")) if not v.is_optimized_out]
    links = list(follow(there[0]["first"], lambda link: link["next"])) if there else []
    try:
        for link in links:
            show_ring(link)
    except gdb.MemoryError:
        print(f"The rings are not in this core file{REMEDY}.")
    if not links:
        print("No ring is there.")


class Mpi(gdb.Command):
    """What MPI holds in this process: ranks, communicators, message queues, requests."""

    def __init__(self):
        super().__init__("info mpi", gdb.COMMAND_STATUS, prefix=True)

    def invoke(self, words, from_tty):
        raise gdb.GdbError('"info mpi" is followed by ranks, comms, queues, requests or rings.')


class Show(gdb.Command):
    """One of the commands; its help is the text given."""

    def __init__(self, word, show, help_text):
        self.__doc__ = help_text
        self.show = show
        super().__init__(f"info mpi {word}", gdb.COMMAND_STATUS)

    def invoke(self, words, from_tty):
        if words:
            raise gdb.GdbError(f"This command takes no arguments: {words}")
        try:
            self.show()
        except gdb.MemoryError as e:
            raise gdb.GdbError(f"A part of the library's memory cannot be read here: {e}") from None


Mpi()
Show("ranks", show_ranks, "This process's rank, host and pid, and the job's other ranks on its host.")
Show("comms", show_comms, "The communicators of this process.")
Show("queues", show_queues, "Posted receives and unexpected messages of each communicator.")
Show("requests", show_requests, "Active requests: kind, peer, tag, communicator, and whether they are done.")
Show("rings", show_rings, "What lies in the rings between this process and others of its host.")
