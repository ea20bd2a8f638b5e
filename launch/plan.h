// SPDX-License-Identifier: BSD-3-Clause
// The plan: what one mpiexec starts, where and how. options.c fills in what the user said, uno_plan_place() decides
// which rank runs where; after that it is read-only. Nodes on this host inherit it by fork, daemons read it from their
// link.
#pragma once
#include "util.h"

// layout.c lists their names in this order.
enum uno_unit {
    UNO_BY_AUTO,
    UNO_BY_NONE,
    UNO_BY_HWTHREAD,
    UNO_BY_CORE,
    UNO_BY_L3,
    UNO_BY_NUMA,
    UNO_BY_SOCKET,
    UNO_BY_NODE,
    UNO_BY_SLOT
};
enum { UNO_STDIN_NONE = -1, UNO_STDIN_ALL = -2 };
enum { UNO_TAG_RANK = 1, UNO_TAG_TIME = 2 };

struct uno_app {    // one of the `:`-separated programs
    int nranks;     // 0 until placed: as many as there are slots
    struct uno_words argv;
    struct uno_words env;    // NAME=VALUE for this program only
    struct uno_words on;     // hosts of this program; empty: all
    char *wdir;              // NULL: where mpiexec was started
    char *soft;              // numbers of ranks that will do, as info key soft has them; NULL: nranks alone
    char *path;              // folders, separated by colons, that are searched for it before those of PATH; NULL none
};

struct uno_host {
    char *name;
    int slots, max_slots;    // max_slots 0: no limit
    int taken;               // ranks of other jobs that run there
    bool local;
    const char *unknown;    // why the name does not resolve here; NULL: it does, or nobody asked
};

struct uno_plan {
    struct uno_app *app;
    int napps;
    struct uno_host *host;
    int nhosts;
    int nranks, per_host;         // per_host 0: no limit
    int *rank_app, *rank_host;    // nranks entries each
    struct uno_words env;         // the whole environment of the ranks but for their own variables
    char *cwd;
    char *agent;    // command that runs another on a host: "ssh"
    enum uno_unit bind, map, rank_by;
    int bind_count;        // units that a rank is bound to; 0: one
    int pes;               // cores (or hardware threads) of each rank; 0: not said
    int ranks_per_unit;    // of the unit `map`, filled one after the other; 0: ranks take units in turn
    char *cpu_set;         // "0-3,6": the processors that may be used; NULL all
    bool ordered;          // rank by rank one processor of cpu_set, in its order
    bool hwthreads;        // a hardware thread counts as a core does
    bool report_bindings, verbose, dry_run, keep_waiting, no_oversubscribe, survive;
    bool united;                                                        // uno_names_unite() has seen the hosts
    bool no_local, display_map, exit_codes, quiet, merge, keep_copy;    // of the front alone, like what follows
    char *gdb;                // ranks that run under gdb, as a list; "": all of this host; NULL: none
    char *profile, *stats;    // NULL: none; "": a table on standard error; else the file (front alone)
    char *out_pattern, *err_pattern, *out_dir;    // files for the ranks' output (outfile.h); keep_copy: and as usual
    char *tag_pattern;                            // begins every line; NULL none
    char *wdir;                                   // of programs without one of their own
    int universe;    // processes that there is room for: the slots, or the ranks if they are more; 0 until placed
    struct uno_words ignored;                                               // options that have no meaning here
    enum uno_pass { UNO_PASS_ALL, UNO_PASS_NONE, UNO_PASS_LISTED } pass;    // which variables of mpiexec's own
    struct uno_words passed;                                                // UNO_PASS_LISTED: their names
    int stdin_rank, tags, timeout_s, grace_ms;
    char *checkpoint_to, *restart;    // folders, absolute; NULL none. Front alone, like the next two
    int every_s;                      // between checkpoints; 0: when asked only
    char *unfit;                      // the first option that has no meaning with `restart`; NULL none
    int number;                       // of the job: 0, or, of one that a rank has spawned, 1 and up
    uint64_t job_id;
    unsigned char secret[32];
};

struct uno_host *uno_plan_host(struct uno_plan *p, const char *name, size_t len,
                               int slots);    // finds or adds; adds slots
void uno_plan_hosts(struct uno_plan *p, struct uno_words *on,
                    const char *list);    // "a,b:4": adds them; names go to `on`
void uno_plan_hostfile(struct uno_plan *p, const char *path);
void uno_plan_place(struct uno_plan *p);
int uno_plan_room(const struct uno_plan *p, const struct uno_app *a);    // slots that nobody has taken
int uno_plan_local(const struct uno_plan *p, int rank);                  // index among the ranks of its host
int uno_plan_count(const struct uno_plan *p, int host);                  // ranks on that host
const char *uno_plan_name(const struct uno_plan *p, int rank);           // its host's name for messages

void uno_plan_pack(const struct uno_plan *p, struct uno_bytes *b);
bool uno_plan_unpack(struct uno_plan *p, const char *data, size_t len);    // false: malformed
// The same of what the front alone knows, for a job that goes on from a checkpoint.
void uno_plan_pack_front(const struct uno_plan *p, struct uno_bytes *b);
bool uno_plan_unpack_front(struct uno_plan *p, const char *data, size_t len);
void uno_plan_free(struct uno_plan *p);    // what unpacking has made
