// SPDX-License-Identifier: BSD-3-Clause
// The doorbell's socket against a process that does not belong to the job (another user's, where the test may become
// one): what it sends to every socket of ours that it can see neither wakes a rank nor keeps a ring out. And a ring of
// which only the half took place.
#include "chan/door.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bell.h"
#include "chan/self.h"

#define STRANGER 65534    // nobody
#define GARBAGE 500       // datagrams to each socket: more than its queue holds

static struct uno_job_head *job;

static int make_job(void **state)
{
    (void)state;
    static const int zero = 0;
    static const unsigned char secret[32];
    struct uno_job_spec spec = {
        .nlocal = 1, .nworld = 1, .nhosts = 1, .world_rank = &zero, .appnum = &zero, .secret = secret};
    int fd;
    assert_int_equal(uno_job_create(&spec, &fd), 0);
    assert_int_equal(uno_job_map(fd, &job), 0);
    close(fd);
    uno_chan_self.job = job;
    uno_chan_self.door = uno_job_door(job, 0);
    return uno_door_open();
}

// Sends to every abstract socket whose name is of this project; returns how many there are.
static int pester(void)
{
    char line[256];
    int count = 0, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    FILE *all = fopen("/proc/net/unix", "r");
    while (all && fgets(line, sizeof line, all)) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        const char *name = strstr(line, "@unisono-");
        if (!name) continue;
        size_t n = strcspn(name, "\n");
        memcpy(a.sun_path + 1, name + 1, n - 1);
        socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        for (int i = 0; i < GARBAGE; i++) {
            char text[64];
            for (size_t k = 0; k < sizeof text; k++) text[k] = (char)random();
            sendto(fd, text, (size_t)random() % sizeof text, 0, (struct sockaddr *)&a, len);
        }
        count++;
    }
    return count;
}

static bool rung(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void strangers_do_nothing(void **state)
{
    (void)state;
    int fd = uno_door_fd();
    assert_true(fd >= 0);
    uno_door_arm(UNO_DOOR_FD);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(STRANGER) != 0) _exit(2);
        _exit(pester() > 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(rung(fd, 0));
    uno_door_ring(uno_chan_self.door);
    assert_true(rung(fd, 10000));
    uno_door_drain();
    assert_false(rung(fd, 0));
    uno_door_disarm();
    uno_door_close();
}

// No name can be foretold: a second socket of the same rank has another one.
static void names_are_random(void **state)
{
    (void)state;
    unsigned char first[sizeof uno_chan_self.door->name];
    assert_true(uno_door_fd() >= 0);
    memcpy(first, uno_chan_self.door->name, sizeof first);
    uno_door_close();
    assert_true(uno_door_fd() >= 0);
    assert_memory_not_equal(first, uno_chan_self.door->name, sizeof first);
    uno_door_close();
}

static void *sleep_there(void *ticket)
{
    uno_door_sleep(*(uint32_t *)ticket);
    return NULL;
}

static void *sleep_on_descriptor(void *fd)
{
    poll(&(struct pollfd){.fd = *(int *)fd, .events = POLLIN}, 1, -1);
    return NULL;
}

// A process died that had taken the mode and had not rung yet: no later ring would wake who sleeps.
static void a_death_wakes_whoever_was_being_rung(void **state)
{
    (void)state;
    pthread_t sleeper;
    struct uno_door *door = uno_chan_self.door;
    uint32_t ticket = uno_door_arm(UNO_DOOR_FUTEX);
    assert_int_equal(pthread_create(&sleeper, NULL, sleep_there, &ticket), 0);
    atomic_store(&door->mode, UNO_DOOR_AWAKE);
    uno_bell_death(door);
    assert_int_equal(pthread_join(sleeper, NULL), 0);
    int fd = uno_door_fd();
    assert_true(fd >= 0);
    uno_door_arm(UNO_DOOR_FD);
    assert_int_equal(pthread_create(&sleeper, NULL, sleep_on_descriptor, &fd), 0);
    atomic_store(&door->mode, UNO_DOOR_AWAKE);
    uno_bell_death(door);
    assert_int_equal(pthread_join(sleeper, NULL), 0);
    uno_door_drain();
    uno_door_disarm();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strangers_do_nothing), cmocka_unit_test(names_are_random),
                                       cmocka_unit_test(a_death_wakes_whoever_was_being_rung)};
    return cmocka_run_group_tests(tests, make_job, NULL);
}
