// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses (collect.h). Called by src/api/file_move.c and file_split.c.
//
// The members tell each other where they begin and end and how short their runs are; from that all decide alike. Then
// each offers to each aggregator whose part of the file it meets a list of pieces, and the next one as soon as the last
// one was moved. An aggregator that has a list of everybody who has more merges them (merge.h). On its host it reads
// and writes the members' memory itself; elsewhere, or where that is not allowed, the data comes with the list.
//
// Always holds: of a member and an aggregator either one owes the other a note, so each has one on its way at most;
// nobody waits for a certain rank, so nobody waits in a circle.
#include "io/collect.h"

#include <stdlib.h>
#include <string.h>

#include "chan/peer_memory.h"
#include "io/async.h"
#include "io/file.h"
#include "io/merge.h"
#include "io/joint.h"
#include "p2p/p2p.h"

enum { OFFER, NEXT };
enum { MORE = 1, PACKED = 2, OVER = 4, AGAIN = 8 };

struct note {
    uint32_t what, flags;    // of an offer MORE, PACKED; of an answer OVER, AGAIN: the same list as a message
    uint64_t list, n, bytes;
    int64_t eof;
};

// A note on its way and what follows it; both stay until they have left.
struct post {
    struct note note;
    MPI_Request request[3];
};

// Of a member: an aggregator whose part of the file it meets.
struct side {
    int rank;
    bool open;
    struct uno_offer offer;
    struct post post;
};

// Of an aggregator: a member, beside its struct uno_source.
struct guest {
    struct uno_piece *piece;
    char *data;      // of a message
    size_t bytes;    // there; 0: its memory is reached
    struct post post;
};

struct collect {
    struct MPI_ABI_File *file;
    struct uno_access *a;
    int tag, data_tag, me;
    struct side *side;
    int sides, open;           // aggregators, and those that have not said that all is over
    struct uno_merge merge;    // as an aggregator; sources: the members that meet its part, with their ranks
    struct guest *guest;       // of each source
    int guests;                // that may still send lists
    int64_t eof;
    int err;    // what this member found wrong; the protocol goes on
};

// ---- notes ----

static struct uno_where at_rank(const struct collect *c, int rank, int tag)
{
    return (struct uno_where){.comm = c->file->comm, .rank = rank, .tag = tag, .coll = true};
}

static int send_to(const struct collect *c, int rank, const void *data, size_t n, MPI_Request *r)
{
    struct uno_where to = at_rank(c, rank, c->data_tag);
    return uno_isend(data, (MPI_Count)n, uno_type(MPI_BYTE), &to, UNO_STANDARD, r);
}

static int send_note(const struct collect *c, int rank, struct post *p)
{
    struct uno_where to = at_rank(c, rank, c->tag);
    return uno_isend(&p->note, sizeof p->note, uno_type(MPI_BYTE), &to, UNO_STANDARD, &p->request[0]);
}

static int receive_from(const struct collect *c, int rank, void *data, size_t n)
{
    struct uno_where from = at_rank(c, rank, c->data_tag);
    return uno_recv(data, (MPI_Count)n, uno_type(MPI_BYTE), &from, MPI_STATUS_IGNORE);
}

// What was posted has left, since it was answered or is waited for.
static int end_post(struct post *p)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < 3; i++) {
        int failed = p->request[i] == MPI_REQUEST_NULL ? MPI_SUCCESS : uno_wait(&p->request[i], MPI_STATUS_IGNORE);
        if (!err) err = failed;
    }
    return err;
}

static void note_eof(struct collect *c, int64_t eof)
{
    if (eof < c->eof) c->eof = eof;
}

// ---- as a member ----

static struct uno_source *find_source(struct collect *c, int rank)
{
    for (size_t k = 0; k < c->merge.sources; k++)
        if (c->merge.source[k].rank == rank) return &c->merge.source[k];
    return NULL;
}

static void take_own(struct collect *c, const struct uno_offer *o)
{
    struct uno_source *s = find_source(c, c->me);
    s->piece = o->piece;
    s->n = o->n;
    s->i = s->skip = 0;
    s->more = o->pos < o->end;
    s->stays = o->in_pack == 0;
    s->here = true;
}

