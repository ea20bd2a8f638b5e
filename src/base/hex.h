// SPDX-License-Identifier: BSD-3-Clause
// Bytes as hexadecimal digits, two per byte, lower case.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Writes 2 * n digits and a zero byte behind them. Returns where that is.
static inline char *uno_hex_put(char *to, const void *bytes, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++) {
        *to++ = digit[b[i] >> 4];
        *to++ = digit[b[i] & 15];
    }
    *to = '\0';
    return to;
}

// The value of a digit, -1: it is none.
static inline int uno_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads n bytes. Returns what follows them; NULL: there are fewer digits. Nothing behind a zero byte is looked at.
static inline const char *uno_hex_get(const char *from, void *bytes, size_t n)
{
    unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++, from += 2) {
        int high = uno_hex_digit(from[0]), low = high < 0 ? -1 : uno_hex_digit(from[1]);
        if (low < 0) return NULL;
        b[i] = (unsigned char)(high << 4 | low);
    }
    return from;
}
