// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 args=spawn,24
// run: np=1,2 args=connect,60
// Spawn and disconnect, connect and disconnect, again and again: from half-time on nothing grows, neither in this
// process nor in what started it (files, mappings, memory, processes), nor in /dev/shm. tools/judges runs 1,000 turns
// of each.
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "../resident.h"

struct state {
    int files, mappings, launcher_files, shm, siblings;
    long kib, launcher_kib;
};

static int rank, size;

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static int lines(const char *path)
{
    int n = 0, c;
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while ((c = getc(f)) != EOF) n += c == '\n';
    fclose(f);
    return n;
}

static long number(const char *path, const char *key)
{
    char line[256];
    long value = -1;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key), NULL, 10);
    if (f) fclose(f);
    return value;
}

// Processes with the same parent.
static int count_siblings(void)
{
    char path[300];
    int n = 0;
    struct dirent *e;
    DIR *d = opendir("/proc");
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        n += e->d_name[0] >= '0' && e->d_name[0] <= '9' && number(path, "PPid:") == (long)getppid();
    }
    if (d) closedir(d);
    return n;
}

// Once the processes that were spawned have ended: mpiexec reaps them when it likes.
static struct state look(int siblings)
{
    char path[64];
    struct state s;
    do s.siblings = count_siblings();
    while (s.siblings > siblings && sched_yield() == 0);
    s.files = entries("/proc/self/fd");
    s.mappings = lines("/proc/self/maps");
    s.kib = resident_kib((int)getpid(), "Anonymous:");
    snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
    s.launcher_files = entries(path);
    s.launcher_kib = resident_kib((int)getppid(), "Anonymous:");
    s.shm = entries("/dev/shm");
    return s;
}

static void spawn_once(char *self)
{
    char *words[] = {"child", NULL};
    MPI_Comm child;
    int in = 0;
    CHECK(MPI_Comm_spawn(self, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    if (rank == 0) MPI_Recv(&in, 1, MPI_INT, 0, 1, child, MPI_STATUS_IGNORE);
    CHECK(rank > 0 || in == 42);
    MPI_Comm_disconnect(&child);
}

static void connect_once(const char *port)
{
    MPI_Comm c;
    int in = 0;
    CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    MPI_Bcast(&in, 1, MPI_INT, 0, c);
    CHECK(in == 42);
    MPI_Comm_disconnect(&c);
}

// The other job, which does not know this one any more when it begins to connect.
static void be_partner(MPI_Comm parent, int turns)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm c;
    int out = 42;
    MPI_Recv(port, sizeof port, MPI_CHAR, 0, 2, parent, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&parent);
    for (int i = 0; i < turns; i++) {
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c) == MPI_SUCCESS);
        MPI_Bcast(&out, 1, MPI_INT, MPI_ROOT, c);
        MPI_Comm_disconnect(&c);
    }
}

static void start_partner(char *self, char *turns, char *port)
{
    char *words[] = {"partner", turns, NULL};
    MPI_Comm child;
    CHECK(MPI_Comm_spawn(self, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 2, child);
    }
    MPI_Comm_disconnect(&child);
}

static void compare(const struct state *half, const struct state *end, int turns)
{
    long more = 256 + turns / 2;    // KiB: caches that fill, and half of one per turn
    printf("rank %d: files %d %d, mappings %d %d, KiB %ld %ld; launcher: files %d %d, KiB %ld %ld; /dev/shm %d %d\n",
           rank, half->files, end->files, half->mappings, end->mappings, half->kib, end->kib, half->launcher_files,
           end->launcher_files, half->launcher_kib, end->launcher_kib, half->shm, end->shm);
    CHECK(end->files <= half->files + 2 && end->mappings <= half->mappings + 8);
    CHECK(end->launcher_files <= half->launcher_files + 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)    // they keep what was freed
    CHECK(end->kib <= half->kib + more && end->launcher_kib <= half->launcher_kib + more);
#else
    (void)more;
#endif
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int out = 42;
    MPI_Comm parent;
    CHECK(argc > 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (strcmp(argv[1], "child") == 0) {
        MPI_Send(&out, 1, MPI_INT, 0, 1, parent);
        MPI_Comm_disconnect(&parent);
    } else if (strcmp(argv[1], "partner") == 0) {
        be_partner(parent, atoi(argv[2]));
    } else {
        bool spawns = strcmp(argv[1], "spawn") == 0;
        MPI_Barrier(MPI_COMM_WORLD);    // all ranks are there to be counted
        int turns = atoi(argv[2]), before = count_siblings() + !spawns;
        struct state half = {0}, end;
        if (!spawns) start_partner(argv[0], argv[2], port);
        for (int i = 0; i < turns; i++) {
            if (i == turns / 2) half = look(before);
            if (spawns)
                spawn_once(argv[0]);
            else
                connect_once(port);
        }
        end = look(before);
        compare(&half, &end, turns);
        if (!spawns && rank == 0) MPI_Close_port(port);
    }
    MPI_Finalize();
    return 0;
}
