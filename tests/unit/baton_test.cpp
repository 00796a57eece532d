// Threads that run one at a time do the same in every run, however fast they are.
#include "engine/baton.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <string>
#include <thread>

namespace reprise::engine {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

thread_local BatonPlace* t_place = nullptr;
std::atomic<std::int64_t> g_now{0};
std::function<bool(bool)> g_everybody_waits;

// A few threads and a log, which nobody locks.
class Threads {
 public:
  Threads() {
    g_now = 0;
    g_everybody_waits = [](bool pauses) {
      ADD_FAILURE() << "everybody waits";
      return pauses;
    };
    baton.prepare({[] { return t_place; }, [] { return g_now.load(); }, [](std::int64_t to) { g_now = to; },
                   [](bool pauses) { return g_everybody_waits(pauses); }});
    t_place = baton.begin();
  }

  void start(std::function<void()> run) {
    BatonPlace* const place = baton.add(++count_);
    threads_.emplace_back([this, place, run = std::move(run)] {
      t_place = place;
      baton.arrive(*place);
      run();
      baton.leave();
    });
    place->handle = threads_.back().native_handle();
  }
  void join() {
    for (std::thread& thread : threads_) {
      const pthread_t handle = thread.native_handle();
      baton.until([&] { return baton.has_left(handle); });
      baton.without_interruption([&] {
        thread.join();
        return true;
      });
    }
    threads_.clear();
  }

  Baton baton;
  std::string log;

 private:
  std::uint32_t count_ = 0;
  std::vector<std::thread> threads_;
};

void jiggle(unsigned seed) {
  thread_local std::minstd_rand chance{seed + static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&chance) >> 12)};
  std::this_thread::sleep_for(std::chrono::microseconds(chance() % 300));
}

TEST(Baton, ThreadsGoOnInTheOrderOfTheirNumbers) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Threads threads;
    bool open = false;
    for (char name = 'a'; name < 'e'; ++name)
      threads.start([&, name] {
        threads.baton.until([&] { return open; });
        threads.log += name;
        threads.baton.yield();
        threads.log += name;
      });
    threads.log += '(';
    threads.baton.yield();
    open = true;
    threads.log += ')';
    threads.join();
    ASSERT_EQ(threads.log, "()abcdabcd");
  }
}

TEST(Baton, ALockIsTakenByTrying) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Threads threads;
    std::mutex mutex;
    const auto lock = [&] { threads.baton.until([&] { return mutex.try_lock(); }); };
    for (char name = 'a'; name < 'd'; ++name)
      threads.start([&, name] {
        for (int i = 0; i < 3; ++i) {
          lock();
          threads.log += name;
          threads.baton.yield();  // with the lock
          threads.log += name;
          mutex.unlock();
        }
      });
    threads.join();
    ASSERT_EQ(threads.log.size(), 18u);
    for (std::size_t i = 0; i < threads.log.size(); i += 2) ASSERT_EQ(threads.log[i], threads.log[i + 1]);
    static const std::string first = threads.log;
    ASSERT_EQ(threads.log, first);
  }
}

// They sleep where nobody sees it, for as long as chance wants. In which order they come back nobody can know, but each
// has the baton when it writes.
TEST(Baton, SleepersComeBack) {
  for (unsigned repeat = 0; repeat < 10; ++repeat) {
    Threads threads;
    for (char name = 'a'; name < 'd'; ++name)
      threads.start([&, name] {
        for (int i = 0; i < 5; ++i) {
          threads.baton.step_away();
          jiggle(repeat);
          threads.baton.enter();
          threads.log += name;
        }
      });
    threads.join();
    ASSERT_EQ(threads.log.size(), 15u);
  }
}

