// The threads of the C++ library: who comes first decides what the rank prints.
#include <barrier>
#include <condition_variable>
#include <deque>
#include <future>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "common.h"

namespace {

std::mutex mutex;
std::uint64_t seen = 1;
void pass(unsigned who) { seen = (seen ^ who) * 1099511628211u; }

// A queue that two threads fill and two empty.
class Queue {
 public:
  void put(unsigned value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(value);
    }
    ready_.notify_one();
  }
  unsigned take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !values_.empty(); });
    const unsigned value = values_.front();
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<unsigned> values_;
};

void queues() {
  Queue queue;
  std::vector<std::thread> threads;
  for (unsigned producer = 0; producer < 2; ++producer)
    threads.emplace_back([&, producer] {
      for (unsigned i = 0; i < 100; ++i) {
        jitter(30);
        queue.put(producer * 1000 + i);
      }
    });
  for (unsigned consumer = 0; consumer < 2; ++consumer)
    threads.emplace_back([&, consumer] {
      for (unsigned i = 0; i < 100; ++i) {
        const unsigned value = queue.take();
        const std::lock_guard lock(mutex);
        pass(value * 2 + consumer);
      }
    });
  for (auto& thread : threads) thread.join();
  say("queue %016llx", static_cast<unsigned long long>(seen));
}

void shared() {
  std::shared_mutex both;
  unsigned written = 0;
  std::vector<std::jthread> threads;
  for (unsigned me = 0; me < 3; ++me)
    threads.emplace_back([&, me] {
      for (unsigned i = 0; i < 60; ++i) {
        jitter(30);
        if (me == 0) {
          const std::unique_lock lock(both);
          ++written;
        } else {
          unsigned value;
          {
            const std::shared_lock lock(both);
            value = written;
          }
          const std::lock_guard lock(mutex);
          pass(me + 16 * value);
        }
      }
    });
  threads.clear();
  say("shared %016llx", static_cast<unsigned long long>(seen));
}

unsigned made_by(unsigned me) {
  static const unsigned first = [&] {
    jitter(200);
    return me;
  }();
  return first;
}

void futures() {
  std::vector<std::future<unsigned>> results;
  for (unsigned i = 0; i < 6; ++i)
    results.push_back(std::async(std::launch::async, [i] {
      jitter(300);
      const unsigned first = made_by(i);
      const std::lock_guard lock(mutex);
      pass(i + 10 * first);
      return i + 10 * first;
    }));
  unsigned sum = 0;
  for (auto& result : results) sum = sum * 3 + result.get();
  say("async %u %016llx", sum, static_cast<unsigned long long>(seen));
}

void twenty() {
  std::latch ready(3);
  std::barrier together(3);
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < 3; ++me)
    threads.emplace_back([&, me] {
      ready.arrive_and_wait();
      for (unsigned i = 0; i < 20; ++i) {
        jitter(40);
        {
          const std::lock_guard lock(mutex);
          pass(me);
        }
        together.arrive_and_wait();
      }
    });
  for (auto& thread : threads) thread.join();
  say("twenty %016llx", static_cast<unsigned long long>(seen));
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  queues();
  shared();
  futures();
  twenty();
  fold(seen);
  finish();
}
