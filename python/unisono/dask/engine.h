// SPDX-License-Identifier: BSD-3-Clause
// What the files of unisono.dask's transport share. One engine per process, guarded by the GIL: it holds every MPI
// request that is under way in one array and learns through the doorbell which have ended.
//
// A link is a communicator with one other process (or with this one) and a receive that always stands, for a slot.
// A message is a slot, with small frames packed in it, and one MPI message per large frame, straight from and into the
// memory of the frame. An end is one side of a Comm of Dask's: many ends share a link.
#ifndef UNISONO_DASK_ENGINE_H
#define UNISONO_DASK_ENGINE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mpi.h>
#include <mpi_ext.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    SLOT = 4096,            // bytes of a slot: leaves at once on every channel, and holds nearly every control message
    SMALL = 8 << 10,        // frames up to this are packed, larger ones travel by themselves
    LARGE = 256 << 10,      // while something this large is under way, MPI is called without the GIL
    KEEP = 1 << 20,         // frames from here on are received into memory that is used again
    TAG_SLOT = 1,           // of slots
    TAG_FRAMES = 16,        // and above: one tag per message with large frames
    TAG_TURNS = 1 << 20,    // such messages before a tag is used again
};

enum kind { KIND_DATA = 1, KIND_CLOSE, KIND_OPEN, KIND_ACCEPT, KIND_REFUSE, KIND_LAST = KIND_REFUSE };

// Beginning of a slot. It is followed by the bytes of each frame that travels by itself, uint64_t [bodies], and, unless
// packed_apart is set, by the packed part: a uint64_t per frame, its bytes or APART, then the frames that are not
// APART.
struct head {
    uint64_t to, from;    // ends; `from` where an answer is expected
    uint64_t packed;      // bytes of the packed part
    uint32_t kind, frames, bodies, tag;
    uint32_t packed_apart;
    uint32_t marked;    // the last frame is no part of the message: it says which others came from a device
};
#define APART UINT64_MAX
#define ROOM (SLOT - sizeof(struct head))

struct link {
    PyObject_HEAD MPI_Comm comm;
    int peer;
    bool self, dead;
    uint32_t messages;    // with large frames, sent so far
    bool standing;        // the slot's receive
    PyObject *owner;      // what unisono.dask.hub knows of it
    unsigned char slot[SLOT];
};

// One side of a Comm. Its queue holds messages in order; the first may still be arriving.
struct end {
    PyObject_HEAD uint64_t id, peer;
    struct link *link;    // NULL once closed here
    bool peer_closed;
    size_t sending;    // requests under way
    struct message *first, **last;
    PyObject *reader;     // a future, ended when something can be taken or nothing more will come; or NULL
    PyObject *flusher;    // the same for when `sending` is 0
    PyObject *loop;       // of the futures
    unsigned long thread;
};

// Arriving. Owned by the queue of its end, or by its receives when the end has gone.
struct message {
    struct message *next;
    struct end *end;     // borrowed; NULL: nobody wants it
    PyObject *bodies;    // list of those frames that travel by themselves
    PyObject *frames;    // list of all, once the packed part is there; else NULL
    uint32_t missing;    // receives under way
    bool marked;
    bool broken;    // one of them failed
};

enum op_kind { OP_SLOT, OP_BODY, OP_PACKED, OP_SEND, OP_CALL };

// What a request is for. References are held, but for the message.
struct op {
    enum op_kind kind;
    struct link *link;
    struct end *end;            // OP_SEND
    struct message *message;    // OP_BODY, OP_PACKED
    uint32_t frames;            // OP_PACKED
    bool large, has_view;
    Py_buffer view;    // the frame's memory
    void *memory;      // or memory of the op's own
    size_t bytes;      // of memory
    PyObject *call;    // OP_CALL: goes into the news with the result
    MPI_Comm made;     // OP_CALL: the communicator that the operation makes
};

struct engine {
    MPI_Request *request;    // [room], the first `count` are under way
    struct op **op;
    int *ended;
    MPI_Status *status;
    int count, room;
    bool testing;    // a thread is inside MPI with the arrays: what others start waits in later
    MPI_Request *later;
    struct op **later_op;
    int laters, later_room;
    int larges;    // operations of LARGE bytes or more
    bool stepping, again;
    bool started, owns_mpi;
    int pid, bell, set;    // the doorbell's descriptor; an epoll set of the control sockets
    struct end **end;      // borrowed; by the low half of an id
    uint32_t *generation, ends;
    PyObject *news;      // list of what unisono.dask.hub has to look at
    PyObject *memory;    // function: bytes -> writable memoryview, for frames below KEEP
    PyObject *settle;    // function: ends a future unless it is done, on another thread's loop
    PyObject *closed;    // the exception CommClosedError
};
extern struct engine engine;
extern PyTypeObject *link_type, *end_type, *memory_type;

// Runs a call of MPI, without the GIL while large messages are under way.
#define CALL_MPI(call)                                                                                                 \
    do {                                                                                                               \
        PyThreadState *state_ = engine.larges ? PyEval_SaveThread() : NULL;                                            \
        call;                                                                                                          \
        if (state_) PyEval_RestoreThread(state_);                                                                      \
    } while (0)

int engine_ready(void);                                // 0, or -1 with an exception
PyObject *engine_raise(const char *what, int code);    // NULL with an exception
int engine_add(MPI_Request request, struct op *op);    // takes over the op; -1 with an exception
struct op *engine_op(enum op_kind kind, struct link *link);
void engine_op_free(struct op *op);
int engine_collect(void);    // ends what has ended; how many, -1 with an exception
enum { STEP_BUSY = 1, STEP_MORE = 2, STEP_NEWS = 4 };
PyObject *engine_step(PyObject *module, PyObject *forced);
PyObject *engine_news(PyObject *module, PyObject *none);
PyObject *engine_readable(PyObject *module, PyObject *none);

int link_stand(struct link *l);    // posts the receive of the slot
int link_send(struct link *l, struct end *e, struct head *h, PyObject *frames, uint64_t *bytes);
int link_tell(struct link *l, struct head *h, PyObject *text);    // a message of control; text may be NULL
void link_fail(struct link *l);                                   // every end of it hears that nothing more comes

int message_arrive(struct link *l,
                   size_t bytes);              // takes the slot apart; -1 with an exception: the link is of no use
void message_part(struct op *op, int code);    // a receive of the message has ended
void message_free(struct message *m);          // or, while receives are under way, leaves it to them

enum end_state { END_WAITS, END_READY, END_OVER };
enum end_state end_state(const struct end *e);
struct end *end_find(uint64_t id);
void end_tell(struct end *e);    // ends the reader's future when its time has come
void end_sent(struct end *e);    // a request of its own has ended

PyObject *plain(PyObject *module, PyObject *message);
extern size_t memory_limit;                 // bytes that are kept at most
PyObject *memory_make(Py_ssize_t bytes);    // a writable memoryview
extern PyType_Spec link_spec, end_spec, memory_spec;
#endif
