// SPDX-License-Identifier: BSD-3-Clause
// What the libfabric channel does with a fabric that is not well: payloads that are damaged on their way, a way of
// several that fails, memory that a killed process left. The provider is tcp;ofi_rxm, with functions of its endpoints
// replaced, but for the last.
#include "chan/ofi/missing.h"
#include "chan/ofi/ofi.h"
#include "chan/test_spaces.h"

static bool armed;    // the next call does harm
static bool lost;     // the link was given up
static uint64_t refused;

static struct fi_ops_rma rma;
static struct fi_ops_msg msg;
static ssize_t (*write_well)(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags);
static ssize_t (*send_well)(struct fid_ep *ep, const void *buf, size_t n, void *desc, fi_addr_t to, void *context);

static void note_loss(struct uno_link *link)
{
    (void)link;
    lost = true;
}

// One byte of a piece changes; the user's memory stays as it is.
static ssize_t write_damaged(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
    static char *copy[16];
    static int used;
    struct fi_msg_rma other = *m;
    struct iovec from = *m->msg_iov;
    if (armed && used < 16) {
        char *c = copy[used++] = malloc(from.iov_len);
        memcpy(c, from.iov_base, from.iov_len);
        c[from.iov_len / 2] ^= 0x10;
        from.iov_base = c;
        armed = false;
    }
    other.msg_iov = &from;
    return write_well(ep, &other, flags);
}

static ssize_t send_damaged(struct fid_ep *ep, const void *buf, size_t n, void *desc, fi_addr_t to, void *context)
{
    if (armed && n > sizeof(struct ofi_frame)) {
        ((char *)(uintptr_t)buf)[n - 1] ^= 1;
        armed = false;
    }
    return send_well(ep, buf, n, desc, to, context);
}

static ssize_t refuse_write(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
    if (!armed) return write_well(ep, m, flags);
    refused++;
    return -FI_EIO;
}

static void replace_write(uint32_t port, ssize_t (*by)(struct fid_ep *, const struct fi_msg_rma *, uint64_t))
{
    struct fid_ep *ep = uno_ofi_state.port[port].ep;
    rma = *ep->rma;
    write_well = rma.writemsg;
    rma.writemsg = by;
    ep->rma = &rma;
}

static void never_done(uint64_t token, size_t bytes, int failed)
{
    (void)bytes;
    CHECK(token >> 16 == 1 || failed);    // no receive ends well
}

static void damaged_memory_body(void)
{
    on_arrival = take_offer;
    on_done = never_done;
    on_lost = note_loss;
    CHECK(uno_ofi_state.remote && uno_ofi_state.checks);
    if (me == 0) {
        replace_write(0, write_damaged);
        armed = true;
        size_t k = TRANSFERS - 1;
        source[k] = malloc(large[k]);
        fill_bytes(source[k], k, large[k]);
        struct uno_rts rts = {.token = 1 << 16 | k, .bytes = large[k]};
        struct uno_run run = {source[k], large[k]};
        CHECK(links[1]->ops->offer(links[1], &(struct uno_mem){&run, 1}, &rts) == 0);
        struct uno_msg m = {.kind = OFFER, .src = me, .bytes = sizeof rts, .data = &rts};
        must_send(links[1], &m);
    }
    while (me == 1 && !lost) poll_once();
    meet(true);
    _exit(0);
}

static void damaged_frame_body(void)
{
    on_arrival = take_in_order;
    on_lost = note_loss;
    if (me == 0) {
        for (uint64_t k = 0; k < 5; k++) send_number(links[1], k);
        while (atomic_load(&shared->step[1]) == 0) poll_once();    // seq_cst, see meet()
        struct fid_ep *ep = uno_ofi_state.port[0].ep;
        msg = *ep->msg;
        send_well = msg.send;
        msg.send = send_damaged;
        ep->msg = &msg;
        armed = true;
        for (uint64_t k = 5; k < 20; k++) send_number(links[1], k);
        while (armed) poll_once();
    }
    while (me == 1 && !lost) {
        poll_once();
        if (received[0] == 5) atomic_store(&shared->step[1], 1);
    }
    if (me == 1) CHECK(received[0] >= 5 && received[0] < 20);    // those before it, checked, and nothing after
    meet(true);
    _exit(0);
}

