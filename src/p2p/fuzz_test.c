// SPDX-License-Identifier: BSD-3-Clause
// Frames that pass every checksum and make no sense, fed into the receiving side of the tcp channel and through
// delivery, while the rank sends, receives, cancels and probes: nothing may crash, hang or end the job. The peer's end
// of the connection is in this process; it learns the tokens that the rank sends and returns them, altered or late.
// Without arguments a short run; `fuzz_test FRAMES SEED` is the long one (tools/fuzz-frames, with sanitizers).
#include "p2p/test_ranks.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "chan/tcp/tcp.h"
#include "core/progress.h"
#include "core/request.h"
#include "p2p/kind.h"

#define SHORT 20000
#define PER_PROCESS 20000    // a fresh rank after so many: what was forged half is never ended
#define LEARNT 64
#define OPEN 48    // operations of the rank at once
#define ROOM 200000

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
}

static struct tcp_link *l;
static int peer = -1;    // the peer's end
static uint64_t learnt[LEARNT];
static struct {
    MPI_Request req;
    char *buf;
} op[OPEN];

// ---- the peer ----

static void learn(const char *bytes, size_t n)
{
    for (size_t i = 0; i + 8 <= n && i < 256; i += 8) memcpy(&learnt[draw(LEARNT)], bytes + i, 8);
}

static void hear(void)
{
    static char bytes[65536];
    ssize_t n;
    while ((n = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) learn(bytes, (size_t)n);
}

static void connect_link(void)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    if (peer >= 0) close(peer);
    peer = pair[1];
    l->sock.fd = pair[0];
    l->state = TCP_UP;
    l->due = l->since = 0;
    l->refusals = 0;
    uno_tcp_state.up++;
    tcp_forget_input(l);
    tcp_watch(&l->sock, EPOLLIN, true);
    tcp_rewind(l, l->tail == l->head ? l->seq : 0);
    tcp_reseal(l);
    tcp_flush(l);
}

static uint64_t any_word(void)
{
    switch (draw(8)) {
    case 0: return draw(4);
    case 1: return ~draw(4);
    case 2: return 1ULL << draw(64);
    case 3: return state;
    case 4: return learnt[draw(LEARNT)] ^ 1ULL << draw(64);
    default: return learnt[draw(LEARNT)];
    }
}

static uint64_t any_bytes(void)
{
    static const uint64_t some[] = {0, 1, 8, 40, 41, 8192, 65536, ROOM, ROOM + 1, 1 << 20, UINT64_MAX, 1ULL << 62};
    return draw(4) ? draw(100000) : some[draw(sizeof some / sizeof some[0])];
}

static uint64_t any_context(void)
{
    const struct MPI_ABI_Comm *c = draw(4) ? &uno_comm_world : &uno_comm_self;
    if (draw(100) == 0) return any_word();
    return c->context | (draw(4) ? 0 : UNO_CTX_COLL);
}

// The payload of a message of the kind, its fields drawn; returns its bytes.
static size_t draw_payload(unsigned kind, char *out)
{
    uint64_t w[8];
    size_t n = 0;
    for (size_t i = 0; i < 8; i++) w[i] = any_word();
    if (kind == UNO_RTS) {
        struct uno_rts rts = {.token = w[0], .bytes = any_bytes(), .addr = w[1], .desc = (uint32_t)draw(40)};
        rts.direct = (uint32_t)draw(3);
        if (draw(8) == 0) rts.row = (uint32_t)draw(5000), rts.tile = (uint32_t)draw(100);
        memcpy(w, &rts, n = sizeof rts);
    } else if (kind == UNO_CTS) {
        if (draw(3) == 0) w[1] = 0;
        w[2] = draw(3) ? draw(ROOM) : any_bytes();
        w[3] = draw(4) ? 0 : draw(64) | draw(64) << 32;
        n = 32;
    } else if (kind == UNO_SIGN) {
        n = 24;
    } else if (kind == UNO_PART) {
        bool ack = draw(2);
        uint32_t what = ack ? 2 : draw(4) ? 1 : 0x101, count = (uint32_t)draw(40);
        w[0] = what | (uint64_t)(ack ? draw(5) : count) << 32;
        if (!ack) w[2] = draw(2) ? count * draw(3000) : any_bytes();
        w[4] = ack ? w[4] : draw(50);
        n = ack ? 32 : 40;
        if (ack && draw(2)) w[3] = draw(3);
    } else {
        n = draw(4) ? draw(200) : draw((draw(20) ? TCP_MIXED_MAX : TCP_DATA_MAX) + 9);
        memset(out, (int)draw(256), n);
        return n;
    }
    memcpy(out, w, n);
    return draw(50) ? n : draw(65);
}

