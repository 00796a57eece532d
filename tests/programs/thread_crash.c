// Threads that pass a lock; then the program ends by abort(), by SIGKILL while they go on or when they have nothing left
// to do but to return, after it has run another program that has threads of its own, or when its last thread does, long
// after main.
#include <pthread.h>
#include <signal.h>

#include "common.h"

enum { kThreads = 3, kRounds = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char* word;
static char* self;
static int passed;

// A replay finds the file gone, and so must be stopped there.
static int is_armed(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/armed", out_dir);
  return access(path, F_OK) == 0;
}

static void* work(void* number) {
  for (int i = 0; i < kRounds; ++i) {
    jitter(20);
    pthread_mutex_lock(&mutex);
    say("%d: thread %d", passed++, (int)(intptr_t)number);
    if (passed == kRounds && strcmp(word, "kill") == 0 && is_armed()) raise(SIGKILL);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void sleep_unseen(long milliseconds) {
  struct timespec pause = {0, milliseconds * 1000000};
  syscall(SYS_nanosleep, &pause, NULL);
}

static void* return_late(void* nothing) {
  pthread_mutex_lock(&mutex);
  say("nothing left to do");
  pthread_mutex_unlock(&mutex);
  sleep_unseen(300);
  return nothing;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  word = argc > 2 ? argv[2] : "";
  self = argv[0];
  pthread_t threads[kThreads];
  if (strcmp(word, "late") == 0) {
    pthread_create(&threads[0], NULL, return_late, NULL);
    sleep_unseen(150);
    if (is_armed()) raise(SIGKILL);
    pthread_join(threads[0], NULL);
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i);
  if (strcmp(word, "leave") == 0) pthread_exit(NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  if (strcmp(word, "abort") == 0) abort();
  if (strcmp(word, "system") == 0) {
    char command[8192];
    snprintf(command, sizeof command, "mkdir -p %s/../inner && %s %s/../inner nothing", out_dir, self, out_dir);
    say("other program: %d", system(command));
  }
  finish();
}
