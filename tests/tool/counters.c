// SPDX-License-Identifier: BSD-3-Clause
// run: np=1
// Handles of performance variables: they count while they run and from where they were set; two sessions do not see
// each other; what levels refuse; wrong sessions and handles.
#include "../check.h"

#include <math.h>

static int index_of(const char *name, int class)
{
    int index = -1;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    return index;
}

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session s, const char *name, int class)
{
    MPI_T_pvar_handle h;
    int n;
    CHECK(MPI_T_pvar_handle_alloc(s, index_of(name, class), NULL, &h, &n) == MPI_SUCCESS && n == 1);
    return h;
}

static unsigned long long value(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    unsigned long long n;
    CHECK(MPI_T_pvar_read(s, h, &n) == MPI_SUCCESS);
    return n;
}

static void send_some(int n)
{
    int out = 1, in;
    for (int i = 0; i < n; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void running(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    send_some(3);
    CHECK(value(s, h) == 0);
    CHECK(MPI_T_pvar_start(s, h) == MPI_SUCCESS);
    send_some(2);
    CHECK(value(s, h) == 2);
    CHECK(MPI_T_pvar_start(s, h) == MPI_SUCCESS && value(s, h) == 2);
    CHECK(MPI_T_pvar_stop(s, h) == MPI_SUCCESS);
    send_some(5);
    CHECK(value(s, h) == 2);
    CHECK(MPI_T_pvar_start(s, h) == MPI_SUCCESS);
    send_some(1);
    CHECK(value(s, h) == 3);
}

static void setting(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    unsigned long long hundred = 100, was = 0;
    CHECK(MPI_T_pvar_write(s, h, &hundred) == MPI_SUCCESS);
    send_some(4);
    CHECK(MPI_T_pvar_readreset(s, h, &was) == MPI_SUCCESS && was == 104 && value(s, h) == 0);
    send_some(1);
    CHECK(value(s, h) == 1 && MPI_T_pvar_reset(s, h) == MPI_SUCCESS && value(s, h) == 0);
}

// A time is set to seconds that there are.
static void times(MPI_T_pvar_session s)
{
    static const double none[] = {-5, NAN, INFINITY, 1e300};
    double was = -1, half = 0.5;
    MPI_T_pvar_handle h = handle_of(s, "wait_sleep_time", MPI_T_PVAR_CLASS_TIMER);
    CHECK(MPI_T_pvar_write(s, h, &half) == MPI_SUCCESS);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(MPI_T_pvar_write(s, h, &none[i]) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_pvar_read(s, h, &was) == MPI_SUCCESS && was > 0.499 && was < 0.501);
    CHECK(MPI_T_pvar_handle_free(s, &h) == MPI_SUCCESS);
}

static void levels(MPI_T_pvar_session s)
{
    unsigned long long n = 1;
    MPI_T_pvar_handle h = handle_of(s, "posted_receives", MPI_T_PVAR_CLASS_LEVEL);
    int in;
    MPI_Request r;
    CHECK(MPI_T_pvar_start(s, h) == MPI_T_ERR_PVAR_NO_STARTSTOP &&
          MPI_T_pvar_stop(s, h) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_write(s, h, &n) == MPI_T_ERR_PVAR_NO_WRITE && MPI_T_pvar_reset(s, h) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(s, h, &n) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(value(s, h) == 0);
    MPI_Irecv(&in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &r);
    CHECK(value(s, h) == 1);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(value(s, h) == 0);
    // Levels are left out.
    CHECK(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(s, MPI_T_PVAR_ALL_HANDLES, &n) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(s, &h) == MPI_SUCCESS && h == MPI_T_PVAR_HANDLE_NULL);
}

static void misuse(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    MPI_T_pvar_session other, freed = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle null = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long n;
    int index;
    CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(other, h, &n) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(other, &h) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(s, null, &n) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_session copy = other;
    CHECK(MPI_T_pvar_session_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&other) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_session_free(&freed) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(other, h, &n) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_handle_alloc(s, 100000, NULL, &h, &index) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_get_index("wait_sleeps", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_get_index("wait_sleeps", 99, &index) == MPI_T_ERR_INVALID);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session one, two;
    MPI_Init(&argc, &argv);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&one) == MPI_SUCCESS && MPI_T_pvar_session_create(&two) == MPI_SUCCESS);
    MPI_T_pvar_handle h = handle_of(one, "self_eager_messages", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle k = handle_of(two, "self_eager_messages", MPI_T_PVAR_CLASS_COUNTER);
    CHECK(MPI_T_pvar_start(two, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    running(one, h);
    setting(one, h);
    CHECK(value(two, k) == 16);
    times(one);
    levels(one);
    misuse(one, h);
    CHECK(MPI_T_pvar_session_free(&two) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);    // takes what is left
    MPI_Finalize();
    return 0;
}
