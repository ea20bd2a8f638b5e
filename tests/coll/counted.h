// SPDX-License-Identifier: BSD-3-Clause
// What the library has counted, by a performance variable of MPI_T.
#ifndef UNO_TESTS_COUNTED_H
#define UNO_TESTS_COUNTED_H

#include "../check.h"

// The counter `name`, the same one in each call, since the first of them.
static inline unsigned long long counted(const char *name)
{
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle handle;
    static int ready;
    unsigned long long value;
    int level, index, count;
    if (!ready) {
        CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
        ready = 1;
    }
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}
#endif
