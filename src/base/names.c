// SPDX-License-Identifier: BSD-3-Clause
// Published names and their files (names.h). Called by mpiexec for its ranks, and by the library in a process without
// mpiexec.
// A file is called after a hash of the service and holds the service, the port and a newline at the end, without which
// it is not complete. The folder is that of the parameter name_folder, else $XDG_RUNTIME_DIR/unisono-names, else
// /tmp/unisono-names-UID; it must be the user's alone, since a port is a secret. Where another host writes, opening the
// folder before the file makes a network file system look again.
#define _GNU_SOURCE
#include "base/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/param.h"

#define FILE_MAX (1 << 20)    // bytes; a longer file is none of ours

struct uno_name {
    struct uno_name *next;
    uint64_t owner;
    pid_t pid;    // that published it: a process that this one forks has the table too, and no say in it
    int fd;       // of its locked file; -1: the folder cannot be used, so the name is known here alone
    char *service, *port;
};

static struct uno_param chosen =
    UNO_PARAM_TEXT("name_folder", "",
                   "folder that hosts share, for the names of MPI_Publish_name (~/... is of the home folder); \"\": "
                   "names are found on their own host alone");
UNO_PARAM_DECLARE(chosen);

static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;    // FNV-1a
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static bool is_chosen(void)
{
    return chosen.text[0] != '\0';
}

static int folder_path(char *path, size_t room)
{
    const char *home = getenv("HOME"), *runtime = getenv("XDG_RUNTIME_DIR");
    int n;
    if (is_chosen() && strncmp(chosen.text, "~/", 2) == 0)
        n = snprintf(path, room, "%s%s", home ? home : "", chosen.text + 1);
    else if (is_chosen())
        n = snprintf(path, room, "%s", chosen.text);
    else if (runtime && *runtime == '/')
        n = snprintf(path, room, "%s/unisono-names", runtime);
    else
        n = snprintf(path, room, "/tmp/unisono-names-%u", (unsigned)geteuid());
    if (n < 0 || (size_t)n >= room) return uno_fail(MPI_ERR_OTHER, "the path of the folder of names is too long");
    if (path[0] == '/') return MPI_SUCCESS;
    return uno_fail(MPI_ERR_OTHER, "parameter name_folder is \"%.200s\": a path that begins with / or ~/ is expected",
                    chosen.text);
}

static int check_folder(int fd, const char *path)
{
    const char *what = is_chosen() ? "name_folder" : "the folder of names";
    struct stat st;
    if (fstat(fd, &st) != 0) return uno_fail_errno(MPI_ERR_OTHER, "look at %s %.200s", what, path);
    if (st.st_uid != geteuid())
        return uno_fail(MPI_ERR_OTHER, "%s %.200s belongs to user %u, not to this one (%u)", what, path,
                        (unsigned)st.st_uid, (unsigned)geteuid());
    if ((st.st_mode & 077) == 0) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_OTHER,
                    "%s %.200s is open to others (mode %03o; 700 is expected): who reads a port may connect", what,
                    path, (unsigned)st.st_mode & 0777);
}

// The folder, made if it is not there. Only one that was chosen may lie behind a symbolic link: /tmp is everybody's.
static int open_folder(int *out)
{
    char path[PATH_MAX];
    int err = folder_path(path, sizeof path);
    if (err) return err;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return uno_fail_errno(MPI_ERR_OTHER, "make the folder %.200s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_chosen() ? 0 : O_NOFOLLOW));
    if (fd < 0) return uno_fail_errno(MPI_ERR_OTHER, "open the folder %.200s", path);
    err = check_folder(fd, path);
    if (err)
        close(fd);
    else
        *out = fd;
    return err;
}

static void file_name(const char *service, char name[17])
{
    snprintf(name, 17, "%016llx", (unsigned long long)hash(service));
}

static bool is_at(int fd, int folder, const char *name)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int no_locks(void)
{
    return uno_fail_errno(MPI_ERR_OTHER, "the file system of the folder of names has no locks (parameter name_folder)");
}

// The lock belongs to the open file, so it ends with the last process that holds that.
static int lock_file(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &l) == 0) return MPI_SUCCESS;
    return errno == EAGAIN || errno == EACCES ? uno_fail(MPI_ERR_SERVICE, "it is published already") : no_locks();
}

static int look_at_lock(int fd, bool *locked)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &l) != 0) return no_locks();
    *locked = l.l_type != F_UNLCK;
    return MPI_SUCCESS;
}

// Opens and locks the file. One that its publisher removes between the two is not ours to use: begin again.
static int take_file(int folder, const char *name, int *out)
{
    for (;;) {
        int fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) return uno_fail_errno(MPI_ERR_OTHER, "make a file for it");
        int err = lock_file(fd);
        if (!err && is_at(fd, folder, name)) {
            *out = fd;
            return MPI_SUCCESS;
        }
        close(fd);
        if (err) return err;
    }
}