static void send_frame(struct tcp_frame *f, const char *payload, size_t n)
{
    static char wire[TCP_DATA_MAX + 4096 + sizeof *f];
    size_t at = sizeof *f;
    memcpy(wire + at, payload, n);
    memset(wire + at + n, 0, 24);
    if (f->h.chan == TCP_PIECE) {
        tcp_check((struct tcp_check *)(void *)(wire + at + n), NULL, payload, n);
        at += n + sizeof(struct tcp_check);
    } else {
        at += tcp_padded(n);
        bool trailed = tcp_is_trailed(f);
        struct tcp_check *check = trailed ? (struct tcp_check *)(void *)(wire + at) : &f->data_check;
        if (n > 0) tcp_check(check, NULL, payload, n);
        if (trailed) f->data_check.tag[TCP_CRC] = 1;
        if (trailed) at += sizeof *check;
    }
    tcp_check(&f->check, NULL, &f->data_check, sizeof *f - sizeof f->check);
    memcpy(wire, f, sizeof *f);
    size_t first = draw(3) ? at : draw(at);
    for (size_t done = 0, end = first; done < at; end = at) {
        ssize_t k = send(peer, wire + done, end - done, MSG_NOSIGNAL);
        if (k > 0) done += (size_t)k;
        uno_progress();
        hear();
        if (l->sock.fd < 0) return;    // refused already
    }
}

static void forge(void)
{
    static char payload[TCP_DATA_MAX + 64];
    static const uint8_t sorts[] = {TCP_PULL, TCP_PIECE, TCP_ACK, TCP_PIECE, TCP_SORT_END, TCP_PULL};
    struct tcp_frame f = {.ack = draw(20) ? l->seq - draw(l->seq < 4 ? l->seq + 1 : 4) : any_word()};
    f.h.src = draw(20) ? 1 : (int32_t)any_word();
    f.h.tag = draw(20) ? (int32_t)draw(3) : (int32_t)any_word();
    f.h.chan = draw(6) ? TCP_MESSAGE : sorts[draw(sizeof sorts)];
    f.h.kind = (uint8_t)(draw(100) ? draw(UNO_KIND_END) : draw(256));
    if (draw(3) == 0) f.h.kind = UNO_EAGER;
    f.h.ctx = f.h.kind == UNO_DATA ? any_word() : any_context();
    size_t n = draw_payload(f.h.kind, payload);
    if (f.h.chan == TCP_PULL) {
        uint64_t pull[2] = {draw(40) | draw(40) << 32, any_bytes()};
        memcpy(payload, pull, n = sizeof pull);
    }
    if (f.h.chan == TCP_PIECE) f.h.ctx = draw(40);
    if (f.h.chan == TCP_ACK && draw(10)) n = 0;
    f.h.bytes = (uint32_t)n;
    f.seq = f.h.chan < TCP_ACK ? l->got_seq + 1 : 0;
    if (draw(100) == 0) f.seq = any_word();
    send_frame(&f, payload, n);
}

// ---- the rank ----

