// SPDX-License-Identifier: BSD-3-Clause
// Pieces of a large message that come twice at a time, by a connection that the sender has given up and by the one that
// it was given to instead, and beside a message that goes straight to its receive. One process, whose connections lead
// to the test itself.
#include <sys/socket.h>

#include "chan/tcp/tcp.h"
#include "chan/test_traffic.h"

#define PIECE ((size_t)4 * TCP_GRAIN)
#define PIECES 2
#define HALF (PIECE / 2)
#define SEED 7

enum { MAIN, LANE, WAYS };

// The far end of a connection.
static struct {
    struct tcp_link *link;
    int fd;
    uint64_t seq;
} far[WAYS];

#define NOTE ((size_t)TCP_GRAIN / 2)    // bytes of a message that goes straight to its receive

static struct tcp_pull pull;
static char note[NOTE], noted[NOTE];
static char sent[PIECES * PIECE], landed[PIECES * PIECE + 1];
static int ends;

static void note_end(uint64_t token, size_t bytes, int failed)
{
    CHECK(bytes == (token == 1 ? sizeof sent : sizeof note) && !failed);
    ends++;
}

static void join(int way)
{
    struct tcp_link *l = far[way].link;
    int fd[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    for (int i = 0; i < 2; i++) CHECK(setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int)) == 0);
    l->sock.fd = fd[0];
    l->state = TCP_UP;
    uno_tcp_state.up++;
    far[way].fd = fd[1];
}

static void give(int way, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t done = send(far[way].fd, p, n, MSG_DONTWAIT);
        CHECK(done > 0 || errno == EAGAIN);
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
        tcp_receive(far[way].link);
        CHECK(!far[way].link->broken);
    }
}

static void hear_pull(void)
{
    struct tcp_frame f;
    while (recv(far[MAIN].fd, &f, sizeof f, MSG_DONTWAIT) == sizeof f) {
        if (f.h.chan == TCP_PULL) CHECK(recv(far[MAIN].fd, &pull, sizeof pull, MSG_DONTWAIT) == sizeof pull);
    }
}

// The header of a piece, and its first half.
static void begin_piece(int way, size_t which, uint8_t turn)
{
    struct tcp_frame f = {.seq = ++far[way].seq,
                          .ack = way == MAIN ? 1 : 0,
                          .h = {.kind = turn, .chan = TCP_PIECE, .bytes = PIECE, .ctx = pull.landing}};
    f.h.tag = (int32_t)(which * PIECE);
    f.data_check.tag[TCP_CRC] = 1;
    tcp_check(&f.check, NULL, &f.data_check, sizeof f - sizeof f.check);
    give(way, &f, sizeof f);
    give(way, sent + which * PIECE, HALF);
}

static void end_piece(int way, size_t which)
{
    struct tcp_check trailer;
    tcp_check(&trailer, NULL, sent + which * PIECE, PIECE);
    give(way, sent + which * PIECE + HALF, HALF);
    give(way, &trailer, sizeof trailer);
}

static void cut(int way)
{
    close(far[way].fd);
    tcp_receive(far[way].link);
    CHECK(far[way].link->broken);
}

static void accept_transfer(void)
{
    fill_bytes(sent, SEED, sizeof sent);
    memset(landed, 0x77, sizeof landed);
    far[MAIN].link = tcp_of(links[0]);
    far[MAIN].link->ways = WAYS;
    far[LANE].link = tcp_lane_of(far[MAIN].link, 1);
    for (int way = 0; way < WAYS; way++) join(way);
    on_done = note_end;
    struct uno_rts rts = {.bytes = sizeof sent, .direct = 1};
    struct uno_run run = {landed, sizeof sent};
    CHECK(links[0]->ops->accept(links[0], &rts, &(struct uno_mem){&run, 1}, 1) == 0);
    hear_pull();
    CHECK(pull.bytes == sizeof sent);
}

static int given_up, first_to_come;

// The connection that was given up brings half of what it had, before or after the other one's has begun.
static void twice_body(void)
{
    if (me == 0) return;
    accept_transfer();
    int good = WAYS - 1 - given_up;
    bool early = first_to_come == given_up;
    if (early) begin_piece(given_up, 0, 255);
    begin_piece(good, 0, 0);    // the turn after
    if (!early) begin_piece(given_up, 0, 255);
    end_piece(good, 0);
    cut(given_up);
    CHECK(ends == 0);
    begin_piece(good, 1, 0);
    end_piece(good, 1);
    CHECK(ends == 1 && same_bytes(landed, SEED, sizeof sent) && landed[sizeof sent] == 0x77);
    _exit(0);    // the other side of these connections would not answer the farewell
}

static void pieces_twice_at_a_time(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_INTERFACE", "lo", 1);
    for (given_up = 0; given_up < WAYS; given_up++)
        for (first_to_come = 0; first_to_come < WAYS; first_to_come++)
            assert_int_equal(run_ranks(2, &uno_tcp, twice_body, NULL), 0);
}

static void *into_note(struct uno_link *link, const struct uno_hdr *h, uint64_t *token)
{
    CHECK(link == &far[MAIN].link->base && h->bytes == sizeof note);
    *token = 2;
    return noted;
}

static void give_note(void)
{
    struct tcp_frame f = {
        .seq = ++far[MAIN].seq, .ack = 1, .h = {.kind = UNO_EAGER, .chan = TCP_MESSAGE, .bytes = sizeof note}};
    tcp_check(&f.data_check, NULL, note, sizeof note);
    tcp_check(&f.check, NULL, &f.data_check, sizeof f - sizeof f.check);
    give(MAIN, &f, sizeof f);
    give(MAIN, note, sizeof note / 2);
}

// The main connection breaks in the middle of a piece and, made again, brings a message while the lane brings that
// piece.
static void beside_a_message_body(void)
{
    if (me == 0) return;
    accept_transfer();
    fill_bytes(note, SEED + 1, sizeof note);
    on_header = into_note;
    begin_piece(MAIN, 0, 0);
    cut(MAIN);
    tcp_hang_up(far[MAIN].link);
    far[MAIN].seq--;
    join(MAIN);
    give_note();
    for (size_t which = 0; which < PIECES; which++) {
        begin_piece(LANE, which, 0);
        end_piece(LANE, which);
    }
    CHECK(ends == 1 && same_bytes(landed, SEED, sizeof sent));
    give(MAIN, note + sizeof note / 2, sizeof note / 2);
    CHECK(ends == 2 && same_bytes(noted, SEED + 1, sizeof note));
    _exit(0);
}

static void pieces_beside_a_message(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_INTERFACE", "lo", 1);
    assert_int_equal(run_ranks(2, &uno_tcp, beside_a_message_body, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_twice_at_a_time),
                                       cmocka_unit_test(pieces_beside_a_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
