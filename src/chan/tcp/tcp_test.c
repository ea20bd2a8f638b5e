// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel under attack and on a bad line: strangers on the port, and a relay between the ranks that cuts
// connections, damages bytes, holds them back and hands them on in crumbs. No message may be lost, doubled, reordered
// or damaged.
#include <fcntl.h>
#include <sys/resource.h>

#include "chan/tcp/test_relay.h"

#define FINISH 6    // step that opens when ranks may end

// ---- strangers ----

#define IDLE 1000
#define STRANGERS 64    // handshakes that a rank answers at once (dial.c)

static void hostile_body(void)
{
    wait_step(GATE, 1);
    while (atomic_load(&shared->step[FINISH]) == 0) {    // strangers come before anybody is connected
        poll_once();
        CHECK(uno_tcp_state.shaking <= STRANGERS);
    }
    mixed_traffic(2000);
}

static void send_garbage(uint16_t port, uint64_t seed)
{
    char bytes[512];
    fill_bytes(bytes, seed, sizeof bytes);
    int fd = connect_to(port);
    if (fd < 0) return;
    (void)!send(fd, bytes, 1 + seed * 37 % sizeof bytes, MSG_NOSIGNAL);
    close(fd);
}

static bool read_greeting(int fd, struct tcp_greeting *g)
{
    return recv(fd, g, sizeof *g, MSG_WAITALL) == sizeof *g;
}

// A greeting as a rank of another job would send it: `secret` is not ours. Sends n bytes of it; returns the open
// connection.
static int send_greeting(uint16_t port, size_t n)
{
    static struct uno_job_head other = {.secret = "another job's secret"};
    uno_chan_self.job = &other;
    uno_chan_self.proc = 1;
    uno_chan_self.nprocs = 2;
    struct tcp_greeting g = {.step = TCP_HELLO, .to = 0}, challenge;
    assert_int_equal(tcp_shake_open(), 0);
    int fd = connect_to(port);
    if (fd < 0 || !read_greeting(fd, &challenge)) return fd;
    tcp_sign(&g, g.to, challenge.nonce);
    (void)!send(fd, &g, n, MSG_NOSIGNAL);
    return fd;
}

static bool closed_by_peer(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 280000) == 1 && recv(fd, &c, 1, 0) <= 0;
}

static int idle[IDLE], opened;
static bool refused;

static void attack(int fd)
{
    struct uno_job_head *head = outside_map(fd);
    uint16_t port = card_of(head, 0)->port;
    atomic_store(&shared->step[GATE], 1);
    for (uint64_t i = 0; i < 100; i++) send_garbage(port, i);
    int half = send_greeting(port, 40), wrong = send_greeting(port, sizeof(struct tcp_greeting));
    refused = wrong >= 0 && closed_by_peer(wrong);
    for (int i = 0; i < IDLE; i++) {
        idle[i] = connect_to(port);
        opened += idle[i] >= 0;
    }
    atomic_store(&shared->step[FINISH], 1);
    for (uint64_t i = 0; i < 100; i++) send_garbage(port, i);
    if (half >= 0) close(half);
    if (wrong >= 0) close(wrong);
}

// Runs two ranks and counts the lines with `what` in what they print.
static int run_counting_lines(void (*body)(void), outside_fn *outside, const char *what, int *lines)
{
    FILE *log = tmpfile();
    int keep = dup(STDERR_FILENO);
    dup2(fileno(log), STDERR_FILENO);
    int failures = run_ranks(2, &uno_tcp, body, outside);
    dup2(keep, STDERR_FILENO);
    close(keep);
    rewind(log);
    char line[1024];
    *lines = 0;
    while (fgets(line, sizeof line, log)) {
        fprintf(stderr, "  %s", line);
        *lines += strstr(line, what) != NULL;
    }
    fclose(log);
    return failures;
}

static void strangers(void **state)
{
    (void)state;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &files);
    int lines;
    assert_int_equal(run_counting_lines(hostile_body, attack, "dropped a connection", &lines), 0);
    assert_int_equal(lines, 1);
    assert_true(refused);
    assert_int_equal(opened, IDLE);
    for (int i = 0; i < IDLE; i++)
        if (idle[i] >= 0) close(idle[i]);
}

// A greeting from a processor that writes numbers the other way round: said in one line, before anything is made of it.
static void call_reversed(int fd)
{
    struct uno_job_head *head = outside_map(fd);
    struct tcp_greeting g = {.step = __builtin_bswap16(TCP_HELLO)}, challenge;
    atomic_store(&shared->step[GATE], 1);
    int s = connect_to(card_of(head, 0)->port);
    refused = false;
    if (s >= 0 && read_greeting(s, &challenge)) {
        memcpy(g.magic, challenge.magic, sizeof g.magic);
        g.machine = __builtin_bswap32(challenge.machine);
        refused = send(s, &g, sizeof g, MSG_NOSIGNAL) == sizeof g && closed_by_peer(s);
    }
    if (s >= 0) close(s);
    atomic_store(&shared->step[FINISH], 1);
}

