// SPDX-License-Identifier: BSD-3-Clause
// Counting what a channel sent, by protocol, and the performance variables that each one declares of it in its file.
//
//   static const struct uno_pvar sent[] = UNO_TRAFFIC_PVARS("shm", uno_shm.sent);
//   UNO_PVARS_DECLARE(sent);
#pragma once
#include "base/pvar.h"
#include "chan/chan.h"

#define UNO_TRAFFIC_COUNT(t, n) uno_count_message(&(t)->messages, &(t)->bytes, n)

#define UNO_TRAFFIC_PVARS(chan, t)                                                                                     \
    {                                                                                                                  \
        UNO_PVAR_COUNTER(chan "_eager_messages", &(t)[UNO_BY_EAGER].messages, "messages sent whole"),                  \
            UNO_PVAR_SUM(chan "_eager_bytes", &(t)[UNO_BY_EAGER].bytes, "bytes in them"),                              \
            UNO_PVAR_TIME(chan "_eager_time", &(t)[UNO_BY_EAGER].ticks,                                                \
                          "sending them, if the parameter stats is set"),                                              \
            UNO_PVAR_COUNTER(chan "_direct_messages", &(t)[UNO_BY_DIRECT].messages,                                    \
                             "messages copied from memory to memory once their receive was found"),                    \
            UNO_PVAR_SUM(chan "_direct_bytes", &(t)[UNO_BY_DIRECT].bytes, "bytes in them"),                            \
            UNO_PVAR_TIME(chan "_direct_time", &(t)[UNO_BY_DIRECT].ticks, "from their announcements to their ends"),   \
            UNO_PVAR_COUNTER(chan "_stream_messages", &(t)[UNO_BY_STREAM].messages,                                    \
                             "messages announced, then sent in pieces"),                                               \
            UNO_PVAR_SUM(chan "_stream_bytes", &(t)[UNO_BY_STREAM].bytes, "bytes in them"),                            \
            UNO_PVAR_TIME(chan "_stream_time", &(t)[UNO_BY_STREAM].ticks, "from their announcements to their ends"),   \
            UNO_PVAR_COUNTER(chan "_own_messages", &(t)[UNO_BY_OWN].messages,                                          \
                             "the library's own, if the parameter stats is set: announcements, window operations"),    \
            UNO_PVAR_SUM(chan "_own_bytes", &(t)[UNO_BY_OWN].bytes, "bytes in them"),                                  \
            UNO_PVAR_TIME(chan "_own_time", &(t)[UNO_BY_OWN].ticks, "sending them"), UNO_PVAR_END                      \
    }
