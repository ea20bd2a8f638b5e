#include "api/check.h"
int MPI_Comm_rank(MPI_Comm comm, int *rank){*rank=uno_comm(comm)->rank;return 0;}
int MPI_Comm_size(MPI_Comm comm, int *size){*size=uno_comm(comm)->size;return 0;}
