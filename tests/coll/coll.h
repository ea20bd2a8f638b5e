// SPDX-License-Identifier: BSD-3-Clause
// What the tests of collectives share: the three ways to call one, and buffers of ints that are packed or strided.
#ifndef UNO_TESTS_COLL_H
#define UNO_TESTS_COLL_H

#include "../check.h"

enum mode { BLOCKING, NONBLOCKING, PERSISTENT, MODES };

// Calls MPI_NAME, MPI_INAME and MPI_Wait, or MPI_NAME_init, started and waited for `times` times; CALL_C the _c forms.
#define CALL(mode, times, NAME, INAME, ...)                                                                            \
    CALL_AS(mode, times, MPI_##NAME, MPI_##INAME, MPI_##NAME##_init, __VA_ARGS__)
#define CALL_C(mode, times, NAME, INAME, ...)                                                                          \
    CALL_AS(mode, times, MPI_##NAME##_c, MPI_##INAME##_c, MPI_##NAME##_init_c, __VA_ARGS__)

#define CALL_AS(mode, times, DO, START, INIT, ...)                                                                     \
    do {                                                                                                               \
        MPI_Request q_;                                                                                                \
        if ((mode) == BLOCKING) {                                                                                      \
            CHECK(DO(__VA_ARGS__) == MPI_SUCCESS);                                                                     \
        } else if ((mode) == NONBLOCKING) {                                                                            \
            CHECK(START(__VA_ARGS__, &q_) == MPI_SUCCESS);                                                             \
            CHECK(MPI_Wait(&q_, MPI_STATUS_IGNORE) == MPI_SUCCESS);                                                    \
            CHECK(q_ == MPI_REQUEST_NULL);                                                                             \
        } else {                                                                                                       \
            CHECK(INIT(__VA_ARGS__, MPI_INFO_NULL, &q_) == MPI_SUCCESS);                                               \
            for (int t_ = 0; t_ < (times); t_++) {                                                                     \
                CHECK(MPI_Start(&q_) == MPI_SUCCESS);                                                                  \
                CHECK(MPI_Wait(&q_, MPI_STATUS_IGNORE) == MPI_SUCCESS);                                                \
            }                                                                                                          \
            CHECK(MPI_Request_free(&q_) == MPI_SUCCESS);                                                               \
        }                                                                                                              \
    } while (0)

// n ints, each `stride` apart; with a stride of 2 the type has a gap after each.
struct ints {
    int *p, n, stride;
    MPI_Datatype type;
};

static MPI_Datatype gapped;

static inline void make_types(void)
{
    MPI_Datatype one;
    CHECK(MPI_Type_contiguous(1, MPI_INT, &one) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(one, 0, 2 * sizeof(int), &gapped) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&gapped) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&one) == MPI_SUCCESS);
}

static inline struct ints ints_new(int n, int strided)
{
    struct ints b = {NULL, n, strided ? 2 : 1, strided ? gapped : MPI_INT};
    b.p = malloc(sizeof(int) * ((size_t)n * (size_t)b.stride + 1));
    for (int i = 0; i < n * b.stride + 1; i++) b.p[i] = -7;
    return b;
}

// Whether nothing but the n ints was written.
static inline int ints_gaps_hold(struct ints b)
{
    if (b.p[b.n * b.stride] != -7) return 0;
    for (int i = 0; b.stride == 2 && i < b.n; i++)
        if (b.p[2 * i + 1] != -7) return 0;
    return 1;
}

static inline void ints_free(struct ints b)
{
    free(b.p);
}

// What rank `from` sends rank `to` as element i.
static inline int value(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i;
}

#endif
