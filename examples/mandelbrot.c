// A Mandelbrot picture, computed by workers and put together by a master. It has a bug of a kind that is found in real
// programs, and most runs do not show it.
//
// A worker sends each row in two messages: first which row it is, then the row. The master takes the row number from
// whoever is first, and then takes *a* row from whoever is first. That is nearly always the same worker. When two
// workers finish at the same moment it may be the other one, and two rows of the picture change places.
//
// Rows take uneven time, as if the workers had to read something from slow storage; the pauses come from rand(), seeded
// from the clock, so no two runs are alike. The program checks its picture and exits with status 1 when it is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kWidth = 72, kHeight = 16, kTagWork = 1, kTagNumber = 2, kTagRow = 3, kStop = -1 };

static void compute(int y, char* row) {
  static const char shades[] = " .:-=+*#%@";
  for (int x = 0; x < kWidth; ++x) {
    const double cr = -2.2 + 3.2 * x / kWidth, ci = -1.25 + 2.4 * y / kHeight;
    double zr = 0, zi = 0;
    int n = 0;
    for (; n < 250 && zr * zr + zi * zi < 4; ++n) {
      const double next = zr * zr - zi * zi + cr;
      zi = 2 * zr * zi + ci;
      zr = next;
    }
    row[x] = shades[n == 250 ? 9 : n % 9];
  }
}

static void slow_storage(int most_us) {
  const struct timespec pause = {0, rand() % most_us * 1000L};
  nanosleep(&pause, NULL);
}

static void work(void) {
  char row[kWidth];
  for (;;) {
    int y;
    MPI_Recv(&y, 1, MPI_INT, 0, kTagWork, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (y == kStop) return;
    slow_storage(8000);
    MPI_Send(&y, 1, MPI_INT, 0, kTagNumber, MPI_COMM_WORLD);
    compute(y, row);
    MPI_Send(row, kWidth, MPI_CHAR, 0, kTagRow, MPI_COMM_WORLD);
  }
}

static void collect(char picture[kHeight][kWidth], int workers) {
  int next = 0;
  for (int worker = 1; worker <= workers; ++worker, ++next)
    MPI_Send(&next, 1, MPI_INT, worker, kTagWork, MPI_COMM_WORLD);
  for (int done = 0; done < kHeight; ++done) {
    int y;
    MPI_Status status;
    MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, kTagNumber, MPI_COMM_WORLD, &status);
    // The bug: this should receive from status.MPI_SOURCE.
    MPI_Recv(picture[y], kWidth, MPI_CHAR, MPI_ANY_SOURCE, kTagRow, MPI_COMM_WORLD, &status);
    const int more = next < kHeight ? next++ : kStop;
    MPI_Send(&more, 1, MPI_INT, status.MPI_SOURCE, kTagWork, MPI_COMM_WORLD);
  }
}

static int check(char picture[kHeight][kWidth]) {
  int wrong = 0;
  for (int y = 0; y < kHeight; ++y) {
    char row[kWidth];
    compute(y, row);
    const int bad = memcmp(row, picture[y], kWidth) != 0;
    if (bad) ++wrong;
    printf("%2d %.*s%s\n", y, kWidth, picture[y], bad ? " <-- wrong" : "");
  }
  if (wrong) printf("%d of %d rows are wrong\n", wrong, kHeight);
  return wrong != 0;
}

int main(int argc, char** argv) {
  int rank, size, status = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  srand((unsigned)(MPI_Wtime() * 1e6) + (unsigned)rank);
  if (rank == 0) {
    static char picture[kHeight][kWidth];
    collect(picture, size - 1);
    status = check(picture);
  } else {
    work();
  }
  MPI_Finalize();
  return status;
}