static void begin(int i)
{
    static MPI_Datatype rows;
    if (!rows) {
        MPI_Type_vector(50, 3, 7, MPI_INT, &rows);
        MPI_Type_commit(&rows);
    }
    int n = draw(3) ? (int)draw(2000) : (int)draw(ROOM), tag = (int)draw(3);
    char *buf = op[i].buf = calloc(1, ROOM);
    MPI_Request *r = &op[i].req;
    switch (draw(10)) {
    case 0: MPI_Isend(buf, n, MPI_BYTE, 1, tag, MPI_COMM_WORLD, r); break;
    case 1: MPI_Issend(buf, n, MPI_BYTE, 1, tag, MPI_COMM_WORLD, r); break;
    case 2: MPI_Issend(buf, (int)draw(100), rows, 1, tag, MPI_COMM_WORLD, r); break;
    case 3: MPI_Irecv(buf, (int)draw(100), rows, 1, tag, MPI_COMM_WORLD, r); break;
    case 4: MPI_Irecv(buf, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, r); break;
    case 5:
        MPI_Psend_init(buf, 1 + (int)draw(40), 1000, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, r);
        MPI_Start(r);
        break;
    case 6:
        MPI_Precv_init(buf, 1 + (int)draw(40), 1000, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, r);
        MPI_Start(r);
        break;
    default: MPI_Irecv(buf, n, MPI_BYTE, 1, tag, MPI_COMM_WORLD, r);
    }
}

// One of the operations is begun, or ended where it can be.
static void step(void)
{
    int i = (int)draw(OPEN), done = 0;
    if (!op[i].buf) {
        begin(i);
        return;
    }
    if (draw(3) == 0 && op[i].req->kind != UNO_REQ_PARTITIONED) MPI_Cancel(&op[i].req);
    MPI_Test(&op[i].req, &done, MPI_STATUS_IGNORE);
    if (!done) return;
    if (op[i].req != MPI_REQUEST_NULL) MPI_Request_free(&op[i].req);
    free(op[i].buf);
    op[i].buf = NULL;
}

// What nobody receives would fill the memory.
static void clear_unexpected(void)
{
    static char drop[ROOM];
    for (int found = 1; found;) {
        MPI_Message m;
        MPI_Status s;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &m, &s);
        MPI_Request r;
        if (!found) break;
        MPI_Imrecv(drop, sizeof drop, MPI_BYTE, &m, &r);
        MPI_Request_free(&r);    // an announced one may never come
    }
}

static long frames;

static void fuzz_body(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    l = tcp_link_of(1);
    l->peer_life = 1;
    connect_link();
    for (long i = 0; i < frames; i++) {
        if (draw(3) == 0) step();
        if (i % 500 == 499) clear_unexpected();
        forge();
        uno_progress();
        hear();
        if (l->state != TCP_UP) {
            if (l->dial || l->state == TCP_DIALING) CHECK(false);    // the peer has no address
            connect_link();
        }
    }
    CHECK(l->got_seq > (uint64_t)frames / 4);    // most were refused otherwise, and nothing tested
    _exit(0);                                    // half of what was begun would never end
}

static void show_end(FILE *log)
{
    char text[8192];
    fseek(log, 0, SEEK_END);
    long n = ftell(log), from = n < (long)sizeof text ? 0 : n - (long)sizeof text;
    fseek(log, from, SEEK_SET);
    fwrite(text, 1, fread(text, 1, sizeof text, log), stderr);
}

int main(int argc, char **argv)
{
    long total = argc > 1 ? strtol(argv[1], NULL, 0) : SHORT;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    setenv("UNISONO_CHAN", "tcp", 1);
    for (long done = 0; done < total; done += PER_PROCESS, seed++) {
        int fd = make_job(2), status;
        frames = total - done < PER_PROCESS ? total - done : PER_PROCESS;
        state = seed * 0x9e3779b97f4a7c15u | 1;
        FILE *log = tmpfile();
        pid_t child = fork();
        if (child == 0) {
            dup2(fileno(log), STDERR_FILENO);
            be_rank(fd, 0, fuzz_body);
        }
        waitpid(child, &status, 0);
        close(fd);
        if (status != 0) show_end(log);
        fclose(log);
        if (status == 0) continue;
        fprintf(stderr, "fuzz_test: %ld frames of seed %llu ended with status %#x\n", frames, (unsigned long long)seed,
                (unsigned)status);
        return 1;
    }
    printf("%ld frames, nothing happened\n", total);
    return 0;
}
