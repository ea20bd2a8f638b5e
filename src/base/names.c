// SPDX-License-Identifier: BSD-3-Clause
// Published names and their files (names.h). Called by mpiexec for its ranks, and by the library in a process without
// mpiexec.
// A file is called after a hash of the service and holds the service, the port and a newline at the end, without which
// it is not complete. The folder is $XDG_RUNTIME_DIR/unisono-names, else /tmp/unisono-names-UID; it must be the user's
// alone, since a port is a secret.
#define _GNU_SOURCE
#include "base/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1 << 20)    // bytes; a longer file is none of ours

struct uno_name {
    struct uno_name *next;
    uint64_t owner;
    pid_t pid;    // that published it: a process that this one forks has the table too, and no say in it
    int fd;       // of its locked file; -1: the folder cannot be used, so the name is known here alone
    char *service, *port;
};

static int check_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
    if (lstat(path, &st) != 0) return errno;
    if (!S_ISDIR(st.st_mode)) return ENOTDIR;
    return st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0 : EPERM;
}

static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;    // FNV-1a
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static int make_path(const char *service, char *path, size_t room)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char folder[PATH_MAX];
    int n = runtime && *runtime == '/' ? snprintf(folder, sizeof folder, "%s/unisono-names", runtime)
                                       : snprintf(folder, sizeof folder, "/tmp/unisono-names-%u", (unsigned)geteuid());
    if (n < 0 || (size_t)n >= sizeof folder) return ENAMETOOLONG;
    int err = check_folder(folder);
    if (err) return err;
    n = snprintf(path, room, "%s/%016llx", folder, (unsigned long long)hash(service));
    return n < 0 || (size_t)n >= room ? ENAMETOOLONG : 0;
}

static bool is_at(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The lock belongs to the open file, so it ends with the last process that holds that.
static int lock_file(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &l) == 0) return 0;
    return errno == EAGAIN || errno == EACCES ? EEXIST : errno;
}

static bool is_locked(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

// Opens and locks the file. One that its publisher removes between the two is not ours to use: begin again.
static int take_file(const char *path, int *out)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) return errno;
        int err = lock_file(fd);
        if (!err && is_at(fd, path)) {
            *out = fd;
            return 0;
        }
        close(fd);
        if (err) return err;
    }
}

static int write_file(int fd, const char *service, const char *port)
{
    size_t a = strlen(service) + 1, b = strlen(port) + 1, all = a + b + 1;
    char *text = malloc(all);
    if (!text) return ENOMEM;
    memcpy(text, service, a);
    memcpy(text + a, port, b);
    text[a + b] = '\n';
    int err = ftruncate(fd, 0) != 0 || pwrite(fd, text, all, 0) != (ssize_t)all ? errno : 0;
    free(text);
    return err;
}

static struct uno_name *find(const struct uno_names *t, const char *service)
{
    struct uno_name *n = t->first;
    while (n && strcmp(n->service, service) != 0) n = n->next;
    return n;
}

static void free_name(struct uno_name *n)
{
    free(n->service);
    free(n->port);
    free(n);
}

// A folder that cannot be used is said, and costs the other jobs alone the name.
static int publish_file(struct uno_name *n)
{
    char path[PATH_MAX];
    int err = make_path(n->service, path, sizeof path);
    if (!err) err = take_file(path, &n->fd);
    if (!err && (err = write_file(n->fd, n->service, n->port)) != 0) {
        unlink(path);
        close(n->fd);
        n->fd = -1;
    }
    if (!err || err == EEXIST) return err;
    uno_log(1, "other jobs will not find the name %s: %s", n->service, strerror(err));
    return 0;
}

int uno_names_publish(struct uno_names *t, const char *service, const char *port, uint64_t owner)
{
    if (find(t, service)) return EEXIST;
    struct uno_name *n = malloc(sizeof *n);
    if (!n) return ENOMEM;
    *n = (struct uno_name){.next = t->first, .owner = owner, .pid = getpid(), .fd = -1};
    n->service = strdup(service);
    n->port = strdup(port);
    int err = n->service && n->port ? publish_file(n) : ENOMEM;
    if (err)
        free_name(n);
    else
        t->first = n;
    return err;
}

// Removes the entry that *at points to. The file goes first, and is unlocked after that: whoever has opened it before
// sees that it is gone.
static void remove_name(struct uno_name **at)
{
    struct uno_name *n = *at;
    char path[PATH_MAX];
    *at = n->next;
    if (n->fd >= 0) {
        bool own = n->pid == getpid() && make_path(n->service, path, sizeof path) == 0;
        if (own && is_at(n->fd, path)) unlink(path);
        close(n->fd);
    }
    free_name(n);
}

int uno_names_unpublish(struct uno_names *t, const char *service)
{
    struct uno_name **at = &t->first;
    while (*at && strcmp((*at)->service, service) != 0) at = &(*at)->next;
    if (!*at) return ENOENT;
    remove_name(at);
    return 0;
}

void uno_names_drop(struct uno_names *t, uint64_t owner)
{
    for (struct uno_name **at = &t->first; *at;) {
        if ((*at)->owner == owner)
            remove_name(at);
        else
            at = &(*at)->next;
    }
}

void uno_names_close(struct uno_names *t)
{
    while (t->first) remove_name(&t->first);
}

static int copy_port(const char *from, char *port, size_t room)
{
    if (strlen(from) >= room) return EMSGSIZE;
    strcpy(port, from);
    return 0;
}

// What the file says, if it is whole and about that service.
static int read_port(int fd, const char *service, char *port, size_t room)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return errno;
    if (st.st_size < 3 || st.st_size > FILE_MAX) return ENOENT;
    size_t bytes = (size_t)st.st_size, name = strlen(service) + 1;
    char *text = malloc(bytes);
    if (!text) return ENOMEM;
    bool whole = pread(fd, text, bytes, 0) == (ssize_t)bytes && text[bytes - 1] == '\n' && text[bytes - 2] == '\0';
    bool same = whole && bytes > name + 1 && memcmp(text, service, name) == 0;
    int err = same ? copy_port(text + name, port, room) : ENOENT;
    free(text);
    return err;
}

int uno_names_look_up(const struct uno_names *t, const char *service, char *port, size_t room)
{
    char path[PATH_MAX];
    const struct uno_name *own = find(t, service);
    if (own) return copy_port(own->port, port, room);
    if (make_path(service, path, sizeof path) != 0) return ENOENT;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return ENOENT;
    int err = is_locked(fd) ? read_port(fd, service, port, room) : ENOENT;
    close(fd);
    return err;
}
