// Threads of one rank that can never go on, in several ways; and threads that only seem so: thread_deadlock DIR WAY
//
// The tests look up the lines by the comments at their ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "common.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t third = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_have_one;
static sem_t semaphore;
static int ready;

static void meet(void) { pthread_barrier_wait(&all_have_one); }

static void* left(void* unused) {
  pthread_mutex_lock(&first);  // left takes
  meet();
  pthread_mutex_lock(&second);  // left waits
  return unused;
}

static void* right(void* unused) {
  pthread_mutex_lock(&second);  // right takes
  meet();
  pthread_mutex_lock(&first);  // right waits
  return unused;
}

static void* right_of_three(void* unused) {
  pthread_mutex_lock(&second);
  meet();
  pthread_rwlock_rdlock(&third);  // reader waits
  return unused;
}

static void* writer(void* unused) {
  pthread_rwlock_wrlock(&third);  // writer takes
  meet();
  pthread_mutex_lock(&first);  // writer waits
  return unused;
}

static void* twice(void* unused) {
  pthread_mutex_lock(&first);  // twice takes
  pthread_mutex_lock(&first);  // twice waits
  return unused;
}

static void* sleeper(void* unused) {
  pthread_mutex_lock(&first);
  while (!ready) pthread_cond_wait(&condition, &first);  // sleeper waits
  pthread_mutex_unlock(&first);
  return unused;
}

static void* late_sleeper(void* unused) {
  meet();
  pthread_mutex_lock(&second);
  pthread_cond_wait(&condition, &second);  // late sleeper waits
  return unused;
}

static void* slow_owner(void* unused) {
  pthread_mutex_lock(&second);
  meet();
  sleep(3);
  pthread_mutex_unlock(&second);
  return unused;
}

static void* patient(void* unused) {
  meet();
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  return unused;
}

static void wake_sleeper(union sigval unused) {
  (void)unused;
  pthread_mutex_lock(&first);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&first);
}

static void ring(int unused) {
  (void)unused;
  sem_post(&semaphore);
}

static void* wait_for_ring(void* unused) {
  while (sem_wait(&semaphore) != 0) continue;
  return unused;
}

static void run(int count, void* (*const* routines)(void*)) {
  pthread_t threads[3];
  pthread_barrier_init(&all_have_one, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, routines[i], NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);  // main waits
}

static void lose_signal(void) {
  pthread_t thread;
  pthread_barrier_init(&all_have_one, NULL, 2);
  pthread_create(&thread, NULL, late_sleeper, NULL);
  pthread_cond_signal(&condition);  // signal is lost
  meet();
  pthread_join(thread, NULL);
}

static void* main_waits_alone(void* unused) {
  for (int i = 0; i < 5; ++i) sleep(1);
  return unused;
}

// Two of its threads wait for each other, but the process comes to its end.
static void leave_two_behind(void) {
  pthread_t threads[3];
  pthread_barrier_init(&all_have_one, NULL, 2);
  pthread_create(&threads[0], NULL, left, NULL);
  pthread_create(&threads[1], NULL, right, NULL);
  pthread_create(&threads[2], NULL, main_waits_alone, NULL);
  pthread_join(threads[2], NULL);
  say("done");
}

// What can wake somebody from where nobody looks: a thread of the C library's own, and a signal.
static void be_woken_by_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = wake_sleeper};
  const struct itimerspec when = {.it_value = {.tv_sec = 3}};
  timer_t timer;
  pthread_t thread;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0) exit(3);
  pthread_create(&thread, NULL, sleeper, NULL);
  pthread_join(thread, NULL);
}

static void be_woken_by_signal(void) {
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  signal(SIGALRM, ring);
  alarm(3);
  pthread_create(&thread, NULL, wait_for_ring, NULL);
  pthread_join(thread, NULL);
}

// Cancelled while it waits, and then in no hurry: its clean-up takes a lock that somebody else has for a while.
static void clean_up(void* unused) {
  (void)unused;
  pthread_mutex_unlock(&first);
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  while (sem_wait(&semaphore) != 0) continue;
}

static void* to_be_cancelled(void* unused) {
  pthread_cleanup_push(clean_up, unused);
  pthread_mutex_lock(&first);
  meet();
  for (;;) pthread_cond_wait(&condition, &first);
  pthread_cleanup_pop(0);
  return unused;
}

static void* post_late(void* unused) {
  sleep(3);
  sem_post(&semaphore);
  return unused;
}

static void cancel_one(void) {
  pthread_t cancelled, helper;
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&all_have_one, NULL, 2);
  pthread_create(&cancelled, NULL, to_be_cancelled, NULL);
  meet();
  pthread_mutex_lock(&first);  // it waits for the condition now
  pthread_mutex_unlock(&first);
  pthread_mutex_lock(&second);
  pthread_cancel(cancelled);
  sleep(1);
  pthread_mutex_unlock(&second);
  pthread_create(&helper, NULL, post_late, NULL);
  pthread_join(cancelled, NULL);
  pthread_join(helper, NULL);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* const way = argc > 2 ? argv[2] : "";
  int number = 0;
  if (world_rank == world_size - 1) {
    if (strcmp(way, "locks") == 0) run(2, (void* (*[])(void*)){left, right});
    else if (strcmp(way, "three") == 0) run(3, (void* (*[])(void*)){left, right_of_three, writer});
    else if (strcmp(way, "self") == 0) run(1, (void* (*[])(void*)){twice});
    else if (strcmp(way, "signal") == 0) lose_signal();
    else if (strcmp(way, "some") == 0) leave_two_behind();
    else if (strcmp(way, "slow") == 0) run(3, (void* (*[])(void*)){slow_owner, patient, patient});
    else if (strcmp(way, "timer") == 0) be_woken_by_timer();
    else if (strcmp(way, "alarm") == 0) be_woken_by_signal();
    else if (strcmp(way, "cancelled") == 0) cancel_one();
    else exit(2);
    if (world_size > 1) MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    MPI_Recv(&number, 1, MPI_INT, world_size - 1, 1, MPI_COMM_WORLD, &status);
  }
  say("over");
  finish();
}
