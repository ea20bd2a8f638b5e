// SPDX-License-Identifier: BSD-3-Clause
// A job's profile, added up by profile.c and printed by report.c; no other file looks inside.
#pragma once
#include "profile.h"
#include "prof.h"

struct uno_profile_site {
    int call;
    char *module;
    struct uno_place place;
    uint64_t count, ns, wait_ns, bytes, sized, size[UNO_PROF_CLASSES];
    uint64_t *rank_ns;    // [nranks]
};

struct uno_profile_rank {
    bool there;
    uint64_t app_ns, mpi_ns;       // from MPI_Init to MPI_Finalize, and in MPI meanwhile, in whatever thread
    struct uno_prof_peer *peer;    // [nranks], NULL: not there
};

struct uno_profile {
    int nranks, number;    // number: of the job
    char *path;
    struct uno_profile_site *site;
    size_t nsites;
    struct uno_profile_rank *rank;
    uint64_t lost;
};

// profile.c: adds what s counts to sum.
void uno_profile_add(const struct uno_profile *f, struct uno_profile_site *sum, const struct uno_profile_site *s);

// report.c
void uno_report_table(const struct uno_profile *f, struct uno_bytes *out);
void uno_report_json(const struct uno_profile *f, struct uno_bytes *out);
