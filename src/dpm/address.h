// SPDX-License-Identifier: BSD-3-Clause
// Where a port is, as its name says it.
//
//   unisono-port:2:BOOT:SOCKET:KEY:JOB:RANK:PID:PORT,ADDRESS,ADDRESS...
//
// All numbers but RANK, PID and PORT are hexadecimal. BOOT: of the kernel; SOCKET: the abstract name inside the host.
// What follows the last colon says where other hosts find it, "-" that they do not.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "chan/net.h"
#include "chan/proc.h"
#include "dpm/wire.h"

struct dpm_address {
    unsigned char boot[UNO_BOOT_BYTES], socket[16], key[DPM_KEY];
    uint64_t job;
    int rank, pid;
    struct uno_net net;    // count 0: not reached from other hosts
};

void dpm_address_write(const struct dpm_address *a, char *name);                     // room for MPI_MAX_PORT_NAME
bool dpm_address_read(const char *name, struct dpm_address *a);                      // false: it is no such name
socklen_t dpm_address_here(const struct dpm_address *a, struct sockaddr_un *out);    // inside the host
