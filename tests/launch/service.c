// SPDX-License-Identifier: BSD-3-Clause
// Publishes a name and waits for the end of its input, or looks one up and prints the port: publish SERVICE PORT |
// forget SERVICE PORT (ends without unpublishing) | lookup SERVICE. Used by test_services.py.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

static const char *name_of(int class)
{
    return class == MPI_SUCCESS       ? "done"
           : class == MPI_ERR_NAME    ? "MPI_ERR_NAME"
           : class == MPI_ERR_SERVICE ? "MPI_ERR_SERVICE"
                                      : "another error";
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc == 3 && strcmp(argv[1], "lookup") == 0) {
        const char *result = name_of(class_of(MPI_Lookup_name(argv[2], MPI_INFO_NULL, port)));
        printf("%s %s\n", result, port);
    } else if (argc == 4) {
        printf("%s\n", name_of(class_of(MPI_Publish_name(argv[2], MPI_INFO_NULL, argv[3]))));
        fflush(stdout);
        if (strcmp(argv[1], "publish") == 0) {
            while (getchar() != EOF) continue;
            printf("%s\n", name_of(class_of(MPI_Unpublish_name(argv[2], MPI_INFO_NULL, argv[3]))));
        }
    }
    MPI_Finalize();
    return 0;
}
