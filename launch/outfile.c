// SPDX-License-Identifier: BSD-3-Clause
// Makes the files for the ranks' output (outfile.h). Ranks whose patterns give the same name share the file; lines stay
// whole.
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void uno_pattern_check(const char *option, const char *pattern)
{
    for (const char *s = pattern; (s = strchr(s, '%')) != NULL; s += 2) {
        if (s[1] == '\0' || strchr("rhlpg%", s[1]) == NULL)
            uno_usage("%s %s: %%%c is not known (%%r rank, %%h host, %%l rank on its host, %%p number of the host, %%g "
                      "number of "
                      "the job, %%%%)",
                      option, pattern, s[1] ? s[1] : ' ');
    }
}

char *uno_pattern_fill(const struct uno_plan *p, const char *pattern, int rank)
{
    struct uno_bytes b = {0};
    for (const char *s = pattern; *s; s++) {
        char number[16] = "";
        const char *word = number;
        if (*s != '%') {
            uno_bytes_add(&b, s, 1);
            continue;
        }
        switch (*++s) {
        case 'r': snprintf(number, sizeof number, "%d", rank); break;
        case 'h': word = uno_plan_name(p, rank); break;
        case 'l': snprintf(number, sizeof number, "%d", uno_plan_local(p, rank)); break;
        case 'p': snprintf(number, sizeof number, "%d", p->rank_host[rank]); break;
        case 'g': snprintf(number, sizeof number, "%d", p->number); break;
        default: word = "%"; break;
        }
        uno_bytes_add(&b, word, strlen(word));
    }
    uno_bytes_add(&b, "", 1);
    return b.data;
}

static char *make_folders(const char *path)
{
    char *copy = uno_xstrdup(path), *why = NULL;
    for (char *s = copy + 1; why == NULL && (s = strchr(s, '/')) != NULL; *s++ = '/') {
        *s = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            why = uno_xformat("cannot make the folder %s: %s", copy, strerror(errno));
    }
    free(copy);
    return why;
}

// Takes the path over. What an earlier job of this mpiexec wrote to a file of that name stays, and both add to it.
static char *open_file(struct uno_outfiles *o, char *path, bool fresh, int *index)
{
    for (int i = o->count - 1; i >= 0; i--) {
        if (strcmp(o->file[i].path, path) != 0) continue;
        free(path);
        *index = i;
        return NULL;
    }
    char *why = make_folders(path);
    int fd = why ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0666);
    if (fd < 0) {
        if (why == NULL) why = uno_xformat("cannot write the ranks' output to %s: %s", path, uno_reason(errno));
        free(path);
        return why;
    }
    o->file = uno_xrealloc(o->file, ((size_t)o->count + 1) * sizeof *o->file);
    o->file[o->count] = (struct uno_outfile){path, fd};
    *index = o->count++;
    return NULL;
}

// As Open MPI lays them out: DIR/1/rank.07/stdout.
static char *in_folder(const struct uno_plan *p, int rank, const char *name)
{
    int width = snprintf(NULL, 0, "%d", p->nranks - 1);
    return uno_xformat("%s/%d/rank.%0*d/%s", p->out_dir, p->number + 1, width, rank, name);
}

void uno_outfiles_free(struct uno_outfiles *o)
{
    for (int i = 0; o != NULL && i < o->count; i++) free(o->file[i].path);
    if (o != NULL) {
        free(o->file);
        free(o->of);
    }
    free(o);
}

char *uno_outfiles_open(const struct uno_plan *p, bool fresh, struct uno_outfiles **files)
{
    char *why = NULL;
    *files = NULL;
    if (!p->out_pattern && !p->err_pattern && !p->out_dir) return NULL;
    struct uno_outfiles *o = *files = uno_xalloc(sizeof *o);
    o->of = uno_xalloc((size_t)p->nranks * 2 * sizeof *o->of);
    for (int i = 0; i < p->nranks * 2 && why == NULL; i++) {
        bool err = i % 2 == 1 && !p->merge;
        const char *pattern = err ? p->err_pattern : p->out_pattern;
        o->of[i] = -1;
        if (pattern)
            why = open_file(o, uno_pattern_fill(p, pattern, i / 2), fresh && (p->number == 0 || strstr(pattern, "%g")),
                            &o->of[i]);
        else if (p->out_dir)
            why = open_file(o, in_folder(p, i / 2, err ? "stderr" : "stdout"), fresh, &o->of[i]);
    }
    return why;
}
