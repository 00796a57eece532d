// Hybrid programs for the explorer. Rank 0 has threads; the others send it one message each.
//
//   explore_threads WHAT
//
// What goes wrong does so only if rank 2 is heard before rank 1. The comments at the ends of lines are looked for by the
// tests.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <semaphore.h>
#include <string>
#include <thread>
#include <vector>

namespace {

int g_rank, g_ranks;

int hear(int tag = 0) {
  int from = -1;
  MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return from;
}

// --- nothing wrong ---------------------------------------------------------------------------------------------------

// What the main thread hears goes through a queue to two others.
void queue() {
  std::mutex mutex;
  std::condition_variable came;
  std::deque<int> waiting;
  std::string seen;
  const auto serve = [&](char name) {
    for (;;) {
      std::unique_lock lock(mutex);
      came.wait(lock, [&] { return !waiting.empty(); });
      const int item = waiting.front();
      waiting.pop_front();
      if (item < 0) return;
      seen += name + std::to_string(item) + ' ';
    }
  };
  std::thread first(serve, 'a');
  std::thread second(serve, 'b');
  for (int i = 1; i < g_ranks; ++i) {
    const int from = hear();
    const std::lock_guard lock(mutex);
    waiting.push_back(from);
    came.notify_one();
  }
  for (int i = 0; i < 2; ++i) {
    const std::lock_guard lock(mutex);
    waiting.push_back(-1);
    came.notify_one();
  }
  first.join();
  second.join();
  std::printf("seen %s\n", seen.c_str());
}

// Two threads hear at once, each its own tag.
void multiple() {
  std::vector<std::string> heard(2);
  std::vector<std::thread> threads;
  for (int tag = 0; tag < 2; ++tag)
    threads.emplace_back([&heard, tag] {
      for (int i = 1; i < g_ranks; ++i) heard[static_cast<std::size_t>(tag)] += std::to_string(hear(tag)) + ' ';
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("heard %s/ %s\n", heard[0].c_str(), heard[1].c_str());
}

// A thread answers another one of its own rank.
void to_itself() {
  std::thread other([] {
    int number = 0;
    MPI_Recv(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++number;
    MPI_Send(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
  });
  int number = hear() * 10;
  number += hear();
  MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  MPI_Recv(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  other.join();
  std::printf("got %d\n", number);
}

// One thread looks now and then whether the other one, which waits for messages, has said that it is over.
template <class Pause>
void looks(Pause pause) {
  std::atomic<int> heard{0};
  std::thread listener([&] {
    for (int i = 1; i < g_ranks; ++i) heard = heard * 10 + hear();
  });
  long times = 0;
  while (heard < 10) {
    pause();
    ++times;
  }
  listener.join();
  std::printf("heard %d\n", heard.load());
}

void looks_timed() {
  std::mutex mutex;
  std::condition_variable never;
  looks([&] {
    std::unique_lock lock(mutex);
    never.wait_for(lock, std::chrono::milliseconds(10));
  });
}

// --- mistakes --------------------------------------------------------------------------------------------------------

pthread_mutex_t g_first = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_second = PTHREAD_MUTEX_INITIALIZER;

// Whoever hears rank 2 first takes the locks the wrong way round, and sleeps in between.
void two_locks() {
  const bool wrong = hear() == 2;
  std::thread other([wrong] {
    pthread_mutex_lock(wrong ? &g_second : &g_first);  // other takes one
    sched_yield();
    pthread_mutex_lock(wrong ? &g_first : &g_second);  // other wants one
    pthread_mutex_unlock(&g_first);
    pthread_mutex_unlock(&g_second);
  });
  pthread_mutex_lock(&g_first);  // main takes one
  sched_yield();
  pthread_mutex_lock(&g_second);  // main wants one
  pthread_mutex_unlock(&g_first);
  pthread_mutex_unlock(&g_second);
  other.join();
  hear();
}

// The lock is held while a message is awaited that another thread would ask for.
void lock_and_message() {
  const bool wrong = hear() == 2;
  std::atomic<bool> begun{false};
  std::thread other([&] {
    while (!begun) usleep(10);
    pthread_mutex_lock(&g_first);  // wants the lock
    const int ask = 1;
    MPI_Send(&ask, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    pthread_mutex_unlock(&g_first);
  });
  int number = 0;
  if (wrong) pthread_mutex_lock(&g_first);  // takes the lock
  begun = true;
  MPI_Recv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // wants the message
  if (wrong) pthread_mutex_unlock(&g_first);
  other.join();
  hear();
}

// The signal comes before the wait, and nobody remembers it.
void lost_signal() {
  const bool wrong = hear() == 2;
  std::mutex mutex;
  std::condition_variable ready;
  bool set = false;
  std::thread other([&] {
    if (wrong) usleep(100000);
    std::unique_lock lock(mutex);
    if (wrong) ready.wait(lock);  // waits for ever
    else ready.wait(lock, [&] { return set; });
  });
  {
    const std::lock_guard lock(mutex);
    set = true;
    ready.notify_one();
  }
  other.join();  // joins for ever
  hear();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::thread early;
  std::atomic<bool> go_on{false};
  if (what == "early") early = std::thread([&] { while (!go_on) usleep(1000); });
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  go_on = true;
  if (early.joinable()) early.join();
  if (g_rank > 0) {
    MPI_Send(&g_rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (what == "multiple") MPI_Send(&g_rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else if (what == "queue") {
    queue();
  } else if (what == "multiple") {
    multiple();
  } else if (what == "to-itself") {
    to_itself();
  } else if (what == "sleeps") {
    looks([] { usleep(100); });
  } else if (what == "yields") {
    looks([] { sched_yield(); });
  } else if (what == "spins") {
    looks([] {});
  } else if (what == "timed") {
    looks_timed();
  } else if (what == "two-locks") {
    two_locks();
  } else if (what == "lock-and-message") {
    lock_and_message();
  } else if (what == "lost-signal") {
    lost_signal();
  }
  MPI_Finalize();
  return 0;
}
