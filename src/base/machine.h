// SPDX-License-Identifier: BSD-3-Clause
// What the paths of this host cost: found once per host, when the job segment is laid out, and handed to the ranks in
// it, so that all of them agree. From a machine file that `unisono-tune --machine` wrote, else from a table by
// processor family, which tells little of the kernel. What follows from the costs: thresholds.h. docs/design/machine.md
// says what each one means.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

// Between two cores of the host. Times in ns, times per byte in ps.
struct uno_costs {
    uint32_t line;           // ns: a stamped line, from the store to the other core's load
    uint32_t gap;            // ns: between two looks at a line, where one that is looked at all the time comes later
    uint32_t data;           // ns: what a payload beside its line adds before its first byte
    uint32_t write;          // ps per byte: into lines that the other core has read, plain
    uint32_t write_ahead;    // the same with lines asked for ahead
    uint32_t read;           // ps per byte: out of lines that the other core has written
    uint32_t call;           // ns: a copy across processes, before its first byte
    uint32_t cross;          // ps per byte: such a copy, with pages of 4 KiB
    uint32_t page;           // ns: of that, looking up a page
    uint32_t meet;           // ns: what two ranks that copy one message lose to each other
    uint32_t gather;         // us: gathering 2 MiB into a huge page
    uint32_t wake;           // ns: from a wake to the first instruction of the one that slept
    uint32_t cache;          // MiB: that the cores write again and again before it takes half as long again
    // Stores past the caches, whose lines the other core then reads from memory. past_write 0: not known.
    uint32_t past;          // ns: as data
    uint32_t past_write;    // ps per byte
    uint32_t past_read;     // ps per byte
};

#define UNO_MACHINE_TEXT 128

// What a process says of its processor, as it travels: UNO_KIND_MARK in the upper half, which tells the order of bytes,
// below it the number that executable files have for the kind of processor.
#define UNO_KIND_MARK 0x554eu

struct uno_machine {
    struct uno_costs cost;
    struct uno_costs told;          // by the table or the file alone, so the same in every job
    char from[UNO_MACHINE_TEXT];    // "table: Sapphire Rapids", and whether calls were raised; or the path of the file
    char wrong[2 * UNO_MACHINE_TEXT];    // why a file that there is was passed over; "": none was
    _Atomic uint32_t kind;               // of the first rank that came; 0: none has
    _Atomic uint32_t blend;              // enum uno_blend: settled once, by who needs it first
};

// Long double is what the kinds keep in different formats. A host decides once: either its ranks use it, or they meet
// processes of another kind. Neither has to be foreseen, and nobody waits for anybody.
enum uno_blend { UNO_BLEND_OPEN, UNO_BLEND_ALIKE, UNO_BLEND_MIXED };

// The costs by their names in the file; NULL from the number of costs on.
const char *uno_cost_name(size_t i);
const char *uno_cost_unit(size_t i);
const char *uno_cost_meaning(size_t i);
uint32_t uno_cost_at(const struct uno_costs *c, size_t i);

// The rows of the table; NULL from their number on. *name: what the row is called.
const struct uno_costs *uno_costs_row(size_t i, const char **name);

// The row for this processor.
const struct uno_costs *uno_costs_known(const char **name);

// Raises what a copy across processes costs to what it costs within this one, calls.c. False: nothing was dearer.
bool uno_machine_raise(struct uno_costs *c);

// Bytes of the cache that a core has for itself, the second level; 0: not known.
size_t uno_own_cache(void);

// Bytes of the third-level cache that the first processor shares with its neighbours, as the system tells them; 0: not
// known. (The C library tells those of all such caches together.)
size_t uno_shared_cache(void);

// What tells this processor from others: "GenuineIntel-6-143-amx".
void uno_processor_name(char *text, size_t room);

// Where the file for this processor lies by default, of the user or of the host; "": the user has no home.
void uno_machine_path(char *path, size_t room, bool of_host);

uint32_t uno_machine_kind(void);    // of this program

// This process takes its place on a host whose first rank has left its kind, or does not yet. m stays mapped. Why it
// cannot; NULL: it can.
const char *uno_machine_join(struct uno_machine *m);

// Why nothing that a process of that kind says can be read; NULL: it can.
const char *uno_machine_refusal(uint32_t kind);

// The same of taking part with this one from now on: what makes that possible is settled. alike: on its host long
// double is in use.
const char *uno_machine_meet(uint32_t kind, bool alike);

// Whether processes of this host use long double: settled from the first call on. uno_machine_is_alike only looks.
bool uno_machine_keep_alike(void);
bool uno_machine_is_alike(void);

// Finds the costs, once the parameters are loaded. A file that cannot be used is passed over: a rank of the host says
// so, as a node of mpiexec has no standard error.
void uno_machine_find(struct uno_machine *m);

// Reads one file. 0, or MPI_ERR_ARG with the reason in uno_fail_text(): it is not there or broken, of another processor
// or of another version. *m is then as before.
int uno_machine_read(const char *path, struct uno_machine *m) UNO_MUST_USE;