// Other hosts see what has reached the server.
static int write_file(int fd, const char *service, const char *port)
{
    size_t a = strlen(service) + 1, b = strlen(port) + 1, all = a + b + 1;
    char *text = malloc(all);
    if (!text) return uno_fail(MPI_ERR_NO_MEM, "no memory for a name");
    memcpy(text, service, a);
    memcpy(text + a, port, b);
    text[a + b] = '\n';
    bool well = ftruncate(fd, 0) == 0 && pwrite(fd, text, all, 0) == (ssize_t)all && (!is_chosen() || fsync(fd) == 0);
    free(text);
    return well ? MPI_SUCCESS : uno_fail_errno(MPI_ERR_OTHER, "write the file of the name");
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

static int make_file(struct uno_name *n)
{
    char name[17];
    int folder, err = open_folder(&folder);
    if (err) return err;
    file_name(n->service, name);
    err = take_file(folder, name, &n->fd);
    if (!err && (err = write_file(n->fd, n->service, n->port)) != MPI_SUCCESS) {
        unlinkat(folder, name, 0);
        close(n->fd);
        n->fd = -1;
    }
    close(folder);
    return err;
}

// A folder that nobody has asked for and that cannot be used costs the other jobs alone the name.
static int publish_file(struct uno_name *n)
{
    int err = make_file(n);
    if (!err || err == MPI_ERR_SERVICE || is_chosen()) return err;
    uno_log(1, "other jobs will not find the name %s: %s", n->service, uno_fail_text());
    return MPI_SUCCESS;
}

int uno_names_publish(struct uno_names *t, const char *service, const char *port, uint64_t owner)
{
    if (find(t, service)) return uno_fail(MPI_ERR_SERVICE, "it is published already");
    struct uno_name *n = malloc(sizeof *n);
    if (!n) return uno_fail(MPI_ERR_NO_MEM, "no memory for a name");
    *n = (struct uno_name){.next = t->first, .owner = owner, .pid = getpid(), .fd = -1};
    n->service = strdup(service);
    n->port = strdup(port);
    int err = n->service && n->port ? publish_file(n) : uno_fail(MPI_ERR_NO_MEM, "no memory for a name");
    if (err)
        free_name(n);
    else
        t->first = n;
    return err;
}

// The file goes first, and is unlocked after that: whoever has opened it before sees that it is gone.
static void remove_file(const struct uno_name *n)
{
    char name[17];
    int folder;
    if (n->pid == getpid() && open_folder(&folder) == MPI_SUCCESS) {
        file_name(n->service, name);
        if (is_at(n->fd, folder, name)) unlinkat(folder, name, 0);
        close(folder);
    }
    close(n->fd);
}

// Removes the entry that *at points to.
static void remove_name(struct uno_name **at)
{
    struct uno_name *n = *at;
    *at = n->next;
    if (n->fd >= 0) remove_file(n);
    free_name(n);
}

int uno_names_unpublish(struct uno_names *t, const char *service)
{
    struct uno_name **at = &t->first;
    while (*at && strcmp((*at)->service, service) != 0) at = &(*at)->next;
    if (!*at) return uno_fail(MPI_ERR_SERVICE, "no process of this job has published it");
    remove_name(at);
    return MPI_SUCCESS;
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

static int nobody(void)
{
    return uno_fail(MPI_ERR_NAME, "nobody has published it");
}

static int copy_port(const char *from, char *port, size_t room)
{
    if (strlen(from) >= room) return uno_fail(MPI_ERR_NAME, "its port has more than %zu characters", room - 1);
    strcpy(port, from);
    return MPI_SUCCESS;
}

// What the file says, if it is whole and about that service.
static int read_port(int fd, const char *service, char *port, size_t room)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size < 3 || st.st_size > FILE_MAX) return nobody();
    size_t bytes = (size_t)st.st_size, name = strlen(service) + 1;
    char *text = malloc(bytes);
    if (!text) return uno_fail(MPI_ERR_NO_MEM, "no memory for a name");
    bool whole = pread(fd, text, bytes, 0) == (ssize_t)bytes && text[bytes - 1] == '\n' && text[bytes - 2] == '\0';
    bool same = whole && bytes > name + 1 && memcmp(text, service, name) == 0;
    int err = same ? copy_port(text + name, port, room) : nobody();
    free(text);
    return err;
}

int uno_names_look_up(const struct uno_names *t, const char *service, char *port, size_t room)
{
    char name[17];
    bool locked = false;
    int folder;
    const struct uno_name *own = find(t, service);
    if (own) return copy_port(own->port, port, room);
    if (open_folder(&folder)) return is_chosen() ? MPI_ERR_NAME : nobody();
    file_name(service, name);
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    close(folder);
    if (fd < 0) return nobody();
    int err = look_at_lock(fd, &locked) ? MPI_ERR_NAME : locked ? read_port(fd, service, port, room) : nobody();
    close(fd);
    return err;
}
