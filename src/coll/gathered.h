// SPDX-License-Identifier: BSD-3-Clause
// Whether a large collective in a host whose buffers have left the caches had better go by copies (large.h) after all:
// in huge pages (base/huge.h) these take half to three quarters of the time of windows or messages; in small ones,
// longer. Every rank knows that of its own buffers only. So each says at every such call how it is, and all of them go
// by what all said at the last one: nobody waits for a rank that has not yet come this far.
#pragma once
#include "coll/build.h"
#include "coll/segment.h"

// Whether to ask at all, the same on all ranks: it costs a phase.
bool uno_gathered_asks(const struct uno_coll *u, const struct uno_call *c, size_t bytes);

// The same on all ranks, who must all ask. Counts a use of the buffers where the answer is no (copies count their own).
bool uno_gathered(struct uno_coll *u, const struct uno_call *c, size_t bytes);
