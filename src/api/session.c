// SPDX-License-Identifier: BSD-3-Clause
// Sessions, process sets, and communicators made from groups alone. Entry points of the chapters on initialization and
// contexts.
// Always holds: a session keeps the library open; two process sets exist, mpi://WORLD and mpi://SELF.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/check.h"
#include "api/library.h"
#include "coll/construct.h"
#include "core/errh.h"
#include "core/hint.h"
#include "core/info.h"
#include "core/session.h"

static const char *const pset[] = {"mpi://WORLD", "mpi://SELF"};
#define PSETS ((int)(sizeof pset / sizeof pset[0]))

static const struct {
    const char *word;
    int level;
} levels[] = {
    {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

int uno_check_session(MPI_Session session)
{
    if (uno_session(session)) return MPI_SUCCESS;
    if (session == MPI_SESSION_NULL) return uno_fail(MPI_ERR_SESSION, "session is MPI_SESSION_NULL");
    return uno_fail(MPI_ERR_SESSION, "session %p is not a session (was it finalized?)", (void *)session);
}

// ---- start and end ----

// A malformed word is ignored, as info says.
static int wanted_level(const struct MPI_ABI_Info *info)
{
    const char *word = uno_info_find(info, "thread_level");
    for (size_t i = 0; word && i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(levels[i].word, word) == 0) return levels[i].level;
    }
    return MPI_THREAD_SINGLE;
}

static const char *level_word(int level)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (levels[i].level == level) return levels[i].word;
    }
    return levels[0].word;
}

int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    static const char call[] = "MPI_Session_init";
    int err = uno_check_info(info);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_SESSION);
    if (!err) err = uno_check_pointer(session, "session");
    struct MPI_ABI_Session *s = err ? NULL : uno_session_new();
    if (!err && !s) err = uno_fail(MPI_ERR_NO_MEM, "no memory for a session");
    if (!err) {
        s->errhandler = uno_errh(errhandler);
        uno_errh_hold(s->errhandler);
        err = uno_library_open(wanted_level(uno_info(info)));
        if (err) uno_session_drop(s);
    }
    if (err && uno_errh(errhandler) && !uno_check_errhandler(errhandler, UNO_ERRH_SESSION)) {
        uno_enter(call);
        return uno_raise_given(errhandler, call, err);
    }
    if (err) return uno_finish_any(call, err);
    s->thread_level = uno_world.thread_level;
    *session = s;
    return MPI_SUCCESS;
}

int MPI_Session_finalize(MPI_Session *session)
{
    static const char call[] = "MPI_Session_finalize";
    uno_enter(call);
    int err = uno_check_pointer(session, "session");
    if (!err) err = uno_check_session(*session);
    if (err) return uno_raise_self(call, err);
    struct MPI_ABI_Session *s = *session;
    *session = MPI_SESSION_NULL;
    uno_leave();
    uno_library_close();
    uno_session_drop(s);
    return MPI_SUCCESS;
}

int MPI_Session_get_info(MPI_Session session, MPI_Info *info_used)
{
    static const char call[] = "MPI_Session_get_info";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_check_pointer(info_used, "info_used");
    struct MPI_ABI_Info *i = err ? NULL : uno_info_new();
    if (!err && !i) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) err = uno_info_set(i, "thread_level", level_word(session->thread_level));
    if (!err) err = uno_info_set(i, "mpi_memory_alloc_kinds", "mpi,system");
    if (!err) *info_used = i;
    return uno_finish_session(session, call, err);
}

// ---- process sets ----

int MPI_Session_get_num_psets(MPI_Session session, MPI_Info info, int *npset_names)
{
    static const char call[] = "MPI_Session_get_num_psets";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(npset_names, "npset_names");
    if (!err) *npset_names = PSETS;
    return uno_finish_session(session, call, err);
}

int MPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name)
{
    static const char call[] = "MPI_Session_get_nth_pset";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_check_info(info);
    if (!err && (n < 0 || n >= PSETS))
        err = uno_fail(MPI_ERR_ARG, "n %d is not a process set (0 .. %d allowed)", n, PSETS - 1);
    if (!err) err = uno_check_pointer(pset_len, "pset_len");
    if (!err && *pset_len < 0) err = uno_fail(MPI_ERR_ARG, "pset_len %d is negative", *pset_len);
    if (!err && *pset_len > 0) err = uno_check_pointer(pset_name, "pset_name");
    if (!err) {
        if (*pset_len > 0) snprintf(pset_name, (size_t)*pset_len, "%s", pset[n]);
        *pset_len = (int)strlen(pset[n]) + 1;
    }
    return uno_finish_session(session, call, err);
}

