// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether other programs want our processors. A thread that spins then keeps the one that it waits for from
// running, and is itself thrown out in the middle of its work; a thread that sleeps at once hands its processor over
// and has it back when it is woken. So a process whose waits often outlast their spinning asks the kernel how long the
// threads of the team have waited for a processor, and sleeps at once for a while when that was long. Called by wait.c
// alone.
#include "rt.h"
#include <fcntl.h>
#include <unistd.h>

#define SAMPLE 8                // members of a large team that are looked at
#define FRESH 50000000          // ns: figures that are older say nothing about now
#define SHARE 15                // per cent of the time that a thread waits for a processor when it is crowded
#define FIRST_PERIOD 5000000    // ns of sleeping at once, before spinning is tried again;
#define LAST_PERIOD 80000000    // it doubles up to this while it is still crowded then

static _Atomic int64_t until;    // crowded until then; 0: not
static _Atomic int looking;      // one thread at a time looks; guards the rest
static int64_t looked_at, period;

static __thread int tid __attribute__((tls_model("initial-exec")));

int rt_tid(void)
{
    return tid ? tid : (tid = gettid());
}

void rt_crowd_forked(void)
{
    tid = 0;
    atomic_store(&looking, 0);
}

bool rt_crowded(void)
{
    // Relaxed: a hint.
    int64_t end = atomic_load_explicit(&until, memory_order_relaxed);
    if (!end) return false;
    if (rt_now() < end) return true;
    atomic_store_explicit(&until, 0, memory_order_relaxed);
    return false;
}

// Nanoseconds that the thread was ready to run and did not; -1 where the kernel does not count them.
static int64_t delay_of(int tid)
{
    char path[64], text[96];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long long ran, waited;
    if (n <= 0) return -1;
    text[n] = 0;
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

// The longest that a member waited for a processor since the last look.
static int64_t longest_delay(struct rt_member *m)
{
    int64_t longest = 0;
    for (int i = 0; i < m->team->n && i < SAMPLE; i++) {
        struct rt_member *other = m->team->m[(m->num + i) % m->team->n];
        // Relaxed: written by the member before its first wait; a wrong one only gives a wrong hint.
        int64_t now = delay_of(atomic_load_explicit(&other->tid, memory_order_relaxed));
        if (now - other->delay > longest && other->delay) longest = now - other->delay;
        other->delay = now;
    }
    return longest;
}

enum rt_view rt_look_around(struct rt_member *m)
{
    // Acquire and release: the next one to look sees what the last one wrote.
    if (atomic_exchange_explicit(&looking, 1, memory_order_acquire)) return RT_UNKNOWN;
    int64_t now = rt_now(), since = now - looked_at, delay = longest_delay(m);
    enum rt_view view = since > FRESH ? RT_UNKNOWN : delay * 100 > since * SHARE ? RT_CROWDED : RT_QUIET;
    looked_at = now;
    if (view == RT_CROWDED) {
        period = period ? 2 * period : FIRST_PERIOD;
        if (period > LAST_PERIOD) period = LAST_PERIOD;
        atomic_store_explicit(&until, now + period, memory_order_relaxed);
    } else if (view == RT_QUIET) {
        period = 0;
    }
    atomic_store_explicit(&looking, 0, memory_order_release);
    return view;
}
