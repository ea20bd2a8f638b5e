// SPDX-License-Identifier: BSD-3-Clause
// The contract of a launch agent (docs/components.md): how mpiexec starts its daemon on another host, and whose
// allocation it takes hosts from. Of the agents whose allocation is there, the one with the highest priority is taken,
// or that which the parameter `allocation` names. Loaded by mpiexec and unisono-info alone.
#pragma once
#include <stdbool.h>

#include "component.h"

#define UNO_AGENT_MAJOR 1
#define UNO_AGENT_MINOR 1
#define UNO_COMPONENT_IS_AGENT UNO_COMPONENT_HEAD(UNO_COMPONENT_AGENT, UNO_AGENT_MAJOR, UNO_AGENT_MINOR)

struct uno_agent_hosts;

// One way in which an allocation tells its hosts.
struct uno_agent_source {
    const char *variable;    // of the environment; read is called where it is set
    // Adds the hosts that `variable` tells, each by `add`. `counted`: and behind each stands the number of its slots.
    // NULL, or why it cannot: malloced, the caller frees.
    char *(*read)(struct uno_agent_hosts *to, const char *variable, bool counted);
    bool counted;
};

struct uno_agent_hosts {
    void (*add)(struct uno_agent_hosts *to, const char *name, int slots);
    // Replaces the agent's words for this allocation, where they depend on it (since 1.1). They are copied.
    void (*use)(struct uno_agent_hosts *to, const char *words);
};

// The table.
struct uno_agent {
    const char *title;      // of the manager, for people
    const char *job;        // variable that numbers the job of an allocation; NULL: it starts programs alone
    bool job_tells;         // that variable alone is a sign of an allocation
    const char *command;    // of the manager, looked for in PATH; NULL: none starts programs there, ssh is used
    const char *words;      // the command with its options, for the shell: called as WORDS HOST PROGRAM ARGUMENTS
    struct uno_agent_source source[3];    // of these the first whose variable is set tells the hosts
};
