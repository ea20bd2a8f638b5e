// SPDX-License-Identifier: BSD-3-Clause
// The recording half of `mpiexec --profile`: finds this rank's place in the job segment and adds every call up there
// (prof.h), so that nothing is lost when the rank is killed. Called by the generated wrappers, from any thread;
// without mpiexec --profile it records nothing.
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/job.h"
#include "prof.h"

#define REQUESTS 4096    // started operations that are remembered, a power of two
#define COMMS 64

static struct uno_prof *prof;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t span = PTHREAD_MUTEX_INITIALIZER;    // guards inside, since, left and in_mpi
static uint64_t left;                                       // when the last call ended

// Operations that were started: a handle's slot, searched from its hash on.
static struct started {
    MPI_Request request;    // NULL: free
    struct uno_prof_site *site;
    double bytes;
    int peer;    // world rank, -1 none
    int persistent;
} started[REQUESTS];

// World ranks of communicators.
static struct known {
    MPI_Comm comm;
    int n, *world;
} known[COMMS];
static int next_known;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Relaxed: what is recorded orders nothing; it is read when the process is gone.
static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// Takes chunks of the job's heap and names them on this rank's board.
static void find_place(void)
{
    const char *job = getenv(UNO_JOB_ENV), *rank = getenv("UNISONO_RANK"), *size = getenv("UNISONO_SIZE");
    struct uno_job_head *head;
    int fd, local;
    if (!job || !rank || !size || uno_job_find(job, &fd, &local) != 0) return;
    int err = uno_job_map(fd, &head);
    if (err || local < 0 || (uint32_t)local >= head->nlocal) return;
    size_t chunks = (uno_prof_bytes(atoi(size)) + UNO_HEAP_CHUNK - 1) / UNO_HEAP_CHUNK;
    int64_t at = uno_job_take(head, chunks);
    if (at < 0) return;
    struct uno_board *b = uno_job_board(head, (uint32_t)local);
    struct uno_prof *p = uno_job_chunk(head, (size_t)at);
    p->rank = atoi(rank);
    p->nranks = atoi(size);
    // Release: pairs with the acquire in launch/node.c.
    atomic_store_explicit(&b->profile, (uint32_t)at + 1, memory_order_release);
    prof = p;
}

void prof_prepare(void)
{
    pthread_mutex_lock(&lock);
    if (!prof) find_place();
    pthread_mutex_unlock(&lock);
}

void prof_open(void)
{
    pthread_mutex_lock(&lock);
    if (prof && !get(&prof->begun)) put(&prof->begun, now());
    pthread_mutex_unlock(&lock);
}

// ---- time in MPI: that in which the rank is in one call or more, of any threads ----

struct prof_call prof_begin(int call, const void *place)
{
    struct prof_call c = {call, place, now(), PROF_NONE, MPI_PROC_NULL, MPI_COMM_NULL, false};
    if (!prof) return c;
    pthread_mutex_lock(&span);
    uint64_t least = get(&prof->begun);
    c.inside = least > 0;
    if (c.inside) {
        put(&prof->ended, 0);    // after a session another one goes on
        if (left > least) least = left;
        if (get(&prof->inside) == 0) put(&prof->since, c.start > least ? c.start : least);
        put(&prof->inside, get(&prof->inside) + 1);
    }
    pthread_mutex_unlock(&span);
    return c;
}

static void leave(struct prof_call *c, uint64_t end)
{
    if (!c->inside) return;
    pthread_mutex_lock(&span);
    put(&prof->inside, get(&prof->inside) - 1);
    uint64_t since = get(&prof->since);
    if (end > left) left = end;
    if (get(&prof->inside) == 0 && left > since) put(&prof->in_mpi, get(&prof->in_mpi) + left - since);
    pthread_mutex_unlock(&span);
    c->inside = false;
}

void prof_close(struct prof_call *c)
{
    leave(c, c->start);
    if (prof) put(&prof->ended, now());
}

// ---- sites ----

