// Accesses to windows of rank 0, as the first argument says: for each rank, after a slash, its steps, after commas.
//   fL+V    fetch and add V at L             cL:A:B  swap B in at L if A is there
//   lL+V    under an exclusive lock: read L, then write what was read plus V
//   sL      under a shared lock: read L      b       barrier
// Each rank prints what it has read. (tests/model/test_windows.py)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPlaces = 4 };

static int rank;
static MPI_Win counters, records;

static int fetch(int place, int value) {
  int old = -1;
  MPI_Fetch_and_op(&value, &old, MPI_INT, 0, place, MPI_SUM, counters);
  MPI_Win_flush(0, counters);
  return old;
}

static int swap(int place, int expected, int value) {
  int old = -1;
  MPI_Compare_and_swap(&value, &expected, &old, MPI_INT, 0, place, counters);
  MPI_Win_flush(0, counters);
  return old;
}

static int change(int place, int value) {
  int old = -1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, records);
  MPI_Get(&old, 1, MPI_INT, 0, place, 1, MPI_INT, records);
  MPI_Win_flush(0, records);
  value += old;
  MPI_Put(&value, 1, MPI_INT, 0, place, 1, MPI_INT, records);
  MPI_Win_unlock(0, records);
  return old;
}

static int look(int place) {
  int old = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, records);
  MPI_Get(&old, 1, MPI_INT, 0, place, 1, MPI_INT, records);
  MPI_Win_unlock(0, records);
  return old;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *first, *second;
  MPI_Win_allocate(kPlaces * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &first, &counters);
  MPI_Win_allocate(kPlaces * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &second, &records);
  memset(first, 0, kPlaces * sizeof(int));
  memset(second, 0, kPlaces * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, counters);
  char* mine = argc > 1 ? argv[1] : NULL;
  for (int i = 0; i <= rank && mine; ++i) mine = strchr(mine, '/') ? strchr(mine, '/') + 1 : NULL;
  if (mine && strchr(mine, '/')) *strchr(mine, '/') = '\0';
  for (char* step = strtok(mine ? mine : "", ","); step; step = strtok(NULL, ",")) {
    const int place = step[0] == 'b' ? 0 : atoi(step + 1);
    const char* const rest = strpbrk(step, "+:");
    if (step[0] == 'f') printf("%d\n", fetch(place, atoi(rest + 1)));
    if (step[0] == 'c') printf("%d\n", swap(place, atoi(rest + 1), atoi(strrchr(step, ':') + 1)));
    if (step[0] == 'l') printf("%d\n", change(place, atoi(rest + 1)));
    if (step[0] == 's') printf("%d\n", look(place));
    if (step[0] == 'b') MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(counters);
  MPI_Win_free(&counters);
  MPI_Win_free(&records);
  MPI_Finalize();
  return 0;
}
