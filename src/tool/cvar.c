// SPDX-License-Identifier: BSD-3-Clause
// Control variables are the parameters (base/param.h). A whole number is an MPI_INT where its range is one, else an
// MPI_COUNT; a choice, and yes or no, are an MPI_INT with an enumeration; a text is MPI_CHAR.
// Always holds: one may be written until MPI_Init has read it, and never if it is the launcher's.
#include <string.h>

#include "core/world.h"
#include "tool/tool.h"

static struct uno_pool handles = {.bytes = sizeof(struct MPI_ABI_T_cvar_handle), .magic = UNO_CVAR_MAGIC};

int uno_cvars_count(void)
{
    size_t n;
    uno_params_all(&n);
    return (int)n;
}

struct uno_param *uno_cvar_at(int index)
{
    size_t n;
    return uno_params_all(&n)[index];
}

MPI_Datatype uno_cvar_type(const struct uno_param *p)
{
    if (p->kind == UNO_PARAM_IS_TEXT) return MPI_CHAR;
    return p->kind == UNO_PARAM_IS_INT && (p->min < INT32_MIN || p->max > INT32_MAX) ? MPI_COUNT : MPI_INT;
}

MPI_T_enum uno_cvar_enum(const struct uno_param *p)
{
    if (p->kind == UNO_PARAM_IS_BOOL) return uno_enum_of("bool", "no|yes");
    return uno_enum_of(p->name, p->choices);
}

int uno_cvar_elements(const struct uno_param *p)
{
    return p->kind == UNO_PARAM_IS_TEXT ? UNO_TOOL_TEXT : 1;
}

MPI_T_cvar_handle uno_cvar_new(struct uno_param *p)
{
    MPI_T_cvar_handle h = uno_pool_get(&handles);
    if (h) h->param = p;
    return h;
}

static void free_handle(void *object, void *arg)
{
    (void)arg;
    uno_pool_put(&handles, object);
}

void uno_cvar_free(MPI_T_cvar_handle h)
{
    if (h)
        uno_pool_put(&handles, h);
    else
        uno_pool_each(&handles, free_handle, NULL);
}

void uno_cvar_read(MPI_T_cvar_handle h, void *buf)
{
    const struct uno_param *p = h->param;
    if (p->kind == UNO_PARAM_IS_TEXT) {
        size_t n = strnlen(p->text, UNO_TOOL_TEXT - 1);
        memcpy(buf, p->text, n);
        ((char *)buf)[n] = '\0';
    } else if (uno_cvar_type(p) == MPI_COUNT) {
        *(MPI_Count *)buf = p->num;
    } else {
        *(int *)buf = (int)p->num;
    }
}

static int write_text(struct uno_param *p, const char *text)
{
    if (strnlen(text, UNO_TOOL_TEXT) == UNO_TOOL_TEXT)
        return uno_fail(MPI_T_ERR_INVALID, "buf: %s has more than %d characters", p->name, UNO_TOOL_TEXT - 1);
    return uno_param_write(p, 0, text) ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int uno_cvar_write(MPI_T_cvar_handle h, const void *buf)
{
    struct uno_param *p = h->param;
    if (uno_category_of(p->name)->scope <= MPI_T_SCOPE_READONLY)
        return uno_fail(MPI_T_ERR_CVAR_SET_NEVER, "handle: %s is read by mpiexec (mpiexec --set %s=VALUE)", p->name,
                        p->name);
    // Acquire: as in uno_tool_open.
    if (atomic_load_explicit(&uno_world.phase, memory_order_acquire) != UNO_BEFORE_INIT)
        return uno_fail(MPI_T_ERR_CVAR_SET_NOT_NOW, "handle: %s can be written before MPI_Init only", p->name);
    if (p->kind == UNO_PARAM_IS_TEXT) return write_text(p, buf);
    int64_t num = uno_cvar_type(p) == MPI_COUNT ? *(const MPI_Count *)buf : *(const int *)buf;
    return uno_param_write(p, num, NULL) ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}