static void another_order(void **state)
{
    (void)state;
    int lines;
    assert_int_equal(run_counting_lines(hostile_body, call_reversed, "another order of bytes", &lines), 0);
    assert_int_equal(lines, 1);
    assert_true(refused);
}

// ---- a rank that has the secret and talks nonsense ----

#define ROGUE_CALLS 300
#define ROGUE_FRAMES 40
// Calls from one whose first frame is good to the next. Rank 1 gives up who breaks the protocol 20 times in a row at
// one frame, which chance alone would do in one run of a thousand.
#define ROGUE_GOOD 8

static bool authenticated;    // the rogue asks for MACs, and computes them
static struct tcp_link rogue_link = {.base.proc = 1};

// The steps as rank 0 takes them. Returns the connection or -1; *seq is the last frame that the other side has.
static int call_as_rank_0(uint16_t port, uint64_t *seq)
{
    int fd = connect_to(port);
    struct tcp_greeting g = {.step = TCP_HELLO, .to = 1, .auth = authenticated}, challenge, answer;
    fill_bytes(g.nonce, (uint64_t)fd, TCP_NONCE);
    if (fd < 0 || !read_greeting(fd, &challenge)) goto hang_up;
    tcp_sign(&g, g.to, challenge.nonce);
    if (send(fd, &g, sizeof g, MSG_NOSIGNAL) < 0 || !read_greeting(fd, &answer) || answer.crossed) goto hang_up;
    CHECK(!tcp_verify(&answer, TCP_WELCOME, g.nonce) && answer.auth == authenticated);
    if (authenticated) tcp_agree_keys(&rogue_link, g.nonce, challenge.nonce);
    *seq = answer.received;
    return fd;
hang_up:
    if (fd >= 0) close(fd);
    return -1;
}

// A frame that is good in most ways, or in all. Returns whether it could be sent.
static bool send_nonsense(int fd, uint64_t *seq, bool good)
{
    static const uint32_t lengths[] = {0, 1, 15, 16, 17, 200, 65536, 98304, 98305, 1 << 20, 0xffffffff};
    static char payload[1 << 17];
    uint8_t kind = (uint8_t)random();
    uint8_t sort = good || random() % 2 ? TCP_MESSAGE : (uint8_t)(random() % (TCP_SORT_END + 2));
    struct tcp_frame f = {.h = {.kind = kind, .chan = sort, .ctx = (uint64_t)random() % 40}};
    size_t n = (size_t)random() % 300;
    f.h.bytes = good || random() % 3 ? (uint32_t)n : lengths[(size_t)random() % (sizeof lengths / sizeof *lengths)];
    n = f.h.bytes < sizeof payload - 8 ? f.h.bytes : 1000;
    for (size_t i = 0; i < n; i++) payload[i] = (char)(random() % 3);
    f.seq = f.h.chan < TCP_ACK ? *seq + 1 : 0;
    if (!good && random() % 20 == 0) f.seq = (uint64_t)random();
    struct tcp_keys *keys = &rogue_link.out_keys;
    struct tcp_check *check =
        tcp_is_trailed(&f) ? (struct tcp_check *)(void *)(payload + tcp_padded(n)) : &f.data_check;
    if (n > 0) tcp_check(check, tcp_key_of(keys, TCP_PAYLOAD), payload, n);
    if (tcp_is_trailed(&f)) f.data_check.tag[TCP_CRC] = 1;
    f.data_check.tag[random() % 16] ^= !good && random() % 20 == 0;
    tcp_check(&f.check, tcp_key_of(keys, TCP_HEAD), &f.data_check, sizeof f - sizeof f.check);
    f.check.tag[random() % 16] ^= !good && random() % 20 == 0;
    keys->next++;
    if (f.seq) *seq = f.seq;
    if (send(fd, &f, sizeof f, MSG_NOSIGNAL) < 0) return false;
    return n == 0 || send(fd, payload, n + tcp_behind(&f), MSG_NOSIGNAL) >= 0;
}

static void count_arrival(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    CHECK(link->proc == 0 && payload && h->bytes <= TCP_INPUT);
    atomic_fetch_add(&shared->number[0], 1);
}