static int find_pset(const char *name, int *n)
{
    int err = uno_check_pointer(name, "pset_name");
    if (err) return err;
    for (*n = 0; *n < PSETS; ++*n) {
        if (strcasecmp(name, pset[*n]) == 0) return MPI_SUCCESS;
    }
    return uno_fail(MPI_ERR_ARG, "pset_name `%.100s` is not a process set (mpi://WORLD or mpi://SELF)", name);
}

int MPI_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    static const char call[] = "MPI_Session_get_pset_info";
    uno_enter(call);
    int n = 0, err = uno_check_session(session);
    if (!err) err = find_pset(pset_name, &n);
    if (!err) err = uno_check_pointer(info, "info");
    struct MPI_ABI_Info *i = err ? NULL : uno_info_new();
    if (!err && !i) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    char size[16];
    snprintf(size, sizeof size, "%d", n == 0 ? uno_world.size : 1);
    if (!err) err = uno_info_set(i, "mpi_size", size);
    if (!err) *info = i;
    return uno_finish_session(session, call, err);
}

int MPI_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
    static const char call[] = "MPI_Group_from_session_pset";
    uno_enter(call);
    int n = 0, err = uno_check_session(session);
    if (!err) err = find_pset(pset_name, &n);
    if (!err) err = uno_check_pointer(newgroup, "newgroup");
    if (!err) {
        const struct MPI_ABI_Group *from = (n == 0 ? &uno_comm_world : &uno_comm_self)->group;
        struct MPI_ABI_Group *g = uno_group_make(from->size, from->proc);
        if (g) {
            g->session = session;
            *newgroup = uno_group_give(g);
        } else {
            err = uno_fail(MPI_ERR_NO_MEM, "no memory for a group");
        }
    }
    return uno_finish_session(session, call, err);
}

// ---- communicators from groups ----

static int check_from_group(const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, const MPI_Comm *out,
                            const char *name)
{
    int err = uno_check_pointer(stringtag, "stringtag");
    if (!err && strnlen(stringtag, MPI_MAX_STRINGTAG_LEN) >= MPI_MAX_STRINGTAG_LEN) {
        err = uno_fail(MPI_ERR_ARG, "stringtag is too long (at most %d characters allowed)", MPI_MAX_STRINGTAG_LEN - 1);
    }
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_COMM);
    return err ? err : uno_check_pointer(out, name);
}

// The error handler of the call and the hints become those of the new communicator.
static int dress(struct MPI_ABI_Comm *c, MPI_Info info, MPI_Errhandler errhandler)
{
    struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
    uno_errh_hold(e);
    uno_errh_drop(c->errhandler);
    c->errhandler = e;
    return uno_hints_take(c, uno_info(info));
}

// An error goes to the handler that the call was given, unless that is none.
static int finish_from_group(MPI_Group group, MPI_Errhandler errhandler, const char *call, int err)
{
    struct MPI_ABI_Group *g = uno_group(group);
    struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
    if (err && e && (e->kind == UNO_ERRH_COMM || e->kind == UNO_ERRH_PREDEFINED))
        return uno_raise_given(errhandler, call, err);
    if (err && g && uno_session(g->session)) return uno_raise_session(g->session, call, err);
    return uno_finish_self(call, err);
}

int MPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
                               MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_create_from_group";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_group(group, "group");
    if (!err) err = check_from_group(stringtag, info, errhandler, newcomm, "newcomm");
    struct MPI_ABI_Comm *child = NULL;
    if (!err && group != MPI_GROUP_EMPTY) err = uno_comm_from_group(uno_group(group), stringtag, &child);
    if (!err && child) err = dress(child, info, errhandler);
    if (!err) *newcomm = child ? child->handle : MPI_COMM_NULL;
    return finish_from_group(group, errhandler, call, err);
}

static int check_member(const char *name, int rank, const struct MPI_ABI_Group *g)
{
    if (rank >= 0 && rank < g->size) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RANK, "%s %d is not a rank of its group (0 .. %d allowed)", name, rank, g->size - 1);
}

int MPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                     const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                     MPI_Comm *newintercomm)
{
    static const char call[] = "MPI_Intercomm_create_from_groups";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_group(local_group, "local_group");
    if (!err) err = check_member("local_leader", local_leader, uno_group(local_group));
    bool leader = !err && uno_group(local_group)->rank == local_leader;
    if (leader) err = uno_check_group(remote_group, "remote_group");
    if (leader && !err) err = check_member("remote_leader", remote_leader, uno_group(remote_group));
    if (!err) err = check_from_group(stringtag, info, errhandler, newintercomm, "newintercomm");
    struct MPI_ABI_Comm *child = NULL;
    if (!err) {
        err = uno_intercomm_from_groups(uno_group(local_group), local_leader, uno_group(remote_group), remote_leader,
                                        stringtag, &child);
    }
    if (!err) err = dress(child, info, errhandler);
    if (!err) *newintercomm = child->handle;
    return finish_from_group(local_group, errhandler, call, err);
}