// A barrier of the real kind: whoever sleeps in it has lost the baton, and comes back for it.
TEST(Baton, IsTakenFromWhoeverSleeps) {
  std::string first;
  std::mutex mutex;
  for (int repeat = 0; repeat < 20; ++repeat) {
    Threads threads;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 3);
    for (char name = 'a'; name < 'd'; ++name)
      threads.start([&, name] {
        for (int i = 0; i < 3; ++i) {
          pthread_barrier_wait(&barrier);
          threads.baton.enter();
          const std::lock_guard for_sanitizer(mutex);  // it does not know that whoever sleeps has done its work
          threads.log += name;
        }
      });
    threads.join();
    pthread_barrier_destroy(&barrier);
    if (first.empty()) first = threads.log;
    ASSERT_EQ(threads.log, first);
    ASSERT_EQ(threads.log.size(), 9u);
  }
}

// The last of them wakes the others, as at a barrier, when these have long been found asleep: nobody goes on before all
// of them have come back.
struct Door {
  std::binary_semaphore opened{0};
};

TEST(Baton, AllWhomOneWakesComeBackFirst) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    Threads threads;
    std::vector<Door> doors(7);
    for (char name = 'a'; name < 'i'; ++name)
      threads.start([&, name] {
        threads.baton.step_away();
        if (name == 'h') {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(500);
          while (std::chrono::steady_clock::now() < end) continue;
          for (Door& door : doors) door.opened.release();
        } else {
          doors[static_cast<std::size_t>(name - 'a')].opened.acquire();
        }
        threads.baton.enter();
        threads.log += name;
      });
    threads.join();
    ASSERT_EQ(threads.log, "abcdefgh") << "repetition " << repeat;
  }
}

TEST(Baton, TimePassesInOrder) {
  Threads threads;
  for (const int length : {300, 100, 200})
    threads.start([&, length] {
      threads.baton.pause(length * kMillisecond);
      threads.log += std::to_string(length / 100);
    });
  threads.join();
  EXPECT_EQ(threads.log, "123");
  EXPECT_GE(g_now.load(), 300 * kMillisecond);
}

// How long a program sleeps before it takes a lock is a matter of chance: it must not decide who gets it.
TEST(Baton, ShortPausesAreNothing) {
  Threads threads;
  for (char name = 'a'; name < 'd'; ++name)
    threads.start([&, name] {
      for (int i = 0; i < name - 'a' + 2; ++i) threads.baton.pause(('d' - name) * 1000);
      threads.log += name;
    });
  threads.join();
  EXPECT_EQ(threads.log, "abc");
}

TEST(Baton, ATimeOutIsToldFromSuccess) {
  Threads threads;
  bool flag = false;
  threads.start([&] {
    threads.log += threads.baton.until([&] { return flag; }, g_now + 10 * kMillisecond) ? 'y' : 'n';
    threads.log += threads.baton.until([&] { return flag; }, g_now + 1000 * kMillisecond) ? 'y' : 'n';
  });
  threads.baton.pause(100 * kMillisecond);
  flag = true;
  threads.join();
  EXPECT_EQ(threads.log, "ny");
}

TEST(Baton, WhenEverybodyWaitsTheWorldIsAsked) {
  Threads threads;
  int answers = 0;
  int asked = 0;
  g_everybody_waits = [&](bool) {
    ++asked;
    answers = asked;
    return false;
  };
  for (int number = 1; number <= 3; ++number)
    threads.start([&, number] {
      threads.baton.until([&] { return answers == number; });
      threads.log += std::to_string(number);
    });
  threads.join();
  EXPECT_EQ(threads.log, "123");
  EXPECT_EQ(asked, 3);
}

// Who only pauses, again and again, must not keep the rank from hearing what others send it.
TEST(Baton, PausesDoNotGoOnForEver) {
  Threads threads;
  bool answered = false;
  g_everybody_waits = [&](bool pauses) {
    EXPECT_TRUE(pauses);
    answered = true;
    return false;
  };
  threads.start([&] { threads.baton.until([&] { return answered; }); });
  int pauses = 0;
  while (!answered) {
    threads.baton.pause(10);  // nothing, at first
    ++pauses;
  }
  threads.join();
  EXPECT_GT(pauses, 1);
  EXPECT_LT(pauses, 1000);
}

}  // namespace
}  // namespace reprise::engine
