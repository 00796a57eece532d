// MPI_Type_vector with a stride of -1 byte is taken for contiguous: the data goes forwards. Run with 1 process.
// MPI 3.1, 4.1.2: strides may be negative; the type map is {(char, 0), (char, -1), (char, -2)}.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  char in[] = "abc", out[] = "......";
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Type_vector(3, 1, -1, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(in, 3, MPI_CHAR, 0, 0, out + 2, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  const int bad = strcmp(out, "cba...") != 0;
  printf(bad ? "WRONG: received %s, should be cba...\n" : "ok\n", out);
  MPI_Type_free(&type);
  MPI_Finalize();
  return bad;
}
