// SPDX-License-Identifier: BSD-3-Clause
// Keeps the standard descriptors taken (streams.h).
#define _GNU_SOURCE
#include "base/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int uno_streams_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fd >= 0 ? fd : open("/", O_PATH | O_CLOEXEC);
}

int uno_streams_hold(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        int got = uno_streams_null();    // the lowest number that is free
        if (got < 0) return errno;
        if (got > 2)
            close(got);    // another thread was faster
        else
            fcntl(got, F_SETFD, 0);
    }
    return 0;
}
