// SPDX-License-Identifier: BSD-3-Clause
// Unit test of map.c: the order is a permutation that costs less than the ranks as they are, or none is given; for
// small graphs it is held against the best of all permutations.
#include "topo/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 1024 };

// n processes, per_host on each host, half of those on each of its two packages.
static void machine(struct uno_spot *spot, int n, int per_host)
{
    for (int r = 0; r < n; r++) {
        spot[r].host = r / per_host;
        for (int level = 0; level < UNO_HW_LEVELS; level++) spot[r].part[level] = -1;
        spot[r].part[UNO_HW_PACKAGE] = r % per_host / ((per_host + 1) / 2);
        spot[r].part[UNO_HW_CORE] = r % per_host;
    }
}

static long long cost_after(int n, const struct uno_spot *spot, size_t nlinks, const struct uno_link *link)
{
    static int order[MOST], seen[MOST];
    long long stay = uno_graph_cost(spot, nlinks, link, NULL);
    if (!uno_graph_order(n, spot, nlinks, link, order)) return stay;
    for (int i = 0; i < n; i++) seen[i] = 0;
    for (int i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
    long long cost = uno_graph_cost(spot, nlinks, link, order);
    assert_true(cost < stay);
    return cost;
}

static void pairs(void **state)
{
    (void)state;
    static struct uno_spot spot[MOST];
    static struct uno_link link[MOST];
    for (int n = 8; n <= MOST; n *= 2) {
        machine(spot, n, 8);
        for (int i = 0; i < n / 2; i++) link[i] = (struct uno_link){i, i + n / 2, 3};
        assert_int_equal(cost_after(n, spot, (size_t)n / 2, link), n / 2 * 3 * 2);    // every pair in one package
        for (int i = 0; i < n / 2; i++) link[i] = (struct uno_link){2 * i, 2 * i + 1, 3};
        assert_int_equal(cost_after(n, spot, (size_t)n / 2, link), n / 2 * 3 * 2);    // as it is
    }
}

static long long best_of_all(int n, const struct uno_spot *spot, size_t nlinks, const struct uno_link *link, int *order,
                             int fixed)
{
    if (fixed == n) return uno_graph_cost(spot, nlinks, link, order);
    long long best = -1;
    for (int i = fixed; i < n; i++) {
        int kept = order[fixed];
        order[fixed] = order[i];
        order[i] = kept;
        long long cost = best_of_all(n, spot, nlinks, link, order, fixed + 1);
        if (best < 0 || cost < best) best = cost;
        order[i] = order[fixed];
        order[fixed] = kept;
    }
    return best;
}

static void near_the_best(void **state)
{
    (void)state;
    enum { N = 7, LINKS = 12 };
    struct uno_spot spot[N];
    struct uno_link link[LINKS];
    long long sum = 0, best = 0, stay = 0;
    srand(7);
    for (int round = 0; round < 40; round++) {
        int order[N];
        machine(spot, N, 2 + rand() % 4);
        for (int i = 0; i < LINKS; i++) link[i] = (struct uno_link){rand() % N, rand() % N, rand() % 50};
        for (int i = 0; i < N; i++) order[i] = i;
        stay += uno_graph_cost(spot, LINKS, link, NULL);
        sum += cost_after(N, spot, LINKS, link);
        best += best_of_all(N, spot, LINKS, link, order, 0);
    }
    assert_true(best <= sum && sum < stay);
    assert_true((sum - best) * 10 <= stay - best);    // nine tenths of what can be gained
}

static void left_alone(void **state)
{
    (void)state;
    struct uno_spot spot[4];
    int order[4];
    struct uno_link link[] = {{0, 3, 5}, {3, 3, 9}, {1, 2, 5}};
    machine(spot, 4, 4);
    for (int r = 0; r < 4; r++) spot[r].part[UNO_HW_PACKAGE] = spot[r].part[UNO_HW_CORE] = -1;
    assert_false(uno_graph_order(4, spot, 3, link, order));    // nobody is bound
    machine(spot, 4, 2);
    assert_false(uno_graph_order(4, spot, 0, link, order));    // no links
    assert_true(uno_graph_order(4, spot, 3, link, order));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs), cmocka_unit_test(near_the_best),
                                       cmocka_unit_test(left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
