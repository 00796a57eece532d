// The rank's end of the supervision (engine/supervision.hpp): tells the replay command where this rank is, waits at the
// end of the log for the others, and ends the process when the command says so. Replay only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "engine/supervision.hpp"

namespace reprise::engine {

class Supervisor {
 public:
  // `address` is REPRISE_MONITOR: host[,host...]:port:token.
  Result<void> connect(std::string_view address, std::uint32_t rank, std::uint32_t ranks);
  // Before MPI_Init: tells the command that this rank has come to it. A connection of its own, since the rank is only
  // what the launcher's variables say.
  static void announce(std::string_view address, std::uint32_t rank);
  // From now on the place is kept in this file of the command (REPRISE_PLACES), where it outlives the process. Without
  // it (on another machine), what was reported last has to do. `address` is REPRISE_MONITOR.
  void keep_place_in(const char* file, std::string_view address, std::uint32_t rank);

  // Hot path: where the rank is.
  void entered(std::uint64_t event, RankState state) {
    place_[0].store(event << 4 | static_cast<unsigned>(state), std::memory_order_release);
    if (place_[1].load(std::memory_order_relaxed) == event && event != 0) [[unlikely]]
      stop_for_debugger();
  }
  // The world rank that the current call waits for; -1 if none in particular.
  void waits_for(std::int64_t world_rank) { peer_.store(world_rank, std::memory_order_relaxed); }

  // Something was done that is no call of its own: a test that had to fail.
  void moves() {  // by one thread, or by several and then some are not counted, which is as good
    small_moves_.store(small_moves_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // What else moves in this process, besides what entered() says: threads. While that number changes, the rank lives.
  void count_moves(std::uint64_t (*count)()) { count_moves_ = count; }

  // Now, not at the thread's next turn: the process may end any moment.
  void report_place(bool moved = false);

  void warn(const std::string& text);
  void deadlock(const std::string& line);  // frontends/threads/deadlocks.hpp
  [[noreturn]] void trouble(const std::string& text);
  // In a signal handler: the program crashes at this address, where the recorded run went on.
  void crashed(int signal, const void* address, std::uint64_t event);
  [[noreturn]] void diverged(const DivergenceReport& report);

  // Waits until every rank has reached its end, at most so many milliseconds (-1: for ever). True if they have.
  // `progress` is called again and again: peers may still need this rank's MPI to move their messages. Safe in a signal
  // handler if `progress` is.
  bool hold(void (*progress)(), int milliseconds);

  bool released() const { return released_.load(std::memory_order_acquire); }
  // This rank has come to its end, and waits for the others.
  void holds() { entered(place_->load(std::memory_order_relaxed) >> 4, RankState::Holding); }

  bool connected() const { return socket_ >= 0; }
  void disown();  // in a forked child

 private:
  static void* thread_main(void* self);
  void watch();
  void send_line(const char* text, std::size_t size);
  void send_text(const char* word, const std::string& text);
  [[noreturn]] void wait_to_be_ended();
  void stop_for_debugger();

  int socket_ = -1;
  std::atomic<std::uint64_t> own_place_[2] = {};
  std::atomic<std::uint64_t>* place_ = own_place_;  // calls made << 4 | state; the number of calls at which to stop
  std::atomic<std::int64_t> peer_{-1};
  std::atomic<bool> released_{false};
  std::atomic_flag sending_;  // places must arrive in the order in which they were
  std::uint64_t sent_ = UINT64_MAX;
  std::int64_t sent_peer_ = -1;
  std::atomic<std::uint64_t (*)()> count_moves_{nullptr};
  std::atomic<std::uint64_t> small_moves_{0};
};

}  // namespace reprise::engine
