// SPDX-License-Identifier: BSD-3-Clause
// `unisono-bench hello`: whole jobs from the launcher's start to its exit, timed by this parent, which is not an
// MPI program. The job runs the row `noop` of this same program: MPI_Init, MPI_Finalize. A job that fails ends the
// measurement with status 1.
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 32, MOST = 1000 };

static int launch(char **words)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        execvp(words[0], words);
        fprintf(stderr, "unisono-bench: cannot run %s\n", words[0]);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

int bench_hello(const struct opts *o)
{
    char *words[WORDS + 8];
    double sample[MOST];
    struct stats s;
    int n = bench_job_words(o, words, WORDS), launches = o->launches > MOST ? MOST : o->launches ? o->launches : 5;
    if (n < 0) return 2;
    words[n++] = "noop";
    words[n] = NULL;
    for (int i = 0; i < launches; i++) {
        double start = bench_now();
        int status = launch(words);
        sample[i] = bench_now() - start;
        if (status == 0) continue;
        fprintf(stderr, "unisono-bench: hello: the job of %d ranks ended with status %d\n", o->np,
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 1;
    }
    bench_stats(sample, launches, &s);
    if (o->format == TABLE)
        printf("hello: %d ranks, launcher start to exit: %.4f s median of %ld (%.4f .. %.4f)\n", o->np, s.median, s.n,
               s.min, s.max);
    if (o->format == CSV)
        printf("row,np,value,unit,min,max,n\nhello,%d,%.6g,s,%.6g,%.6g,%ld\n", o->np, s.median, s.min, s.max, s.n);
    if (o->format == JSON)
        printf("{\"schema\": 1, \"row\": \"hello\", \"family\": \"start\", \"np\": %d, \"unit\": \"s\", \"value\": "
               "%.6g, \"min\": %.6g, \"max\": %.6g, "
               "\"n\": %ld}\n",
               o->np, s.median, s.min, s.max, s.n);
    return 0;
}
