// SPDX-License-Identifier: BSD-3-Clause
// The calls of forms.h, included twice there: SIZED(name) is the form whose counts are int, or that of MPI_Count.

static int SIZED(at_offset)(const struct form *f, const struct args *a, MPI_Status *s)
{
    if (f->how == NONBLOCKING && f->all)
        return f->write ? SIZED(MPI_File_iwrite_at_all)(a->fh, a->offset, a->buf, a->count, a->type, a->request)
                        : SIZED(MPI_File_iread_at_all)(a->fh, a->offset, a->buf, a->count, a->type, a->request);
    if (f->how == NONBLOCKING)
        return f->write ? SIZED(MPI_File_iwrite_at)(a->fh, a->offset, a->buf, a->count, a->type, a->request)
                        : SIZED(MPI_File_iread_at)(a->fh, a->offset, a->buf, a->count, a->type, a->request);
    if (f->how == SPLIT)
        return f->write ? SIZED(MPI_File_write_at_all_begin)(a->fh, a->offset, a->buf, a->count, a->type)
                        : SIZED(MPI_File_read_at_all_begin)(a->fh, a->offset, a->buf, a->count, a->type);
    if (f->all)
        return f->write ? SIZED(MPI_File_write_at_all)(a->fh, a->offset, a->buf, a->count, a->type, s)
                        : SIZED(MPI_File_read_at_all)(a->fh, a->offset, a->buf, a->count, a->type, s);
    return f->write ? SIZED(MPI_File_write_at)(a->fh, a->offset, a->buf, a->count, a->type, s)
                    : SIZED(MPI_File_read_at)(a->fh, a->offset, a->buf, a->count, a->type, s);
}

static int SIZED(at_own)(const struct form *f, const struct args *a, MPI_Status *s)
{
    if (f->how == NONBLOCKING && f->all)
        return f->write ? SIZED(MPI_File_iwrite_all)(a->fh, a->buf, a->count, a->type, a->request)
                        : SIZED(MPI_File_iread_all)(a->fh, a->buf, a->count, a->type, a->request);
    if (f->how == NONBLOCKING)
        return f->write ? SIZED(MPI_File_iwrite)(a->fh, a->buf, a->count, a->type, a->request)
                        : SIZED(MPI_File_iread)(a->fh, a->buf, a->count, a->type, a->request);
    if (f->how == SPLIT)
        return f->write ? SIZED(MPI_File_write_all_begin)(a->fh, a->buf, a->count, a->type)
                        : SIZED(MPI_File_read_all_begin)(a->fh, a->buf, a->count, a->type);
    if (f->all)
        return f->write ? SIZED(MPI_File_write_all)(a->fh, a->buf, a->count, a->type, s)
                        : SIZED(MPI_File_read_all)(a->fh, a->buf, a->count, a->type, s);
    return f->write ? SIZED(MPI_File_write)(a->fh, a->buf, a->count, a->type, s)
                    : SIZED(MPI_File_read)(a->fh, a->buf, a->count, a->type, s);
}

static int SIZED(at_shared)(const struct form *f, const struct args *a, MPI_Status *s)
{
    if (f->at == SHARED && f->how == NONBLOCKING)
        return f->write ? SIZED(MPI_File_iwrite_shared)(a->fh, a->buf, a->count, a->type, a->request)
                        : SIZED(MPI_File_iread_shared)(a->fh, a->buf, a->count, a->type, a->request);
    if (f->at == SHARED)
        return f->write ? SIZED(MPI_File_write_shared)(a->fh, a->buf, a->count, a->type, s)
                        : SIZED(MPI_File_read_shared)(a->fh, a->buf, a->count, a->type, s);
    if (f->how == SPLIT)
        return f->write ? SIZED(MPI_File_write_ordered_begin)(a->fh, a->buf, a->count, a->type)
                        : SIZED(MPI_File_read_ordered_begin)(a->fh, a->buf, a->count, a->type);
    return f->write ? SIZED(MPI_File_write_ordered)(a->fh, a->buf, a->count, a->type, s)
                    : SIZED(MPI_File_read_ordered)(a->fh, a->buf, a->count, a->type, s);
}

static int SIZED(begin_access)(const struct form *f, const struct args *a, MPI_Status *s)
{
    if (f->at == OFFSET) return SIZED(at_offset)(f, a, s);
    return f->at == OWN ? SIZED(at_own)(f, a, s) : SIZED(at_shared)(f, a, s);
}
