// SPDX-License-Identifier: BSD-3-Clause
// Publishes, removes and finds names (names.h).
#include "dpm/names.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/pm.h"

// Of a process without mpiexec. They end with it: the files are unlocked then, and removed if it ends in order.
static struct uno_names own;

static void close_own(void)
{
    uno_names_close(&own);
}

static int ask(struct uno_pm_call *c, const char *what, const char *service, const char *port)
{
    const char *word[] = {what, service, port};
    size_t bytes = 0, at = 0;
    for (int i = 0; i < 3; i++) bytes += strlen(word[i]) + 1;
    char *all = malloc(bytes);
    if (!all) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request to mpiexec");
    for (int i = 0; i < 3; at += strlen(word[i++]) + 1) memcpy(all + at, word[i], strlen(word[i]) + 1);
    errno = uno_pm_command(c, all, bytes);
    free(all);
    if (errno) return uno_fail_errno(MPI_ERR_OTHER, "ask mpiexec about the name `%.60s`", service);
    return c->mpi_class ? uno_fail(c->mpi_class, "service_name `%.60s`: %s", service, c->text) : MPI_SUCCESS;
}

// err with its reason, which says of the service what it is about.
static int about(const char *service, int err)
{
    char why[400];
    if (!err) return MPI_SUCCESS;
    snprintf(why, sizeof why, "%s", uno_fail_text());
    return uno_fail(err, "service_name `%.60s`: %s", service, why);
}

int uno_dpm_publish(const char *service, const char *port)
{
    static bool registered;
    struct uno_pm_call call;
    if (uno_pm_there()) return ask(&call, "publish", service, port);
    if (!registered) registered = atexit(close_own) == 0;
    return about(service, uno_names_publish(&own, service, port, 0));
}

int uno_dpm_unpublish(const char *service, const char *port)
{
    struct uno_pm_call call;
    if (uno_pm_there()) return ask(&call, "unpublish", service, port);
    return about(service, uno_names_unpublish(&own, service));
}

int uno_dpm_look_up(const char *service, char *port)
{
    struct uno_pm_call call;
    char text[MPI_MAX_PORT_NAME];
    if (uno_pm_there()) {
        int err = ask(&call, "lookup", service, "");
        if (!err) snprintf(port, MPI_MAX_PORT_NAME, "%s", call.text);
        return err;
    }
    int err = about(service, uno_names_look_up(&own, service, text, sizeof text));
    if (!err) strcpy(port, text);
    return err;
}
