// SPDX-License-Identifier: BSD-3-Clause
// The reading half of `mpiexec --stats` (stats.h): the traffic by channel and protocol first, then every other variable
// that is not zero on all ranks.
#include "stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pvar.h"
#include "base/stats.h"
#include "paper.h"

struct variable {
    char name[UNO_STATS_NAME];
    uint32_t kind;
    uint64_t *value;    // [nranks]
    bool told;          // in the table of the traffic
};

struct uno_statistics {
    int nranks, number, there;    // number: of the job; there: ranks that left something
    char *path;
    struct variable *variable;
    size_t count;
};

void uno_stats_prepare(struct uno_plan *p)
{
    uno_words_set(&p->env, "UNISONO_STATS", "yes");
}

void uno_stats_pack(struct uno_job_head *job, struct uno_board *b, struct uno_bytes *out)
{
    // Acquire, twice: pairs with the releases in base/stats.c.
    uint32_t at = atomic_load_explicit(&b->stats, memory_order_acquire);
    if (at == 0 || at > UNO_HEAP_CHUNKS) return;
    const struct uno_stats *s = uno_job_chunk(job, at - 1);
    uint32_t rows = atomic_load_explicit(&s->rows, memory_order_acquire);
    if (rows == 0 || rows > UNO_STATS_ROWS) return;
    uno_bytes_add(out, s, sizeof *s + rows * sizeof s->row[0]);
}

struct uno_statistics *uno_stats_new(const struct uno_plan *p)
{
    if (!p->stats) return NULL;
    struct uno_statistics *s = uno_xalloc(sizeof *s);
    s->nranks = p->nranks;
    s->number = p->number;
    s->path = uno_paper_path(p->stats, p->number);
    return s;
}

static struct variable *find(struct uno_statistics *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->variable[i].name, name) == 0) return &s->variable[i];
    return NULL;
}

static struct variable *add(struct uno_statistics *s, const struct uno_stats_row *row)
{
    s->variable = uno_xrealloc(s->variable, (s->count + 1) * sizeof *s->variable);
    struct variable *v = &s->variable[s->count++];
    *v = (struct variable){.kind = row->kind, .value = uno_xalloc((size_t)s->nranks * sizeof *v->value)};
    memcpy(v->name, row->name, sizeof v->name - 1);
    return v;
}

void uno_stats_take(struct uno_statistics *s, const char *data, size_t bytes)
{
    struct uno_stats head;
    if (!s || bytes < sizeof head) return;
    memcpy(&head, data, sizeof head);
    uint32_t rows = atomic_load_explicit(&head.rows, memory_order_relaxed);    // a copy that nobody else sees
    struct uno_stats_row row;
    if (head.rank < 0 || head.rank >= s->nranks || bytes != sizeof head + rows * sizeof row) return;
    s->there++;
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(&row, data + sizeof head + i * sizeof row, sizeof row);
        row.name[UNO_STATS_NAME - 1] = '\0';
        if (row.kind > UNO_PVAR_IS_HIGH) return;
        struct variable *v = find(s, row.name);
        if (!v) v = add(s, &row);
        v->value[head.rank] = row.value;
    }
}

// ---- the table ----

static const char *const kind_name[] = {
    [UNO_PVAR_IS_COUNTER] = "count", [UNO_PVAR_IS_SUM] = "bytes", [UNO_PVAR_IS_TIME] = "time",
    [UNO_PVAR_IS_LEVEL] = "level",   [UNO_PVAR_IS_HIGH] = "high",
};

static uint64_t total(const struct uno_statistics *s, const struct variable *v)
{
    uint64_t sum = 0;
    for (int r = 0; v && r < s->nranks; r++) sum += v->value[r];
    return sum;
}

// The variable CHANNEL_PROTOCOL_WHAT, which is told now.
static struct variable *part_of(struct uno_statistics *s, const char *stem, const char *what)
{
    char name[2 * UNO_STATS_NAME];
    snprintf(name, sizeof name, "%s_%s", stem, what);
    struct variable *v = find(s, name);
    if (v) v->told = true;
    return v;
}

