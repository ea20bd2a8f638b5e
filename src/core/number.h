// SPDX-License-Identifier: BSD-3-Clause
// Handles as integers (MPI_Comm_toint and its kind, for languages without pointers). One numbering for all kinds of
// handles.
#pragma once

// A predefined handle is its own number; any other gets the next free one from 1024 on, the same each time it is asked
// for. Handles live in pools that are never given back, so a number never comes to mean memory that is gone. 0: memory
// is out.
int uno_number_of(const void *handle);

// The handle of a number that was given out; NULL when there is none.
void *uno_number_find(int number);
