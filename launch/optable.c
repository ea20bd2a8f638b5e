// SPDX-License-Identifier: BSD-3-Clause
// The table of options (options.h), the look-up of a name in it, and what is printed from it: --help and suggestions.
// One and two dashes mean the same everywhere. Names that users of Open MPI, MPICH and Intel MPI type are listed where
// the meaning is the same; a name of theirs with another meaning here says what to use instead.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"

#ifndef UNO_VERSION
#define UNO_VERSION "0.1.0"
#endif

static const char own_set[] = "Unisono's parameters are set by --set NAME=VALUE (unisono-info lists them)";

const struct uno_opt_row uno_opt_rows[] = {
    {UNO_OPT_HELP, "", "", "What runs"},
    {UNO_OPT_N, "n np c", "N", "start N ranks of the program that follows (default: one a core)"},
    {UNO_OPT_WDIR, "wdir wd", "DIR", "run the program in DIR"},
    {UNO_OPT_X, "x", "NAME[=VALUE]", "set NAME for all ranks (the environment is passed on anyway)"},
    {UNO_OPT_GENV, "genv", "NAME VALUE", "the same in two words"},
    {UNO_OPT_ENV, "env", "NAME VALUE", "set NAME for this program only"},
    {UNO_OPT_ENVLIST, "genvlist envlist", "A,B,...", "accepted: all variables are passed on anyway"},
    {UNO_OPT_ENVNONE, "genvnone envnone", "", "start from an empty environment"},
    {UNO_OPT_CONFIG, "configfile", "FILE", "read programs and their options from FILE, one program a line"},
    {UNO_OPT_HELP, "", "", "Where it runs"},
    {UNO_OPT_HOST, "host hosts H", "A,B:4,...", "hosts, each with its number of slots"},
    {UNO_OPT_HOSTFILE, "hostfile f machinefile", "FILE", "the same from a file: NAME, NAME:N or NAME slots=N a line"},
    {UNO_OPT_PER_HOST, "ppn perhost npernode N", "N", "slots on every host"},
    {UNO_OPT_FIT, "nooversubscribe no-oversubscribe", "", "no more ranks than slots (by default as many as cores)"},
    {UNO_OPT_OVER, "oversubscribe", "", "any number of ranks (the default)"},
    {UNO_OPT_MAP, "map-by", "UNIT", "next rank on the next core, hwthread, l3, numa, socket, slot or node"},
    {UNO_OPT_BIND, "bind-to", "UNIT",
     "bind ranks to hwthread, core, l3, numa, socket; none; auto (default:\n"
     "share the cores out while every rank gets one)"},
    {UNO_OPT_REPORT, "report-bindings", "", "say where each rank is bound"},
    {UNO_OPT_AGENT, "launch-agent", "CMD",
     "what runs a command on another host (default: ssh); called as CMD HOST COMMAND"},
    {UNO_OPT_HELP, "", "", "What it prints and reads"},
    {UNO_OPT_TAG, "tag-output l prepend-rank", "", "begin every line with the rank"},
    {UNO_OPT_TIME, "timestamp-output", "", "begin every line with the time"},
    {UNO_OPT_STDIN, "stdin s", "WHO", "who reads standard input: a rank (default 0), all or none"},
    {UNO_OPT_HELP, "", "", "When it ends"},
    {UNO_OPT_TIMEOUT, "timeout", "SECONDS", "end the job after so many seconds (status 124)"},
    {UNO_OPT_KEEP, "keep-waiting", "", "do not end the job when all ranks wait for each other"},
    {UNO_OPT_HELP, "", "", "Settings and insight"},
    {UNO_OPT_SET, "set", "NAME=VALUE", "set a parameter (unisono-info lists them)"},
    {UNO_OPT_PROFILE, "profile", "[=FILE]",
     "time, bytes and callers of every MPI call, as a table at the end or\nin FILE (JSON when its name ends in .json)"},
    {UNO_OPT_DRY, "dry-run", "", "show what would be started, and where, and stop"},
    {UNO_OPT_VERBOSE, "v verbose", "", "tell what is done"},
    {UNO_OPT_VERSION, "V version", "", "print the version"},
    {UNO_OPT_HELP, "h help", "", "print this page"},
    {UNO_OPT_IGNORED, "allow-run-as-root genvall envall q", "", NULL},
    {UNO_OPT_OTHER, "mca gmca pmixmca prtemca omca", "", own_set},
    {UNO_OPT_OTHER, "launcher bootstrap launcher-exec rsh-agent", "", "use --launch-agent CMD"},
    {UNO_OPT_OTHER, "rr rank-by", "", "ranks are numbered in the order of --map-by; --map-by node takes hosts in turn"},
    {UNO_OPT_OTHER, "iface", "", "use --set with the TCP channel's interface parameter"},
    {UNO_OPT_OTHER, "gdb gtool xterm", "", "run the tool as the program: mpiexec -n 2 TOOL ./program"},
    {UNO_OPT_OTHER, "merge-stderr-to-stdout", "", "write mpiexec ... 2>&1"},
    {UNO_OPT_OTHER, "output-filename outfile-pattern", "", "write mpiexec --tag-output ... > FILE"},
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

const char *uno_opt_nearest(const char *arg, size_t len)
{
    static char best[40];
    const char *words[128], *near, *word;
    size_t skip = dashes(arg), n, count = 0;
    char *bare = uno_xformat("%.*s", (int)(len - skip), arg + skip);
    for (const struct uno_opt_row *r = uno_opt_rows; r->names != NULL; r++) {
        const char *s = r->names;
        while (r->id != UNO_OPT_OTHER && (word = word_at(&s, &n)) != NULL && count < 128) {
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
         "One dash or two mean the same.");
    for (const struct uno_opt_row *r = uno_opt_rows; r->names != NULL; r++) {
        if (r->names[0] == '\0')
            printf("\n%s:\n", r->help);
        else if (r->id < UNO_OPT_IGNORED)
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
