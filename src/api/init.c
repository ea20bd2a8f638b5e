// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Process initialization, creation, management": the world model's start and end, and what a process may
// ask about itself at any time. The work is in core/world.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/check.h"
#include "api/library.h"
#include "base/wait.h"
#include "base/fail.h"
#include "coll/choose.h"
#include "core/helper.h"
#include "dpm/dpm.h"
#include "dpm/spawn.h"
#include "ft/ft.h"
#include "p2p/buffered.h"
#include "p2p/inner.h"
#include "p2p/peer.h"

static _Atomic int world_model;    // 0 before MPI_Init, 1 between, 2 after MPI_Finalize
static _Thread_local char here;
static const char *main_thread;

static int refuse(const char *call, const char *why)
{
    uno_enter(call);
    uno_fail(MPI_ERR_OTHER, "%s", why);
    return uno_raise_self(call, MPI_ERR_OTHER);
}

// Between two uses by sessions alone the library rests: its channels stay open, because peers that are faster send to
// the next use already. It closes for good at exit, or at once when MPI_Finalize is its last end: then all ranks end
// together.
static bool resting;

static void close_for_good(void)
{
    uno_helper_stop();
    uno_lock();    // whose rules hold here too, although no other thread calls MPI any more
    uno_dpm_close();
    uno_ft_close();
    uno_peers_close();
    uno_unlock();
    uno_world_close();
}

static void close_at_exit(void)
{
    if (resting) close_for_good();
    resting = false;
}

int uno_library_open(int level)
{
    // Relaxed: init and finalize are not called by two threads at once (MPI-4.1, 11.2).
    if (atomic_fetch_add_explicit(&uno_world.opens, 1, memory_order_relaxed) > 0) {
        if (level == MPI_THREAD_MULTIPLE) uno_world.threads = true;
        if (level > uno_world.thread_level) uno_world.thread_level = level;
        return MPI_SUCCESS;
    }
    main_thread = &here;
    if (resting) {
        resting = false;
        uno_world_wake(level);
        return MPI_SUCCESS;
    }
    int err = uno_world_open(level);
    if (!err) uno_ft_open();
    if (!err) err = uno_choose_open();
    return err ? err : uno_helper_start();
}

// What goes wrong while the library closes ends nothing: it is said.
static void told(int err)
{
    if (err) uno_log(0, "MPI_Finalize: %s", uno_fail_text());
}

void uno_library_close(void)
{
    static bool registered;
    if (atomic_fetch_sub_explicit(&uno_world.opens, 1, memory_order_relaxed) > 1) return;
    uno_lock();
    bool together = atomic_load_explicit(&world_model, memory_order_relaxed) == 1;
    if (together) {
        told(uno_world.job->survive ? uno_ft_finish() : uno_p2p_finish());
    } else {
        uno_peers_flush();
        uno_dpm_close();    // nobody would serve the ports
    }
    uno_unlock();
    if (together) {
        close_for_good();
        return;
    }
    if (!registered) registered = atexit(close_at_exit) == 0;
    resting = true;
    uno_world_rest();
}

static int init(const char *call, int required, int *provided)
{
    uno_world.call = call;
    int state = atomic_load_explicit(&world_model, memory_order_relaxed);
    if (state == 1) return refuse(call, "MPI was initialized already");
    if (state == 2) return refuse(call, "MPI was finalized and cannot be initialized again (sessions can)");
    required = uno_thread_level(required);
    int err = uno_library_open(required);
    uno_lock();
    if (!err) err = uno_dpm_meet_parents();
    uno_unlock();
    if (err) {
        fprintf(stderr, "%s: %s\n", call, uno_fail_text());
        exit(1);
    }
    atomic_store_explicit(&world_model, 1, memory_order_release);    // pairs with the acquire in MPI_Initialized
    if (provided) *provided = required;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return init("MPI_Init", MPI_THREAD_SINGLE, NULL);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    return init("MPI_Init_thread", required, provided);
}

int MPI_Finalize(void)
{
    uno_world.call = "MPI_Finalize";
    int state = atomic_load_explicit(&world_model, memory_order_relaxed);
    if (state != 1) return refuse("MPI_Finalize", state == 0 ? "MPI was not initialized" : "MPI was finalized already");
    uno_enter("MPI_Finalize");
    told(uno_comm_delete_attrs());    // before anything else ends (MPI-4.1, 11.2.4)
    uno_bsend_flush_all();
    uno_leave();
    uno_library_close();
    atomic_store_explicit(&world_model, 2, memory_order_release);    // pairs with the acquire in MPI_Finalized
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    // Acquire: pairs with the release in init; a thread that sees true may call MPI.
    *flag = atomic_load_explicit(&world_model, memory_order_acquire) >= 1;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    *flag = atomic_load_explicit(&world_model, memory_order_acquire) == 2;    // pairs with the release in MPI_Finalize
    return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided)
{
    if (uno_check_running()) return refuse("MPI_Query_thread", "MPI is not running (call MPI_Init first)");
    if (!provided) return uno_refuse_null(MPI_COMM_SELF, __func__, "provided");
    *provided = uno_world.thread_level;
    return MPI_SUCCESS;
}

int MPI_Is_thread_main(int *flag)
{
    if (uno_check_running()) return refuse("MPI_Is_thread_main", "MPI is not running (call MPI_Init first)");
    if (!flag) return uno_refuse_null(MPI_COMM_SELF, __func__, "flag");
    *flag = main_thread == &here;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int errorcode)
{
    uno_world.call = "MPI_Abort";
    char why[240];
    struct MPI_ABI_Comm *c = uno_comm(comm);
    const char *name = uno_comm_is_live(c) && c->name[0] ? c->name : "a communicator";
    snprintf(why, sizeof why, "MPI_Abort called with code %d on %s, rank %d", errorcode, name, uno_world.rank);
    uno_world_abort(errorcode, why);
}

double MPI_Wtime(void)
{
    return (double)uno_now_ns() * 1e-9;
}

double MPI_Wtick(void)
{
    struct timespec t;
    clock_getres(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int MPI_Get_processor_name(char *name, int *resultlen)
{
    if (uno_check_running()) return refuse("MPI_Get_processor_name", "MPI is not running (call MPI_Init first)");
    if (!name) return uno_refuse_null(MPI_COMM_SELF, __func__, "name");
    if (!resultlen) return uno_refuse_null(MPI_COMM_SELF, __func__, "resultlen");
    *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", uno_world.host);
    return MPI_SUCCESS;
}

int MPI_Get_version(int *version, int *subversion)
{
    if (!version) return uno_refuse_null(MPI_COMM_SELF, __func__, "version");
    if (!subversion) return uno_refuse_null(MPI_COMM_SELF, __func__, "subversion");
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *resultlen)
{
    if (!version) return uno_refuse_null(MPI_COMM_SELF, __func__, "version");
    if (!resultlen) return uno_refuse_null(MPI_COMM_SELF, __func__, "resultlen");
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Unisono %s (MPI %d.%d, ABI %d.%d)", UNO_VERSION,
                          MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

int MPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    if (!abi_major) return uno_refuse_null(MPI_COMM_SELF, __func__, "abi_major");
    if (!abi_minor) return uno_refuse_null(MPI_COMM_SELF, __func__, "abi_minor");
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Pcontrol(const int level, ...)
{
    (void)level;    // for profilers that interpose; nothing to do here
    return MPI_SUCCESS;
}
