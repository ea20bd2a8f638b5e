// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3
// Names that ranks publish: each finds those of all others, nobody publishes one twice, wrong use has its class.
#include "../check.h"

#include <string.h>
#include <unistd.h>

static int rank, size, job;    // job: tells the names of this run from those of others

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

static const char *service_of(int r)
{
    static char name[64];
    snprintf(name, sizeof name, "names-test %d of job %d", r, job);
    return name;
}

static const char *port_of(int r)
{
    static char port[MPI_MAX_PORT_NAME];
    memset(port, 'a' + r, sizeof port - 1);
    snprintf(port, sizeof port, "port %d", r);
    port[strlen(port)] = ' ';    // as long as a port may be
    return port;
}

static void check_wrong(void)
{
    char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING];
    char *longer = malloc(MPI_MAX_PORT_NAME + 1);
    int n;
    memset(longer, 'x', MPI_MAX_PORT_NAME);
    longer[MPI_MAX_PORT_NAME] = '\0';
    strcpy(port, "as it was");
    int err = MPI_Lookup_name("nobody has published this", MPI_INFO_NULL, port);
    CHECK(class_of(err) == MPI_ERR_NAME && strcmp(port, "as it was") == 0);
    MPI_Error_string(err, text, &n);
    CHECK(strstr(text, "nobody has published this") != NULL);
    CHECK(class_of(MPI_Unpublish_name("nobody has published this", MPI_INFO_NULL, "p")) == MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Publish_name(NULL, MPI_INFO_NULL, "p")) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Publish_name("a", MPI_INFO_NULL, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Publish_name("a", MPI_INFO_NULL, longer)) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Lookup_name("a", MPI_INFO_NULL, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Unpublish_name(NULL, MPI_INFO_NULL, "p")) == MPI_ERR_ARG);
    free(longer);
}

// A service's name may be of any length and hold anything.
static void check_long(void)
{
    enum { BYTES = 100000 };
    static char service[BYTES];
    char port[MPI_MAX_PORT_NAME];
    memset(service, '/', BYTES - 1);
    service[BYTES - 1] = '\0';
    snprintf(service, BYTES, "../%d %d\n", job, rank);
    service[strlen(service)] = '%';
    CHECK(MPI_Publish_name(service, MPI_INFO_NULL, "p") == MPI_SUCCESS);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS && strcmp(port, "p") == 0);
    CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, "p") == MPI_SUCCESS);
}

int main(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Info info;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_global_scope", "true");
    job = (int)getpid();
    MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_Publish_name(service_of(rank), info, port_of(rank)) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) {
            CHECK(MPI_Lookup_name(service_of(r), info, port) == MPI_SUCCESS);
            CHECK(strcmp(port, port_of(r)) == 0);
        }
        CHECK(class_of(MPI_Publish_name(service_of(0), info, "p")) == MPI_ERR_SERVICE);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Unpublish_name(service_of(rank), info, port_of(rank)) == MPI_SUCCESS);
        CHECK(class_of(MPI_Lookup_name(service_of(rank), info, port)) == MPI_ERR_NAME);
    }
    check_wrong();
    check_long();
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
