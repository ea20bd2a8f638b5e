// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints as folders (image.h).
#include "image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

#ifndef UNO_VERSION
#define UNO_VERSION "0.1.0"
#endif
#define MAGIC "unisono checkpoint " UNO_VERSION "\n"
#define KIND "unisono checkpoint "
#define PARTS 4
#define MOST (1u << 30)    // a longer file `job` is none
#define SUMS "sums"        // the file that has a line "CRC BYTES NAME" for each other, and one that ends it
#define SUMS_END "end\n"
#define PIECE (1 << 18)

static void parts_of(struct uno_image *m, struct uno_bytes **part)
{
    part[0] = &m->plan;
    part[1] = &m->front;
    part[2] = &m->frames;
    part[3] = &m->written;
}

// FNV-1a.
static uint64_t sum_of(const char *data, size_t len)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) sum = (sum ^ (unsigned char)data[i]) * 1099511628211u;
    return sum;
}

char *uno_image_path(const char *dir, int number, const char *more)
{
    return uno_xformat("%s/%d%s", dir, number, more);
}

char *uno_image_write(const struct uno_image *m, const char *folder)
{
    struct uno_image copy = *m;
    struct uno_bytes b = {0}, *part[PARTS];
    parts_of(&copy, part);
    uno_bytes_add(&b, MAGIC, sizeof MAGIC - 1);
    uno_bytes_add(&b, &m->job_id, sizeof m->job_id);
    uno_bytes_add(&b, &m->link, sizeof m->link);
    uno_bytes_add(&b, &m->node, sizeof m->node);
    uno_bytes_add(&b, &m->input, sizeof m->input);
    uno_bytes_add(&b, &m->made, sizeof m->made);
    for (int i = 0; i < PARTS; i++) {
        uint64_t len = part[i]->len;
        uno_bytes_add(&b, &len, sizeof len);
        if (len > 0) uno_bytes_add(&b, uno_bytes_first(part[i]), len);
    }
    uint64_t sum = sum_of(uno_bytes_first(&b), b.len);
    uno_bytes_add(&b, &sum, sizeof sum);
    char *path = uno_xformat("%s/job", folder), *why = NULL;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    errno = ENOSPC;    // where less is written than was asked for
    bool good = fd >= 0 && write(fd, uno_bytes_first(&b), b.len) == (ssize_t)b.len;
    if (!good) why = uno_xformat("cannot write %s: %s", path, uno_reason(errno));
    if (fd >= 0) close(fd);
    uno_bytes_free(&b);
    free(path);
    return why;
}

static char *read_whole(const char *path, struct uno_bytes *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    if (fd < 0) return uno_xformat("%s", errno == ENOENT ? "it holds no file `job`" : uno_reason(errno));
    do {
        n = read(fd, uno_bytes_reserve(b, 1 << 16), 1 << 16);
        if (n > 0) b->len += (size_t)n;
    } while (n > 0 && b->len < MOST);
    int err = errno;
    close(fd);
    return n == 0 ? NULL : uno_xformat("%s", n < 0 ? uno_reason(err) : "its file `job` is too long");
}

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static void take(struct reader *r, void *to, size_t n)
{
    r->bad |= r->left < n;
    if (r->bad) return;
    memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
}

static void take_part(struct reader *r, struct uno_bytes *to)
{
    uint64_t len = 0;
    take(r, &len, sizeof len);
    r->bad |= len > r->left;
    if (r->bad) return;
    uno_bytes_add(to, r->at, len);
    r->at += len;
    r->left -= len;
}

// Says what is wrong with the bytes, NULL nothing; the version stands in front so that it can be told.
static char *check_bytes(const char *data, size_t len)
{
    uint64_t sum;
    if (len < sizeof KIND || memcmp(data, KIND, sizeof KIND - 1) != 0) return uno_xstrdup("it is no checkpoint");
    if (len < sizeof MAGIC || memcmp(data, MAGIC, sizeof MAGIC - 1) != 0)
        return uno_xformat("it was made by version %.*s, and this is version " UNO_VERSION
                           ": use the mpiexec that made it",
                           (int)strcspn(data + sizeof KIND - 1, "\n") & 31, data + sizeof KIND - 1);
    if (len < sizeof MAGIC + sizeof sum) return uno_xstrdup("its file `job` is damaged");
    memcpy(&sum, data + len - sizeof sum, sizeof sum);
    return sum == sum_of(data, len - sizeof sum) ? NULL : uno_xstrdup("its file `job` is damaged");
}