static void rogue_body(void)
{
    on_arrival = count_arrival;
    if (me == 1) {
        while (atomic_load(&shared->step[0]) == 0) poll_once();
        CHECK(atomic_load(&shared->number[0]) > 0);    // some were good
        return;
    }
    const struct uno_net *card = (const struct uno_net *)(const void *)uno_job_board(uno_chan_self.job, 1)->card;
    int calls = 0;
    srandom(99);
    for (int i = 0; i < ROGUE_CALLS; i++) {
        uint64_t seq;
        int fd = call_as_rank_0(card->port, &seq);
        if (fd < 0) continue;
        calls++;
        for (int k = 0; k < ROGUE_FRAMES && send_nonsense(fd, &seq, k == 0 && i % ROGUE_GOOD == 0); k++) continue;
        shutdown(fd, SHUT_WR);
        char drop[4096];
        while (recv(fd, drop, sizeof drop, 0) > 0) continue;
        close(fd);
    }
    CHECK(calls > ROGUE_CALLS / 2);
    atomic_store(&shared->step[0], 1);
}

static void rogue(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(2, &uno_tcp, rogue_body, NULL), 0);
}

static void rogue_with_keys(void **state)
{
    (void)state;
    authenticated = true;
    assert_int_equal(run_ranks(2, &uno_tcp, rogue_body, NULL), 0);
    authenticated = false;
}

// ---- a greeting that was heard and is said again ----

static void hears_again_body(void)
{
    if (me == 1) {
        while (atomic_load(&shared->step[0]) == 0) poll_once();
        CHECK(uno_tcp_state.up == 0);
        return;
    }
    const struct uno_net *card = (const struct uno_net *)(const void *)uno_job_board(uno_chan_self.job, 1)->card;
    struct tcp_greeting g = {.step = TCP_HELLO, .to = 1}, challenge;
    int first = connect_to(card->port), second = connect_to(card->port);
    CHECK(read_greeting(first, &challenge));
    tcp_sign(&g, g.to, challenge.nonce);
    CHECK(read_greeting(second, &challenge));
    CHECK(send(second, &g, sizeof g, MSG_NOSIGNAL) == sizeof g);
    CHECK(closed_by_peer(second));
    atomic_store(&shared->step[0], 1);
}

static void said_again(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(2, &uno_tcp, hears_again_body, NULL), 0);
}

// ---- the relay ----

static void relayed_body(void)
{
    wait_step(GATE, 1);
    for (int i = 0; i < uno_events_count(); i++) uno_event_at(i)->wanted = 1;
    mixed_traffic(3000);
    CHECK(straights > 0);
    CHECK(tcp_link_of(1 - me)->checks == ((mischief & DAMAGE) != 0));    // not inside a host by itself
    uint64_t happened = atomic_load(&shared->number[7]);
    if (mischief & (CUT | DAMAGE | ATTACK)) CHECK(happened >= 10);
    uint64_t breaks = counted("tcp_breaks"), restores = counted("tcp_restores");
    CHECK(events_told == breaks + restores);
    if (mischief & CUT) CHECK(breaks > 0 && restores > 0 && counted("tcp_resends") > 0);
    // Crumbs break nothing by themselves; a slow machine may, after tcp_patience.
    if (mischief == CRUMBS) CHECK(breaks > 0 || counted("tcp_resends") == 0);
}

static void relayed(int kind)
{
    mischief = kind;
    setenv("UNISONO_TCP_CHECK", kind & DAMAGE ? "yes" : "auto", 1);
    int failures = run_ranks(2, &uno_tcp, relayed_body, interpose);
    end_relays();
    assert_int_equal(failures, 0);
}

static void cut(void **state)
{
    (void)state;
    relayed(CUT);
}

static void damage(void **state)
{
    (void)state;
    relayed(DAMAGE);
}

// Somebody on the way who knows the protocol: what he changes is never delivered.
static void attacked(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_AUTH", "yes", 1);
    const int attacks[] = {REPEAT, SWAP, FORGE, REPEAT | FORGE, DAMAGE | CUT};
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) relayed(attacks[i]);
    unsetenv("UNISONO_TCP_AUTH");
}

static void crumbs(void **state)
{
    (void)state;
    relayed(CRUMBS);
}

static void cut_and_damage(void **state)
{
    (void)state;
    relayed(CUT | DAMAGE);
}

static void delay_and_cut(void **state)
{
    (void)state;
    relayed(DELAY | CUT);
}

// ---- leaving and coming back, as a process does that opens one MPI session after another ----

#define LIVES 6
#define PER_LIFE 150

