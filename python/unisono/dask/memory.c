// SPDX-License-Identifier: BSD-3-Clause
// Memory that large frames are received into. What a reader has let go of is kept for the next frame of about that
// size: fresh memory costs as much again as the copy into it, since the kernel clears every page. What is kept stays
// within a limit, and the kernel may take it back when memory is short.
// Guarded by the GIL.
#include "engine.h"

#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_MOST = 16, HUGE_PAGE = 2 << 20 };

struct block {
    void *at;
    size_t bytes;    // mapped
};

struct memory {
    PyObject_HEAD struct block block;
    Py_ssize_t bytes;    // asked for
};

static struct block kept[KEPT_MOST];    // the oldest first
static int kept_count;
static size_t kept_bytes;
size_t memory_limit;    // of what is kept
PyTypeObject *memory_type;

static void forget(int i)
{
    kept_bytes -= kept[i].bytes;
    kept_count--;
    for (; i < kept_count; i++) kept[i] = kept[i + 1];
}

// The smallest block that is large enough, and not much too large.
static bool take_kept(size_t bytes, struct block *b)
{
    int best = -1;
    for (int i = 0; i < kept_count; i++)
        if (kept[i].bytes >= bytes && kept[i].bytes - bytes <= bytes / 4 &&
            (best < 0 || kept[i].bytes < kept[best].bytes))
            best = i;
    if (best < 0) return false;
    *b = kept[best];
    forget(best);
    return true;
}

static void keep(struct block b)
{
    if (b.bytes > memory_limit) {
        munmap(b.at, b.bytes);
        return;
    }
    while (kept_count == KEPT_MOST || kept_bytes + b.bytes > memory_limit) {
        munmap(kept[0].at, kept[0].bytes);
        forget(0);
    }
    madvise(b.at, b.bytes, MADV_FREE);    // stays ours to use again, unless the kernel needs it more
    kept[kept_count++] = b;
    kept_bytes += b.bytes;
}

// Fresh memory, which begins with a huge page where it is as large as that.
static bool map_fresh(size_t bytes, struct block *b)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), more = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    bytes = (bytes + page - 1) & ~(page - 1);
    char *at = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    size_t before = more ? (size_t)(-(uintptr_t)at & (HUGE_PAGE - 1)) : 0;
    if (before) munmap(at, before);
    if (more > before) munmap(at + before + bytes, more - before);
    *b = (struct block){at + before, bytes};
    if (more) madvise(b->at, bytes, MADV_HUGEPAGE);
    return true;
}

PyObject *memory_make(Py_ssize_t bytes)
{
    if (bytes < KEEP) return PyObject_CallFunction(engine.memory, "n", bytes);
    struct memory *m = (struct memory *)memory_type->tp_alloc(memory_type, 0);
    if (!m) return NULL;
    m->bytes = bytes;
    if (!take_kept((size_t)bytes, &m->block) && !map_fresh((size_t)bytes, &m->block)) PyErr_NoMemory();
    PyObject *view = m->block.at ? PyMemoryView_FromObject((PyObject *)m) : NULL;
    Py_DECREF(m);
    return view;
}

static int memory_view(struct memory *m, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, (PyObject *)m, m->block.at, m->bytes, 0, flags);
}

static void memory_dealloc(struct memory *m)
{
    PyTypeObject *type = Py_TYPE(m);
    if (m->block.at) keep(m->block);
    type->tp_free(m);
    Py_DECREF(type);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "Memory of a frame that has arrived; a buffer."},
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_view},
    {0},
};
PyType_Spec memory_spec = {.name = "unisono.dask._mpi.Memory",
                           .basicsize = sizeof(struct memory),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = memory_slots};
