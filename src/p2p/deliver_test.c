// SPDX-License-Identifier: BSD-3-Clause
// Unit test of delivery (deliver.c, kind.c): messages come from a channel of this test's own, into a job of one rank.
// A message that makes no sense is refused with a reason and changes nothing; a good one meets its receive, now or
// later.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "chan/chan.h"
#include "core/comm.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/token.h"

static const char *piecewise;    // what `look` gives, three bytes at most at a time

static size_t fake_look(struct uno_link *link, size_t n, const void **at)
{
    (void)link;
    size_t k = n < 3 ? n : 3;
    *at = piecewise;
    piecewise += k;
    return k;
}

static const struct uno_chan_ops fake_ops = {.look = fake_look};
static struct uno_link fake = {.ops = &fake_ops, .proc = 0};

static struct uno_hdr eager(int tag, uint32_t bytes)
{
    return (struct uno_hdr){.kind = UNO_EAGER, .src = 0, .tag = tag, .bytes = bytes, .ctx = uno_comm_world.context};
}

static void unknown_kinds_are_refused(void **state)
{
    (void)state;
    char payload[UNO_INLINE_MAX] = "";
    for (int kind = 0; kind < 256; kind++) {
        if (kind >= UNO_EAGER && kind < UNO_KIND_END) continue;
        struct uno_hdr h = eager(1, sizeof payload);
        h.kind = (uint8_t)kind;
        assert_non_null(uno_deliver(&fake, &h, payload));
    }
}

static void wrong_lengths_are_refused(void **state)
{
    (void)state;
    char payload[256] = "";
    for (int kind = UNO_RTS; kind < UNO_KIND_END; kind++) {
        struct uno_hdr h = eager(1, kind == UNO_DATA ? 0 : 3);
        h.kind = (uint8_t)kind;
        assert_non_null(uno_deliver(&fake, &h, payload));
        h.bytes = sizeof payload;
        if (kind != UNO_DATA && kind != UNO_SYNC_TOKEN) assert_non_null(uno_deliver(&fake, &h, payload));
    }
}

static void ranks_outside_are_refused(void **state)
{
    (void)state;
    static const int wrong[] = {1, 2, 1 << 30, -1, -2147483647};
    struct uno_rts rts = {.bytes = 8};
    uint64_t token;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct uno_hdr h = eager(1, 4);
        h.src = wrong[i];
        assert_non_null(uno_deliver(&fake, &h, "abcd"));
        assert_null(uno_deliver_into(&fake, &h, &token));
        h.kind = UNO_RTS;
        h.bytes = sizeof rts;
        assert_non_null(uno_deliver(&fake, &h, &rts));
    }
    assert_null(uno_comm_world.match[0].first);
}

// A synchronous message that carries its data lies here with them.
static void is_kept_with(const char *data, size_t n, uint64_t token)
{
    struct uno_unexp *u = uno_comm_world.match[0].first;
    assert_non_null(u);
    struct uno_rts rts;
    memcpy(&rts, uno_unexp_data(u), sizeof rts);
    assert_true(u->announced);
    assert_int_equal(rts.token, token);
    assert_int_equal(uno_unexp_bytes(u), n);
    assert_memory_equal((const char *)uno_unexp_data(u) + sizeof rts, data, n);
    uno_match_take(&uno_comm_world.match[0], u);
    uno_unexp_free(u);
    assert_null(uno_comm_world.match[0].first);
}

static void carried_data_are_kept(void **state)
{
    (void)state;
    struct uno_sync m = {.token = 1, .data = "abcdefg"};
    struct uno_hdr h = eager(1, sizeof m.token - 1);
    h.kind = UNO_SYNC_TOKEN;
    assert_non_null(uno_deliver(&fake, &h, &m));
    h.bytes = sizeof m + 1;
    assert_non_null(uno_deliver(&fake, &h, &m));
    assert_null(uno_comm_world.match[0].first);
    h.bytes = sizeof m.token + 7;
    assert_null(uno_deliver(&fake, &h, &m));
    is_kept_with("abcdefg", 7, 1);
}

static void token_goes_before_long_data(void **state)
{
    (void)state;
    static const char data[2 * UNO_SYNC_MAX] = "abcdefg";
    const uint64_t token = 2;
    struct uno_hdr first = eager(1, sizeof token), h = eager(1, sizeof data), wrong = h;
    first.kind = UNO_SYNC_TOKEN;
    h.kind = wrong.kind = UNO_SYNC_DATA;
    wrong.src = 1;
    assert_non_null(uno_deliver(&fake, &h, data));    // none came
    assert_null(uno_deliver(&fake, &first, &token));
    assert_null(uno_comm_world.match[0].first);
    assert_null(uno_deliver(&fake, &h, data));
    is_kept_with(data, sizeof data, token);
    assert_non_null(uno_deliver(&fake, &h, data));    // one token is for one message
    assert_null(uno_deliver(&fake, &first, &token));
    assert_non_null(uno_deliver(&fake, &wrong, data));
    assert_non_null(uno_deliver(&fake, &h, data));
    h.bytes = UINT32_MAX;
    assert_null(uno_deliver(&fake, &first, &token));
    assert_non_null(uno_deliver(&fake, &h, data));
}