// In even lives rank 0, in odd ones rank 1 stays, while the other leaves and comes back at once and speaks first.
static void lives_body(void)
{
    on_arrival = take_in_order;
    uint64_t k = 0;
    for (int life = 1; life <= LIVES; life++) {
        bool stayed = life > 1 && (life - 1) % 2 == me;
        while (stayed && received[1 - me] == k) poll_once();
        for (uint64_t end = k + PER_LIFE; k < end; k++) send_number(links[1 - me], k);
        expected_from[1 - me] = k;
        while (!all_received()) poll_once();
        if (life % 2 == me) continue;
        chan->ops->close(chan);
        CHECK(chan->ops->open(chan) == 0);
        CHECK(chan->ops->connect(chan, 1 - me, &links[1 - me]) == 0);
    }
    while (atomic_load(&shared->step[me]) == 0) {
        poll_once();
        atomic_store(&shared->step[me], 1);
    }
    while (atomic_load(&shared->step[1 - me]) == 0) poll_once();
}

static void come_back(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) assert_int_equal(run_ranks(2, &uno_tcp, lives_body, NULL), 0);
}

// ---- a peer that dies ----

#define PATIENCE "8"    // s: the first connection has no longer, either, though other programs may have the processors

static int losses, failures_told;

static void count_loss(struct uno_link *link)
{
    CHECK(link->proc == 1);
    losses++;
}

static void count_failure(uint64_t token, size_t bytes, int failed)
{
    CHECK(token == 77 && bytes < sizeof scratch && failed);
    failures_told++;
}

static void die_body(void)
{
    on_arrival = take_in_order;
    on_done = count_failure;
    on_lost = count_loss;
    expected_from[0] = 10;
    if (me == 1) {
        while (!all_received()) poll_once();
        _exit(0);
    }
    expected_from[0] = 0;
    for (uint64_t k = 0; k < 10; k++) send_number(links[1], k);
    struct uno_rts rts = {.token = 77, .bytes = sizeof scratch};
    CHECK(links[1]->ops->offer(links[1], &(struct uno_mem){&(struct uno_run){scratch, sizeof scratch}, 1}, &rts) == 0);
    while (losses == 0) poll_once();
    CHECK(losses == 1 && failures_told == 1);
    struct uno_msg m = {.kind = UNO_EAGER};
    CHECK(links[1]->ops->send(links[1], &m) > 0);    // an error, with its reason
    CHECK(strstr(uno_fail_text(), "rank 1 cannot be reached"));
}

static void lost(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_PATIENCE", PATIENCE, 1);
    int failures = run_ranks(2, &uno_tcp, die_body, NULL);
    unsetenv("UNISONO_TCP_PATIENCE");
    assert_int_equal(failures, 0);
}

// Rank 1 ends with a message unread, which resets the connection. Rank 0 notices that when it sends, and still receives
// what had come before.
static void last_words_body(void)
{
    on_arrival = take_in_order;
    on_lost = count_loss;
    if (me == 1) {
        expected_from[0] = 1;
        while (!all_received()) poll_once();
        atomic_store(&shared->step[GATE], 1);
        while (!atomic_load(&shared->step[FINISH])) sched_yield();
        for (uint64_t k = 0; k < 3; k++) send_number(links[0], k);
        _exit(0);
    }
    expected_from[1] = 3;
    send_number(links[1], 0);
    while (!atomic_load(&shared->step[GATE])) poll_once();
    send_number(links[1], 1);
    atomic_store(&shared->step[FINISH], 1);
    struct pollfd p = {.fd = ((struct tcp_link *)links[1])->sock.fd};
    CHECK(poll(&p, 1, -1) == 1);
    send_number(links[1], 2);
    while (!all_received() && losses == 0) poll_once();
    CHECK(all_received());
    while (losses == 0) poll_once();
}

static void last_words(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_PATIENCE", PATIENCE, 1);
    int failures = run_ranks(2, &uno_tcp, last_words_body, NULL);
    unsetenv("UNISONO_TCP_PATIENCE");
    assert_int_equal(failures, 0);
}

// ---- settings ----

static void ports_body(void)
{
    int port = ntohs(uno_tcp_state.card.port);
    CHECK(port >= 41000 && port <= 41999);
    mixed_traffic(100);
}

static void port_range(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_PORT_RANGE", "41000-41999", 1);
    int failures = run_ranks(2, &uno_tcp, ports_body, NULL);
    unsetenv("UNISONO_TCP_PORT_RANGE");
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_order),
        cmocka_unit_test(strangers),
        cmocka_unit_test(rogue),
        cmocka_unit_test(crumbs),
        cmocka_unit_test(cut),
        cmocka_unit_test(damage),
        cmocka_unit_test(cut_and_damage),
        cmocka_unit_test(delay_and_cut),
        cmocka_unit_test(come_back),
        cmocka_unit_test(lost),
        cmocka_unit_test(port_range),
        cmocka_unit_test(attacked),
        cmocka_unit_test(rogue_with_keys),
        cmocka_unit_test(said_again),
        cmocka_unit_test(last_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
