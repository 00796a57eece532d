// One synchronisation by whoever called us: is it to be recorded, to be passed in the recorded order, or none of our
// business? While a Sync lives, everything else that its thread does passes through unseen.
#pragma once

#include <cerrno>
#include <utility>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/sys/program_caller.hpp"

namespace reprise::threads {

using engine::Mode;
using engine::Session;

class Sync {
 public:
  // When a replay waits for the turns that this one comes after.
  enum When { kNow, kLater };

  // `caller`: where the program called us. Until the program makes its first thread, this costs one comparison.
  Sync(Function function, const void* caller, When when = kNow) {
    if (engine::has_threads()) [[unlikely]] {
      begin(function, caller);
      if (when == kNow && mode_ == Mode::Replay) await();
    }
  }
  ~Sync() { leave(); }
  // Also where its end is never reached: the thread ends here.
  void leave() {
    if (mode_ != Mode::Passive) mpi::t_state.inside = false;
  }
  Sync(const Sync&) = delete;
  Sync& operator=(const Sync&) = delete;

  bool recording() const { return mode_ == Mode::Record; }
  bool replaying() const { return mode_ == Mode::Replay; }

  // Recording: it has passed these objects (the first one first), and returns this.
  void passed(std::int64_t result, const void* object = nullptr, const void* second = nullptr) {
    auto& turns = engine::t_stream->turns;
    Session::Passage passage{result, {}, {}};
    if (object) passage.first = turns.take(object);
    if (second) passage.second = turns.take(second);
    Session::get().record_passage(passage);
  }

  // Replaying: what it returned then.
  std::int64_t result() const { return passage_.result; }
  void await() const {
    if (passage_.unfinished) Session::get().ends_in_call();
    engine::await_turn(passage_.first);
    engine::await_turn(passage_.second);
  }
  // The object has been passed: others may go on.
  void over(int turns = 1) { Session::get().passed(turns); }

  // In a replay: is this what the recorded thread did next?
  static bool comes_next(Function function, const void* caller);
  // In a replay: does the running thread follow a log, as far as this caller is concerned?
  static bool follows(const void* caller);
  static bool is_replay() { return Session::get().thread_mode() == Mode::Replay; }

 private:
  void begin(Function function, const void* caller);

  Mode mode_ = Mode::Passive;
  Session::Passage passage_;
};

// A call that takes something (a lock, a count of a semaphore), or fails with an error code: `take` is the call itself;
// `surely` takes it, however long that may last.
template <class Take, class Surely>
int acquire(Function function, const void* caller, const void* object, Take take, Surely surely) {
  constexpr auto acquires = [](std::int64_t result) { return result == 0 || result == EOWNERDEAD; };
  Sync sync(function, caller);
  if (sync.replaying()) {
    if (!acquires(sync.result())) return static_cast<int>(sync.result());
    const int result = surely();
    sync.over();
    return result;
  }
  const int result = take();
  if (sync.recording()) sync.passed(result, acquires(result) ? object : nullptr);
  return result;
}

// Finds the functions behind ours while that is safe.
void find_mutexes();
void find_conditions();
void find_rwlocks();
void find_semaphores();
void find_others();
void find_guards();
void find_life();

}  // namespace reprise::threads
