// SPDX-License-Identifier: BSD-3-Clause
// Checks and the common end of the datatype constructors. Called by the entry points in type_*.c.
// Always holds: *newtype is written on success only.
#include "api/type_args.h"

int uno_check_any_type(MPI_Datatype t)
{
    int err = uno_check_running();
    if (err) return err;
    if (t == MPI_DATATYPE_NULL) return uno_fail(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
    if (uno_type_is_live(t)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "datatype %p is not a datatype (was it freed?)", (void *)t);
}

int uno_check_numbers(struct uno_numbers a, MPI_Count n, const char *name, bool negative)
{
    if (n < 0) return uno_fail(MPI_ERR_COUNT, "count %lld is negative", (long long)n);
    if (n > 0 && !a.p) return uno_fail(MPI_ERR_ARG, "%s is NULL (%lld numbers expected)", name, (long long)n);
    for (MPI_Count i = 0; !negative && i < n; i++) {
        if (uno_number(a, i) < 0)
            return uno_fail(MPI_ERR_ARG, "%s[%lld] is %lld (0 or more allowed)", name, (long long)i,
                            (long long)uno_number(a, i));
    }
    return MPI_SUCCESS;
}

int uno_type_deliver(const char *call, int err, uno_datatype *t, const struct uno_contents *c, MPI_Datatype *newtype)
{
    if (!err && (err = uno_type_record(t, c))) uno_type_drop(t);
    if (err) return uno_raise_self(call, err);
    *newtype = t->handle;
    uno_leave();
    return MPI_SUCCESS;
}
