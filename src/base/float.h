// SPDX-License-Identifier: BSD-3-Clause
// The wide machine types that C names differently on each platform: 128-bit float and integer. Users: reductions,
// external32. Always holds: sizeof(uno_f128) == sizeof(uno_i128) == 16.
#pragma once

#if defined(__x86_64__)
typedef __float128 uno_f128;
#else
typedef long double uno_f128;    // aarch64: long double is IEEE binary128
#endif
__extension__ typedef __int128 uno_i128;
__extension__ typedef unsigned __int128 uno_u128;
