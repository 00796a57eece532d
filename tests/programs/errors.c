// Wildcard receives that truncate: error codes returned, a user's error handler that returns, and one that leaves by
// longjmp. The handler makes MPI calls of its own. MPICH asks MPI_COMM_WORLD's handler about errors found in MPI_Wait,
// so each handler is set there as well.
#include <setjmp.h>

#include "common.h"

enum { kEach = 12, kRoom = 3 };

static jmp_buf escape;
static int handled = 0;

static int error_class(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

static const char* error_name(int code) {
  const int class = error_class(code);
  return class == MPI_SUCCESS ? "success" : class == MPI_ERR_TRUNCATE ? "truncated" : "another error";
}

static void count_error(MPI_Comm* comm, int* code, ...) {
  int rank;
  MPI_Comm_rank(*comm, &rank);
  say("handler on rank %d: %s", rank, error_name(*code));
  ++handled;
}

static void jump_out(MPI_Comm* comm, int* code, ...) {
  count_error(comm, code);
  longjmp(escape, 1);
}

static void receive(MPI_Comm comm, int i) {
  int values[kRoom] = {-1, -1, -1}, code;
  MPI_Status status;
  status.MPI_SOURCE = status.MPI_TAG = -9;
  if (i % 2) {
    code = MPI_Recv(values, kRoom, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  } else {
    MPI_Request request;
    MPI_Irecv(values, kRoom, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    code = MPI_Wait(&request, &status);
  }
  say("%s", error_name(code));
  took("got", status.MPI_SOURCE, status.MPI_TAG, code == MPI_SUCCESS ? values[0] : 0);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Errhandler counting, jumping;
  MPI_Comm returning, counted, jumped;
  MPI_Comm_dup(MPI_COMM_WORLD, &returning);
  MPI_Comm_dup(MPI_COMM_WORLD, &counted);
  MPI_Comm_dup(MPI_COMM_WORLD, &jumped);
  MPI_Comm_create_errhandler(count_error, &counting);
  MPI_Comm_create_errhandler(jump_out, &jumping);
  MPI_Comm comms[3] = {returning, counted, jumped};
  MPI_Errhandler handlers[3] = {MPI_ERRORS_RETURN, counting, jumping};
  for (int c = 0; c < 3; ++c) {
    MPI_Comm_set_errhandler(comms[c], handlers[c]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[c]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
      for (volatile int i = 0; i < kEach * (world_size - 1); ++i)
        if (setjmp(escape) == 0)
          receive(comms[c], i);
        else
          say("jumped out of receive %d", i);
      say("handled %d", handled);
    } else {
      for (int i = 0; i < kEach; ++i) {
        int values[kRoom + 2] = {world_rank * 1000 + i, 1, 2, 3, 4};
        jitter(200);
        MPI_Send(values, 1 + (i * world_rank) % (kRoom + 2), MPI_INT, 0, i % 4, comms[c]);
      }
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&jumping);
  MPI_Errhandler_free(&counting);
  for (int c = 0; c < 3; ++c) MPI_Comm_free(&comms[c]);
  finish();
}
