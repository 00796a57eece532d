// MPI_Get_elements divides by zero, for a struct of two different basic types of one size. Run with 1 process.
// MPI 3.1, 4.1.11: it returns the number of basic elements that were received.
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
  MPI_Init(&argc, &argv);
  signal(SIGFPE, ends);
  const int ones[2] = {1, 1};
  const MPI_Aint places[2] = {0, 1};
  const MPI_Datatype members[2] = {MPI_UINT8_T, MPI_SIGNED_CHAR};
  char in[2] = {1, 2}, out[2];
  int elements = -1;
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_create_struct(2, ones, places, members, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(in, 1, type, 0, 0, out, 1, type, 0, 0, MPI_COMM_SELF, &status);
  MPI_Get_elements(&status, type, &elements);
  if (elements == 2) printf("ok\n");
  else printf("WRONG: %d elements, should be 2\n", elements);
  MPI_Type_free(&type);
  MPI_Finalize();
  return elements != 2;
}