static int offer_list(struct collect *c, struct side *s)
{
    struct uno_offer *o = &s->offer;
    int err = uno_offer_fill(o);
    if (err) {    // the aggregator is told that there is no more
        c->err = err;
        o->n = o->bytes = 0;
        o->pos = o->end;
    }
    if (s->rank == c->me) {
        take_own(c, o);
        return MPI_SUCCESS;
    }
    uint32_t flags = (o->pos < o->end ? MORE : 0) | (o->packed ? PACKED : 0);
    s->post.note = (struct note){OFFER, flags, (uint64_t)(uintptr_t)o->piece, o->n, o->bytes, 0};
    err = send_note(c, s->rank, &s->post);
    if (!err && o->packed) err = send_to(c, s->rank, o->piece, o->n * sizeof *o->piece, &s->post.request[1]);
    if (!err && o->packed && c->a->write) err = send_to(c, s->rank, o->pack, o->bytes, &s->post.request[2]);
    return err;
}

// An answer: the list was moved.
static int take_answer(struct collect *c, struct side *s, const struct note *n)
{
    struct uno_offer *o = &s->offer;
    int err = end_post(&s->post);
    if (err) return err;
    if (n->flags & AGAIN) {
        o->packed = true;
        o->pos = o->from;
        return offer_list(c, s);
    }
    if (o->packed && !c->a->write) err = receive_from(c, s->rank, o->pack, o->bytes);
    if (err) return err;
    note_eof(c, n->eof);
    uno_offer_take(o, n->eof);
    if (!(n->flags & OVER)) return offer_list(c, s);
    s->open = false;
    c->open--;
    return MPI_SUCCESS;
}

// ---- as an aggregator ----

static struct guest *guest_of(struct collect *c, const struct uno_source *s)
{
    return &c->guest[s - c->merge.source];
}

static int answer(struct collect *c, struct uno_source *s, uint32_t flags)
{
    struct guest *g = guest_of(c, s);
    g->post.note = (struct note){.what = NEXT, .flags = flags, .eof = c->merge.eof};
    int err = send_note(c, s->rank, &g->post);
    if (!err && g->bytes && !c->a->write) err = send_to(c, s->rank, g->data, g->bytes, &g->post.request[1]);
    return err;
}

// A list that came as a message: its pieces lie one behind the other in the data.
static int receive_list(struct collect *c, struct uno_source *s, const struct note *n)
{
    struct guest *g = guest_of(c, s);
    int err = receive_from(c, s->rank, g->piece, n->n * sizeof *g->piece);
    free(g->data);
    g->data = calloc(1, n->bytes + 1);
    if (!err && !g->data) err = uno_fail(MPI_ERR_NO_MEM, "no memory for %llu bytes", (unsigned long long)n->bytes);
    if (!err && c->a->write) err = receive_from(c, s->rank, g->data, n->bytes);
    uint64_t at = 0;
    for (size_t i = 0; !err && i < n->n; i++) {
        g->piece[i].mem = (uint64_t)(uintptr_t)g->data + at;
        if (g->piece[i].bytes > n->bytes - at) return uno_fail(MPI_ERR_INTERN, "a list of pieces makes no sense");
        at += g->piece[i].bytes;
    }
    g->bytes = n->bytes;
    s->pid = 0;
    return err;
}

static int take_offer(struct collect *c, struct uno_source *s, const struct note *n)
{
    struct guest *g = guest_of(c, s);
    if (n->n > UNO_OFFER_PIECES) return uno_fail(MPI_ERR_INTERN, "a list of %llu pieces", (unsigned long long)n->n);
    int err = end_post(&g->post);
    if (!err && !g->piece) g->piece = malloc(UNO_OFFER_PIECES * sizeof *g->piece);
    if (!err && !g->piece) err = uno_fail(MPI_ERR_NO_MEM, "no memory for a list of pieces");
    if (err) return err;
    g->bytes = 0;
    if (n->flags & PACKED) {
        err = receive_list(c, s, n);
        if (err) return err;
    } else if (n->n > 0) {
        // Where it may not be read, it comes once more as a message.
        bool read = s->pid && uno_peer_memory_move(s->pid, g->piece, n->list, n->n * sizeof *g->piece, true) == 0;
        if (!read) return answer(c, s, AGAIN);
    }
    s->piece = g->piece;
    s->n = n->n;
    s->i = s->skip = 0;
    s->more = n->flags & MORE;
    s->here = true;
    return MPI_SUCCESS;
}

