// SPDX-License-Identifier: BSD-3-Clause
// Copies to and from a child process: lists of runs against a plain model, with a kernel that copies less than asked;
// memory that is not mapped, a process that is gone, a filter on system calls; and whether it may be.
#define _GNU_SOURCE
#include "chan/peer_memory.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"
#include "base/param.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/self.h"

#define BYTES 100000
#define RUNS 700    // of a list: more than one call takes
#define ROUNDS 40
#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))

static struct uno_job_head *job;
static size_t most = SIZE_MAX;    // bytes that the kernel copies per call
static int calls;

// In the place of libc's: at most `most` bytes.
static ssize_t cross_less(long number, pid_t pid, const struct iovec *mine, unsigned long nmine,
                          const struct iovec *theirs, unsigned long ntheirs)
{
    struct iovec less[1024];
    unsigned long n = 0;
    size_t left = most;
    for (; n < nmine && left > 0; left -= less[n].iov_len, n++) {
        less[n] = mine[n];
        if (less[n].iov_len > left) less[n].iov_len = left;
    }
    calls++;
    return syscall(number, (long)pid, less, n, theirs, ntheirs, 0L);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *mine, unsigned long nmine, const struct iovec *theirs,
                         unsigned long ntheirs, unsigned long flags)
{
    assert_int_equal(flags, 0);
    return cross_less(SYS_process_vm_readv, pid, mine, nmine, theirs, ntheirs);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *mine, unsigned long nmine, const struct iovec *theirs,
                          unsigned long ntheirs, unsigned long flags)
{
    assert_int_equal(flags, 0);
    return cross_less(SYS_process_vm_writev, pid, mine, nmine, theirs, ntheirs);
}

static int make_job(void **state)
{
    (void)state;
    static const int world[2] = {5, 6}, appnum[2];
    static const unsigned char secret[32];
    struct uno_job_spec spec = {
        .nlocal = 2, .nworld = 8, .nhosts = 1, .world_rank = world, .appnum = appnum, .secret = secret};
    int fd;
    assert_int_equal(uno_params_load(), 0);
    assert_int_equal(uno_job_create(&spec, &fd), 0);
    assert_int_equal(uno_job_map(fd, &job), 0);
    close(fd);
    return 0;
}

static void be_local(uint32_t local)
{
    uno_chan_self.job = job;
    uno_chan_self.local = local;
    uno_chan_self.board = uno_job_board(job, local);
    uno_chan_self.board->pid = getpid();
}

