// SPDX-License-Identifier: BSD-3-Clause
// Categories: what a variable or event is about, told by how its name begins; the first one holds the others. The
// table also says where parameters of a kind must be the same (their scope) and whom they concern.
#include <string.h>

#include "tool/tool.h"

static const struct uno_category table[] = {
    {"unisono", "all that the library tells and lets be set", NULL, 0, 0},
    {"launching", "how mpiexec starts, watches and ends ranks",
     "bind_to|map_by|launch_|end_|rank_variables|unfinalized|deadlock|allocation|host_silence|checkpoint_",
     MPI_T_SCOPE_READONLY, MPI_T_VERBOSITY_USER_DETAIL},
    {"checking", "what is compared before it runs", "check", MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_USER_BASIC},
    {"self", "messages of a process to itself", "self_", MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_TUNER_DETAIL},
    {"shm", "messages between processes of one host", "shm_", MPI_T_SCOPE_ALL, MPI_T_VERBOSITY_TUNER_BASIC},
    {"tcp", "messages over a network", "tcp_|link_", MPI_T_SCOPE_ALL, MPI_T_VERBOSITY_TUNER_BASIC},
    {"ofi", "messages by libfabric", "ofi_", MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_TUNER_DETAIL},
    {"channels", "which ways messages and copies may take", "chan|share_|huge_|direct_", MPI_T_SCOPE_ALL_EQ,
     MPI_T_VERBOSITY_TUNER_DETAIL},
    {"matching", "messages and receives that wait for each other", "unexpected_|posted_|hold_", MPI_T_SCOPE_LOCAL,
     MPI_T_VERBOSITY_TUNER_BASIC},
    {"waiting", "how waits pass their time", "wait_|lock_|progress_", MPI_T_SCOPE_LOCAL, MPI_T_VERBOSITY_TUNER_BASIC},
    {"collectives", "algorithms and schedules of collectives", "coll_", MPI_T_SCOPE_ALL_EQ,
     MPI_T_VERBOSITY_TUNER_BASIC},
    {"one-sided", "windows", "rma_|window_", MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_TUNER_DETAIL},
    {"files", "access to files", "file_", MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_TUNER_DETAIL},
    {"processes", "processes that fail, come or go", "process_|agreement_|mpiexec|port_|connect_|name_folder",
     MPI_T_SCOPE_ALL_EQ, MPI_T_VERBOSITY_USER_BASIC},
    {"library", "everything else", "", MPI_T_SCOPE_LOCAL, MPI_T_VERBOSITY_USER_BASIC},
};

#define COUNT ((int)(sizeof table / sizeof *table))

int uno_categories_count(void)
{
    return COUNT;
}

const struct uno_category *uno_category_at(int index)
{
    return &table[index];
}

static bool begins(const char *name, const char *prefixes)
{
    size_t n;
    const char *at;
    for (int i = 0; prefixes && (at = uno_word_of(prefixes, i, &n)) != NULL; i++)
        if (strncmp(name, at, n) == 0) return true;
    return false;
}

const struct uno_category *uno_category_of(const char *name)
{
    int i = 1;
    while (i < COUNT - 1 && !begins(name, table[i].prefixes)) i++;
    return &table[i];
}

static int add_index(int index, int n, int len, int *indices)
{
    if (n < len) indices[n] = index;
    return n + 1;
}

int uno_category_cvars(const struct uno_category *c, int len, int *indices)
{
    int n = 0;
    for (int i = 0; i < uno_cvars_count(); i++)
        if (uno_category_of(uno_cvar_at(i)->name) == c) n = add_index(i, n, len, indices);
    return n;
}

int uno_category_pvars(const struct uno_category *c, int len, int *indices)
{
    int n = 0;
    for (int i = 0; i < uno_pvars_count(); i++)
        if (uno_category_of(uno_pvar_at(i)->name) == c) n = add_index(i, n, len, indices);
    return n;
}

int uno_category_events(const struct uno_category *c, int len, int *indices)
{
    int n = 0;
    for (int i = 0; i < uno_events_count(); i++)
        if (uno_category_of(uno_event_at(i)->name) == c) n = add_index(i, n, len, indices);
    return n;
}

int uno_category_kids(const struct uno_category *c, int len, int *indices)
{
    int n = 0;
    for (int i = 1; c == table && i < COUNT; i++) n = add_index(i, n, len, indices);
    return n;
}
