// SPDX-License-Identifier: BSD-3-Clause
// What a rank under `mpiexec --profile` leaves in the job segment, in chunks of its heap that its board names: written
// by the preloaded library (record.c) while the program runs, read by the node (launch/node.c) when the rank has ended,
// in whatever way, and added up by the front (launch/profile.c).
//
// Always holds: counters only grow, by relaxed atomic additions; a site is there once its key is not 0.
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#define UNO_PROF_SITES 2048    // a power of two; further sites are counted in `lost`
#define UNO_PROF_MODULES 64
#define UNO_PROF_CLASSES 10    // of message sizes: 0, below 8, 64, 512, 4 Ki, 32 Ki, 256 Ki, 2 Mi, 16 Mi bytes, above

struct uno_prof_site {
    _Atomic uint64_t key;        // call << 48 | return address; 0: free
    uint32_t module, ready;      // index; 1 once module and offset are there
    uint64_t offset;             // of the return address in the module's file, as addr2line wants it
    _Atomic uint64_t count;      // calls
    _Atomic uint64_t ns;         // spent in them
    _Atomic uint64_t wait_ns;    // spent in Wait and Test for what these calls started
    _Atomic uint64_t bytes;      // they were asked to move
    _Atomic uint64_t sized;      // calls that had a size
    _Atomic uint64_t size[UNO_PROF_CLASSES];
};

struct uno_prof_peer {
    _Atomic uint64_t messages, bytes;
};

struct uno_prof {
    int32_t rank, nranks;
    _Atomic uint64_t begun, ended;     // monotonic ns: after MPI_Init, before MPI_Finalize; 0 not yet
    _Atomic uint64_t in_mpi;           // ns between them in which it was in one call or more
    _Atomic uint64_t inside, since;    // calls that it is in now, and when the first of them began
    _Atomic uint64_t lost;
    _Atomic uint32_t modules;
    char module[UNO_PROF_MODULES][240];
    struct uno_prof_site site[UNO_PROF_SITES];
    struct uno_prof_peer peer[];    // [nranks] sent to each world rank
};

static inline uint64_t uno_prof_bytes(int nranks)
{
    return sizeof(struct uno_prof) + (uint64_t)nranks * sizeof(struct uno_prof_peer);
}

// Names of the calls by number: generated with the wrappers.
extern const char *const uno_prof_call[];
extern const int uno_prof_calls;
