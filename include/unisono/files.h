// SPDX-License-Identifier: BSD-3-Clause
// The contract of a file driver (docs/components.md): how a file that MPI_File_open names becomes a descriptor. The
// name says which driver: "box:data" is the file `data` of the driver `box`; all other names are those of the system.
// What a driver gives is used by the system's calls (pread, pwrite, fsync, ftruncate and the like) and closed by close.
// All functions are called with the library lock held.
#pragma once
#include "component.h"

#define UNO_FILES_MAJOR 1
#define UNO_FILES_MINOR 0
#define UNO_COMPONENT_IS_FILES UNO_COMPONENT_HEAD(UNO_COMPONENT_FILES, UNO_FILES_MAJOR, UNO_FILES_MINOR)

struct uno_files {
    // A descriptor for the file, with O_CLOEXEC, or -1 and errno: as open(2), whose flags and mode these are. Rank 0
    // may have O_CREAT in the flags; the others, on whichever host, open what is there then.
    int (*open)(const char *name, int flags, unsigned mode);
    int (*remove)(const char *name);    // as unlink(2)
};
