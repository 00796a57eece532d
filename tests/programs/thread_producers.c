// The example of the race replay daemon (isp-hybrid-fprs, 2.2.7): on ranks 1 and 2 a producer and a consumer share a
// queue; how often the consumer finds something in it decides how many messages rank 0 gets.
#include <pthread.h>

#include "common.h"

enum { kObjects = 10, kTerminal = -1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int queue[kObjects + 1];
static int length;

static void* produce(void* nothing) {
  for (int i = 0; i < kObjects; ++i) {
    jitter(50);
    pthread_mutex_lock(&mutex);
    queue[length++] = world_rank * 100 + i;
    if (i == kObjects - 1) queue[length++] = kTerminal;
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

static void* consume(void* nothing) {
  for (int terminated = 0; !terminated;) {
    jitter(30);
    pthread_mutex_lock(&mutex);
    if (length > 0) {
      MPI_Send(queue, length, MPI_INT, 0, 1, MPI_COMM_WORLD);
      say("sent %d", length);
      terminated = queue[length - 1] == kTerminal;
      length = 0;
    }
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

static void collect(void) {
  int products[kObjects + 1], count;
  MPI_Status status;
  for (int terminated = 0; terminated < world_size - 1;) {
    MPI_Recv(products, kObjects + 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    took("products", status.MPI_SOURCE, count, products[0]);
    terminated += products[count - 1] == kTerminal;
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  open_output(argc, argv);
  if (world_rank == 0) {
    collect();
  } else {
    pthread_t producer, consumer;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
  }
  finish();
}
