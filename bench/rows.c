// SPDX-License-Identifier: BSD-3-Clause
// The register of rows: the tables of all families in order, look-up by name (with the prefixes i and p for modes and
// the peers' names as aliases), the nearest name for a misspelt one, and `list`. A new family adds its table here; a
// new row adds nothing here.
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

extern const struct kernel bench_meta_rows[], bench_start_rows[], bench_p2p_rows[], bench_multi_rows[],
    bench_thread_rows[], bench_part_rows[], bench_pattern_rows[], bench_coll_rows[], bench_vector_rows[],
    bench_neigh_rows[], bench_rma_rows[], bench_rma_sync_rows[], bench_ddt_rows[], bench_comm_rows[], bench_io_rows[],
    bench_tile_rows[];

static const struct kernel *const families[] = {
    bench_meta_rows,    bench_start_rows, bench_p2p_rows,    bench_multi_rows, bench_thread_rows, bench_part_rows,
    bench_pattern_rows, bench_coll_rows,  bench_vector_rows, bench_neigh_rows, bench_rma_rows,    bench_rma_sync_rows,
    bench_ddt_rows,     bench_comm_rows,  bench_io_rows,     bench_tile_rows,
};
enum { FAMILIES = sizeof families / sizeof *families };

// The peers' names: OMB's programs and IMB's tables, without case; "row" or "row/variant".
static const char *const aliases[][2] = {
    {"latency", "lat"},
    {"latency_mt", "mt-lat"},
    {"latency_mp", "lat-fork"},
    {"latency_persistent", "plat"},
    {"bandwidth", "bw"},
    {"bw_persistent", "pbw"},
    {"bibw_persistent", "pbibw"},
    {"multi_lat", "mlat"},
    {"mbw_mr", "mbw"},
    {"pingpong", "lat"},
    {"pingpongspecificsource", "lat"},
    {"pingpinganysource", "pingping/any"},
    {"pingponganysource", "lat-any"},
    {"uniband", "mbw"},
    {"biband", "mbibw"},
    {"init", "init"},
    {"bw_fan_in", "fan-in"},
    {"bw_fan_out", "fan-out"},
    {"reduce_scatter", "reduce-scatter"},
    {"reduce_scatter_block", "reduce-scatter-block"},
    {"reduce_local", "reduce-local"},
    {"neighbor_allgather", "n-allgather"},
    {"neighbor_allgatherv", "n-allgatherv"},
    {"neighbor_alltoall", "n-alltoall"},
    {"neighbor_alltoallv", "n-alltoallv"},
    {"neighbor_alltoallw", "n-alltoallw"},
    {"put_latency", "put-lat"},
    {"get_latency", "get-lat"},
    {"put_bw", "put-bw"},
    {"get_bw", "get-bw"},
    {"put_bibw", "put-bibw"},
    {"acc_latency", "acc-lat"},
    {"get_acc_latency", "getacc-lat"},
    {"fop_latency", "fop-lat"},
    {"cas_latency", "cas-lat"},
    {"unidir_put", "put-lat"},
    {"unidir_get", "get-lat"},
    {"bidir_put", "put-bibw"},
    {"bidir_get", "get-bibw"},
    {"accumulate", "acc-lat"},
    {"get_accumulate", "getacc-lat"},
    {"fetch_and_op", "fop-lat"},
    {"compare_and_swap", "cas-lat"},
    {"one_put_all", "put-1all"},
    {"one_get_all", "get-1all"},
    {"all_put_all", "put-allall"},
    {"all_get_all", "get-allall"},
    {"exchange_put", "xchg-put"},
    {"exchange_get", "xchg-get"},
    {"truly_passive_put", "passive"},
    {"put_local", "put-lat"},
    {"put_all_local", "put-1all"},
    {"get_local", "get-lat"},
    {"get_all_local", "get-1all"},
    {"unidir_rput", "rput"},
    {"stencil2d", "halo2d"},
    {"stencil3d", "halo3d"},
    {"randomring", "rand-ring"},
    {"random_uni", "rand-uni"},
    {"random_bi", "rand-bi"},
    {"corandom", "rand-uni"},
    {"birandom", "rand-bi"},
    {"pingpongmt", "mt-lat"},
    {"pingpingmt", "mt-pingping"},
    {"sendrecvmt", "mt-sendrecv"},
    {"exchangemt", "mt-exchange"},
    {"unibandmt", "mt-bw"},
    {"bibandmt", "mt-bibw"},
    {"barriermt", "mt-barrier"},
    {"bcastmt", "mt-bcast"},
    {"reducemt", "mt-reduce"},
    {"allreducemt", "mt-allreduce"},
    {"overhead", "part-over"},
    {"perceived_bandwidth", "part-pbw"},
    {"application_availability", "part-avail"},
    {"early_bird", "part-early"},
    {"sendrecv_replace", "sendrecv-rep"},
    {"open_close", "io-open"},
    {"p_write_indv", "io-write"},
    {"p_read_indv", "io-read"},
    {"s_write_indv", "io-write"},
    {"s_read_indv", "io-read"},
    {"ddt_lat", "ddt-lat"},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

const struct kernel *bench_row(int i)
{
    for (int f = 0; f < FAMILIES; f++)
        for (const struct kernel *k = families[f]; k->name; k++)
            if (i-- == 0) return k;
    return NULL;
}

int bench_axis(const char *list, int i, char *out, size_t len)
{
    for (; list && i > 0; i--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    if (!list) return -1;
    snprintf(out, len, "%.*s", (int)strcspn(list, ","), list);
    return 0;
}

int bench_axis_find(const char *list, const char *word)
{
    char each[64];
    for (int i = 0; bench_axis(list, i, each, sizeof each) == 0; i++)
        if (!strcasecmp(each, word)) return i;
    return -1;
}

static const struct kernel *exact(const char *name, enum mode *mode)
{
    const struct kernel *k;
    for (int i = 0; (k = bench_row(i)); i++)
        if (!strcasecmp(k->name, name)) return k;
    if (name[0] != 'i' && name[0] != 'p' && name[0] != 'I') return NULL;
    for (int i = 0; (k = bench_row(i)); i++) {
        if (!(k->flags & MODES) || strcasecmp(k->name, name + 1) != 0) continue;
        *mode = name[0] == 'p' ? PERSISTENT : NONBLOCKING;
        return k;
    }
    return NULL;
}

const struct kernel *bench_find(const char *name, enum mode *mode, const char **variant)
{
    static char plain[64];
    if (!strncasecmp(name, "osu_", 4)) name += 4;
    const struct kernel *k = exact(name, mode);
    if (k) return k;
    for (int i = 0; i < ALIASES; i++) {
        const char *to = aliases[i][1], *slash = strchr(to, '/');
        int skip = name[0] == 'i' && !strcasecmp(name + 1, aliases[i][0]);
        if (strcasecmp(name, aliases[i][0]) != 0 && !skip) continue;
        snprintf(plain, sizeof plain, "%.*s", slash ? (int)(slash - to) : (int)strlen(to), to);
        if (slash) *variant = slash + 1;
        k = exact(plain, mode);
        if (k && skip) *mode = NONBLOCKING;
        if (k) return k;
    }
    return NULL;
}

static int distance(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b);
    if (n > 63) return 99;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *bench_nearest(const char *word, const char *const *words, int n)
{
    const char *best = NULL;
    int least = 99;
    for (int i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        if (d < least) least = d, best = words[i];
    }
    return least <= 2 + (int)strlen(word) / 3 ? best : NULL;
}

static const char *size_meaning(const struct kernel *k)
{
    if (k->flags & NOSIZE) return "-";
    if (k->flags & DEPTH) return "count";
    return "bytes";
}

void bench_list(void)
{
    const struct kernel *k;
    const char *family = "";
    for (int i = 0; (k = bench_row(i)); i++) {
        if (strcmp(family, k->family) != 0) printf("%s%s\n", *family ? "\n" : "", k->family);
        family = k->family;
        char ranks[24], name[48];
        if (k->max_ranks == k->min_ranks)
            snprintf(ranks, sizeof ranks, "%d", k->min_ranks);
        else
            snprintf(ranks, sizeof ranks, "%d%s", k->min_ranks, k->max_ranks ? "-" : "+");
        snprintf(name, sizeof name, "%s%s", k->flags & MODES ? "[i|p]" : "", k->name);
        printf("  %-26s %-3s ranks  %-5s  %s%s%s%s\n", name, ranks, size_meaning(k), k->what, k->variants ? "  {" : "",
               k->variants ? k->variants : "", k->variants ? "}" : "");
        if (k->absent) printf("  %-26s left out: %s\n", "", k->absent);
    }
}
