// SPDX-License-Identifier: BSD-3-Clause
// The addresses of connections, those that are there and those that did not come up, as the user reads them. Called
// where connections come (up.c), where dials fail and where a link is given up (between.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "chan/proc.h"
#include "chan/tcp/tcp.h"

static void say_address(const struct sockaddr_storage *a, char *text)
{
    uno_net_text((const struct sockaddr *)a, text);
    bool any = strcmp(text, "0.0.0.0") == 0 || strcmp(text, "::") == 0;    // none of ours leads there
    if (any) strcpy(text, "any address");
}

void tcp_know_ends(struct tcp_link *l)
{
    struct sockaddr_storage own = {0}, theirs = {0};
    socklen_t len = sizeof own;
    char name[2][UNO_NET_TEXT] = {"?", "?"};
    if (getsockname(l->sock.fd, (struct sockaddr *)&own, &len) == 0) say_address(&own, name[0]);
    len = sizeof theirs;
    if (getpeername(l->sock.fd, (struct sockaddr *)&theirs, &len) == 0) say_address(&theirs, name[1]);
    snprintf(l->ends, sizeof l->ends, "%s and %s", name[0], name[1]);
}

const char *tcp_note_failure(struct tcp_link *l, int fd, const char *why)
{
    struct sockaddr_storage own = {0}, theirs;
    socklen_t len = sizeof own;
    char name[2][UNO_NET_TEXT] = {"?", "?"};
    if (!l->tries_told) l->tries_told = calloc(1, sizeof *l->tries_told);
    if (!l->tries_told || l->way.theirs >= l->main->peer.count) return why;
    char *text = l->tries_told->text[l->way.theirs];
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&own, &len) == 0) say_address(&own, name[0]);
    uno_net_sockaddr(&l->main->peer, l->way.theirs, &theirs);
    say_address(&theirs, name[1]);
    snprintf(text, TCP_FAILURE_TEXT, "%s and %s: %s", name[0], name[1], why);
    return text;
}

void tcp_forget_failures(struct tcp_link *l)
{
    free(l->tries_told);
    l->tries_told = NULL;
}

// One line for each pair of addresses if there are several; a single one is the reason itself.
void tcp_tell_failures(const struct tcp_link *l, const char *why, char *text)
{
    uint32_t count = 0, last = 0;
    for (uint32_t i = 0; l->tries_told && i < UNO_ADDRESSES; i++) {
        if (!l->tries_told->text[i][0]) continue;
        count++;
        last = i;
    }
    int n = snprintf(text, TCP_STORY_TEXT, "%s", why);
    if (count == 1) n = snprintf(text, TCP_STORY_TEXT, "between %s", l->tries_told->text[last]);
    if (count > 1) n = snprintf(text, TCP_STORY_TEXT, "none of its %d addresses can be reached", (int)count);
    if (l->ends[0]) snprintf(text + n, TCP_STORY_TEXT - (size_t)n, " (it was between %s)", l->ends);
    int level = uno_proc_is_guest(l->base.proc) || uno_tcp_state.closing ? 1 : 0;
    for (uint32_t i = 0; count > 1 && i < UNO_ADDRESSES; i++)
        if (l->tries_told->text[i][0])
            uno_log(level, "no way to rank %d between %s", l->base.proc, l->tries_told->text[i]);
}
