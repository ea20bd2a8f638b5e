// SPDX-License-Identifier: BSD-3-Clause
// Communicators: accessors, duplication, creation, splitting, freeing. Entry points of the chapter on contexts; those
// on intercommunicators are in intercomm.c.
// Always holds: outputs are written on success only; a process that is no member gets MPI_COMM_NULL.
#include <string.h>

#include "api/check.h"
#include "coll/construct.h"
#include "core/attr.h"
#include "core/errh.h"
#include "core/hint.h"
#include "core/info.h"
#include "core/progress.h"
#include "topo/hw.h"

static MPI_Comm handle_of(struct MPI_ABI_Comm *c)
{
    return c ? c->handle : MPI_COMM_NULL;
}

// ---- accessors ----

static inline __attribute__((always_inline)) int get_number(MPI_Comm comm, const char *call, const char *name, int *out,
                                                            int (*value)(const struct MPI_ABI_Comm *c))
{
    if (__builtin_expect(out && uno_comm_is_live(uno_comm(comm)) && uno_is_running(), 1)) {    // needs no lock
        *out = value(uno_comm(comm));
        return MPI_SUCCESS;
    }
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(out, name);
    return uno_finish_comm(comm, call, err);
}

static int size_of(const struct MPI_ABI_Comm *c)
{
    return c->size;
}

static int rank_of(const struct MPI_ABI_Comm *c)
{
    return c->rank;
}

static int is_inter(const struct MPI_ABI_Comm *c)
{
    return c->inter;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    return get_number(comm, "MPI_Comm_size", "size", size, size_of);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return get_number(comm, "MPI_Comm_rank", "rank", rank, rank_of);
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    return get_number(comm, "MPI_Comm_test_inter", "flag", flag, is_inter);
}

static int compare_groups(const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b)
{
    if (a->size != b->size) return MPI_UNEQUAL;
    if (memcmp(a->proc, b->proc, (size_t)a->size * sizeof *a->proc) == 0) return MPI_IDENT;
    for (int i = 0; i < a->size; i++) {
        if (uno_group_find(b, a->proc[i]) == MPI_UNDEFINED) return MPI_UNEQUAL;
    }
    return MPI_SIMILAR;
}

static int compare(const struct MPI_ABI_Comm *a, const struct MPI_ABI_Comm *b)
{
    if (a == b) return MPI_IDENT;
    if (a->inter != b->inter) return MPI_UNEQUAL;
    int local = compare_groups(a->group, b->group);
    int remote = a->inter ? compare_groups(a->remote, b->remote) : MPI_IDENT;
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) return MPI_UNEQUAL;
    return local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
}

int MPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    static const char call[] = "MPI_Comm_compare";
    uno_enter(call);
    int err = uno_check_comm(comm1);
    if (!err) err = uno_check_comm(comm2);
    if (!err) err = uno_check_pointer(result, "result");
    if (!err) *result = compare(uno_comm(comm1), uno_comm(comm2));
    return uno_finish_comm(comm1, call, err);
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    static const char call[] = "MPI_Comm_group";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(group, "group");
    if (!err) {
        uno_group_hold(uno_comm(comm)->group);
        *group = uno_group_give(uno_comm(comm)->group);
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    static const char call[] = "MPI_Comm_set_name";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(comm_name, "comm_name");
    if (!err) {
        struct MPI_ABI_Comm *c = uno_comm(comm);
        memset(c->name, 0, sizeof c->name);
        memcpy(c->name, comm_name, strnlen(comm_name, sizeof c->name - 1));
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    static const char call[] = "MPI_Comm_get_name";
    uno_enter(call);
    // MPI_COMM_NULL has a name although it is no communicator.
    const char *name = comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : "";
    int err = comm == MPI_COMM_NULL ? uno_check_running() : uno_check_comm(comm);
    if (!err) err = uno_check_pointer(comm_name, "comm_name");
    if (!err) err = uno_check_pointer(resultlen, "resultlen");
    if (!err) {
        if (comm != MPI_COMM_NULL) name = uno_comm(comm)->name;
        strcpy(comm_name, name);
        *resultlen = (int)strlen(name);
    }
    return uno_finish_comm(comm, call, err);
}

// ---- hints ----

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    static const char call[] = "MPI_Comm_set_info";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_hints_take(uno_comm(comm), uno_info(info));
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
    static const char call[] = "MPI_Comm_get_info";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(info_used, "info_used");
    struct MPI_ABI_Info *all = err ? NULL : uno_hints_all(uno_comm(comm));
    if (!err && !all) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) *info_used = all;
    return uno_finish_comm(comm, call, err);
}

