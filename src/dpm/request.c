// SPDX-License-Identifier: BSD-3-Clause
// Words for mpiexec (request.h).
#include "dpm/request.h"

#include <stdlib.h>
#include <string.h>

void dpm_words_add(struct dpm_words *w, const char *word)
{
    size_t n = strlen(word) + 1, room = w->room ? w->room : 1024;
    while (room < w->bytes + n) room *= 2;
    if (room > w->room && !w->failed) {
        char *text = realloc(w->text, room);
        w->failed = text == NULL;
        if (text) w->text = text, w->room = room;
    }
    if (w->failed) return;
    memcpy(w->text + w->bytes, word, n);
    w->bytes += n;
}

void dpm_words_free(struct dpm_words *w)
{
    free(w->text);
    *w = (struct dpm_words){0};
}
