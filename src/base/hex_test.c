// SPDX-License-Identifier: BSD-3-Clause
// Bytes to digits and back, and what is not digits.
#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_there_and_back(void **state)
{
    unsigned char all[256], back[256];
    char text[2 * 256 + 1];
    (void)state;
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
    assert_ptr_equal(uno_hex_put(text, all, sizeof all), text + 2 * sizeof all);
    assert_int_equal(strlen(text), 2 * sizeof all);
    assert_memory_equal(text, "000102", 6);
    assert_string_equal(text + 2 * 254, "feff");
    assert_ptr_equal(uno_hex_get(text, back, sizeof back), text + 2 * sizeof all);
    assert_memory_equal(all, back, sizeof all);
}

static void test_wrong(void **state)
{
    unsigned char to[4];
    (void)state;
    static const char *const wrong[] = {"", "0", "0g", "0010203", "001020g0", "00 10203", "0010203:", "FF102030"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_null(uno_hex_get(wrong[i], to, sizeof to));
    const char *more = "00102030:next";
    assert_ptr_equal(uno_hex_get(more, to, sizeof to), more + 8);
    assert_int_equal(to[3], 0x30);
    assert_ptr_equal(uno_hex_get("", to, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
