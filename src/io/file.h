// SPDX-License-Identifier: BSD-3-Clause
// Files: what the handle points to, and what entry points do with it. Arguments were checked; the lock is held. Results
// are 0 or an error class with the reason kept. "collective": all members call, and all get an error when one has it.
#pragma once
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/pool.h"
#include "core/comm.h"
#include "io/view.h"
#include "p2p/share.h"

#define UNO_FILE_MAGIC 0x5546494cu

struct MPI_ABI_File {
    struct uno_head head;
    struct MPI_ABI_Comm *comm;    // its own: members, messages, error handler; comm->owner leads back here
    int fd, amode;
    int direct;    // the same file past the system's cache, or -1
    bool atomic;
    bool written;      // since the last sync, by this process
    bool in_memory;    // the file system has no disk
    char *path;
    struct uno_view *view;
    uint64_t position;         // of the individual pointer: bytes of the view's stream
    struct uno_share share;    // the shared pointer, where all members are on one host
    _Atomic uint64_t *word;    // there, or on rank 0 `shared`
    _Atomic uint64_t shared;
    bool served;              // rank 0 has a thread that answers for the shared pointer
    bool asking, answered;    // rank 0 is being asked for the shared pointer
    uint64_t answer;
    int pending;               // nonblocking accesses and outcomes (outcome.h) under way
    pthread_mutex_t range;     // atomic mode: one thread of this process at a time
    MPI_Request split;         // the split collective under way, or MPI_REQUEST_NULL
    const char *split_call;    // what began it, as MPI_File_write_all
    struct MPI_ABI_Info *info;
    struct uno_file_wishes {     // what the hints come to
        bool sieve;              // reads take gaps along
        bool direct;             // what is aligned goes past the system's cache
        char together[2];        // reading, writing collectively: 'e'nabled, 'd'isabled, 'a'utomatic
        uint64_t buffer;         // cb_buffer_size
        unsigned permissions;    // of a file that is created, less the umask
    } wish;
    int *leader, leaders;         // who may move data for others (joint.h)
    struct uno_intent *intent;    // [members] what they are about to do
    struct uno_file_turn {
        uint64_t bytes, begin;
        int64_t err;
    } * turn;    // [members] of an ordered access
};

extern struct MPI_ABI_Errhandler *uno_file_errhandler;    // that of MPI_FILE_NULL

struct MPI_ABI_File *uno_file(MPI_File h);    // NULL when not an open file

int uno_file_open(struct MPI_ABI_Comm *c, const char *path, int amode, const struct MPI_ABI_Info *info,
                  struct MPI_ABI_File **file) UNO_MUST_USE;    // collective
int uno_file_close(struct MPI_ABI_File *f) UNO_MUST_USE;       // collective
int uno_file_delete(const char *path) UNO_MUST_USE;

int uno_file_get_size(const struct MPI_ABI_File *f, MPI_Offset *size) UNO_MUST_USE;
int uno_file_set_size(struct MPI_ABI_File *f, MPI_Offset size) UNO_MUST_USE;       // collective
int uno_file_preallocate(struct MPI_ABI_File *f, MPI_Offset size) UNO_MUST_USE;    // collective
int uno_file_sync(struct MPI_ABI_File *f) UNO_MUST_USE;                            // collective

// Before it is closed: the standard makes that equivalent to a sync and a close.
int uno_file_settle(struct MPI_ABI_File *f) UNO_MUST_USE;

// Collective: both pointers go to the view's begin. err: what the caller found wrong already.
int uno_file_set_view(struct MPI_ABI_File *f, int err, const struct uno_view_spec *spec) UNO_MUST_USE;

// An error, with the rank that has it, as one number; the largest is what the members agree on. 0: none.
int64_t uno_file_worst(const struct MPI_ABI_File *f, int err);
int uno_file_verdict(const struct MPI_ABI_File *f, int64_t worst) UNO_MUST_USE;    // its class, with the reason kept
// The same, with the reason in out[n]: for who is not asked, but hears of it while something else is under way.
int uno_file_verdict_text(const struct MPI_ABI_File *f, int64_t worst, char *out, size_t n) UNO_MUST_USE;

// All members' errors agreed on; a barrier too.
int uno_file_agree(struct MPI_ABI_File *f, int err) UNO_MUST_USE;

// All members gave the same value; MPI_ERR_NOT_SAME otherwise. err is agreed on as well.
int uno_file_same(struct MPI_ABI_File *f, int err, int64_t value, const char *name) UNO_MUST_USE;

// The same for the place of a seek.
int uno_file_same_place(struct MPI_ABI_File *f, int64_t offset, int whence) UNO_MUST_USE;

// hint.c: takes what it knows from info (NULL: nothing); all hints with the values in use, NULL when memory is out.
int uno_file_hints_take(struct MPI_ABI_File *f, const struct MPI_ABI_Info *info) UNO_MUST_USE;
void uno_file_hints_apply(struct MPI_ABI_File *f);    // once it is open: those that need it open
struct MPI_ABI_Info *uno_file_hints_all(const struct MPI_ABI_File *f);
int uno_file_aggregators(const struct MPI_ABI_File *f);    // members that move data for all: as many, or cb_nodes