char *uno_image_read(struct uno_image *m, const char *folder)
{
    struct uno_bytes b = {0}, *part[PARTS];
    char *path = uno_xformat("%s/job", folder), *why = read_whole(path, &b);
    *m = (struct uno_image){0};
    if (why == NULL) {
        uno_bytes_reserve(&b, 1)[0] = '\0';
        why = check_bytes(uno_bytes_first(&b), b.len);
    }
    if (why == NULL) {
        struct reader r = {.at = uno_bytes_first(&b) + sizeof MAGIC - 1,
                           .left = b.len - (sizeof MAGIC - 1) - sizeof(uint64_t)};
        take(&r, &m->job_id, sizeof m->job_id);
        take(&r, &m->link, sizeof m->link);
        take(&r, &m->node, sizeof m->node);
        take(&r, &m->input, sizeof m->input);
        take(&r, &m->made, sizeof m->made);
        parts_of(m, part);
        for (int i = 0; i < PARTS; i++) take_part(&r, part[i]);
        if (r.bad) why = uno_xstrdup("its file `job` is damaged");
    }
    uno_bytes_free(&b);
    free(path);
    return why;
}

void uno_image_free(struct uno_image *m)
{
    struct uno_bytes *part[PARTS];
    parts_of(m, part);
    for (int i = 0; i < PARTS; i++) uno_bytes_free(part[i]);
}

// The number that a name is, 0 none.
static int number_of(const char *name, const char *more)
{
    char *end;
    if (name[0] < '1' || name[0] > '9') return 0;
    errno = 0;
    long n = strtol(name, &end, 10);
    return strcmp(end, more) == 0 && errno == 0 && n <= INT_MAX ? (int)n : 0;
}

// 0 or an errno value.
static int sum_file(int at, const char *name, uint32_t *crc, uint64_t *bytes)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    char *piece = uno_xalloc(PIECE);
    ssize_t n;
    *crc = 0;
    *bytes = 0;
    while ((n = read(fd, piece, PIECE)) > 0) {
        *crc = uno_crc32c(*crc, piece, (size_t)n);
        *bytes += (uint64_t)n;
    }
    int err = n < 0 ? errno : 0;
    free(piece);
    close(fd);
    return err;
}

static int add_sums(DIR *d, FILE *f)
{
    int err = 0;
    for (const struct dirent *e; !err && (e = readdir(d)) != NULL;) {
        uint32_t crc = 0;
        uint64_t bytes = 0;
        if (e->d_name[0] == '.' || strcmp(e->d_name, SUMS) == 0) continue;
        err = sum_file(dirfd(d), e->d_name, &crc, &bytes);
        fprintf(f, "%08x %llu %s\n", crc, (unsigned long long)bytes, e->d_name);
    }
    fputs(SUMS_END, f);
    return err ? err : ferror(f) ? EIO : 0;
}

// 0 or an errno value.
static int write_sums(const char *folder)
{
    char *path = uno_xformat("%s/" SUMS, folder);
    FILE *f = fopen(path, "we");
    DIR *d = f ? opendir(folder) : NULL;
    int err = d ? add_sums(d, f) : errno;
    if (d) closedir(d);
    if (f && fclose(f) != 0 && !err) err = errno;
    free(path);
    return err;
}

