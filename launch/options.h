// SPDX-License-Identifier: BSD-3-Clause
// The command line. One table lists every option: names, arguments, help. It is read by the parser, by --help and by
// the suggestion for a mistyped name, so that the three cannot disagree. Mistakes end mpiexec with one line and status
// 2.
#pragma once
#include "plan.h"

enum uno_opt {
    UNO_OPT_N,
    UNO_OPT_CONFIG,
    UNO_OPT_WDIR,
    UNO_OPT_X,
    UNO_OPT_ENV,
    UNO_OPT_GENV,
    UNO_OPT_ENVLIST,
    UNO_OPT_ENVNONE,
    UNO_OPT_ENVALL,
    UNO_OPT_GWDIR,
    UNO_OPT_HOST,
    UNO_OPT_HOSTFILE,
    UNO_OPT_PER_HOST,
    UNO_OPT_MAP,
    UNO_OPT_BIND,
    UNO_OPT_RANK_BY,
    UNO_OPT_ROUND,
    UNO_OPT_PER_SOCKET,
    UNO_OPT_PER_NODE,
    UNO_OPT_PES,
    UNO_OPT_HWT,
    UNO_OPT_CPUS,
    UNO_OPT_NOLOCAL,
    UNO_OPT_FIT,
    UNO_OPT_OVER,
    UNO_OPT_DISPLAY,
    UNO_OPT_DISPLAY_WHAT,
    UNO_OPT_REPORT,
    UNO_OPT_AGENT,
    UNO_OPT_STDIN,
    UNO_OPT_TAG,
    UNO_OPT_TIME,
    UNO_OPT_TAG_AS,
    UNO_OPT_OUT,
    UNO_OPT_ERR,
    UNO_OPT_FOLDER,
    UNO_OPT_OUTPUT,
    UNO_OPT_MERGE,
    UNO_OPT_QUIET,
    UNO_OPT_TIMEOUT,
    UNO_OPT_CODES,
    UNO_OPT_CHECKPOINT,
    UNO_OPT_EVERY,
    UNO_OPT_RESTART,
    UNO_OPT_KEEP,
    UNO_OPT_SURVIVE,
    UNO_OPT_ERRHANDLER,
    UNO_OPT_SET,
    UNO_OPT_PROFILE,
    UNO_OPT_STATS,
    UNO_OPT_GDB,
    UNO_OPT_USIZE,
    UNO_OPT_IFACE,
    UNO_OPT_LAUNCHER,
    UNO_OPT_MCA,
    UNO_OPT_VERBOSE,
    UNO_OPT_DRY,
    UNO_OPT_HELP,
    UNO_OPT_VERSION,
    UNO_OPT_IGNORED,    // asks for what happens anyway
    UNO_OPT_WARNED,     // without a meaning here, and named in a warning
    UNO_OPT_OTHER,      // refused: `help` says what to use instead
};

struct uno_opt_row {
    enum uno_opt id;
    const char *names;    // separated by blanks, without dashes; the first ones are shown by --help
    const char *args;     // as shown by --help; one word per argument; "" none; [=X] only behind an equals sign,
                          // [X] also as the next word, if that is a list of numbers
    const char *help;     // for UNO_OPT_OTHER: what to use instead
};
extern const struct uno_opt_row
    uno_opt_rows[];    // ends with names == NULL; a row whose names are "" heads a group of --help

// The row that `arg` (with its dashes) names, or NULL.
const struct uno_opt_row *uno_opt_find(const char *arg, size_t len);
// The row of -n4, where the number stands behind the name; *len is then the length of the name. NULL: not of that form.
const struct uno_opt_row *uno_opt_glued(const char *arg, size_t *len);
// True for a variable that a launcher around mpiexec sets to tell its ranks who they are.
bool uno_opt_is_foreign(const char *variable);
const char *uno_opt_nearest(const char *arg, size_t len);    // a name that may have been meant, or NULL

// Fills in the plan. Prints and exits for --help, --version and mistakes.
void uno_options_read(struct uno_plan *p, int argc, char **argv);

_Noreturn void uno_help(void);
_Noreturn void uno_version(void);
