// SPDX-License-Identifier: BSD-3-Clause
// Unit test of what becomes of operations whose channel fails: now, or after it was full for a while, or in the middle
// of a message. Each ends with the channel's error; none waits for ever (alarm() would say so). The channel to the own
// rank is replaced by one that does as the test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chan/chan.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/peer.h"

#define LARGE (1 << 20)    // bytes that go by rendezvous

enum mood { GOOD, FULL, BROKEN };

static enum mood mood;
static int pieces_left = -1;    // UNO_DATA that are taken before the channel breaks; -1: as the mood says
static struct uno_peer *peer;
static const struct uno_chan_ops *good;
static struct uno_chan_ops bad;
static char buf[LARGE], other[LARGE];

static int moody_send(struct uno_link *link, const struct uno_msg *m)
{
    if (m->kind == UNO_DATA && pieces_left >= 0 && pieces_left-- == 0) mood = BROKEN;
    if (mood == FULL) return UNO_FULL;
    if (mood == BROKEN) return uno_fail(MPI_ERR_OTHER, "the test broke the channel");
    return good->send(link, m);
}

static int no_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    (void)link, (void)mem, (void)rts;
    return UNO_DECLINED;
}

static int set_up(void **state)
{
    (void)state;
    peer = uno_peer(&uno_comm_world, 0);
    if (!good) good = peer->link->ops;
    bad = *good;
    bad.send = moody_send;
    bad.offer = no_offer;
    peer->ops = peer->link->ops = &bad;
    mood = GOOD;
    pieces_left = -1;
    alarm(290);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mood = GOOD;
    peer->ops = peer->link->ops = good;
    return peer->first != NULL || uno_comm_world.match[0].first != NULL;    // nothing is left over
}

static void is_other(int err)
{
    int class = 0;
    MPI_Error_class(err, &class);
    assert_int_equal(class, MPI_ERR_OTHER);
}

static void at_once(void **state)
{
    (void)state;
    MPI_Request r;
    mood = BROKEN;
    is_other(MPI_Send(buf, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    is_other(MPI_Send(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    is_other(MPI_Isend(buf, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r));
    is_other(MPI_Issend(buf, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r));
    is_other(MPI_Isend(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r));
    is_other(MPI_Psend_init(buf, 4, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
}

static void later(void **state)
{
    (void)state;
    static const int sizes[] = {1, 5000, LARGE};
    for (int i = 0; i < 3; i++) {
        MPI_Request r;
        mood = FULL;
        assert_int_equal(MPI_Isend(buf, sizes[i], MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        int flag = 1;
        assert_int_equal(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        assert_false(flag);
        mood = BROKEN;
        is_other(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
}

static void in_the_middle(void **state)
{
    (void)state;
    MPI_Request r[2];
    assert_int_equal(MPI_Irecv(other, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[0]), MPI_SUCCESS);
    pieces_left = 2;
    assert_int_equal(MPI_Isend(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[1]), MPI_SUCCESS);
    is_other(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
    // The receive hangs on the link, whose loss would end it (uno_link_lost); here it is ended by hand.
    assert_false(uno_request_is_done(r[0]));
    uno_request_done(r[0], MPI_ERR_OTHER);
    is_other(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
}

// The receiver cannot answer the announcement.
static void the_answer(void **state)
{
    (void)state;
    MPI_Request s, r;
    for (int kept = 0; kept < 2; kept++) {
        mood = GOOD;
        assert_int_equal(MPI_Isend(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        mood = kept ? FULL : BROKEN;
        assert_int_equal(MPI_Irecv(other, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        mood = BROKEN;
        is_other(MPI_Wait(&r, MPI_STATUS_IGNORE));
        uno_request_done(s, MPI_ERR_OTHER);    // it hangs on the link, as above
        is_other(MPI_Wait(&s, MPI_STATUS_IGNORE));
    }
}

static void send_and_receive(void **state)
{
    (void)state;
    MPI_Request r;
    MPI_Status s;
    char in = 1, out = 2;
    mood = BROKEN;
    is_other(MPI_Sendrecv(&out, 1, MPI_BYTE, 0, 1, &in, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s));
    is_other(MPI_Sendrecv_replace(&out, 1, MPI_BYTE, 0, 1, 0, 1, MPI_COMM_WORLD, &s));
    is_other(MPI_Isendrecv(&out, 1, MPI_BYTE, 0, 1, &in, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r));
    is_other(MPI_Isendrecv_replace(&out, 1, MPI_BYTE, 0, 1, 0, 1, MPI_COMM_WORLD, &r));
    mood = GOOD;    // the abandoned receives took nothing
    assert_int_equal(MPI_Sendrecv(&out, 1, MPI_BYTE, 0, 1, &in, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s), MPI_SUCCESS);
    assert_int_equal(in, 2);
}

// The two sides of a partitioned operation cannot tell each other, or its message cannot be sent.
static void partitions(void **state)
{
    (void)state;
    MPI_Request s, r;
    mood = GOOD;
    MPI_Psend_init(buf, 1, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(other, 1, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Start(&s);
    mood = BROKEN;
    MPI_Pready(0, s);
    is_other(MPI_Wait(&s, MPI_STATUS_IGNORE));
    mood = GOOD;
    MPI_Start(&s);    // persistent: what worked no more may work again
    MPI_Pready(0, s);
    assert_int_equal(MPI_Wait(&s, MPI_STATUS_IGNORE), MPI_SUCCESS);
    assert_int_equal(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Request_free(&s);
    MPI_Request_free(&r);

    mood = FULL;    // INIT waits, then is lost
    assert_int_equal(MPI_Psend_init(buf, 1, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &s), MPI_SUCCESS);
    MPI_Start(&s);
    mood = BROKEN;
    is_other(MPI_Wait(&s, MPI_STATUS_IGNORE));
    MPI_Request_free(&s);

    mood = FULL;    // freed before it left: nobody is told
    assert_int_equal(MPI_Psend_init(buf, 1, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &s), MPI_SUCCESS);
    MPI_Request_free(&s);
    mood = BROKEN;
    uno_peers_flush();
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(send_and_receive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partitions, set_up, tear_down),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
