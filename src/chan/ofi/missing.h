// SPDX-License-Identifier: BSD-3-Clause
// Whether the libfabric channel can be had: for unisono-info and for tests.
#pragma once

// NULL: libfabric can be loaded and, unless NULL, has that provider; else the reason.
const char *uno_ofi_missing(const char *provider);