static void transfer_all(struct uno_link *l)
{
    done_out = done_in = offered = 0;
    memset(moved_out, 0, sizeof moved_out);
    memset(moved_in, 0, sizeof moved_in);
    meet(true);
    offer_all(l);
    while (done_out < TRANSFERS || done_in < TRANSFERS) poll_once();
    meet(true);
}

// Both ways carry as soon as both are connected; then the second one fails, and the first carries all.
static void lanes_body(void)
{
    on_arrival = take_offer;
    on_done = direct_done;
    struct uno_link *l = links[1 - me];
    CHECK(uno_ofi_state.ports == 2);
    for (bool told = false; atomic_load(&shared->number[5]) < 2; meet(true)) {    // seq_cst, see meet()
        transfer_all(l);
        if (!told && counted("ofi_lane_bytes") > 0) told = true, atomic_fetch_add(&shared->number[5], 1);
        meet(true);
    }
    uint64_t before = counted("ofi_lane_bytes");
    replace_write(1, refuse_write);
    armed = true;
    transfer_all(l);
    CHECK(ofi_of(l)->lanes == 2 && ofi_of(l)->lane[1].broken);
    CHECK(counted("ofi_lane_bytes") == before && refused > 0);
}

static void damaged_memory(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(2, &uno_ofi, damaged_memory_body, NULL), 0);
}

static void damaged_frame(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(2, &uno_ofi, damaged_frame_body, NULL), 0);
}

static void lane_fails(void **state)
{
    (void)state;
    const char *why = no_spaces();
    if (why) print_message("left out: %s\n", why);
    if (why) skip();
    assert_true(make_spaces(2));
    setenv("UNISONO_TCP_INTERFACE", "10.77.0.0/16", 1);
    before_open = enter_space;
    int failed = run_ranks(2, &uno_ofi, lanes_body, NULL);
    remove_spaces();
    assert_int_equal(failed, 0);
}

// In a process of its own: libfabric starts threads, which a fork would lose.
static bool is_there(const char *name)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(uno_ofi_missing(name) != NULL);
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

// The name that libfabric's provider shm would give this process's memory.
static const char *memory_name(void)
{
    static char name[64];
    snprintf(name, sizeof name, "/%d:%d:0", (int)getpid(), (int)getuid());
    return name;
}

// As a process of this rank's number leaves it when it is killed.
static void leave_memory(int rank)
{
    (void)rank;
    int fd = shm_open(memory_name(), O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static void memory_left_body(void)
{
    CHECK(shm_unlink(memory_name()) == 0);
    CHECK(links[1 - me]);
}

static void memory_left(void **state)
{
    (void)state;
    bool there = is_there("shm");
    if (!there) print_message("left out: libfabric has no provider shm here\n");
    if (!there) skip();
    setenv("UNISONO_OFI_PROVIDER", "shm", 1);
    before_open = leave_memory;
    int failed = run_ranks(2, &uno_ofi, memory_left_body, NULL);
    before_open = NULL;
    setenv("UNISONO_OFI_PROVIDER", "tcp;ofi_rxm", 1);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_memory), cmocka_unit_test(damaged_frame),
                                       cmocka_unit_test(memory_left), cmocka_unit_test(lane_fails)};
    setenv("UNISONO_OFI_PROVIDER", "tcp;ofi_rxm", 1);
    setenv("UNISONO_OFI_REMOTE_MIN", "1", 1);
    if (is_there("tcp;ofi_rxm")) return cmocka_run_group_tests(tests, NULL, NULL);
    fprintf(stderr, "skipped: libfabric has no provider tcp;ofi_rxm here\n");
    return 0;
}
