// SPDX-License-Identifier: BSD-3-Clause
// A list of words for mpiexec (base/pm.h), each with its zero. For spawn.c and names.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct dpm_words {
    char *text;
    size_t bytes, room;
    bool failed;    // memory was out: there is less than was added
};

void dpm_words_add(struct dpm_words *w, const char *word);
void dpm_words_free(struct dpm_words *w);
