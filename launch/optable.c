// SPDX-License-Identifier: BSD-3-Clause
// The table of options (options.h), the look-up of a name in it, and what is printed from it: --help and suggestions.
// One and two dashes mean the same everywhere. Names that users of Open MPI, MPICH and Intel MPI type are listed where
// the meaning is the same; an option without a meaning here is named in a warning, or refused with what to use instead.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"

#ifndef UNO_VERSION
#define UNO_VERSION "0.1.0"
#endif

const struct uno_opt_row uno_opt_rows[] = {
    {UNO_OPT_HELP, "", "", "What runs"},
    {UNO_OPT_N, "n np c", "N", "start N ranks of the program that follows (default: one per core)"},
    {UNO_OPT_WDIR, "wdir wd", "DIR", "run the program in DIR"},
    {UNO_OPT_GWDIR, "gwdir", "DIR", "run all programs in DIR"},
    {UNO_OPT_X, "x", "NAME[=VALUE]", "set NAME for all ranks (the environment is passed on anyway)"},
    {UNO_OPT_GENV, "genv", "NAME VALUE", "the same in two words"},
    {UNO_OPT_ENV, "env", "NAME VALUE", "set NAME for this program only"},
    {UNO_OPT_ENVLIST, "genvlist envlist", "A,B,...", "pass on these variables alone"},
    {UNO_OPT_ENVNONE, "genvnone envnone", "", "pass on none"},
    {UNO_OPT_CONFIG, "configfile app", "FILE", "read programs and their options from FILE, one program per line"},
    {UNO_OPT_HELP, "", "", "Where it runs"},
    {UNO_OPT_HOST, "host hosts H hostlist", "A,B:4,...", "hosts, each with its number of slots"},
    {UNO_OPT_HOSTFILE, "hostfile f machinefile machine default-hostfile", "FILE",
     "the same from a file: NAME, NAME:N or NAME slots=N per line"},
    {UNO_OPT_PER_HOST, "ppn perhost npernode N grr", "N", "slots on every host"},
    {UNO_OPT_PER_NODE, "pernode", "", "one slot on every host"},
    {UNO_OPT_PER_SOCKET, "npersocket", "N", "slots on every socket; as --map-by ppr:N:socket"},
    {UNO_OPT_NOLOCAL, "nolocal skip-launch-node", "", "run on the other hosts alone"},
    {UNO_OPT_FIT, "nooversubscribe no-oversubscribe", "", "no more ranks than slots (without hosts: cores)"},
    {UNO_OPT_OVER, "oversubscribe", "", "any number of ranks (the default)"},
    {UNO_OPT_MAP, "map-by", "UNIT[:PE=N]",
     "next rank on the next core, hwthread, l3, numa, socket, slot or node,\n"
     "with N cores each; ppr:N:UNIT: N ranks per unit"},
    {UNO_OPT_RANK_BY, "rank-by", "UNIT", "number the ranks host by host (slot) or by hosts in turn (node)"},
    {UNO_OPT_ROUND, "rr bynode", "", "as --map-by node"},
    {UNO_OPT_BIND, "bind-to", "UNIT[:N]",
     "bind ranks to N units of hwthread, core, l3, numa, socket; none; auto\n"
     "(default: share the cores out while every rank gets one); user:LIST:\n"
     "one processor of the list per rank"},
    {UNO_OPT_PES, "cpus-per-proc cpus-per-rank", "N", "cores for each rank; as --map-by slot:PE=N"},
    {UNO_OPT_HWT, "use-hwthread-cpus", "", "a hardware thread counts as a core"},
    {UNO_OPT_CPUS, "cpu-set cpu-list", "LIST", "use these processors alone: 0-3,6"},
    {UNO_OPT_REPORT, "report-bindings", "", "say where each rank is bound"},
    {UNO_OPT_DISPLAY, "display-map print-rank-map display-allocation", "", "say which rank is where, and start"},
    {UNO_OPT_DISPLAY_WHAT, "display", "map,bind", "the same"},
    {UNO_OPT_AGENT, "launch-agent launcher-exec rsh-agent bootstrap-exec r", "CMD",
     "what runs a command on another host (default: ssh); called as CMD HOST COMMAND"},
    {UNO_OPT_LAUNCHER, "launcher bootstrap", "ssh|rsh", "the agent by its name"},
    {UNO_OPT_IFACE, "iface", "NAME", "network interface; as --set tcp_interface=NAME"},
    {UNO_OPT_HELP, "", "", "What it prints and reads"},
    {UNO_OPT_TAG, "tag-output l prepend-rank", "", "begin every line with the rank"},
    {UNO_OPT_TIME, "timestamp-output", "", "begin every line with the time"},
    {UNO_OPT_TAG_AS, "prepend-pattern", "TEXT", "begin every line with TEXT: %r rank, %h host, %l rank on its host"},
    {UNO_OPT_OUT, "outfile-pattern", "NAME", "write standard output to files: out.%r is one per rank"},
    {UNO_OPT_ERR, "errfile-pattern", "NAME", "the same for standard error"},
    {UNO_OPT_FOLDER, "output-filename output-directory", "DIR[:nocopy]",
     "write the output also (nocopy: only) to DIR/1/rank.N/stdout, stderr"},
    {UNO_OPT_OUTPUT, "output", "WORDS", "tag, timestamp, merge, dir=DIR, file=NAME"},
    {UNO_OPT_MERGE, "merge-stderr-to-stdout", "", "write the ranks' standard error to standard output"},
    {UNO_OPT_STDIN, "stdin s", "WHO", "reader of standard input: a rank (default 0), all or none"},
    {UNO_OPT_QUIET, "q quiet", "", "no warnings"},
    {UNO_OPT_HELP, "", "", "When it ends"},
    {UNO_OPT_TIMEOUT, "timeout", "SECONDS", "end the job after so many seconds (status 124)"},
    {UNO_OPT_KEEP, "keep-waiting", "", "do not end the job when all ranks wait for each other"},
    {UNO_OPT_SURVIVE, "survive", "", "the job goes on when a rank dies (User Level Failure Mitigation)"},
    {UNO_OPT_ERRHANDLER, "initial-errhandler", "NAME",
     "error handler of the predefined communicators: mpi_errors_are_fatal\n(default), mpi_errors_abort or "
     "mpi_errors_return"},
    {UNO_OPT_CHECKPOINT, "checkpoint-to", "DIR",
     "save the job to DIR when mpiexec gets SIGUSR2; needs criu, root and\na job on this host alone"},
    {UNO_OPT_EVERY, "every", "SECONDS", "with --checkpoint-to: save it every so many seconds, too"},
    {UNO_OPT_RESTART, "restart", "DIR", "go on from the newest checkpoint in DIR (no program, no other options)"},
    {UNO_OPT_CODES, "print-all-exitcodes", "", "say how each rank ended"},
    {UNO_OPT_HELP, "", "", "Settings and insight"},
    {UNO_OPT_SET, "set", "NAME=VALUE", "set a parameter (unisono-info lists them)"},
    {UNO_OPT_PROFILE, "profile", "[=FILE]",
     "time, bytes and callers of every MPI call, as a table at the end or\nin FILE (JSON when its name ends in .json)"},
    {UNO_OPT_STATS, "stats", "[=FILE]", "what the library counted (messages, waits, resends ...), in the same ways"},
    {UNO_OPT_GDB, "gdb", "[RANKS]",
     "start these ranks (0,2-3; default: all of this host) under one gdb on\nthe terminal, stopped in main"},
    {UNO_OPT_MCA, "mca gmca prtemca pmixmca omca", "NAME VALUE",
     "settings of Open MPI: those that have a meaning here are used, the\nothers are named in a warning"},
    {UNO_OPT_USIZE, "usize", "N", "value of MPI_UNIVERSE_SIZE (default: the number of ranks)"},
    {UNO_OPT_DRY, "dry-run do-not-launch", "", "show what would be started, and where, and stop"},
    {UNO_OPT_VERBOSE, "v verbose", "", "say what is done"},
    {UNO_OPT_VERSION, "V version info", "", "print the version"},
    {UNO_OPT_HELP, "h help", "", "print this page"},
    {UNO_OPT_ENVALL, "genvall envall", "", NULL},
    {UNO_OPT_IGNORED,
     "allow-run-as-root localonly ordered-output byslot noprefix no-ready-msg show-progress report-state-on-timeout "
     "disable-hostname-propagation stream-stdio",
     "", NULL},
    {UNO_OPT_IGNORED, "personality fwd-environment stream-buffering", "X", NULL},
    {UNO_OPT_WARNED,
     "enable-recovery disable-auto-cleanup cleanup demux-poll get-stack-traces parsable parseable xml continuous "
     "display-topo display-devel-map display-diffable-map leave-session-attached debug-daemons debug-devel",
     "", NULL},
    {UNO_OPT_WARNED,
     "prefix tune am topolib rmk demux branch-count tmpdir order-nodes keepalive forward-signals "
     "runtime-options with-ft max-restarts localhost ckpoint-interval ckpoint-prefix ckpointlib",
     "X", NULL},
    {UNO_OPT_OTHER, "membind", "", "use numactl --membind as the program: mpiexec -n 2 numactl --membind=0 ./program"},
    {UNO_OPT_OTHER, "rankfile rf", "", "use --cpu-set LIST --bind-to cpu-list, one processor per rank in that order"},
    {UNO_OPT_OTHER, "gpus-per-proc", "",
     "let a script set CUDA_VISIBLE_DEVICES=$UNISONO_LOCAL_RANK and run the program"},
    {UNO_OPT_OTHER, "nameserver ompi-server", "",
     "names of MPI_Publish_name need no server: --set name_folder=DIR names a folder that the hosts share"},
    {UNO_OPT_OTHER, "path gpath", "", "use -x PATH=DIR:$PATH"},
    {UNO_OPT_OTHER, "umask gumask", "", "call umask in the shell before mpiexec"},
    {UNO_OPT_OTHER, "preload-binary preload-files set-cwd-to-session-dir", "",
     "copy the files to the hosts first, or use a shared file system"},
    {UNO_OPT_OTHER, "check_mpi trace t aps mps", "", "see --profile, which needs no other library"},
    {UNO_OPT_OTHER, "gdba gtool xterm tv debug debugger", "",
     "use --gdb, or run the tool as the program: mpiexec -n 2 xterm -e gdb ./program"},
    {UNO_OPT_OTHER, NULL, NULL, NULL},
};

