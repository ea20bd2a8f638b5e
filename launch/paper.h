// SPDX-License-Identifier: BSD-3-Clause
// What the reports at the end of a job share (report.c, stats.c): text, numbers for people, and where it goes.
#pragma once
#include "util.h"

void uno_paper_put(struct uno_bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A number of bytes in at most seven characters.
const char *uno_paper_human(uint64_t bytes, char text[16]);

// The file that the user named, for the job of that number: run.json, run.1.json. "" stays: standard error.
char *uno_paper_path(const char *name, int number);
bool uno_paper_is_json(const char *path);
// Writes it and gives NULL. The text itself, for the caller to free, if no file was named; and after what went wrong.
char *uno_paper_finish(const char *path, const char *option, struct uno_bytes *text);
