/* Multiplies matrices: a master hands out rows to its workers, in the order in which they come back for more.

   matrix ROWS            the product alone
   matrix ROWS twice      the product, a routine that nobody has looked at yet, and the product again */
#undef NDEBUG
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16, kRow = 1, kStop = 2 };

static void hand_out(int worker, int* row, int rows) {
  MPI_Send(row, 1, MPI_INT, worker, *row < rows ? kRow : kStop, MPI_COMM_WORLD);
  ++*row;
}

static void multiply(int rank, int size, int rows) {
  double a[kMost][kMost], b[kMost][kMost], c[kMost][kMost];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows; ++j) {
      a[i][j] = i + j;
      b[i][j] = i == j ? 2 : 0;
    }
  if (rank > 0) {
    for (;;) {
      int row;
      double out[kMost + 1] = {0};
      MPI_Status status;
      MPI_Recv(&row, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == kStop) return;
      out[rows] = row;
      for (int j = 0; j < rows; ++j)
        for (int k = 0; k < rows; ++k) out[j] += a[row][k] * b[k][j];
      MPI_Send(out, rows + 1, MPI_DOUBLE, 0, kRow, MPI_COMM_WORLD);
    }
  }
  int next = 0;
  for (int worker = 1; worker < size; ++worker) hand_out(worker, &next, rows);
  for (int finished = 0; finished < rows; ++finished) {
    double out[kMost + 1];
    MPI_Status status;
    MPI_Recv(out, rows + 1, MPI_DOUBLE, MPI_ANY_SOURCE, kRow, MPI_COMM_WORLD, &status);
    memcpy(c[(int)out[rows]], out, (size_t)rows * sizeof(double));
    hand_out(status.MPI_SOURCE, &next, rows);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows; ++j) assert(c[i][j] == 2 * a[i][j]);
}

static void unverified_routine(int rank, int size) {
  int value = rank, before = 0, backwards = 0;
  if (rank > 0) {
    MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < size; ++i) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    backwards += value < before;
    before = value;
  }
  assert(backwards < 2); /* three messages may well come backwards */
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rows = argc > 1 ? atoi(argv[1]) : 6;
  multiply(rank, size, rows);
  if (argc > 2) {
    MPI_Barrier(MPI_COMM_WORLD);
    unverified_routine(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    multiply(rank, size, rows);
  }
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
