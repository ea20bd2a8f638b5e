// SPDX-License-Identifier: BSD-3-Clause
// What test programs of files share: a folder of their own, and the bytes of a file as the system sees them.
#ifndef UNO_TESTS_IO_FILE_H
#define UNO_TESTS_IO_FILE_H

#include "../check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char test_path[256];

// A path that no other test has, the same on all ranks of comm.
static inline const char *make_path_in(MPI_Comm comm, const char *name)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(test_path, sizeof test_path, "%s/unisono-%s-XXXXXX", folder ? folder : "/tmp", name);
        int fd = mkstemp(test_path);
        CHECK(fd >= 0);
        close(fd);
    }
    MPI_Bcast(test_path, sizeof test_path, MPI_CHAR, 0, comm);
    return test_path;
}

static inline const char *make_path(const char *name)
{
    return make_path_in(MPI_COMM_WORLD, name);
}

// The whole file, read without MPI; *n bytes. The caller frees it.
static inline unsigned char *slurp(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    unsigned char *all = malloc((size_t)st.st_size + 1);
    CHECK(read(fd, all, (size_t)st.st_size) == st.st_size);
    close(fd);
    *n = (size_t)st.st_size;
    return all;
}

// Whether err is of this class and its text has all of these words.
static inline int says(int err, int class, const char *word)
{
    char text[MPI_MAX_ERROR_STRING];
    int n, is;
    MPI_Error_class(err, &is);
    MPI_Error_string(err, text, &n);
    if (is == class && strstr(text, word)) return 1;
    fprintf(stderr, "class %d (%d wanted): %s (%s wanted)\n", is, class, text, word);
    return 0;
}

#endif
