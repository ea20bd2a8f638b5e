// SPDX-License-Identifier: BSD-3-Clause
// Components of Unisono: what carries messages (channel.h), collective algorithms (collective.h), how programs are
// started on other hosts (agent.h), what files lie on (files.h), and by whom a process was started (manager.h). The
// library's own are tables like these; third parties write further ones against the installed headers
// <unisono/*.h>, in C11 or C++, and put them as shared objects into a folder that the parameter component_path names.
// How to, with examples: docs/components.md.
//
//   static const struct uno_component mine = {
//       UNO_COMPONENT_IS_CHANNEL, .name = "mine", .version = "1.2", .about = "what it does", .priority = 30,
//       .can = UNO_CAN_SHARE, .open = mine_open, .close = mine_close, .table = &mine_table};
//   UNO_COMPONENT_EXPORT(&mine);
#pragma once
#include <stddef.h>
#include <stdint.h>

// Of the structs in this header. A component of another one is refused with a line that says so.
#define UNO_COMPONENT_MAGIC 0x756e6f63U
#define UNO_COMPONENT_LAYOUT 1

enum uno_component_kind {
    UNO_COMPONENT_CHANNEL,
    UNO_COMPONENT_COLLECTIVE,
    UNO_COMPONENT_AGENT,
    UNO_COMPONENT_FILES,
    UNO_COMPONENT_MANAGER,
    UNO_COMPONENT_KINDS
};

// What the library does for each component. Valid for as long as the process runs.
struct uno_component_host {
    uint16_t layout;    // UNO_COMPONENT_LAYOUT of the library
    // Keeps the reason of a failure, one line without a full stop, and returns `error_class` (MPI_ERR_...).
    int (*fail)(int error_class, const char *format, ...) __attribute__((format(printf, 2, 3)));
    // One line on stderr, where the parameter `verbose` is at least `level`.
    void (*log)(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
    const void *services;    // of the kind: struct uno_channel_host, struct uno_collective_host; else NULL
};

struct uno_component {
    uint32_t magic;
    uint16_t layout, kind;
    uint16_t major, minor;    // of the kind's contract: the same major, and no later minor than the library's
    int32_t priority;         // the higher ones are asked first; the kind's header says for what
    uint32_t can;             // flags of the kind's header
    const char *name;         // of letters, digits and _; unlike all others of its kind
    const char *version;      // of the component itself, for people and for comparing ranks
    const char *about;        // one line
    // Whether it can be used here: NULL, or the reason why it cannot, for people. Called once per process, also by
    // unisono-info, so there may be no job; what costs something belongs into the kind's table. May be NULL.
    const char *(*open)(const struct uno_component_host *host);
    void (*close)(void);    // at the end of the process's part in the job, if it was opened; may be NULL
    const void *table;      // of the kind; no function of it may be missing
};

#define UNO_COMPONENT_HEAD(which, of_major, of_minor)                                                                  \
    .magic = UNO_COMPONENT_MAGIC, .layout = UNO_COMPONENT_LAYOUT, .kind = (which), .major = (of_major),                \
    .minor = (of_minor)

// What a component's file exports: pointers to its components, then NULL. Compiled with UNO_COMPONENT_LINKED the
// components are found by a program that is linked statically with the library instead, without a folder.
#ifdef __cplusplus
#define UNO_COMPONENT_EXTERN extern "C"
#else
#define UNO_COMPONENT_EXTERN extern
#endif
#ifdef UNO_COMPONENT_LINKED
#define UNO_COMPONENT_EXPORT(...)                                                                                      \
    static const struct uno_component *const unisono_linked[]                                                          \
        __attribute__((used, section("uno_components"))) = {__VA_ARGS__}
#else
#define UNO_COMPONENT_EXPORT(...)                                                                                      \
    UNO_COMPONENT_EXTERN __attribute__((visibility("default")))                                                        \
    const struct uno_component *const unisono_components[];                                                            \
    const struct uno_component *const unisono_components[] = {__VA_ARGS__, NULL}
#endif