// Says what is wrong with the file that a line is of, NULL nothing.
static char *check_file(int at, const char *line)
{
    unsigned crc;
    unsigned long long bytes;
    char name[NAME_MAX + 1];
    uint32_t has_crc;
    uint64_t has;
    if (sscanf(line, "%x %llu %255s", &crc, &bytes, name) != 3) return uno_xstrdup("its file `" SUMS "` is damaged");
    int err = sum_file(at, name, &has_crc, &has);
    if (err) return uno_xformat("its file `%s` cannot be read (%s)", name, uno_reason(err));
    return has == bytes && has_crc == crc ? NULL : uno_xformat("its file `%s` is damaged", name);
}

char *uno_image_check(const char *folder)
{
    char *path = uno_xformat("%s/" SUMS, folder), *line = NULL, *why = NULL;
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FILE *f = at >= 0 ? fopen(path, "re") : NULL;
    size_t cap = 0;
    bool over = false;
    if (f == NULL) why = uno_xformat("its file `" SUMS "` cannot be read (%s)", uno_reason(errno));
    while (why == NULL && !over && getline(&line, &cap, f) >= 0) {
        over = strcmp(line, SUMS_END) == 0;
        if (!over) why = check_file(at, line);
    }
    if (why == NULL && !over) why = uno_xstrdup("its file `" SUMS "` is damaged");
    free(line);
    free(path);
    if (f) fclose(f);
    if (at >= 0) close(at);
    return why;
}

int uno_image_newest(const char *dir, int below)
{
    int newest = 0;
    DIR *d = opendir(dir);
    if (d == NULL) return -1;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        int n = number_of(e->d_name, "");
        if (n > newest && n < below) newest = n;
    }
    closedir(d);
    return newest;
}

void uno_image_remove(const char *folder)
{
    DIR *d = opendir(folder);
    if (d == NULL) return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(folder);
}

void uno_image_sweep(const char *dir)
{
    DIR *d = opendir(dir);
    if (d == NULL) return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        int n = number_of(e->d_name, ".part");
        if (n == 0) continue;
        char *path = uno_image_path(dir, n, ".part"), *job = uno_xformat("%s/job", path);
        // What is not of a checkpoint stays.
        if (access(job, F_OK) == 0)
            uno_image_remove(path);
        else
            rmdir(path);
        free(job);
        free(path);
    }
    closedir(d);
}

static int sync_file(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC), err = fd < 0 ? errno : 0;
    // A file system that cannot do it (EINVAL) keeps nothing to wait for.
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL) err = errno;
    if (fd >= 0) close(fd);
    return err;
}

static int sync_folder(const char *folder)
{
    int err = 0;
    DIR *d = opendir(folder);
    if (d == NULL) return errno;
    for (const struct dirent *e; err == 0 && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, "..") != 0) err = sync_file(dirfd(d), e->d_name);
    closedir(d);
    return err;
}

// Older ones than `number` of the job that it is of, but for the `keep` - 1 newest.
static void drop_older(const char *dir, int number, int keep)
{
    struct uno_image mine, other;
    char *path = uno_image_path(dir, number, ""), *why = uno_image_read(&mine, path);
    int kept = 1;
    for (int n = number; why == NULL && (n = uno_image_newest(dir, n)) > 0;) {
        char *at = uno_image_path(dir, n, ""), *bad = uno_image_read(&other, at);
        if (bad == NULL && other.job_id == mine.job_id && ++kept > keep) uno_image_remove(at);
        uno_image_free(&other);
        free(bad);
        free(at);
    }
    uno_image_free(&mine);
    free(why);
    free(path);
}

int uno_image_settle(const char *dir, int number, int keep)
{
    char *part = uno_image_path(dir, number, ".part"), *whole = uno_image_path(dir, number, "");
    int err = write_sums(part);
    if (err == 0) err = sync_folder(part);
    if (err == 0 && rename(part, whole) != 0) err = errno;
    if (err == 0) err = sync_file(AT_FDCWD, dir);
    if (err == 0) drop_older(dir, number, keep);
    free(part);
    free(whole);
    return err;
}

int64_t uno_image_bytes(const char *folder)
{
    int64_t bytes = 0;
    DIR *d = opendir(folder);
    if (d == NULL) return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (int64_t)st.st_blocks * 512;
    }
    closedir(d);
    return bytes;
}
