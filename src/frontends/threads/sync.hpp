// One synchronisation by whoever called us: is it to be recorded, to be passed in the recorded order, or none of our
// business? While a Sync lives, everything else that its thread does passes through unseen.
#pragma once

#include <cerrno>
#include <utility>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/inside.hpp"
#include "frontends/sys/program_caller.hpp"
#include "frontends/threads/deadlocks.hpp"

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
    if (mode_ != Mode::Passive) frontends::t_inside = false;
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
  bool unfinished() const { return passage_.unfinished; }
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

constexpr bool acquires(std::int64_t result) { return result == 0 || result == EOWNERDEAD; }

// A call that takes something (a lock, a count of a semaphore), or fails with an error code: `take` is the call itself;
// `surely` takes it, however long that may last.
template <class Take, class Surely>
int acquire(Function function, const void* caller, const void* object, Take take, Surely surely) {
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

// The same for a lock, of which it is remembered where it was taken. `kind` is added to its address there.
template <class Take, class Surely>
int acquire_lock(Function function, const void* caller, const void* lock, Take take, Surely surely,
                 std::uintptr_t kind = 0) {
  const int result = acquire(function, caller, lock, take, surely);
  if (engine::has_threads() && acquires(result) && !frontends::t_inside) remember_lock(lock, caller, kind);
  return result;
}

// And for a call that waits until it has the lock: that, and only that, can be a part of a deadlock.
template <class Try, class Take>
int await_lock(Function function, const void* caller, const void* lock, Try try_to_take, Take take,
               std::uintptr_t kind = 0) {
  Sync sync(function, caller, Sync::kLater);
  if (!sync.recording() && !sync.replaying()) {
    const int result = take();
    if (engine::has_threads() && acquires(result) && !frontends::t_inside) remember_lock(lock, caller, kind);
    return result;
  }
  if (sync.replaying()) {
    if (sync.unfinished()) {
      const Waiting waiting(function, lock, caller);
      sync.await();
    }
    sync.await();
    if (!acquires(sync.result())) return static_cast<int>(sync.result());
    const int result = take();
    sync.over();
    remember_lock(lock, caller, kind);
    return result;
  }
  // In an explored rank it is all the same whether a run is recorded: there trying lets others go first.
  int result = engine::t_stream->place ? EBUSY : try_to_take();
  if (!acquires(result)) {
    const Waiting waiting(function, lock, caller);
    result = take();
  }
  sync.passed(result, acquires(result) ? lock : nullptr);
  if (acquires(result)) remember_lock(lock, caller, kind);
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
// A thread that was made before this process was a rank: followed from here on, with that number.
void follow_running_thread(std::uint32_t number);

}  // namespace reprise::threads
