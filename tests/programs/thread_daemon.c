// Threads that are still at work when the main one ends the process: how far they came shows in what it printed before.
#include <pthread.h>

#include "common.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static unsigned long passes[2];

static void* work(void* number) {
  const int me = (int)(intptr_t)number;
  for (;;) {
    pthread_mutex_lock(&mutex);
    ++passes[me];
    pthread_mutex_unlock(&mutex);
    jitter(20);
  }
  return NULL;
}

static void* waits(void* unused) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&never, &mutex);
  return unused;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  pthread_t thread;
  for (int i = 0; i < 2; ++i) pthread_create(&thread, NULL, work, (void*)(intptr_t)i);
  pthread_create(&thread, NULL, waits, NULL);
  for (int i = 0; i < 50; ++i) {
    jitter(100);
    pthread_mutex_lock(&mutex);
    say("%lu and %lu", passes[0], passes[1]);
    fold(passes[0] * 1000 + passes[1]);
    pthread_mutex_unlock(&mutex);
  }
  finish();
}
