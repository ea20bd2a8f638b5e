// SPDX-License-Identifier: BSD-3-Clause
// What is counted of partitioned sends through shared memory (part.h); the chunks of others are messages, counted so.
#include "base/pvar.h"
#include "p2p/part.h"

static _Atomic uint64_t sends, sent;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("partitioned_messages", &sends, "partitioned sends inside a host, by shared memory"),
    UNO_PVAR_SUM("partitioned_bytes", &sent, "bytes in them"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

void part_count_send(size_t bytes)
{
    uno_count_message(&sends, &sent, bytes);
}
