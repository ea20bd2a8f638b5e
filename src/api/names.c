// SPDX-License-Identifier: BSD-3-Clause
// Name publishing. Entry points of the chapter on process creation; the work is in dpm/names.c.
// Always holds: outputs are written on success only. No info key has a meaning here.
#include <string.h>

#include "api/check.h"
#include "dpm/names.h"

static int check_texts(const char *service, MPI_Info info, const char *port)
{
    int err = uno_check_pointer(service, "service_name");
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(port, "port_name");
    return err;
}

static int check_port(const char *port)
{
    if (strnlen(port, MPI_MAX_PORT_NAME) < MPI_MAX_PORT_NAME) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_PORT, "port_name is longer than %d characters", MPI_MAX_PORT_NAME - 1);
}

int MPI_Publish_name(const char *service_name, MPI_Info info, const char *port_name)
{
    static const char call[] = "MPI_Publish_name";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = check_texts(service_name, info, port_name);
    if (!err) err = check_port(port_name);
    if (!err) err = uno_dpm_publish(service_name, port_name);
    return uno_finish_self(call, err);
}

int MPI_Unpublish_name(const char *service_name, MPI_Info info, const char *port_name)
{
    static const char call[] = "MPI_Unpublish_name";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = check_texts(service_name, info, port_name);
    if (!err) err = uno_dpm_unpublish(service_name, port_name);
    return uno_finish_self(call, err);
}

int MPI_Lookup_name(const char *service_name, MPI_Info info, char *port_name)
{
    static const char call[] = "MPI_Lookup_name";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = check_texts(service_name, info, port_name);
    if (!err) err = uno_dpm_look_up(service_name, port_name);
    return uno_finish_self(call, err);
}