static bool all_are_here(const struct collect *c)
{
    for (size_t k = 0; k < c->merge.sources; k++) {
        const struct uno_source *s = &c->merge.source[k];
        if (s->more && !s->here) return false;
    }
    return c->guests > 0;
}

// The lists that were moved whole are answered.
static int answer_moved(struct collect *c)
{
    int err = MPI_SUCCESS;
    for (size_t k = 0; k < c->merge.sources && !err; k++) {
        struct uno_source *s = &c->merge.source[k];
        if (!uno_source_is_moved(s)) continue;
        s->here = false;
        s->n = 0;
        if (!s->more) c->guests--;
        struct note own = {.what = NEXT, .flags = s->more ? 0 : OVER, .eof = c->merge.eof};
        if (s->rank != c->me) {
            err = answer(c, s, own.flags);
            continue;
        }
        for (int i = 0; i < c->sides && !err; i++)
            if (c->side[i].rank == c->me) err = take_answer(c, &c->side[i], &own);
    }
    return err;
}

// ---- the whole ----

static int take_note(struct collect *c)
{
    struct note n;
    MPI_Status status;
    struct uno_where from = at_rank(c, MPI_ANY_SOURCE, c->tag);
    int err = uno_recv(&n, sizeof n, uno_type(MPI_BYTE), &from, &status);
    if (err) return err;
    if (n.what == NEXT) {
        for (int i = 0; i < c->sides; i++)
            if (c->side[i].open && c->side[i].rank == status.MPI_SOURCE) return take_answer(c, &c->side[i], &n);
    } else {
        struct uno_source *s = find_source(c, status.MPI_SOURCE);
        if (s && s->more && !s->here) return take_offer(c, s, &n);
    }
    return uno_fail(MPI_ERR_INTERN, "rank %d sent a note that makes no sense", status.MPI_SOURCE);
}

static int talk(struct collect *c)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < c->sides && !err; i++)
        if (c->side[i].open) err = offer_list(c, &c->side[i]);
    while (!err && (c->open > 0 || c->guests > 0)) {
        if (!all_are_here(c)) {
            err = take_note(c);
            continue;
        }
        uno_merge_lists(&c->merge);
        err = answer_moved(c);
    }
    for (size_t k = 0; k < c->merge.sources && !err; k++) err = end_post(&c->guest[k].post);
    return err;
}

// The first list of a side begins where its part does.
static void open_side(struct collect *c, struct side *s, const struct uno_joint *p, int number)
{
    const struct uno_access *a = c->a;
    int64_t first, end;
    uno_joint_part(p, number, &first, &end);
    s->rank = p->aggregator[number];
    for (int i = 0; i < 3; i++) s->post.request[i] = MPI_REQUEST_NULL;
    s->open = uno_joint_meets(p, c->me, number);
    if (!s->open) return;
    c->open++;
    uint64_t last = a->pos + a->bytes, from = uno_view_find(a->view, a->pos, last, first);
    uint64_t to = uno_view_find(a->view, from, last, end);
    struct uno_offer *o = &s->offer;
    *o = (struct uno_offer){.a = a, .pos = from - a->pos, .end = to - a->pos};
    o->quota = p->quota < to - from ? p->quota : (size_t)(to - from);
    o->packed = s->rank != c->me && !uno_peer_memory_pid_of(uno_comm_proc(c->file->comm, s->rank));
}

