// SPDX-License-Identifier: BSD-3-Clause
// The hosts below a node. A node starts its children through the launch agent, sends each the plan and the hosts that
// it has to start in turn, and passes frames up and down. What a child says is passed on as it is; what it asks of
// other nodes is routed.
#pragma once
#include "node.h"

struct uno_tree *uno_tree_start(struct uno_node *n, const int *host, int count);    // hosts below, in any number
void uno_tree_event(struct uno_node *n, int index);    // of uno_node_listen(..., UNO_ON_TREE, index)
void uno_tree_down(struct uno_node *n, const struct uno_frame *f,
                   const char *data);    // to all children, or to the one that has f->rank
void uno_tree_route(struct uno_node *n, const struct uno_frame *f,
                    const char *data);                // to the node f->node, up or down
void uno_tree_listen_for_life(struct uno_node *n);    // once per beat: a child that is silent for long is lost
bool uno_tree_done(const struct uno_tree *t);         // nothing is left below
int uno_tree_children(const struct uno_tree *t);
bool uno_tree_reaped(struct uno_node *n, int pid, int status);    // true if that was an agent of ours

// Runs `mpiexec --daemon`: the plan comes on standard input.
int uno_tree_daemon(const struct rlimit *files);    // the limit for the ranks
