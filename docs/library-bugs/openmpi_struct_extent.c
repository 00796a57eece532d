// The extent of a struct is too large if its members are not named in the order of their places. Run with 1 process.
// MPI 3.1, 4.1.6: the extent is rounded up by the least increment that makes it a multiple of the alignment.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

struct s {
  char c;
  short s;
  long l;
};

int main(int argc, char** argv) {
  const int ones[3] = {1, 1, 1};
  MPI_Init(&argc, &argv);
  const MPI_Datatype members[3] = {MPI_SHORT, MPI_LONG, MPI_CHAR};
  const MPI_Aint places[3] = {offsetof(struct s, s), offsetof(struct s, l), offsetof(struct s, c)};
  MPI_Datatype type;
  MPI_Aint lb, extent;
  MPI_Type_create_struct(3, ones, places, members, &type);
  MPI_Type_get_extent(type, &lb, &extent);
  const int bad = extent != sizeof(struct s);
  printf(bad ? "WRONG: extent %ld, should be %zu\n" : "ok\n", (long)extent, sizeof(struct s));
  MPI_Type_free(&type);
  MPI_Finalize();
  return bad;
}