// A child, local index 1, that has run `body` when this returns, and stays until it is ended.
static pid_t start_child(void (*body)(void *), void *arg)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    be_local(0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_local(1);
        body(arg);
        if (write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

// ---- lists of runs ----

static unsigned char mine[BYTES], theirs[BYTES], model[BYTES], seen[BYTES];

static void fill(unsigned char *p, unsigned seed)
{
    for (size_t i = 0; i < BYTES; i++) p[i] = (unsigned char)((i * 40503u + seed) >> 5);
}

static void fill_theirs(void *arg)
{
    (void)arg;
    fill(theirs, 7);
}

// Runs inside `base` that do not overlap, some of them empty or beside each other.
static struct uno_mem some_runs(struct uno_run *run, unsigned char *base)
{
    size_t at = 0, end = 0;
    for (int i = 0; i < RUNS; i++) {
        at += (size_t)(random() % 3) * 8;
        size_t n = random() % 5 ? (size_t)random() % 100 : 0;
        end += n;
        run[i] = (struct uno_run){(char *)base + at, end};
        at += n;
    }
    assert_true(at <= BYTES);
    return (struct uno_mem){run, RUNS};
}

static unsigned char *byte_at(const struct uno_mem *m, const unsigned char *base, unsigned char *other, size_t at)
{
    size_t i = 0;
    while (m->run[i].end <= at) i++;
    return other + (m->run[i].at - (const char *)base) + (at - (i ? m->run[i - 1].end : 0));
}

static void lists_against_a_model(void **state)
{
    (void)state;
    static struct uno_run here[RUNS], there[RUNS];
    pid_t child = start_child(fill_theirs, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        bool reading = round % 2;
        struct uno_mem from = some_runs(here, mine), to = some_runs(there, theirs);
        struct uno_crossing c = {.pid = child, .reading = reading, .mine = &from, .theirs = &to};
        size_t n = uno_mem_bytes(c.mine), other = uno_mem_bytes(c.theirs);
        c.mine_at = (size_t)random() % n;
        c.theirs_at = (size_t)random() % other;
        if (n - c.mine_at > other - c.theirs_at)
            n = other - c.theirs_at;
        else
            n -= c.mine_at;
        most = SIZE_MAX;
        fill(mine, (unsigned)round * 1000);
        assert_int_equal(uno_peer_memory_move(child, model, (uintptr_t)theirs, BYTES, true), 0);
        if (reading) memcpy(seen, model, BYTES), memcpy(model, mine, BYTES);
        for (size_t i = 0; i < n; i++) {
            if (reading)
                *byte_at(c.mine, mine, model, c.mine_at + i) = *byte_at(c.theirs, theirs, seen, c.theirs_at + i);
            else
                *byte_at(c.theirs, theirs, model, c.theirs_at + i) = *byte_at(c.mine, mine, mine, c.mine_at + i);
        }
        most = round % 4 < 2 ? SIZE_MAX : 1 + (size_t)random() % 3000;
        size_t mine_end = c.mine_at + n, theirs_end = c.theirs_at + n;
        assert_int_equal(uno_peer_memory_copy(&c, n), 0);
        assert_int_equal(c.mine_at, mine_end);
        assert_int_equal(c.theirs_at, theirs_end);
        most = SIZE_MAX;
        if (!reading) assert_int_equal(uno_peer_memory_move(child, seen, (uintptr_t)theirs, BYTES, true), 0);
        assert_memory_equal(reading ? mine : seen, model, BYTES);
    }
    end_child(child);
}

static void short_copies_go_on(void **state)
{
    (void)state;
    pid_t child = start_child(fill_theirs, NULL);
    fill(model, 7);
    most = 999;
    calls = 0;
    assert_int_equal(uno_peer_memory_move(child, mine, (uintptr_t)theirs, BYTES, true), 0);
    assert_int_equal(calls, (BYTES + 998) / 999);
    assert_memory_equal(mine, model, BYTES);
    calls = 0;
    assert_int_equal(uno_peer_memory_move(child, mine, (uintptr_t)theirs, 0, true), 0);
    assert_int_equal(calls, 0);
    most = SIZE_MAX;
    end_child(child);
}

// ---- failures ----

static void lose_third_page(void *pages)
{
    munmap((char *)pages + 2 * PAGE_BYTES, PAGE_BYTES);
}

static void lock_third_page(void *pages)
{
    mprotect((char *)pages + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ);
}

static void *three_pages(void)
{
    void *p = mmap(NULL, 3 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 0x5a, 3 * PAGE_BYTES);
    return p;
}

// What is there has been copied and counted; the rest is an error that names the place.
static void fails_at_third_page(void (*body)(void *), bool reading)
{
    char *pages = three_pages(), word[32];
    size_t bytes = 3 * PAGE_BYTES, half = PAGE_BYTES / 2;
    pid_t child = start_child(body, pages);
    struct uno_run here = {(char *)mine, bytes};
    struct uno_run there[] = {{pages, half}, {pages + half, bytes}};
    struct uno_crossing c = {
        .pid = child, .reading = reading, .mine = &(struct uno_mem){&here, 1}, .theirs = &(struct uno_mem){there, 2}};
    memset(mine, 0xa5, bytes);
    assert_int_equal(uno_peer_memory_copy(&c, bytes), MPI_ERR_BUFFER);
    assert_int_equal(c.mine_at, 2 * PAGE_BYTES);
    assert_int_equal(c.theirs_at, 2 * PAGE_BYTES);
    snprintf(word, sizeof word, "%p", (void *)(pages + 2 * PAGE_BYTES));
    assert_non_null(strstr(uno_fail_text(), word));
    assert_non_null(strstr(uno_fail_text(), "rank 6"));
    assert_non_null(strstr(uno_fail_text(), strerror(EFAULT)));
    for (size_t i = 0; reading && i < bytes; i++) assert_int_equal(mine[i], i < 2 * PAGE_BYTES ? 0x5a : 0xa5);
    end_child(child);
    munmap(pages, bytes);
}

static void unmapped_memory_is_an_error(void **state)
{
    (void)state;
    fails_at_third_page(lose_third_page, true);
    fails_at_third_page(lose_third_page, false);
    fails_at_third_page(lock_third_page, false);
}

static void own_unmapped_memory_is_an_error(void **state)
{
    (void)state;
    pid_t child = start_child(fill_theirs, NULL);
    char *pages = three_pages();
    lose_third_page(pages);
    assert_int_equal(uno_peer_memory_move(child, pages, (uintptr_t)theirs, 3 * PAGE_BYTES, true), MPI_ERR_BUFFER);
    end_child(child);
    munmap(pages, 2 * PAGE_BYTES);
}

static void a_gone_process_is_an_error(void **state)
{
    (void)state;
    pid_t child = start_child(fill_theirs, NULL);
    end_child(child);
    assert_int_equal(uno_peer_memory_move(child, mine, (uintptr_t)theirs, 8, true), MPI_ERR_PROC_ABORTED);
}

// ---- permission ----

static void open_peer(void *arg)
{
    (void)arg;
    uno_peer_memory_open();
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void forget_tries(void)
{
    for (uint32_t i = 0; i < 2; i++) atomic_store(&uno_job_board(job, i)->cma, 0);
    atomic_store(&job->cma, 0);
}

static void both_sides_must_be_open(void **state)
{
    (void)state;
    forget_tries();
    pid_t child = start_child(do_nothing, NULL);
    uno_peer_memory_open();
    assert_int_equal(uno_peer_memory_pid(1), 0);
    assert_false(uno_peer_memory_try(1));
    end_child(child);
    child = start_child(open_peer, NULL);
    assert_true(uno_peer_memory_try(1));
    assert_int_equal(uno_peer_memory_pid(1), child);
    assert_int_equal(uno_peer_memory_pid(0), 0);
    assert_int_equal(uno_peer_memory_pid(-1), 0);
    end_child(child);
    assert_false(uno_peer_memory_try(1));
}

// From here on the system call fails with EPERM in this process. False: there are no filters on this machine.
static bool forbid(unsigned number)
{
    struct sock_filter rule[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof rule / sizeof *rule, .filter = rule};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

#define NO_FILTERS 2

static void filtered_before(void *number)
{
    if (!forbid(*(unsigned *)number)) _exit(NO_FILTERS);
    uno_peer_memory_open();
}

// What a child makes of a filter that comes after it was allowed: its exit status.
static int filtered_after(pid_t peer)
{
    if (!forbid(SYS_process_vm_readv)) return NO_FILTERS;
    if (uno_peer_memory_pid(1) != peer) return 3;
    if (uno_peer_memory_try(1)) return 4;
    if (uno_peer_memory_move(peer, mine, (uintptr_t)theirs, 8, true) != MPI_ERR_OTHER) return 5;
    return strstr(uno_fail_text(), strerror(EPERM)) ? 0 : 6;
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_filter_forbids(void **state)
{
    (void)state;
    unsigned numbers[] = {SYS_process_vm_readv, SYS_process_vm_writev};
    pid_t probe = fork();
    if (probe == 0) _exit(forbid(numbers[0]) ? 0 : NO_FILTERS);
    if (status_of(probe) == NO_FILTERS) {
        print_message("no filters on system calls on this machine\n");
        skip();
    }
    for (int i = 0; i < 2; i++) {
        forget_tries();
        pid_t child = start_child(filtered_before, &numbers[i]);
        uno_peer_memory_open();
        assert_int_equal(atomic_load(&uno_job_board(job, 1)->cma), 2);
        assert_int_equal(uno_peer_memory_pid(1), 0);
        end_child(child);
    }
    forget_tries();
    pid_t peer = start_child(open_peer, NULL);
    uno_peer_memory_open();
    assert_int_equal(uno_peer_memory_pid(1), peer);
    pid_t child = fork();
    if (child == 0) _exit(filtered_after(peer));
    assert_int_equal(status_of(child), 0);
    end_child(peer);
}

// In sixteenths of what the machine's costs say, between one and five times as long.
static void copies_are_compared_with_their_costs(void **state)
{
    (void)state;
    struct uno_costs *c = &uno_job_machine(uno_chan_self.job)->cost, as_set = *c;
    uint64_t us = uno_ticks_per_us();
    c->call = 2000;
    c->cross = 1000;
    assert_in_range(uno_peer_memory_took(4 * us, 2000), UNO_PEER_MEMORY_USUAL - 1, UNO_PEER_MEMORY_USUAL);
    assert_in_range(uno_peer_memory_took(12 * us, 2000), 3 * UNO_PEER_MEMORY_USUAL - 1, 3 * UNO_PEER_MEMORY_USUAL);
    assert_in_range(uno_peer_memory_took(20 * us, 2000), 5 * UNO_PEER_MEMORY_USUAL - 1, 5 * UNO_PEER_MEMORY_USUAL);
    assert_int_equal(uno_peer_memory_took(0, 2000), 1);
    assert_int_equal(uno_peer_memory_took(4000 * us, 2000), UNO_PEER_MEMORY_MOST);
    *c = as_set;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_against_a_model),
        cmocka_unit_test(short_copies_go_on),
        cmocka_unit_test(unmapped_memory_is_an_error),
        cmocka_unit_test(own_unmapped_memory_is_an_error),
        cmocka_unit_test(a_gone_process_is_an_error),
        cmocka_unit_test(both_sides_must_be_open),
        cmocka_unit_test(a_filter_forbids),
        cmocka_unit_test(copies_are_compared_with_their_costs),
    };
    return cmocka_run_group_tests(tests, make_job, NULL);
}
