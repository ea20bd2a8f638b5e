// SPDX-License-Identifier: BSD-3-Clause
// Unit test of order.c: the order is a permutation that keeps blocks on hosts and cuts fewer edges, or none is given.
#include "topo/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

static long cut_after(const struct uno_grid *g, int n, const int *host)
{
    int order[MOST], seen[MOST] = {0};
    if (!uno_cart_order(g, n, host, order)) return -1;
    for (int i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
    assert_true(uno_cart_cut(g, n, host, order) < uno_cart_cut(g, n, host, NULL));
    return uno_cart_cut(g, n, host, order);
}

static void blocks(void **state)
{
    (void)state;
    int host[MOST], round_robin[MOST];
    for (int i = 0; i < 16; i++) {
        host[i] = 7 + i / 4;
        round_robin[i] = i % 4;
    }
    struct uno_grid square = {2, (int[]){4, 4}}, row = {1, (int[]){16}}, cube = {3, (int[]){4, 2, 2}};
    assert_int_equal(uno_cart_cut(&square, 16, host, NULL), 12);
    assert_int_equal(cut_after(&square, 16, host), 8);    // four blocks of 2 x 2
    assert_int_equal(cut_after(&row, 16, host), -1);      // consecutive ranks are best already
    assert_int_equal(cut_after(&row, 16, round_robin), 3);
    assert_int_equal(cut_after(&cube, 16, round_robin), 12);    // slices
}

static void left_alone(void **state)
{
    (void)state;
    int one[MOST] = {0}, uneven[6] = {0, 0, 0, 0, 1, 1}, each[6] = {0, 1, 2, 3, 4, 5};
    struct uno_grid g = {2, (int[]){3, 2}};
    assert_int_equal(cut_after(&g, 6, one), -1);
    assert_int_equal(cut_after(&g, 6, uneven), -1);
    assert_int_equal(cut_after(&g, 6, each), -1);
    struct uno_grid none = {0, NULL};
    assert_int_equal(cut_after(&none, 1, one), -1);
}

static void any_grid(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 3000; round++) {
        int dims[3] = {1 + rand() % 4, 1 + rand() % 4, 1 + rand() % 4}, host[MOST], n = dims[0] * dims[1] * dims[2];
        int hosts = 1 + rand() % 4, mixed = rand() % 2;
        for (int i = 0; i < n; i++) host[i] = mixed ? i % hosts : i * hosts / n;
        cut_after(&(struct uno_grid){3, dims}, n, host);    // checks what it gets
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks), cmocka_unit_test(left_alone),
                                       cmocka_unit_test(any_grid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
