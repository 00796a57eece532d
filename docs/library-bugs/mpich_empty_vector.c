// MPI_Pack of a struct with a vector of block length 0 divides by zero. Run with 1 process.
// MPI 3.1, 4.1.2: the block length is a non-negative integer.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  const int ones[2] = {1, 1};
  const MPI_Aint places[2] = {0, 0};
  int in = 5, out = 0, position = 0;
  MPI_Datatype holes, empty, type;
  MPI_Init(&argc, &argv);
  signal(SIGFPE, ends);
  MPI_Type_vector(2, 1, 2, MPI_INT, &holes);
  MPI_Type_vector(1, 0, 1, holes, &empty);
  const MPI_Datatype members[2] = {empty, MPI_INT};
  MPI_Type_create_struct(2, ones, places, members, &type);
  MPI_Type_commit(&type);
  MPI_Pack(&in, 1, type, &out, sizeof out, &position, MPI_COMM_SELF);
  const int bad = out != 5;
  printf(bad ? "WRONG: %d, should be 5\n" : "ok\n", out);
  MPI_Finalize();
  return bad;
}
