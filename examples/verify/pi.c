/* Pi by Monte Carlo: a master hands out tasks to its workers, in the order in which they come back for more.

   pi TASKS [BUG]       BUG 1 and 2 are mistakes that show in few orders. */
#undef NDEBUG
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTask = 1, kStop = 2, kSamples = 1000 };

static long hits(int task) {
  unsigned long long state = 88172645463325252ull + (unsigned long long)task * 2685821657736338717ull;
  long inside = 0;
  for (int i = 0; i < kSamples; ++i) {
    double point[2];
    for (int j = 0; j < 2; ++j) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      point[j] = (double)(state >> 11) / 9007199254740992.0;
    }
    inside += point[0] * point[0] + point[1] * point[1] < 1;
  }
  return inside;
}

static void master(int tasks, int workers, int bug) {
  int handed_out = 0, finished = 0, earlier = 0;
  long inside = 0;
  int done[64] = {0};
  for (int worker = 1; worker <= workers; ++worker, ++handed_out) {
    int task = handed_out < tasks ? handed_out : -1;
    MPI_Send(&task, 1, MPI_INT, worker, task < 0 ? kStop : kTask, MPI_COMM_WORLD);
  }
  while (finished < tasks) {
    long result;
    MPI_Status status;
    MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, kTask, MPI_COMM_WORLD, &status);
    const int worker = status.MPI_SOURCE;
    inside += result;
    ++finished;
    ++done[worker];
    /* It was never thought of that somebody brings the first two results, or that the first ones come backwards. */
    if (bug == 1) assert(!(finished == 2 && done[workers] == 2));
    if (bug == 2) assert(!(finished == 3 && worker == 1 && earlier == 2 && done[3] == 1));
    earlier = worker;
    int task = handed_out < tasks ? handed_out : -1;
    ++handed_out;
    MPI_Send(&task, 1, MPI_INT, worker, task < 0 ? kStop : kTask, MPI_COMM_WORLD);
  }
  printf("pi is about %f\n", 4.0 * (double)inside / ((double)tasks * kSamples));
}

static void worker(void) {
  for (;;) {
    int task;
    MPI_Status status;
    MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == kStop) return;
    long result = hits(task);
    MPI_Send(&result, 1, MPI_LONG, 0, kTask, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) master(argc > 1 ? atoi(argv[1]) : 5, size - 1, argc > 2 ? atoi(argv[2]) : 0);
  else worker();
  MPI_Finalize();
  return 0;
}
