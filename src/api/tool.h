// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of MPI_T share (tool_*.c). They return an error code and call no error handler; the reason is
// kept for MPI_Error_string, and said at verbosity 1. Pattern:
//
//   int MPI_T_cvar_get_num(int *num_cvar)
//   {
//       int err = uno_tool_enter();
//       if (!err) err = uno_tool_check(num_cvar, "num_cvar");
//       if (!err) *num_cvar = uno_cvars_count();
//       return uno_tool_leave(__func__, err);
//   }
#pragma once
#include "api/check.h"
#include "tool/tool.h"

int uno_tool_enter(void);    // takes the tool lock; MPI_T_ERR_NOT_INITIALIZED
int uno_tool_leave(const char *call, int err);
int uno_tool_check(const void *p, const char *name);                        // MPI_T_ERR_INVALID: NULL
int uno_tool_check_index(int index, const char *name, int count);           // MPI_T_ERR_INVALID_INDEX
int uno_tool_check_list(int len, const int *indices);                       // MPI_T_ERR_INVALID
int uno_tool_check_info(MPI_Info info);                                     // MPI_ERR_INFO; MPI_INFO_NULL is right
int uno_tool_bad_name(const char *what, const char *name);                  // MPI_T_ERR_INVALID_NAME
int uno_tool_bad_handle(int code, const char *what, const void *handle);    // with the reason kept
int uno_tool_no_memory(const char *what);                                   // MPI_T_ERR_MEMORY

// Gives a text out as all functions of MPI_T do, and MPI_Info_get_string: as much as fits `to`, and the room it needs
// in *len. Both, or only `to`, may be NULL. uno_tool_give_part: of a text of n characters.
void uno_tool_give(const char *text, char *to, int *len);
void uno_tool_give_part(const char *text, size_t n, char *to, int *len);

static inline void uno_tool_out(int *to, int value)
{
    if (to) *to = value;
}
