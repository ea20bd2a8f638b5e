// SPDX-License-Identifier: BSD-3-Clause
// Keeps descriptors 0, 1 and 2 taken. A program may be started with some of them closed; the next descriptor that
// anything opens would then be taken for standard output. Called first by every program of ours, and when the
// library opens.
#pragma once
#include "base/fail.h"

// Opens what uno_streams_null opens on those of the three that are closed. 0 or an errno value.
int uno_streams_hold(void) UNO_MUST_USE;

// A descriptor (close-on-exec) that reads as empty and swallows what is written: /dev/null, or, where that is missing,
// the root folder, on which every read and write fails. -1: errno says why.
int uno_streams_null(void);
