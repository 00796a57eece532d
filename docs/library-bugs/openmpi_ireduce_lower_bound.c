// MPI_Ireduce writes outside of its memory if the datatype has a negative lower bound. Run with 4 processes. (coll/libnbc)
// MPI 3.1, 5.9.5: own operations may be used with any datatype; the data is at [-64, -60) of each item's address.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kCount = 1000, kBelow = 16 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = -kBelow; i < *length - kBelow; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

int main(int argc, char** argv) {
  int rank, size, bad = 0, one = 1;
  const MPI_Aint place = -kBelow * (int)sizeof(int);
  MPI_Datatype type;
  MPI_Op op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  signal(SIGSEGV, ends);
  signal(SIGABRT, ends);
  MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add, 1, &op);
  for (int round = 0; round < 100; ++round) {
    int* in = malloc(kCount * sizeof(int));
    int* out = malloc(kCount * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < kCount; ++i) in[i] = i + rank, out[i] = -1;
    MPI_Ireduce(in + kBelow, out + kBelow, kCount, type, op, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCount && rank == 0; ++i) bad += out[i] != size * i + size * (size - 1) / 2;
    free(in);
    free(out);
  }
  if (rank == 0) printf(bad ? "WRONG: %d elements\n" : "ok\n", bad);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Finalize();
  return bad > 0;
}