static int open_guests(struct collect *c, const struct uno_joint *p, int number)
{
    int size = c->file->comm->size;
    struct uno_merge *m = &c->merge;
    m->source = calloc((size_t)size, sizeof *m->source);
    c->guest = calloc((size_t)size, sizeof *c->guest);
    if (!m->source || !c->guest) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d members of a file", size);
    for (int r = 0; r < size; r++) {
        if (!uno_joint_meets(p, r, number)) continue;
        struct uno_source *s = &m->source[m->sources];
        struct guest *g = &c->guest[m->sources++];
        *s = (struct uno_source){.rank = r, .more = true};
        if (r != c->me) s->pid = uno_peer_memory_pid_of(uno_comm_proc(c->file->comm, r));
        for (int i = 0; i < 3; i++) g->post.request[i] = MPI_REQUEST_NULL;
        c->guests++;
    }
    m->file = c->file;
    m->write = c->a->write;
    m->sieve = c->a->sieve;
    return uno_merge_begin(m);
}

static int open_all(struct collect *c, const struct uno_joint *p)
{
    c->side = calloc((size_t)p->aggregators, sizeof *c->side);
    int err = c->side ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a collective access");
    for (int k = 0; k < p->aggregators && !err; k++, c->sides++) {
        open_side(c, &c->side[k], p, k);
        if (p->aggregator[k] == c->me) err = open_guests(c, p, k);
    }
    return uno_file_agree(c->file, err);
}

static void close_all(struct collect *c)
{
    for (int k = 0; k < c->sides; k++) uno_offer_free(&c->side[k].offer);
    for (size_t k = 0; k < c->merge.sources; k++) {
        free(c->guest[k].piece);
        free(c->guest[k].data);
    }
    free(c->side);
    free(c->guest);
    free(c->merge.source);
}

// Through aggregators.
static int move_together(struct uno_access *a, const struct uno_joint *p)
{
    struct collect c = {.file = a->file, .a = a, .me = a->file->comm->rank, .eof = INT64_MAX};
    c.tag = uno_coll_tag(a->file->comm);
    c.data_tag = uno_coll_tag(a->file->comm);
    int err = open_all(&c, p), lost = MPI_SUCCESS;
    if (!err) lost = talk(&c);
    if (c.merge.block) err = uno_merge_end(&c.merge);
    if (!err) err = lost ? lost : c.err;
    // After an error of the protocol what is still on its way keeps its memory.
    if (!lost) close_all(&c);
    if (err) return err;
    a->done = a->bytes;
    if (!a->write && c.eof < INT64_MAX) a->done = uno_view_find(a->view, a->pos, a->pos + a->bytes, c.eof) - a->pos;
    a->moved = (MPI_Count)a->done;
    return MPI_SUCCESS;
}

int uno_collect_run(struct MPI_ABI_File *f, struct uno_access *a, int err)
{
    if (f->comm->size == 1) return err ? err : uno_access_alone(a);
    struct uno_joint joint = {0};
    err = uno_joint_make(&joint, f, a, err);
    if (err) return err;
    return uno_file_agree(f, joint.together ? move_together(a, &joint) : uno_access_alone(a));
}

static int start_split(struct MPI_ABI_File *f, struct uno_access *a, const struct uno_joint *j, MPI_Request *request)
{
    if (j->together) {
        int err = uno_file_agree(f, move_together(a, j));
        if (!err) err = uno_async_ended(a, request);
        if (err) uno_access_end(a);
        return err;
    }
    int refused = uno_async_start(a, request);
    if (refused) uno_access_end(a);
    int err = uno_file_agree(f, refused);
    // What was begun here ends, however it does: the call failed.
    if (err && !refused && uno_wait(request, MPI_STATUS_IGNORE)) uno_log(2, "a split access failed too");
    return err;
}

int uno_collect_begin(struct MPI_ABI_File *f, struct uno_access *a, int err, MPI_Request *request)
{
    struct uno_joint joint = {0};
    err = uno_joint_make(&joint, f, a, err);
    if (!err) return start_split(f, a, &joint, request);
    if (a) uno_access_end(a);
    return err;
}
