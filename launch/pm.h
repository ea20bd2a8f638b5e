// SPDX-License-Identifier: BSD-3-Clause
// The node's side of the wire-up (src/base/pm.h is the ranks' side): keeps what its ranks have put, answers requests
// for it as soon as it is there, and counts a fence up the tree and down again. Values are fetched when first asked
// for, host by host; nothing is gathered that no rank wants.
#pragma once
#include "node.h"

struct uno_pm *uno_pm_open(struct uno_node *n);
int uno_pm_connect(struct uno_node *n, int index);     // the rank's end of its socket; ours is listened to. -1: errno
void uno_pm_request(struct uno_node *n, int index);    // of uno_node_listen(..., UNO_ON_PM, index)
void uno_pm_frame(struct uno_node *n, const struct uno_frame *f,
                  const char *data);    // UNO_PM_GET, UNO_PM_VALUE, UNO_ANSWER, UNO_ENDED for this node
void uno_pm_refuse(struct uno_node *n, int host, int64_t asker);    // the owner of the key that `asker` wants is gone
void uno_pm_gone(struct uno_node *n, int rank);    // a rank of this host has ended: what it has not put will not come
void uno_pm_fence_below(struct uno_node *n);       // a child's whole subtree is in the fence
void uno_pm_fence_over(struct uno_node *n);        // all ranks of the job are
