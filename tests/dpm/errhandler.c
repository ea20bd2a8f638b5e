// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2
// run: np=2 set=initial_errhandler=mpi_errors_return args=mpi_errors_return
// run: np=2 set=initial_errhandler=mpi_errors_abort args=mpi_errors_abort
// run: np=0 env=UNISONO_INITIAL_ERRHANDLER=mpi_errors_return args=mpi_errors_return
// run: np=1 set=initial_errhandler=mpi_errors_ignore status=fail says="are_fatal|mpi_errors_abort|mpi_errors_return"
// Which error handler processes begin with: mpiexec's
// or, in spawned ones, that of the info key; also for what is wrong before MPI_Init and after MPI_Finalize.
#include "../check.h"

#include <string.h>

static const char *const name[] = {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"};

static MPI_Errhandler handler_of(const char *word)
{
    const MPI_Errhandler handler[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN};
    for (int i = 0; i < 3; i++)
        if (strcmp(word, name[i]) == 0) return handler[i];
    CHECK(0);
    return MPI_ERRHANDLER_NULL;
}

static void begins_with(MPI_Comm c, const char *word)
{
    MPI_Errhandler e;
    CHECK(MPI_Comm_get_errhandler(c, &e) == MPI_SUCCESS && e == handler_of(word));
}

static void spawn(char *self, const char *word)
{
    char *words[] = {(char *)(size_t)word, NULL};
    int code, class, size;
    MPI_Comm child, dup;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_initial_errhandler", word);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    int err = MPI_Comm_spawn(self, words, 1, info, 0, dup, &child, &code);
    MPI_Info_free(&info);
    MPI_Error_class(err, &class);
    if (strcmp(word, "none") == 0) {
        CHECK(class == MPI_ERR_INFO_VALUE && code == MPI_ERR_INFO_VALUE);
    } else {
        CHECK(err == MPI_SUCCESS && code == MPI_SUCCESS);
        MPI_Comm_remote_size(child, &size);
        CHECK(size == 1);
        begins_with(child, "mpi_errors_return");    // of the communicator that spawned
        MPI_Barrier(child);
        MPI_Comm_disconnect(&child);
    }
    MPI_Comm_free(&dup);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : name[0];
    int returns = strcmp(word, "mpi_errors_return") == 0, rank;
    if (returns) CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_ERR_OTHER);
    MPI_Init(&argc, &argv);
    MPI_Comm parent, dup;
    MPI_Comm_get_parent(&parent);
    begins_with(MPI_COMM_WORLD, word);
    begins_with(MPI_COMM_SELF, word);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    begins_with(dup, word);
    MPI_Comm_free(&dup);
    if (parent != MPI_COMM_NULL) {
        begins_with(parent, word);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    } else if (argc < 2) {
        for (int i = 0; i < 3; i++) spawn(argv[0], name[i]);
        spawn(argv[0], "none");
    }
    if (returns) CHECK(MPI_Comm_rank(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    MPI_Finalize();
    if (returns) CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_ERR_OTHER);
    return 0;
}
