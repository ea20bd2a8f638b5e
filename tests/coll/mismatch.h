// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the checking mode share: an error of a class whose text names both ranks' calls.
#ifndef UNO_TESTS_COLL_MISMATCH_H
#define UNO_TESTS_COLL_MISMATCH_H

#include <string.h>

#include "coll.h"

static void expect(int err, int wanted, const char *first, const char *second)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, len;
    MPI_Error_class(err, &class);
    CHECK(class == wanted);
    CHECK(MPI_Error_string(err, text, &len) == MPI_SUCCESS);
    CHECK(strstr(text, first) && strstr(text, second));
}

#endif
