// SPDX-License-Identifier: BSD-3-Clause
// An invariant that holds is silent, one that is broken ends the process, and in a release build nothing is evaluated.
#include "base/invariant.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pool.h"

static int ended_by(void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        body();
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void broken(void)
{
    uno_assert_failed("broken", "here", 1);
}

static void give_back_twice(void)
{
    struct uno_pool pool = {.bytes = sizeof(struct uno_head), .magic = 7};
    void *object = uno_pool_get(&pool);
    uno_pool_put(&pool, object);
    uno_pool_put(&pool, object);
}

static void a_broken_one_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(ended_by(broken), SIGABRT);
}

static void they_run_in_checked_builds_alone(void **state)
{
    (void)state;
    int looked = 0;
    uno_assert(++looked > 0);
#ifdef UNO_INVARIANTS
    assert_int_equal(looked, 1);
    assert_int_equal(ended_by(give_back_twice), SIGABRT);
#else
    assert_int_equal(looked, 0);
    (void)give_back_twice;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_one_ends_the_process),
        cmocka_unit_test(they_run_in_checked_builds_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
