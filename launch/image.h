// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints as folders: DIR/1, DIR/2 and so on, each with criu's images and a file `job` that says what the front
// must know to go on. One that is being written is called DIR/NUMBER.part, so that a number means a whole one. Used by
// checkpoint.c, which writes them, and restart.c, which reads them. A file `sums` tells whether all are whole.
#pragma once
#include "util.h"

// The file `job`. It ends in a sum over all before, so that a damaged one is noticed.
struct uno_image {
    uint64_t job_id;
    uint64_t link;                   // inode of the node's end of its link
    int32_t node;                    // process id of the node
    int32_t input;                   // the front forwards standard input
    int64_t made;                    // seconds since 1970
    struct uno_bytes plan, front;    // uno_plan_pack(), uno_plan_pack_front()
    struct uno_bytes frames;         // what the front is to hear again
    struct uno_bytes written;        // files that the processes write: paths, each with its NUL
};

// NULL or why not; the caller frees it.
char *uno_image_write(const struct uno_image *m, const char *folder);
char *uno_image_read(struct uno_image *m, const char *folder);
void uno_image_free(struct uno_image *m);
char *uno_image_check(const char *folder);    // whether all files are as they were stored: reads them all

char *uno_image_path(const char *dir, int number, const char *more);    // DIR/NUMBERmore
int uno_image_newest(const char *dir, int below);    // the highest number below that one, 0 none; -1: errno says why
void uno_image_remove(const char *folder);
void uno_image_sweep(const char *dir);    // what is half written
// To the disk, under its final name; of the same job, only `keep` stay. 0 or an errno value.
int uno_image_settle(const char *dir, int number, int keep);
int64_t uno_image_bytes(const char *folder);    // that it takes on the disk
