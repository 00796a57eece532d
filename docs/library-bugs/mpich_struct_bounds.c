// An explicit bound inside a struct does not hide those of the other members. Run with 1 process.
// MPI 3.1, 4.1.7: if any entry of the type map is a marker, the upper bound is the greatest of the markers, here 8.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const int ones[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  MPI_Datatype resized, type;
  MPI_Aint lb, extent;
  MPI_Init(&argc, &argv);
  MPI_Type_create_resized(MPI_INT, 0, 8, &resized);
  const MPI_Datatype members[2] = {resized, MPI_INT};
  MPI_Type_create_struct(2, ones, places, members, &type);
  MPI_Type_get_extent(type, &lb, &extent);
  const int bad = lb != 0 || extent != 8;
  printf(bad ? "WRONG: %ld and %ld, should be 0 and 8\n" : "ok\n", (long)lb, (long)extent);
  MPI_Finalize();
  return bad;
}
