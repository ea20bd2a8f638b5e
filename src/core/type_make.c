// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes. (Being written: for now the release of what a type was made of.)
#include "core/type_made.h"

#include <stdlib.h>

#include "core/type.h"

void uno_type_unmake(struct MPI_ABI_Datatype *t)
{
    free(t->made);
    t->made = NULL;
}
