// A call that enters MPI through its Fortran layer and is left by longjmp from an error handler. The places of the calls
// in the handler and after the jump must be their own, not that of the Fortran call. In C, to have the jump; linked as a
// Fortran program. Each call is on a line of its own, which `reprise show` must name.
#include <setjmp.h>

#include "common.h"

void mpi_send_(void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* dest, MPI_Fint* tag, MPI_Fint* comm, MPI_Fint* rc);
void mpi_recv_(void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* source, MPI_Fint* tag, MPI_Fint* comm,
               MPI_Fint* status, MPI_Fint* rc);

static jmp_buf back;
static int jumps = 0;

static void handler(MPI_Comm* comm, int* code, ...) {
  int rank = -1;
  MPI_Comm_rank(*comm, &rank);
  say("rank %d: %s", rank, *code == MPI_SUCCESS ? "no error" : "an error");
  if (++jumps % 2) longjmp(back, 1);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Errhandler errhandler;
  MPI_Comm_create_errhandler(handler, &errhandler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
  int value = world_rank;
  MPI_Fint one = 1, type = MPI_Type_c2f(MPI_INT), nobody = world_size + 7, tag = 0, rc;
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), root = 0, from, status[64];
  for (volatile int i = 0; i < 4; ++i) {
    if (!setjmp(back)) mpi_send_(&value, &one, &type, &nobody, &tag, &world, &rc);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (world_rank == 0) {
    for (int i = 1; i < world_size; ++i) {
      from = i;
      mpi_recv_(&value, &one, &type, &from, &tag, &world, status, &rc);
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      say("value %d", value);
      fold((uint64_t)value);
    }
  } else {
    mpi_send_(&value, &one, &type, &root, &tag, &world, &rc);
    jitter(400);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Errhandler_free(&errhandler);
  finish();
}