static uint32_t module_of(const char *path)
{
    uint32_t n = atomic_load_explicit(&prof->modules, memory_order_relaxed), i = 0;
    while (i < n && strcmp(prof->module[i], path) != 0) i++;
    if (i < n || n == UNO_PROF_MODULES) return i < n ? i : UNO_PROF_MODULES - 1;
    snprintf(prof->module[n], sizeof prof->module[n], "%s", path);
    atomic_store_explicit(&prof->modules, n + 1, memory_order_relaxed);
    return n;
}

static void describe(struct uno_prof_site *s, const void *place)
{
    Dl_info info;
    struct link_map *map = NULL;
    pthread_mutex_lock(&lock);
    if (dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        char self[sizeof prof->module[0]] = "";
        if (!*map->l_name && readlink("/proc/self/exe", self, sizeof self - 1) < 0) self[0] = '\0';
        s->module = module_of(*map->l_name ? map->l_name : self);
        s->offset = (uint64_t)(uintptr_t)place - map->l_addr;
        s->ready = 1;
    }
    pthread_mutex_unlock(&lock);
}

static struct uno_prof_site *find_site(int call, const void *place)
{
    uint64_t key = (uint64_t)call << 48 | ((uint64_t)(uintptr_t)place & 0xffffffffffffu);
    uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 40;
    for (int tries = 0; tries < UNO_PROF_SITES; tries++, at++) {
        struct uno_prof_site *s = &prof->site[at & (UNO_PROF_SITES - 1)];
        // Relaxed: a key never changes, and nothing else is read by it.
        uint64_t is = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (is == key) return s;
        if (is) continue;
        if (atomic_compare_exchange_strong_explicit(&s->key, &is, key, memory_order_relaxed, memory_order_relaxed)) {
            describe(s, place);
            return s;
        }
        if (is == key) return s;
    }
    add(&prof->lost, 1);
    return NULL;
}

static int class_of(double bytes)
{
    int c = 0;
    for (double most = 1; bytes >= most && c < UNO_PROF_CLASSES - 1; most *= 8) c++;
    return c;
}

static void add_bytes(struct uno_prof_site *s, double bytes)
{
    if (bytes < 0) return;
    add(&s->bytes, (uint64_t)bytes);
    add(&s->sized, 1);
    add(&s->size[class_of(bytes)], 1);
}

static void add_message(int world, double bytes)
{
    if (world < 0 || world >= prof->nranks || bytes < 0) return;
    add(&prof->peer[world].messages, 1);
    add(&prof->peer[world].bytes, (uint64_t)bytes);
}

// ---- world ranks of peers ----

// The world ranks that the ranks of a communicator (of its remote group) are. Under the lock.
static struct known *learn(MPI_Comm comm)
{
    struct known *k = &known[next_known++ % COMMS];
    MPI_Group world, group;
    int inter = 0, n = 0;
    free(k->world);
    *k = (struct known){.comm = comm};
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &n);
    int *from = malloc((size_t)n * sizeof *from);
    k->world = malloc((size_t)n * sizeof *k->world);
    for (int i = 0; from && i < n; i++) from[i] = i;
    if (from && k->world && PMPI_Group_translate_ranks(group, n, from, world, k->world) == MPI_SUCCESS) k->n = n;
    free(from);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return k;
}

static int world_of(MPI_Comm comm, int rank)
{
    int up = 0, found = -1;
    if (rank < 0) return -1;
    if (comm == MPI_COMM_WORLD) return rank;
    PMPI_Initialized(&up);    // a program of sessions alone has no world
    if (!up) return -1;
    pthread_mutex_lock(&lock);
    struct known *k = known;
    while (k < known + COMMS && (k->comm != comm || !k->world)) k++;
    if (k == known + COMMS) k = learn(comm);
    if (rank < k->n) found = k->world[rank];
    pthread_mutex_unlock(&lock);
    return found;
}

void prof_forget_comm(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < COMMS; i++)
        if (known[i].comm == comm) known[i].comm = MPI_COMM_NULL;
    pthread_mutex_unlock(&lock);
}

// ---- requests ----

