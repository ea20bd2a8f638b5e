// SPDX-License-Identifier: BSD-3-Clause
// The libfabric channel of a build that did not find libfabric's headers: it is known by name and declines.
#include "chan/ofi/missing.h"

#include "base/component.h"
#include "base/fail.h"
#include "chan/chan.h"
#include "chan/self.h"

extern struct uno_chan uno_ofi;

const char *uno_ofi_missing(const char *provider)
{
    (void)provider;
    return "this build was made without libfabric's headers (Debian, Ubuntu: package libfabric-dev)";
}

static int ofi_open(struct uno_chan *self)
{
    (void)self;
    if (uno_chan_self.local == 0 && !uno_chan_self.guests) uno_log(0, "no channel ofi: %s", uno_ofi_missing(NULL));
    return UNO_DECLINED;
}

static void ofi_close(struct uno_chan *self)
{
    (void)self;
}

// What declines to open is never asked for more.
static const struct uno_chan_ops ofi_ops = {.open = ofi_open, .close = ofi_close};

static const char *why_not(const struct uno_component_host *host)
{
    (void)host;
    return uno_ofi_missing(NULL);
}

static const struct uno_component ofi_component = {UNO_COMPONENT_IS_CHANNEL, .name = "ofi",
                                                   .version = UNO_VERSION,   .about = "between hosts, by libfabric",
                                                   .priority = 60,           .can = UNO_CAN_ON_REQUEST,
                                                   .open = why_not,          .table = &ofi_ops};
UNO_COMPONENT_DECLARE(ofi_component);

struct uno_chan uno_ofi = {.ops = &ofi_ops, .is = &ofi_component};
