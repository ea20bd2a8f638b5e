// SPDX-License-Identifier: BSD-3-Clause
// Text of reports, and writing it to a file (paper.h).
#include "paper.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void uno_paper_put(struct uno_bytes *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) uno_bytes_add(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

const char *uno_paper_human(uint64_t bytes, char text[16])
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double x = (double)bytes;
    int u = 0;
    while (x >= 999.5 && u < 5) x /= 1000, u++;
    snprintf(text, 16, u == 0 || x >= 99.95 ? "%.0f %s" : "%.1f %s", x, unit[u]);
    return text;
}

char *uno_paper_path(const char *name, int number)
{
    const char *dot = strrchr(name, '.');
    if (number == 0 || name[0] == '\0') return uno_xstrdup(name);
    size_t stem = dot && dot > name && strchr(dot, '/') == NULL ? (size_t)(dot - name) : strlen(name);
    return uno_xformat("%.*s.%d%s", (int)stem, name, number, name + stem);
}

bool uno_paper_is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

char *uno_paper_finish(const char *path, const char *option, struct uno_bytes *text)
{
    uno_bytes_add(text, "", 1);
    if (path[0] == '\0') return uno_bytes_first(text);
    FILE *file = fopen(path, "w");
    int number = file && fputs(uno_bytes_first(text), file) >= 0 ? 0 : errno;
    if (file && fclose(file) != 0 && !number) number = errno;
    char *rest = NULL;    // what cannot be had again goes to standard error
    if (number)
        rest = uno_xformat("mpiexec: %s: cannot write %s: %s; this was for it:\n%s", option, path, uno_reason(number),
                           uno_bytes_first(text));
    uno_bytes_free(text);
    return rest;
}