static void partitions_must_add_up(void **state)
{
    (void)state;
    uint32_t words[10] = {7};    // neither an INIT nor an ACK
    struct uno_hdr h = eager(1, sizeof words);
    h.kind = UNO_PART;
    assert_non_null(uno_deliver(&fake, &h, words));
    memset(words, 0xff, sizeof words);
    words[0] = 1;    // an INIT of 2^32 - 1 partitions
    assert_non_null(uno_deliver(&fake, &h, words));
}

// Words that look like pointers, indices and old tokens, in place of what a message of that kind would name.
static void wrong_tokens_are_refused(void **state)
{
    (void)state;
    static char memory[256];
    const uint64_t wrong[] = {0, 1, UINT64_MAX, 1ULL << 32, (1ULL << 32) - 1, (uint64_t)(uintptr_t)memory};
    static const struct {
        uint8_t kind;
        uint32_t bytes;
    } of[] = {{UNO_CTS, 32}, {UNO_PART, 32}, {UNO_DATA, 16}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (size_t k = 0; k < sizeof of / sizeof of[0]; k++) {
            uint64_t words[4] = {wrong[i], wrong[i], wrong[i], 0};
            struct uno_hdr h = {.kind = of[k].kind, .bytes = of[k].bytes, .ctx = wrong[i]};
            if (h.kind == UNO_PART) words[0] = 2;    // an ACK for messages
            assert_non_null(uno_deliver(&fake, &h, words));
        }
    }
}

// A receive that waits for streamed data takes what was agreed, from whom it was agreed with, and no more.
static void data_is_bounded(void **state)
{
    (void)state;
    char got[8] = "........";
    MPI_Request r;
    MPI_Irecv(got, 4, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &r);
    uint64_t token = uno_token_take(UNO_TOKEN_STREAM, r, 0);
    struct uno_hdr h = {.kind = UNO_DATA, .bytes = 5, .ctx = token};
    assert_non_null(uno_deliver(&fake, &h, "abcde"));
    struct uno_link stranger = {.ops = &fake_ops, .proc = 1, .data_max = 1 << 20};
    h.bytes = 3;
    assert_non_null(uno_deliver(&stranger, &h, "abc"));
    assert_null(uno_deliver(&fake, &h, "abc"));
    h.bytes = 2;
    assert_non_null(uno_deliver(&fake, &h, "de"));
    h.bytes = 1;
    assert_null(uno_deliver(&fake, &h, "d"));
    assert_true(uno_request_is_done(r));
    assert_non_null(uno_deliver(&fake, &h, "e"));    // the token was given back
    assert_memory_equal(got, "abcd....", 8);
    uno_match_unpost(&uno_comm_world.match[0], r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void a_posted_receive_gets_it(void **state)
{
    (void)state;
    char got[8] = "";
    MPI_Request r;
    MPI_Status s;
    int n;
    MPI_Irecv(got, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &r);
    struct uno_hdr other = eager(6, 4), h = eager(5, 4);
    assert_null(uno_deliver(&fake, &other, "no__"));
    assert_false(uno_request_is_done(r));
    piecewise = "yes!";
    assert_null(uno_deliver(&fake, &h, NULL));
    assert_true(uno_request_is_done(r));
    MPI_Wait(&r, &s);
    MPI_Get_count(&s, MPI_BYTE, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(got, "yes!\0\0\0\0", 8);
    MPI_Recv(got, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    assert_int_equal(s.MPI_TAG, 6);
    assert_memory_equal(got, "no__", 4);
    assert_null(uno_comm_world.match[0].first);
}

static void too_long_is_truncated(void **state)
{
    (void)state;
    char got[4] = "....";
    MPI_Request r;
    MPI_Irecv(got, 2, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &r);
    struct uno_hdr h = eager(5, 10);
    piecewise = "0123456789";
    assert_null(uno_deliver(&fake, &h, NULL));
    assert_string_equal(piecewise, "");    // all of it was taken off the channel
    MPI_Status s;
    int err = MPI_Wait(&r, &s), class;
    MPI_Error_class(err, &class);
    assert_int_equal(class, MPI_ERR_TRUNCATE);
    assert_memory_equal(got, "01..", 4);
}

static void waits_for_its_communicator(void **state)
{
    (void)state;
    int got = 0, sent = 4711;
    struct uno_hdr h = eager(3, sizeof sent);
    h.ctx = uno_context_take(false, 1);
    assert_null(uno_deliver(&fake, &h, &sent));
    h.src = 9;    // of a rank that the communicator will not have
    assert_null(uno_deliver(&fake, &h, &sent));
    struct MPI_ABI_Comm *c = uno_comm_make(uno_comm_world.group, NULL, h.ctx);
    assert_non_null(c->match[0].first);
    assert_null(c->match[0].first->next_all);
    MPI_Recv(&got, 1, MPI_INT, 0, 3, c, MPI_STATUS_IGNORE);
    assert_int_equal(got, sent);
    uno_comm_drop(c);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_kinds_are_refused),   cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(ranks_outside_are_refused),   cmocka_unit_test(carried_data_are_kept),
        cmocka_unit_test(token_goes_before_long_data), cmocka_unit_test(partitions_must_add_up),
        cmocka_unit_test(wrong_tokens_are_refused),    cmocka_unit_test(data_is_bounded),
        cmocka_unit_test(a_posted_receive_gets_it),    cmocka_unit_test(too_long_is_truncated),
        cmocka_unit_test(waits_for_its_communicator),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
