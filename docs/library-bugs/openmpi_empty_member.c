// A struct whose last member is empty: several of them are packed with another extent than MPI_Type_get_extent says. 1 process.
// MPI 3.1, 4.1: the second of two items lies one extent behind the first.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const int lengths[2] = {2, 1};
  const MPI_Aint places[2] = {0, 32};
  char memory[400], packed[100];
  int position = 0, bad = 0;
  MPI_Datatype empty, type;
  MPI_Aint lb, extent;
  MPI_Init(&argc, &argv);
  MPI_Type_contiguous(0, MPI_INT, &empty);
  const MPI_Datatype members[2] = {MPI_INT, empty};
  MPI_Type_create_struct(2, lengths, places, members, &type);
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &lb, &extent);
  for (int i = 0; i < 400; ++i) memory[i] = (char)i;
  MPI_Pack(memory, 2, type, packed, sizeof packed, &position, MPI_COMM_SELF);
  bad = position != 16 || memcmp(packed, memory, 8) || memcmp(packed + 8, memory + extent, 8);
  if (!bad) printf("ok\n");
  else printf("WRONG: the extent is %ld, the second item is taken from %d\n", (long)extent, packed[8]);
  MPI_Finalize();
  return bad;
}
