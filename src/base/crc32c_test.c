// SPDX-License-Identifier: BSD-3-Clause
// Unit test of crc32c.c: published values, and the fast way against the table at all lengths, alignments and cuts.
#include "base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void published_values(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0}, ones[32];
    memset(ones, 255, sizeof ones);
    assert_int_equal(uno_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(uno_crc32c_plain(0, "123456789", 9), 0xe3069283);
    assert_int_equal(uno_crc32c(0, zeros, 32), 0x8a9136aa);    // RFC 3720, B.4
    assert_int_equal(uno_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(uno_crc32c(0, "", 0), 0);
}

static void agrees_with_the_table(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    unsigned char *data = malloc(MOST + 64);
    srandom(7);
    for (int i = 0; i < MOST + 64; i++) data[i] = (unsigned char)random();
    for (size_t n = 0; n < MOST; n += n < 1200 ? 1 : 37) {
        const unsigned char *p = data + n % 64;
        uint32_t want = uno_crc32c_plain(0, p, n);
        assert_int_equal(uno_crc32c(0, p, n), want);
        size_t cut = n ? (size_t)random() % n : 0;
        assert_int_equal(uno_crc32c(uno_crc32c(0, p, cut), p + cut, n - cut), want);
    }
    free(data);
}

static void speed_is_told(void **state)
{
    (void)state;
    enum { BYTES = 256 << 10, ROUNDS = 400 };
    unsigned char *data = calloc(1, BYTES);
    struct timespec a, b;
    uint32_t crc = 0;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < ROUNDS; i++) crc = uno_crc32c(crc, data, BYTES);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    printf("crc32c: %.1f GB/s (%08x)\n", 1e-9 * BYTES * ROUNDS / s, crc);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(agrees_with_the_table),
        cmocka_unit_test(speed_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
