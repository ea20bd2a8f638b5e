// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks' output goes: standard output and standard error of mpiexec. Lines of different ranks never mix: a
// line is written when it is complete, when its rank has ended, when it grew beyond 16 MiB, or, if a person may be
// waiting for it (the output is a terminal, or the rank sits reading standard input), when it has stood still for 200
// ms. If another rank then writes, a newline comes first. Writing never blocks where the kernel allows that, so signals
// are served while the reader is slow.
#pragma once
#include "outfile.h"

struct uno_sinks;
struct uno_output;    // of one job

struct uno_sinks *uno_sinks_new(void);

// `files`: NULL none; they are closed with the output.
struct uno_output *uno_output_new(struct uno_sinks *s, const struct uno_plan *p, const struct uno_outfiles *files);
void uno_output_put(struct uno_output *o, int rank, int stream, const char *data, size_t n);    // stream: 1 or 2
void uno_output_started(struct uno_output *o, int rank, int pid);
void uno_output_end(struct uno_output *o, int rank);                       // the rank writes no more
void uno_output_parts(const struct uno_output *o, struct uno_bytes *b);    // adds frames: begun lines, unwritten
void uno_output_free(struct uno_output *o);                                // the job is over

void uno_sinks_say(struct uno_sinks *s, const char *text);    // one line of mpiexec's own on standard error

void uno_sinks_flush(struct uno_sinks *s);    // writes what can be written now
// Writes everything, waiting if it must; on a signal from sigfd that asks for the end, or at a time
// (uno_ms_now(), 0 never), gives up what nobody reads. 0, or that signal.
int uno_sinks_drain(struct uno_sinks *s, int sigfd, int64_t give_up_at);
bool uno_sinks_full(const struct uno_sinks *s);             // do not put more for now
int uno_sinks_fd(const struct uno_sinks *s, int stream);    // to wait on for room; -1: nothing waits
bool uno_sinks_closed(struct uno_sinks *s, int stream);     // true once when the reader has gone
int64_t uno_sinks_idle(struct uno_sinks *s);                // writes idle prompts; when to call again, 0 never
void uno_sinks_abandon(struct uno_sinks *s);                // drops what nobody reads, now and later
bool uno_sinks_failed(const struct uno_sinks *s);           // something could not be written (disk full)
