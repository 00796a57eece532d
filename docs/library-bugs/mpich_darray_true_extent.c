// MPI_Type_get_true_extent of a distributed array whose last block is short. Run with 1 process.
// MPI 3.1, 4.1.8: the true extent spans the data. Rank 1 of 2 has element 2 of three: one int, at 2 * 12 + 8.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const int one = 1, size = 3, cyclic = MPI_DISTRIBUTE_CYCLIC, two = 2;
  const MPI_Aint place = 8;
  MPI_Datatype element, type;
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Init(&argc, &argv);
  MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &element);
  MPI_Type_get_extent(element, &lb, &extent);
  MPI_Type_create_darray(2, 1, 1, &size, &cyclic, &two, &two, MPI_ORDER_C, element, &type);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  const MPI_Aint should = 2 * extent + 8;
  const int bad = true_lb != should || true_extent != 4;
  if (!bad) printf("ok\n");
  else printf("WRONG: %ld and %ld, should be %ld and 4\n", (long)true_lb, (long)true_extent, (long)should);
  MPI_Finalize();
  return bad;
}
