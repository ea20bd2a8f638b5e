// SPDX-License-Identifier: BSD-3-Clause
// Unit test of the copies of many runs (pack_kernel.h): every length, in every instruction set that this processor has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "core/pack_kernel.h"

// Every run length up to 80 in every instruction set, strided on either side, gathered and scattered; counts 0 to 40.
static void kernels(void **unused)
{
    (void)unused;
    static char in[80 * 97 + 64], out[80 * 97 + 64], back[80 * 97 + 64];
    ptrdiff_t disp[40];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (char)(i * 2654435761u >> 11);
    for (enum uno_isa most = UNO_ISA_BASE; most <= UNO_ISA_AVX512; most++) {
        if (uno_copy_choose(most) < most) print_message("instruction set %d is not on this processor\n", most);
        for (size_t len = 1; len <= 80; len++) {
            size_t n = len * 7 % 41;
            memset(out, 0, sizeof out);
            memset(back, 0, sizeof back);
            uno_copy_runs(out, (ptrdiff_t)len, in + 3, 97, len, n);
            for (size_t i = 0; i < n; i++) assert_memory_equal(out + i * len, in + 3 + 97 * i, len);
            assert_true(out[n * len] == 0);
            uno_copy_runs(back + 3, 97, out, (ptrdiff_t)len, len, n);
            for (size_t i = 0; i < n; i++) {
                assert_memory_equal(back + 3 + 97 * i, in + 3 + 97 * i, len);
                assert_true(back[3 + 97 * i + len] == 0);
            }
            for (size_t i = 0; i < n; i++) disp[i] = (ptrdiff_t)((n - 1 - i) * 90);
            memset(out, 0, sizeof out);
            memset(back, 0, sizeof back);
            uno_copy_gather(out, in + 5, disp, len, n);
            for (size_t i = 0; i < n; i++) assert_memory_equal(out + i * len, in + 5 + disp[i], len);
            assert_true(out[n * len] == 0);
            uno_copy_scatter(out, back, disp, len, n);
            for (size_t i = 0; i < n; i++) assert_memory_equal(back + disp[i], in + 5 + disp[i], len);
        }
    }
    uno_copy_choose(UNO_ISA_AVX512);
}

// Every second unit of 1 to 16 bytes, the last one at the end of memory, and back: the others stay as they are.
static void pairs(void **unused)
{
    (void)unused;
    const size_t area = 8192;
    static char out[2400], back[4800];
    char *in = mmap(NULL, 2 * area, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = in + area;
    assert_true(in != MAP_FAILED && mprotect(end, area, PROT_NONE) == 0);
    for (size_t i = 0; i < area; i++) in[i] = (char)(i * 2654435761u >> 11);
    for (enum uno_isa most = UNO_ISA_BASE; most <= UNO_ISA_AVX512; most++) {
        uno_copy_choose(most);
        for (size_t len = 1; len <= 16; len *= 2) {
            for (size_t n = 1; n <= 140; n++) {
                char *from = end - (2 * n - 1) * len;
                memset(out, 1, sizeof out);
                memset(back, 2, sizeof back);
                uno_copy_runs(out, (ptrdiff_t)len, from, 2 * (ptrdiff_t)len, len, n);
                uno_copy_runs(back, 2 * (ptrdiff_t)len, out, (ptrdiff_t)len, len, n);
                for (size_t i = 0; i < n; i++) assert_memory_equal(out + i * len, from + 2 * i * len, len);
                assert_true(out[n * len] == 1);
                for (size_t i = 0; i < 2 * n * len; i++) assert_true(back[i] == (i / len % 2 ? 2 : from[i]));
            }
        }
    }
    uno_copy_choose(UNO_ISA_AVX512);
    munmap(in, 2 * area);
}

// Runs beyond the lengths that have a loop of their own, from far apart and back.
static void long_runs(void **unused)
{
    (void)unused;
    static char in[6 * 9000], out[6 * 9000], back[6 * 9000];
    const size_t length[] = {65, 100, 127, 128, 129, 512, 1000, 4095, 4096, 4097, 8000};
    ptrdiff_t disp[5];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (char)(i * 2654435761u >> 11 | 1);
    for (enum uno_isa most = UNO_ISA_BASE; most <= UNO_ISA_AVX512; most++) {
        uno_copy_choose(most);
        for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
            size_t len = length[k], n = 5;
            ptrdiff_t apart = 9000;
            memset(out, 0, sizeof out);
            memset(back, 0, sizeof back);
            uno_copy_runs(out, (ptrdiff_t)len, in + 7, apart, len, n);
            for (size_t i = 0; i < n; i++) assert_memory_equal(out + i * len, in + 7 + 9000 * i, len);
            assert_true(out[n * len] == 0);
            uno_copy_runs(back + 7, apart, out, (ptrdiff_t)len, len, n);
            for (size_t i = 0; i < n; i++) {
                assert_memory_equal(back + 7 + 9000 * i, in + 7 + 9000 * i, len);
                assert_true(back[6 + 9000 * i] == 0 && back[7 + 9000 * i + len] == 0);
                disp[i] = (ptrdiff_t)((n - 1 - i) * 9000);
            }
            memset(back, 0, sizeof back);
            uno_copy_gather(out, in + 5, disp, len, n);
            uno_copy_scatter(out, back + 5, disp, len, n);
            for (size_t i = 0; i < n; i++) assert_memory_equal(out + i * len, in + 5 + disp[i], len);
            for (size_t i = 0; i < n; i++) assert_memory_equal(back + 5 + disp[i], in + 5 + disp[i], len);
        }
    }
    uno_copy_choose(UNO_ISA_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels), cmocka_unit_test(pairs), cmocka_unit_test(long_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
