// In an explored rank one thread runs at a time: the one that has the baton.
//
// It keeps it until it must wait (for a lock, a message, a while) or ends; then the next in the order of their numbers
// gets it. So the threads of a rank do the same in every run in which the rank hears the same messages, and nothing of
// it need be recorded to be repeated.
//
// To wait is to try again: whoever gets the baton tries to have what it waits for, and passes the baton on if that is
// still not to be had. When the baton has been everywhere in vain, time passes for whoever pauses; and if that does not
// help either, the rank as a whole waits for the explorer.
//
// A thread may also sleep where nobody sees it: in a system call, in the runtime of OpenMP. Then the baton is taken
// from it, it is *away*, and has to come for the baton in its next call that is seen. Nobody gets the baton as long as
// such a thread is on its way, so that it makes no difference how fast it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <vector>

namespace reprise::engine {

struct BatonPlace {
  enum class State : std::uint8_t { Away, Ready, Waits, Runs };
  static constexpr std::int64_t kNever = INT64_MAX;

  std::uint32_t number = 0;  // of the thread
  std::atomic<State> state{State::Ready};
  std::atomic<std::uint32_t> turn{0};  // a futex: 1 is the baton
  std::atomic<int> kernel_id{0};
  std::atomic<std::uint32_t> moves{0};  // calls that were seen
  std::uint64_t tried = 0;              // when it was last found that it must wait
  std::int64_t wakes = kNever;          // or no longer than until then
  std::uint32_t short_pauses = 0;       // since it last waited
  bool time_came = false;
  bool asks_world = false;  // it waits for an answer from outside
  pthread_t handle{};
};

class Baton {
 public:
  Baton() = default;
  ~Baton();
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  // What the threads share with the rest of the world.
  struct World {
    BatonPlace* (*running)() = nullptr;          // the running thread's
    std::int64_t (*now)() = nullptr;             // nanoseconds
    void (*advance)(std::int64_t to) = nullptr;  // the clocks
    // Everybody waits. Returns when somebody may be able to go on; true: time may pass for those who pause.
    bool (*everybody_waits)(bool somebody_pauses) = nullptr;
  };

  static Baton& get();

  // For this process, from its first thread on.
  void prepare(const World& world) { world_ = world; }
  bool is_prepared() const { return world_.running != nullptr; }
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // The running thread has it. Its place is where `running` will find it.
  BatonPlace* begin();
  // A forked child is on its own.
  void forget() { used_.store(false, std::memory_order_relaxed); }

  // By the thread that makes another one.
  BatonPlace* add(std::uint32_t number);
  // The new thread's first act, and its last. Nobody may use its place then.
  void arrive(BatonPlace& place);
  void leave();
  bool has_left(pthread_t thread) const;

  // In every call that is seen: come for it, if it was taken away.
  void enter();
  // Until `ready` says yes, which it is asked only while this thread has the baton; or until it is time: false.
  template <class Ready>
  bool until(Ready ready, std::int64_t time = BatonPlace::kNever) {
    enter();
    if (ready()) return true;
    BatonPlace& me = *world_.running();
    begin_waiting(me, time);
    bool is_ready = false;
    do {
      pass_on(me);
      is_ready = ready();
    } while (!is_ready && !me.time_came);
    end_waiting(me, is_ready);
    return is_ready;
  }
  // Lets some time pass. What is too short to be noticed is nothing, unless it is repeated: how long a program sleeps
  // is often a matter of chance that nobody sees.
  void pause(std::int64_t nanoseconds);
  // Lets everybody else try.
  void yield();
  // What this thread does next may wait where nobody sees it. It has to enter() afterwards.
  void step_away();
  // What this thread does now may take a moment, but ends by itself: nobody may take the baton meanwhile.
  template <class Act>
  auto without_interruption(Act act) {
    const bool kept = is_kept();
    if (!kept) keep(true);
    const auto result = act();
    if (!kept) keep(false);
    return result;
  }

  BatonPlace& running() const { return *world_.running(); }

 private:
  void begin_waiting(BatonPlace& me, std::int64_t time);
  void end_waiting(BatonPlace& me, bool is_ready);
  void pass_on(BatonPlace& me);
  void pass_on(BatonPlace& me, const BatonPlace* start);
  void come_for_it(BatonPlace& me);
  bool runs_on(BatonPlace& me);
  // Whoever can try, after `start` in the circle.
  BatonPlace* choose(const BatonPlace& start) const;
  void give(BatonPlace& next);
  bool is_kept() const;  // by the running thread
  void keep(bool whether);
  void ask_world();
  // Null: it came. Otherwise it was taken from this one.
  const BatonPlace* await(BatonPlace& me);
  bool take_from(BatonPlace& holder, BatonPlace& me, std::uint32_t moves);
  bool let_time_pass(bool at_last);
  void await_those_away(bool patiently) const;
  BatonPlace* new_place(std::uint32_t number);

  World world_;
  std::atomic<bool> used_{false};
  mutable std::atomic_flag lock_;  // around what follows, since the baton can be taken away at any time
  std::atomic<BatonPlace*> holder_{nullptr};
  std::atomic<bool> kept_{false};    // the holder is awake, or about to pass it on: nobody may take it
  std::vector<BatonPlace*> places_;  // by number
  std::vector<BatonPlace*> left_;    // places of threads that have ended, to be used again
  std::uint64_t progress_ = 1;       // counts how often somebody went on
  std::uint32_t pauses_ = 0;         // since somebody went on other than by a pause
};

}  // namespace reprise::engine