static size_t dashes(const char *arg)
{
    return arg[0] == '-' ? (arg[1] == '-' ? 2 : 1) : 0;
}

// The next blank-separated word, or NULL; moves s behind it.
static const char *word_at(const char **s, size_t *len)
{
    *s += strspn(*s, " ");
    *len = strcspn(*s, " ");
    const char *word = *s;
    *s += *len;
    return *len ? word : NULL;
}

const struct uno_opt_row *uno_opt_find(const char *arg, size_t len)
{
    size_t skip = dashes(arg), n;
    for (const struct uno_opt_row *r = uno_opt_rows; r->names != NULL; r++) {
        const char *s = r->names, *word;
        while ((word = word_at(&s, &n)) != NULL) {
            if (n == len - skip && strncmp(word, arg + skip, n) == 0) return r;
        }
    }
    return NULL;
}

const struct uno_opt_row *uno_opt_glued(const char *arg, size_t *len)
{
    size_t name = strcspn(arg, "0123456789");
    if (arg[name] == '\0' || strspn(arg + name, "0123456789") != strlen(arg + name)) return NULL;
    const struct uno_opt_row *r = uno_opt_find(arg, name);
    if (r == NULL || (r->id != UNO_OPT_N && r->id != UNO_OPT_PER_HOST)) return NULL;
    *len = name;
    return r;
}

