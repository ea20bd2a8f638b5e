// SPDX-License-Identifier: BSD-3-Clause
// The memory of a request as the channels copy it directly (chan.h: struct uno_mem). Called by send.c, deliver.c and
// cancel.c.
#pragma once
#include "chan/chan.h"
#include "core/request.h"

// Fills *mem for the first n bytes of r, with *one as its list when they lie in one run. False: the runs are too short
// to be copied one by one, pack and stream. A longer list is kept in r->runs until uno_direct_forget.
bool uno_direct_memory(MPI_Request r, size_t n, struct uno_run *one, struct uno_mem *mem);
void uno_direct_forget(MPI_Request r);

// Bytes from which on a copy of a message, made just now, is copied directly; shorter ones are streamed.
size_t uno_direct_least(const struct uno_link *link);

// Bytes up to which a message goes at once, if there is room, that would be copied otherwise.
size_t uno_direct_copied_max(const struct uno_link *link);

// Likewise one whose sender writes to its memory next.
size_t uno_direct_rewritten_max(const struct uno_link *link);

// Likewise one that its sender waits for, after a row of others or not.
size_t uno_direct_waited_max(const struct uno_link *link, bool in_row);

// Whether a send, whose memory could be copied from directly, had not better be streamed.
bool uno_direct_pays(const struct MPI_ABI_Request *r, const struct uno_link *link);

// Takes the offer of a send back, if one stands on this link. False: it was accepted.
bool uno_direct_withdraw(MPI_Request r, struct uno_link *link);

// Whether a message of n bytes in so many runs is copied directly.
bool uno_direct_worth(size_t n, size_t runs);
