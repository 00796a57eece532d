// A long message of MPI_PACKED cannot be received as an array of structs: "message truncated". Run with 2 processes.
// MPI 3.1, 4.2: a packing unit can be received with any datatype that matches. (Seen with ch4:ucx.)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 5000 };
struct item {
  int i;
  short s;
};

int main(int argc, char** argv) {
  int rank, bad = 0, size, position = 0, code;
  const int ones[2] = {1, 1};
  const MPI_Aint places[2] = {0, 4};
  const MPI_Datatype members[2] = {MPI_INT, MPI_SHORT};
  static struct item items[kCount];
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_create_struct(2, ones, places, members, &type);
  MPI_Type_commit(&type);
  if (rank == 0) {
    for (int i = 0; i < kCount; ++i) items[i] = (struct item){i, (short)i};
    MPI_Pack_size(kCount, type, MPI_COMM_WORLD, &size);
    void* packed = malloc((size_t)size);
    MPI_Pack(items, kCount, type, packed, size, &position, MPI_COMM_WORLD);
    MPI_Send(packed, position, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
    free(packed);
  } else if (rank == 1) {
    code = MPI_Recv(items, kCount, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCount; ++i) bad += items[i].i != i || items[i].s != (short)i;
    if (bad || code) printf("WRONG: error %d, %d of %d items\n", code, bad, kCount);
    else printf("ok\n");
  }
  MPI_Type_free(&type);
  MPI_Finalize();
  return bad > 0;
}