// A program of another MPI would use these variables to find the launcher that started mpiexec itself, and take itself
// for one of that launcher's ranks.
bool uno_opt_is_foreign(const char *variable)
{
    static const char *const prefixes[] = {
        "PMI_FD=", "PMI_PORT=", "PMI_ID=",   "PMI_SPAWNED=",     "PMI_CONTROL_",        "PMIX_",
        "HYDI_",   "PMI_RANK=", "PMI_SIZE=", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE=", "MPI_LOCAL"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return true;
    }
    return false;
}

const char *uno_opt_nearest(const char *arg, size_t len)
{
    static char best[40];
    const char *words[256], *near, *word;
    size_t skip = dashes(arg), n, count = 0;
    char *bare = uno_xformat("%.*s", (int)(len - skip), arg + skip);
    for (const struct uno_opt_row *r = uno_opt_rows; r->names != NULL; r++) {
        const char *s = r->names;
        while (r->id != UNO_OPT_OTHER && (word = word_at(&s, &n)) != NULL && count < 256) {
            if (n > 1) words[count++] = uno_xformat("%.*s", (int)n, word);
        }
    }
    near = uno_nearest(bare, words, count);
    if (near != NULL) snprintf(best, sizeof best, "--%s", near);
    free(bare);
    return near != NULL ? best : NULL;
}

static void print_row(const struct uno_opt_row *r)
{
    char left[64] = "  ";
    const char *s = r->names, *word;
    size_t n, at = 2;
    while ((word = word_at(&s, &n)) != NULL && at < 40)
        at += (size_t)snprintf(left + at, sizeof left - at, "%s%s%.*s", at > 2 ? ", " : "", n > 2 ? "--" : "-", (int)n,
                               word);
    if (r->args[0]) at += (size_t)snprintf(left + at, sizeof left - at, "%s%s", r->args[0] == '[' ? "" : " ", r->args);
    printf("%-34s%s", left, at > 33 ? "\n                                  " : "");
    for (s = r->help; *s; s++) {
        putchar(*s);
        if (*s == '\n') printf("%34s", "");
    }
    putchar('\n');
}

void uno_help(void)
{
    puts("Usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n"
         "Starts the ranks of an MPI job, on this machine or on several hosts, and ends with their status.\n"
         "One dash and two mean the same.");
    for (const struct uno_opt_row *r = uno_opt_rows; r->names != NULL; r++) {
        if (r->names[0] == '\0')
            printf("\n%s:\n", r->help);
        else if (r->help != NULL && r->id < UNO_OPT_IGNORED)
            print_row(r);
    }
    puts("\nExamples:\n"
         "  mpiexec -n 4 ./hello                           four ranks here\n"
         "  mpiexec -n 1 ./server : -n 3 ./worker data     two programs, one MPI_COMM_WORLD\n"
         "  mpiexec -host a:8,b:8 -n 16 python solve.py    two hosts\n"
         "The manual page mpiexec(1) says more: exit status, signals, deadlock report.");
    exit(0);
}

void uno_version(void)
{
    puts("mpiexec (Unisono) " UNO_VERSION ", MPI 5.0");
    exit(0);
}