static struct started *slot_of(MPI_Request request, int make)
{
    uint64_t at = ((uint64_t)(uintptr_t)request * 0x9e3779b97f4a7c15u) >> 40;
    struct started *empty = NULL;
    for (int tries = 0; tries < 16; tries++, at++) {
        struct started *s = &started[at & (REQUESTS - 1)];
        if (s->request == request) return s;
        if (!s->request && !empty) empty = s;
    }
    return make ? empty : NULL;
}

void prof_forget_request(MPI_Request request)
{
    if (!prof || request == MPI_REQUEST_NULL) return;
    pthread_mutex_lock(&lock);
    struct started *s = slot_of(request, 0);
    if (s) s->request = NULL;
    pthread_mutex_unlock(&lock);
}

static void remember(MPI_Request request, const struct started *what)
{
    if (request == MPI_REQUEST_NULL) return;
    pthread_mutex_lock(&lock);
    struct started *s = slot_of(request, 1);
    if (s) *s = *what, s->request = request;
    pthread_mutex_unlock(&lock);
}

void prof_end(struct prof_call *c, const MPI_Request *request, int persistent)
{
    uint64_t end = now();
    if (!prof) return;
    leave(c, end);
    struct uno_prof_site *s = find_site(c->call, c->place);
    if (!s) return;
    int world = c->peer == MPI_PROC_NULL ? -1 : world_of(c->comm, c->peer);
    add(&s->count, 1);
    add(&s->ns, end - c->start);
    if (!persistent) {
        add_bytes(s, c->bytes);
        if (c->peer != MPI_PROC_NULL) add_message(world, c->bytes);
    }
    if (request) remember(*request, &(struct started){NULL, s, c->bytes, world, persistent});
}

void prof_started(struct prof_call *c, int n, const MPI_Request *requests)
{
    uint64_t end = now();
    leave(c, end);
    struct uno_prof_site *s = prof ? find_site(c->call, c->place) : NULL;
    if (!s) return;
    add(&s->count, 1);
    add(&s->ns, end - c->start);
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        struct started *q = slot_of(requests[i], 0), was = q ? *q : (struct started){.bytes = PROF_NONE, .peer = -1};
        if (q) q->site = s;
        pthread_mutex_unlock(&lock);
        add_bytes(s, was.bytes);
        add_message(was.peer, was.bytes);
    }
}

int prof_keep(MPI_Request kept[PROF_WAITS], int n, const MPI_Request *requests)
{
    int k = 0;
    for (; prof && k < n && k < PROF_WAITS; k++) kept[k] = requests[k];
    return k;
}

// The time of a wait belongs in equal parts to the operations it waited for.
void prof_waited(struct prof_call *c, int n, const MPI_Request *kept, const MPI_Request *requests)
{
    uint64_t end = now(), took = end - c->start;
    leave(c, end);
    struct uno_prof_site *s = prof ? find_site(c->call, c->place) : NULL;
    if (!s) return;
    add(&s->count, 1);
    add(&s->ns, took);
    struct uno_prof_site *of[PROF_WAITS];
    uint64_t known_ones = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++) {
        struct started *q = kept[i] == MPI_REQUEST_NULL ? NULL : slot_of(kept[i], 0);
        if (q) of[known_ones++] = q->site;
        if (q && !q->persistent && requests[i] != kept[i]) q->request = NULL;
    }
    pthread_mutex_unlock(&lock);
    for (uint64_t i = 0; i < known_ones; i++) add(&of[i]->wait_ns, took / known_ones);
}

// ---- sizes ----

double prof_size(MPI_Count count, MPI_Datatype type)
{
    MPI_Count width = 0;
    if (!prof || PMPI_Type_size_c(type, &width) != MPI_SUCCESS) return PROF_NONE;
    return (double)count * (double)width;
}

static int parts_of(MPI_Comm comm)
{
    int inter = 0, n = 0;
    if (!prof) return 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}

double prof_sum(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
    MPI_Count all = 0;
    for (int i = 0, n = parts_of(comm); i < n; i++) all += counts[i];
    return prof_size(all, type);
}

double prof_sum_c(const MPI_Count counts[], MPI_Datatype type, MPI_Comm comm)
{
    MPI_Count all = 0;
    for (int i = 0, n = parts_of(comm); i < n; i++) all += counts[i];
    return prof_size(all, type);
}
