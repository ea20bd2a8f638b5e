// SPDX-License-Identifier: BSD-3-Clause
// Every form of reading and writing as data: where, how, by how many, with which counts.
#ifndef UNO_TESTS_IO_FORMS_H
#define UNO_TESTS_IO_FORMS_H

#include "file.h"

enum at { OFFSET, OWN, SHARED, ORDERED };
enum how { BLOCKING, NONBLOCKING, SPLIT };

struct form {
    enum at at;
    enum how how;
    int all, write, large;    // large: counts are MPI_Count
};

struct args {
    MPI_File fh;
    MPI_Offset offset;
    void *buf;
    int count;
    MPI_Datatype type;
    MPI_Request *request;
};

enum { FORMS = 14 };

static inline struct form form_of(int i, int write, int large)
{
    static const struct form forms[FORMS] = {
        {OFFSET, BLOCKING, 0, 0, 0},  {OFFSET, BLOCKING, 1, 0, 0},    {OFFSET, NONBLOCKING, 0, 0, 0},
        {OFFSET, SPLIT, 1, 0, 0},     {OFFSET, NONBLOCKING, 1, 0, 0}, {OWN, BLOCKING, 0, 0, 0},
        {OWN, BLOCKING, 1, 0, 0},     {OWN, NONBLOCKING, 0, 0, 0},    {OWN, NONBLOCKING, 1, 0, 0},
        {OWN, SPLIT, 1, 0, 0},        {SHARED, BLOCKING, 0, 0, 0},    {SHARED, NONBLOCKING, 0, 0, 0},
        {ORDERED, BLOCKING, 1, 0, 0}, {ORDERED, SPLIT, 1, 0, 0}};
    struct form f = forms[i];
    f.write = write;
    f.large = large;
    return f;
}

#define SIZED(name) name
#include "forms_sized.h"
#undef SIZED
#define SIZED(name) name##_c
#include "forms_sized.h"
#undef SIZED

// The call that begins it, or is all of it: then with a status.
static inline int access_begin(const struct form *f, const struct args *a, MPI_Status *s)
{
    return f->large ? begin_access_c(f, a, s) : begin_access(f, a, s);
}

// The end of one that began well.
static inline int access_end(const struct form *f, const struct args *a, MPI_Status *s)
{
    if (f->how == BLOCKING) return MPI_SUCCESS;
    if (f->how == NONBLOCKING) return MPI_Wait(a->request, s);
    if (f->at == OFFSET)
        return f->write ? MPI_File_write_at_all_end(a->fh, a->buf, s) : MPI_File_read_at_all_end(a->fh, a->buf, s);
    if (f->at == OWN)
        return f->write ? MPI_File_write_all_end(a->fh, a->buf, s) : MPI_File_read_all_end(a->fh, a->buf, s);
    return f->write ? MPI_File_write_ordered_end(a->fh, a->buf, s) : MPI_File_read_ordered_end(a->fh, a->buf, s);
}

#endif
