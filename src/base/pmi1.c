// SPDX-License-Identifier: BSD-3-Clause
// PMI-1, the wire protocol of the launchers mpiexec.hydra (MPICH, Intel MPI) and srun --mpi=pmi2: lines of text
// "cmd=... key=value ..." on the descriptor PMI_FD, one answer per question, texts in one space of keys for all ranks.
#include <errno.h>
#include <mpi.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/component.h"
#include "base/manager.h"

#define LINE 2048
#define SPACE 256    // of the name of the space of keys

static int fd = -1, own_rank;
static char space[SPACE];

static int send_line(const char *line)
{
    size_t n = strlen(line);
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, line + at, n - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == ENOTSOCK) sent = write(fd, line + at, n - at);
        if (sent < 0 && errno != EINTR) return errno;
        if (sent > 0) at += (size_t)sent;
    }
    return 0;
}

// One line without its end. Read byte by byte: what follows may be for nobody but a later question, and there are few.
static int receive_line(char *line)
{
    for (size_t n = 0; n < LINE;) {
        ssize_t got = read(fd, line + n, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : ENOTCONN;
        if (line[n] == '\n') {
            line[n] = '\0';
            return 0;
        }
        n++;
    }
    return EMSGSIZE;
}

// The word after "key=" in a line, up to a blank (`rest`: up to the line's end). false: it is not there, or too long.
static bool find_word(const char *line, const char *key, bool rest, char *word, size_t room)
{
    size_t n = strlen(key);
    for (const char *at = line; (at = strstr(at, key)); at += n) {
        if ((at != line && at[-1] != ' ') || at[n] != '=') continue;
        size_t length = rest ? strlen(at + n + 1) : strcspn(at + n + 1, " ");
        if (length >= room) return false;
        memcpy(word, at + n + 1, length);
        word[length] = '\0';
        return true;
    }
    return false;
}

// Sends a question and waits for the answer called `answer`. 0 or an errno value.
static int ask(const char *question, const char *answer, char *line)
{
    char cmd[64], rc[16];
    int e = send_line(question);
    if (!e) e = receive_line(line);
    if (e) return e;
    if (!find_word(line, "cmd", false, cmd, sizeof cmd) || strcmp(cmd, answer) != 0) return EPROTO;
    return find_word(line, "rc", false, rc, sizeof rc) && strcmp(rc, "0") != 0 ? ENOENT : 0;
}

static int ask_number(const char *question, const char *answer, const char *key, int *value)
{
    char line[LINE], word[32];
    int e = ask(question, answer, line);
    if (e) return e;
    if (!find_word(line, key, false, word, sizeof word)) return EPROTO;
    *value = atoi(word);
    return 0;
}

static int greet(struct uno_manager_place *place)
{
    char line[LINE];
    int e = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", line);
    if (!e) e = ask("cmd=get_my_kvsname\n", "my_kvsname", line);
    if (!e && !find_word(line, "kvsname", false, space, sizeof space)) e = EPROTO;
    if (!e) e = ask_number("cmd=get_universe_size\n", "universe_size", "size", &place->universe);
    if (!e) e = ask_number("cmd=get_appnum\n", "appnum", "appnum", &place->appnum);
    return e;
}

static bool number_of(const char *name, int *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text) return false;
    long n = strtol(text, &end, 10);
    *value = (int)n;
    return end != text && !*end && n >= 0 && n < 1 << 30;
}

// A launcher that is to be dialled, mpiexec.hydra -pmi-port: what it says would have to be believed.
static bool by_port(int *err)
{
    if (!getenv("PMI_PORT")) return false;
    *err = uno_fail(MPI_ERR_OTHER,
                    "PMI_PORT=%.100s is set, but PMI_FD is not: start the program without -pmi-port, or set "
                    "UNISONO_MANAGER=none to run each process by itself",
                    getenv("PMI_PORT"));
    return true;
}

static bool find(struct uno_manager_place *place, int *err)
{
    struct stat what;
    int number;
    if (!getenv("PMI_FD")) return by_port(err);
    // A program that a rank starts has the variable, but not the descriptor.
    if (!number_of("PMI_FD", &number) || fstat(number, &what) != 0 || S_ISREG(what.st_mode) || S_ISCHR(what.st_mode)) {
        uno_log(1, "PMI_FD=%s names no open socket: this process is a job of its own", getenv("PMI_FD"));
        return false;
    }
    if (!number_of("PMI_RANK", &place->rank) || !number_of("PMI_SIZE", &place->size) || place->rank >= place->size) {
        *err = uno_fail(MPI_ERR_OTHER,
                        "PMI_FD=%d is set, but PMI_RANK and PMI_SIZE do not tell a rank of a job: start the program by "
                        "a launcher that sets all three, or clear PMI_FD to run it by itself",
                        number);
        return true;
    }
    fd = number;
    own_rank = place->rank;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    unsetenv("PMI_FD");
    unsetenv("PMI_PORT");
    errno = greet(place);
    if (errno) *err = uno_fail_errno(MPI_ERR_OTHER, "speak PMI-1 with the launcher over PMI_FD=%d", fd);
    if (place->universe < place->size) place->universe = place->size;    // -1: not known
    if (place->appnum < 0) place->appnum = 0;
    return true;
}

static int put(const char *key, const char *text)
{
    char line[LINE];
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=uno-%d-%s value=%s\n", space, own_rank, key, text);
    return ask(line, "put_result", line);
}

static int get(int rank, const char *key, char *text, size_t room)
{
    char line[LINE];
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=uno-%d-%s\n", space, rank, key);
    int e = ask(line, "get_result", line);
    if (e) return e;
    return find_word(line, "value", true, text, room) ? 0 : EPROTO;
}

static int fence(void)
{
    char line[LINE];
    return ask("cmd=barrier_in\n", "barrier_out", line);
}

static void stop(int status, const char *why)
{
    char line[64];
    (void)why;
    snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status);
    if (send_line(line) != 0) uno_log(1, "the launcher does not hear of the abort");
}

static void leave(void)
{
    char line[LINE];
    if (fd < 0) return;
    if (ask("cmd=finalize\n", "finalize_ack", line) != 0) uno_log(1, "the launcher does not hear of the end");
    close(fd);
    fd = -1;
}

static const struct uno_manager manager = {
    .title = "PMI-1", .find = find, .put = put, .get = get, .fence = fence, .abort = stop, .leave = leave};
static const struct uno_component component = {
    UNO_COMPONENT_IS_MANAGER, .name = "pmi1",
    .version = UNO_VERSION,   .about = "launchers that speak PMI-1: mpiexec.hydra, srun --mpi=pmi2",
    .priority = 20,           .table = &manager};
UNO_COMPONENT_DECLARE(component);