static void put_traffic(struct uno_statistics *s, struct uno_bytes *out)
{
    uno_paper_put(out, "\n%-24s %12s %10s %10s %12s %12s %12s\n", "sent, by", "messages", "data", "mean size", "time s",
                  "rank min", "rank max");
    for (size_t i = 0; i < s->count; i++) {
        char stem[UNO_STATS_NAME], data[16], mean[16], time[24] = "";
        const struct variable *v = &s->variable[i];
        const char *end = strstr(v->name, "_messages");
        if (v->kind != UNO_PVAR_IS_COUNTER || !end || end[9]) continue;
        snprintf(stem, sizeof stem, "%.*s", (int)(end - v->name), v->name);
        struct variable *messages = part_of(s, stem, "messages"), *bytes = part_of(s, stem, "bytes"),
                        *took = part_of(s, stem, "time");
        uint64_t n = total(s, messages), all = total(s, bytes), least = UINT64_MAX, most = 0;
        for (int r = 0; r < s->nranks; r++) {
            if (messages->value[r] < least) least = messages->value[r];
            if (messages->value[r] > most) most = messages->value[r];
        }
        if (n == 0) continue;
        if (took) snprintf(time, sizeof time, "%.6f", (double)total(s, took) * 1e-9);
        char *gap = strchr(stem, '_');    // none where no channel has a part in it
        if (gap) *gap = ' ';
        uno_paper_put(out, "%-24s %12llu %10s %10s %12s %12llu %12llu\n", stem, (unsigned long long)n,
                      uno_paper_human(all, data), uno_paper_human(all / n, mean), time, (unsigned long long)least,
                      (unsigned long long)most);
    }
}

static void put_value(struct uno_bytes *out, uint32_t kind, double value)
{
    char text[16];
    if (kind == UNO_PVAR_IS_TIME)
        uno_paper_put(out, " %12.6f", value * 1e-9);
    else if (kind == UNO_PVAR_IS_SUM || kind == UNO_PVAR_IS_HIGH)
        uno_paper_put(out, " %12s", uno_paper_human((uint64_t)value, text));
    else
        uno_paper_put(out, " %12.0f", value);
}

// Highest levels are not added up.
static void put_variable(const struct uno_statistics *s, const struct variable *v, struct uno_bytes *out)
{
    double least = 1e30, most = 0, sum = 0;
    int where = 0;
    for (int r = 0; r < s->nranks; r++) {
        double x = (double)v->value[r];
        sum += x;
        if (x < least) least = x;
        if (x > most) most = x, where = r;
    }
    uno_paper_put(out, "\n%-24s", v->name);
    if (v->kind == UNO_PVAR_IS_HIGH)
        uno_paper_put(out, " %12s", "");
    else
        put_value(out, v->kind, sum);
    put_value(out, v->kind, least);
    put_value(out, v->kind, sum / s->nranks);
    put_value(out, v->kind, most);
    uno_paper_put(out, " %8d", where);
}

static void put_table(struct uno_statistics *s, struct uno_bytes *out)
{
    uno_paper_put(out, "Statistics of %d rank%s", s->nranks, s->nranks == 1 ? "" : "s");
    if (s->number > 0) uno_paper_put(out, " of spawned job %d", s->number);
    if (s->there < s->nranks) uno_paper_put(out, " (%d never called MPI_Init or left nothing)", s->nranks - s->there);
    uno_paper_put(out, "\n");
    put_traffic(s, out);
    uno_paper_put(out, "\n%-24s %12s %12s %12s %12s %8s", "variable (times in s)", "all ranks", "rank min", "mean",
                  "max", "at rank");
    for (size_t i = 0; i < s->count; i++)
        if (!s->variable[i].told && total(s, &s->variable[i]) > 0) put_variable(s, &s->variable[i], out);
}

static void put_json(const struct uno_statistics *s, struct uno_bytes *out)
{
    uno_paper_put(out, "{\"schema\": 1, \"ranks\": %d, \"left\": %d,\n\"variables\": [\n", s->nranks, s->there);
    for (size_t i = 0; i < s->count; i++) {
        const struct variable *v = &s->variable[i];
        bool time = v->kind == UNO_PVAR_IS_TIME;
        uno_paper_put(out, "  {\"name\": \"%s\", \"kind\": \"%s\", \"values\": [", v->name, kind_name[v->kind]);
        for (int r = 0; r < s->nranks; r++) {
            uno_paper_put(out, r ? ", " : "");
            if (time)
                uno_paper_put(out, "%.9f", (double)v->value[r] * 1e-9);
            else
                uno_paper_put(out, "%llu", (unsigned long long)v->value[r]);
        }
        uno_paper_put(out, i + 1 < s->count ? "]},\n" : "]}\n");
    }
    uno_paper_put(out, "]}\n");
}

char *uno_stats_end(struct uno_statistics *s)
{
    if (!s) return NULL;
    if (s->there == 0 && s->number > 0) return NULL;
    if (s->there == 0) return uno_xstrdup("mpiexec: --stats: no rank called MPI_Init, so there is nothing to report");
    struct uno_bytes text = {0};
    if (uno_paper_is_json(s->path))
        put_json(s, &text);
    else
        put_table(s, &text);
    return uno_paper_finish(s->path, "--stats", &text);
}
