/* A search in a database that is cut into fragments, after the manner of BLAST on a cluster: workers ask for a query and for the
   fragments that they do not hold yet, and bring their hits; the master writes a report when all hits of a query are there.

   blast QUERIES [BUG] */
#undef NDEBUG
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kAsk = 1, kWork = 2, kHits = 3, kStop = 4 };
struct hits {
  int query;
  int fragment;
  int score;
};

static int score(int query, int fragment) { return (query * 7 + fragment * 13) % 11; }

static void master(int queries, int workers, int bug) {
  const int fragments = workers;
  int next = 0, open = 0, stopped = 0, best[32] = {0}, found[32] = {0}, last = 0, again = 0;
  const int all = queries * fragments;
  while (stopped < workers) {
    struct hits hits;
    MPI_Status status;
    MPI_Recv(&hits, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    const int worker = status.MPI_SOURCE;
    if (status.MPI_TAG == kHits) {
      --open;
      if (hits.score > best[hits.query]) best[hits.query] = hits.score;
      if (++found[hits.query] == fragments) printf("query %d: %d\n", hits.query, best[hits.query]);
      again = worker == last ? again + 1 : 0;
      last = worker;
      /* A worker that brings three hits one after the other overflows its place in the report. */
      if (bug) assert(again < 2);
      continue;
    }
    struct hits work = {next / fragments, next % fragments, 0};
    const int tag = next < all ? kWork : kStop;
    if (tag == kWork) {
      ++next;
      ++open;
    } else {
      ++stopped;
    }
    MPI_Send(&work, 3, MPI_INT, worker, tag, MPI_COMM_WORLD);
  }
  assert(open == 0);
}

static void worker(void) {
  for (;;) {
    struct hits work = {0, 0, 0};
    MPI_Status status;
    MPI_Send(&work, 3, MPI_INT, 0, kAsk, MPI_COMM_WORLD);
    MPI_Recv(&work, 3, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == kStop) return;
    work.score = score(work.query, work.fragment);
    MPI_Send(&work, 3, MPI_INT, 0, kHits, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) master(argc > 1 ? atoi(argv[1]) : 3, size - 1, argc > 2 ? atoi(argv[2]) : 0);
  else worker();
  MPI_Finalize();
  return 0;
}
