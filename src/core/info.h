// SPDX-License-Identifier: BSD-3-Clause
// Info objects: ordered (key, value) pairs. They may be used before MPI_Init and by several threads, each its own
// object.
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/pool.h"

#define UNO_INFO_MAGIC 0x55494e46u

struct uno_info_pair {
    struct uno_info_pair *next;
    char *value;
    char key[];
};

struct MPI_ABI_Info {
    struct uno_head head;
    struct uno_info_pair *first;
    int nkeys;
    bool readonly;    // MPI_INFO_ENV
};

struct MPI_ABI_Info *uno_info(MPI_Info h);    // NULL when not a live handle (MPI_INFO_NULL too)
struct MPI_ABI_Info *uno_info_new(void);      // NULL when memory is out
struct MPI_ABI_Info *uno_info_copy(const struct MPI_ABI_Info *from);
void uno_info_drop(struct MPI_ABI_Info *i);
const char *uno_info_find(const struct MPI_ABI_Info *i, const char *key);    // NULL when there is no such key
int uno_info_set(struct MPI_ABI_Info *i, const char *key, const char *value) UNO_MUST_USE;
bool uno_info_remove(struct MPI_ABI_Info *i, const char *key);    // false when there is no such key
size_t uno_infos_live(void);

// The content of MPI_INFO_ENV, and of MPI_Info_create_env: command, argv, maxprocs, soft, host, arch, wdir,
// thread_level; once the library runs also mpix_job, which processes of one MPI_COMM_WORLD, and no others, have in
// common.
int uno_info_fill_env(struct MPI_ABI_Info *i, int argc, char **argv) UNO_MUST_USE;
