// SPDX-License-Identifier: BSD-3-Clause
// Declares the launcher's parameters (start.h). mpiexec's options of the same meaning win over them.
#include "base/start.h"

struct uno_param uno_start_agent =
    UNO_PARAM_TEXT("launch_agent", "ssh -o BatchMode=yes -o LogLevel=ERROR",
                   "what mpiexec runs to start its daemon on another host; called as AGENT HOST COMMAND");
UNO_PARAM_DECLARE(uno_start_agent);
struct uno_param uno_start_allocation = UNO_PARAM_TEXT(
    "allocation", "auto",
    "whose allocation mpiexec takes hosts from when the command line names none: auto, none, slurm, lsf, "
    "pbs, sge or the name of a component; auto: that which the environment tells");
UNO_PARAM_DECLARE(uno_start_allocation);
struct uno_param uno_start_grace =
    UNO_PARAM_INT("end_grace_ms", 500, 0, 3600000,
                  "milliseconds that ranks, or what they left running, have to end before they are killed");
UNO_PARAM_DECLARE(uno_start_grace);
struct uno_param uno_start_bind =
    UNO_PARAM_CHOICE("bind_to", "auto", "auto|none|hwthread|core|l3|numa|socket",
                     "what ranks are bound to; auto: they share the cores out while every rank gets one");
UNO_PARAM_DECLARE(uno_start_bind);
struct uno_param uno_start_map = UNO_PARAM_CHOICE("map_by", "auto", "auto|hwthread|core|l3|numa|socket|slot|node",
                                                  "what the next rank is placed on");
UNO_PARAM_DECLARE(uno_start_map);
struct uno_param uno_start_deadlock =
    UNO_PARAM_CHOICE("deadlock", "end", "end|wait", "what mpiexec does when every rank waits for another");
UNO_PARAM_DECLARE(uno_start_deadlock);
struct uno_param uno_start_fanout =
    UNO_PARAM_INT("launch_fanout", 8, 1, 1024, "hosts that one host starts itself; they start the others");
UNO_PARAM_DECLARE(uno_start_fanout);
struct uno_param uno_start_silence = UNO_PARAM_INT("host_silence", 60, 0, 86400,
                                                   "seconds without a sign of life after which a host is lost; 10 with "
                                                   "mpiexec --survive unless set; 0: it is waited for");
UNO_PARAM_DECLARE(uno_start_silence);
struct uno_param uno_start_unfinalized =
    UNO_PARAM_CHOICE("unfinalized", "warn", "warn|error",
                     "what mpiexec makes of a rank that ends with status 0 without MPI_Finalize; error: status 1, and "
                     "the other ranks are ended");
UNO_PARAM_DECLARE(uno_start_unfinalized);
struct uno_param uno_start_gdb =
    UNO_PARAM_TEXT("launch_gdb", "gdb", "what mpiexec --gdb runs: a gdb with Python, perhaps with options");
UNO_PARAM_DECLARE(uno_start_gdb);
struct uno_param uno_start_errhandler = UNO_PARAM_CHOICE(
    "initial_errhandler", "mpi_errors_are_fatal", "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
    "error handler of MPI_COMM_WORLD, MPI_COMM_SELF and the parents until the program sets others");
UNO_PARAM_DECLARE(uno_start_errhandler);
struct uno_param uno_start_names =
    UNO_PARAM_CHOICE("rank_variables", "all", "all|own",
                     "which variables tell a rank who it is; all: also the names that other launchers use");
UNO_PARAM_DECLARE(uno_start_names);
struct uno_param uno_start_criu = UNO_PARAM_TEXT(
    "launch_criu", "criu", "what mpiexec --checkpoint-to and --restart run to save processes and to make them anew");
UNO_PARAM_DECLARE(uno_start_criu);
struct uno_param uno_start_keep = UNO_PARAM_INT("checkpoint_keep", 2, 1, 1000000,
                                                "checkpoints of a job that stay in the folder; older ones are removed");
UNO_PARAM_DECLARE(uno_start_keep);
