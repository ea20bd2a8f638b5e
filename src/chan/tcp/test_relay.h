// SPDX-License-Identifier: BSD-3-Clause
// For tests of the tcp channel: a relay in front of each rank, which cuts connections, damages bytes, holds them back,
// hands them on in crumbs, or changes them as an attacker would. Included on top of test_traffic.h.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "chan/tcp/tcp.h"
#include "chan/test_traffic.h"

#define GATE 7    // step that opens when the ranks may begin

static inline struct uno_job_head *outside_map(int fd)
{
    struct uno_job_head *head;
    assert_int_equal(uno_job_map(fd, &head), 0);
    for (int i = 0; i < ranks; i++)    // all ranks listen
        while (atomic_load(&uno_job_board(head, (uint32_t)i)->card_bytes) == 0) sched_yield();
    return head;
}

static inline struct uno_net *card_of(struct uno_job_head *head, int rank)
{
    return (struct uno_net *)(void *)uno_job_board(head, (uint32_t)rank)->card;
}

static inline int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

enum mischief { CUT = 1, DAMAGE = 2, CRUMBS = 4, DELAY = 8, REPEAT = 16, SWAP = 32, FORGE = 64 };
#define ATTACK (REPEAT | SWAP | FORGE)

#define PAIRS 64
#define ONCE 16384
#define MISCHIEFS 20    // of a relay; then its line is good

struct relay {
    int fd[2];
    size_t passed, next;
};

static struct relay relays[PAIRS];
static int mischief;
static pid_t relay_pid[2];

static inline void end_relay(struct relay *r)
{
    for (int i = 0; i < 2; i++) close(r->fd[i]);
    r->fd[0] = r->fd[1] = -1;
}

static inline void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        size_t k = mischief & CRUMBS && n > 100 ? (size_t)random() % 100 + 1 : n;
        ssize_t done = send(fd, p, k, MSG_NOSIGNAL);
        if (done <= 0) return;
        p += done;
        n -= (size_t)done;
    }
}

// A frame whose header is forged, with the right CRC32C: another tag.
static inline void forge(char *buf, size_t n)
{
    struct tcp_frame f;
    if (n < sizeof f) return;
    memcpy(&f, buf, sizeof f);
    f.h.tag ^= 1;
    struct tcp_check c;
    tcp_check(&c, NULL, &f.data_check, sizeof f - sizeof f.check);
    if (random() % 2) f.check = c;
    memcpy(buf, &f, sizeof f);
}

// Changes what passes as somebody would who knows the protocol; buf has room for as much again. Returns the new length.
static inline size_t attack_bytes(struct relay *r, char *buf, size_t n, int from)
{
    if (mischief & FORGE) forge(buf, n);
    if (mischief & REPEAT) {
        memcpy(buf + n, buf, n);
        return 2 * n;
    }
    if (mischief & SWAP) {    // what follows comes first, if it is there
        char later[ONCE];
        ssize_t k = recv(r->fd[from], later, sizeof later, MSG_DONTWAIT);
        if (k <= 0) return n;
        memmove(buf + k, buf, n);
        memcpy(buf, later, (size_t)k);
        return n + (size_t)k;
    }
    return n;
}

static inline void pass_on(struct relay *r, int from)
{
    static char buf[2 * ONCE];
    static int done;    // of this relay
    ssize_t n = recv(r->fd[from], buf, ONCE, 0);
    if (n <= 0) {
        end_relay(r);
        return;
    }
    r->passed += (size_t)n;
    if (mischief & DELAY && random() % 40 == 0) usleep((useconds_t)(random() % 20000));    // the thing tested
    bool now = r->passed > r->next && done < MISCHIEFS && mischief & (CUT | DAMAGE | ATTACK);
    if (now) {
        done++;
        r->next = r->passed + (size_t)random() % 400000;
        if (mischief & DAMAGE) buf[random() % n] ^= (char)(1 << random() % 8);
        atomic_fetch_add(&shared->number[7], 1);
        if (mischief & ATTACK) n = (ssize_t)attack_bytes(r, buf, (size_t)n, from);
    }
    send_all(r->fd[1 - from], buf, now && mischief & CUT ? (size_t)random() % (size_t)n : (size_t)n);
    if (now && mischief & CUT) end_relay(r);
}

static inline void begin_relay(int client, uint16_t port)
{
    for (int i = 0; i < PAIRS; i++) {
        if (relays[i].fd[0] >= 0) continue;
        int server = connect_to(port);
        if (server < 0) break;
        relays[i] = (struct relay){.fd = {client, server}, .next = (size_t)random() % 300000};
        if (random() % 4 == 0) relays[i].next = 0;    // already the handshake suffers
        return;
    }
    close(client);
}

static inline void relay_for_ever(int listener, uint16_t port)
{
    for (int i = 0; i < PAIRS; i++) relays[i].fd[0] = relays[i].fd[1] = -1;
    for (;;) {
        struct pollfd p[1 + 2 * PAIRS];
        p[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (int i = 0; i < 2 * PAIRS; i++) p[1 + i] = (struct pollfd){.fd = relays[i / 2].fd[i % 2], .events = POLLIN};
        poll(p, 1 + 2 * PAIRS, -1);
        for (int i = 0; i < 2 * PAIRS; i++)
            if (p[1 + i].revents && p[1 + i].fd == relays[i / 2].fd[i % 2]) pass_on(&relays[i / 2], i % 2);
        if (p[0].revents) begin_relay(accept4(listener, NULL, NULL, SOCK_CLOEXEC), port);
    }
}

// Puts a relay in front of each rank, where that rank lives: the boards then name the relays' ports.
static inline void interpose(int fd)
{
    struct uno_job_head *head = outside_map(fd);
    for (int i = 0; i < 2; i++) {
        int told[2];
        uint16_t port = card_of(head, i)->port;
        assert_int_equal(pipe(told), 0);
        relay_pid[i] = fork();
        if (relay_pid[i] == 0) {
            alarm(TEST_SECONDS);
            srandom(4711 + (unsigned)i);
            if (before_open) before_open(i);
            struct sockaddr_in a = {.sin_family = AF_INET};
            socklen_t len = sizeof a;
            int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            CHECK(bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 64) == 0);
            getsockname(listener, (struct sockaddr *)&a, &len);
            CHECK(write(told[1], &a.sin_port, sizeof a.sin_port) == sizeof a.sin_port);
            relay_for_ever(listener, port);
        }
        close(told[1]);
        assert_int_equal(read(told[0], &card_of(head, i)->port, sizeof port), sizeof port);
        close(told[0]);
    }
    atomic_store(&shared->step[GATE], 1);
}

static inline void end_relays(void)
{
    for (int i = 0; i < 2; i++) {
        kill(relay_pid[i], SIGKILL);
        waitpid(relay_pid[i], NULL, 0);
    }
}