// ---- duplication ----

static int dup_any(const char *call, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    struct MPI_ABI_Comm *child;
    if (!err) err = uno_comm_dup(uno_comm(comm), uno_info(info), &child);
    if (!err) *newcomm = handle_of(child);
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return dup_any("MPI_Comm_dup", comm, MPI_INFO_NULL, newcomm);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    return dup_any("MPI_Comm_dup_with_info", comm, info, newcomm);
}

static int idup_any(const char *call, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = uno_check_pointer(request, "request");
    struct MPI_ABI_Comm *child;
    MPI_Request req;
    if (!err) err = uno_comm_idup(uno_comm(comm), uno_info(info), &child, &req);
    if (!err) {
        *newcomm = handle_of(child);
        *request = req;
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup_any("MPI_Comm_idup", comm, MPI_INFO_NULL, newcomm, request);
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup_any("MPI_Comm_idup_with_info", comm, info, newcomm, request);
}

// ---- creation ----

static int check_subset(const struct MPI_ABI_Group *g, const struct MPI_ABI_Comm *c)
{
    for (int i = 0; i < g->size; i++) {
        if (uno_group_find(c->group, g->proc[i]) != MPI_UNDEFINED) continue;
        return uno_fail(MPI_ERR_GROUP, "rank %d of group is not a member of comm (a subset of its group is needed)", i);
    }
    return MPI_SUCCESS;
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_create";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_group(group, "group");
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = check_subset(uno_group(group), uno_comm(comm));
    struct MPI_ABI_Comm *child;
    if (!err) err = uno_comm_create(uno_comm(comm), uno_group(group), &child);
    if (!err) *newcomm = handle_of(child);
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_create_group";
    uno_enter(call);
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_group(group, "group");
    if (!err) err = uno_check_tag(tag);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = check_subset(uno_group(group), uno_comm(comm));
    struct MPI_ABI_Comm *child;
    if (!err) err = uno_comm_create_group(uno_comm(comm), uno_group(group), tag, &child);
    if (!err) *newcomm = handle_of(child);
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_split";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    struct MPI_ABI_Comm *child;
    if (!err) err = uno_comm_split(uno_comm(comm), color, key, &child);
    if (!err) *newcomm = handle_of(child);
    return uno_finish_comm(comm, call, err);
}

static int check_split_type(int split_type)
{
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
    case MPI_COMM_TYPE_HW_UNGUIDED:
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
    case MPI_UNDEFINED: return MPI_SUCCESS;
    default:
        return uno_fail(MPI_ERR_ARG,
                        "split_type %d is unknown (MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, "
                        "_RESOURCE_GUIDED or MPI_UNDEFINED allowed)",
                        split_type);
    }
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_split_type";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = check_split_type(split_type);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    struct MPI_ABI_Comm *child;
    int color;
    if (!err) err = uno_hw_color(uno_comm(comm), split_type, uno_info(info), &color);
    if (!err) err = uno_comm_split(uno_comm(comm), color, key, &child);
    if (!err) *newcomm = handle_of(child);
    return uno_finish_comm(comm, call, err);
}

// ---- the end ----

// Nothing is under way on it: what else holds it are the user's requests that have ended or were not started.
static bool at_rest(void *arg)
{
    struct MPI_ABI_Comm *c = arg;
    return c->head.refs == 1 || c->head.refs == 1 + uno_requests_at_rest(c);
}

static int free_any(const char *call, MPI_Comm *comm, bool wait)
{
    uno_enter(call);
    int err = uno_check_pointer(comm, "comm");
    if (err) return uno_raise_self(call, err);
    MPI_Comm handle = *comm;
    err = uno_check_comm(handle);
    if (!err && (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF)) {
        err = uno_fail(MPI_ERR_COMM, "comm is predefined and cannot be freed");
    }
    struct MPI_ABI_Comm *c = uno_comm(handle);
    if (!err) err = uno_attrs_delete(c->attrs, handle);
    if (!err) {
        if (wait)
            uno_wait_until(at_rest, c, &(struct uno_waiting){.comm = c, .peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED});
        c->freed = true;
        *comm = MPI_COMM_NULL;
        uno_comm_drop(c);
    }
    return uno_finish_comm(handle, call, err);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return free_any("MPI_Comm_free", comm, false);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    return free_any("MPI_Comm_disconnect", comm, true);
}
