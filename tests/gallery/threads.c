/* Calls of MPI that the thread level does not allow. These programs initialise MPI themselves. */
#include <pthread.h>

#include "gallery.h"

static void begin(int wanted) {
  int provided;
  MPI_Init_thread(NULL, NULL, wanted, &provided);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
}

static void* exchange(void* tag) {
  int x = 1, y;
  MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, *(int*)tag, &y, 1, MPI_INT, 1 - rank, *(int*)tag, WORLD, MPI_STATUS_IGNORE);
  return NULL;
}

static void in_a_thread(void) {
  pthread_t thread;
  int tag = 1;
  pthread_create(&thread, NULL, exchange, &tag);
  pthread_join(thread, NULL);
}

CASE(threads_single, "thread level", 2) {
  begin(wrong ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  in_a_thread();
  MPI_Finalize();
}
CASE(threads_funneled, "thread level", 2) {
  /* Right: other threads may do what has nothing to do with MPI. */
  int tag = 1;
  begin(MPI_THREAD_FUNNELED);
  if (wrong) in_a_thread();
  else exchange(&tag);
  MPI_Finalize();
}
CASE(threads_serialized, "thread level", 2) {
  /* Right: one at a time. */
  pthread_t thread;
  int one = 1, two = 2;
  begin(MPI_THREAD_SERIALIZED);
  pthread_create(&thread, NULL, exchange, &one);
  if (!wrong) pthread_join(thread, NULL);
  exchange(&two);
  if (wrong) pthread_join(thread, NULL);
  MPI_Finalize();
}
