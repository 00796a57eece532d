#include "engine/baton.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/no_cancellation.hpp"
#include "base/spin.hpp"
#include "base/tasks.hpp"

namespace reprise::engine {

namespace {

using State = BatonPlace::State;

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
// How soon, and then how often, those who wait look whether the holder sleeps.
constexpr std::int64_t kFirstLook = 100 * kMicrosecond;
constexpr std::int64_t kLastLook = kMillisecond;
constexpr std::int64_t kSeldom = 10 * kMillisecond;  // while it would be of no use
// Longer than any computation should be that others wait for. Who takes longer probably waits in a loop.
constexpr std::int64_t kSpins = 1000 * kMillisecond;
// Pauses that are shorter are nothing, so many in a row.
constexpr std::int64_t kNoticeable = 10 * kMillisecond;
constexpr std::uint32_t kShortPauses = 200;
// So many pauses in a row are over before anything else happens outside this rank; further ones only when nothing else
// can happen at all.
constexpr std::uint32_t kEagerPauses = 32;

void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t nanoseconds) {
  const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Not through the functions that Reprise itself interposes: they would tell virtual time.
std::int64_t real_time() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void sleep_a_moment(std::int64_t nanoseconds) {
  const timespec moment{0, static_cast<long>(nanoseconds)};
  ::syscall(SYS_nanosleep, &moment, nullptr);
}

// Not in a page fault or the like, which ends by itself.
bool is_asleep(char state) { return state == 'S' || state == 'Z'; }

}  // namespace

Baton& Baton::get() {
  static auto* const baton = new Baton();
  return *baton;
}

// --- threads come and go ---------------------------------------------------------------------------------------------

Baton::~Baton() {
  for (const auto* places : {&places_, &left_})
    for (const BatonPlace* const place : *places) delete place;
}

// Before, places are never given back: somebody may still look at one whose thread has ended.
BatonPlace* Baton::new_place(std::uint32_t number) {
  if (left_.empty()) left_.push_back(new BatonPlace());
  BatonPlace* const place = left_.back();
  left_.pop_back();
  place->number = number;
  place->state.store(State::Ready, std::memory_order_relaxed);
  place->turn.store(0, std::memory_order_relaxed);
  place->kernel_id.store(0, std::memory_order_relaxed);
  place->tried = 0;
  place->wakes = BatonPlace::kNever;
  place->time_came = false;
  place->short_pauses = 0;
  place->asks_world = false;
  place->handle = {};
  places_.push_back(place);
  return place;
}

BatonPlace* Baton::begin() {
  const Spin spin(&lock_);
  BatonPlace* const me = new_place(0);
  me->kernel_id.store(own_task(), std::memory_order_relaxed);
  me->handle = pthread_self();
  me->state.store(State::Runs, std::memory_order_relaxed);
  holder_.store(me, std::memory_order_relaxed);
  used_.store(true, std::memory_order_release);
  return me;
}

BatonPlace* Baton::add(std::uint32_t number) {
  enter();
  const Spin spin(&lock_);
  return new_place(number);
}

void Baton::arrive(BatonPlace& me) {
  me.kernel_id.store(own_task(), std::memory_order_release);
  come_for_it(me);
}

void Baton::leave() {
  const NoCancellation not_here;
  enter();
  BatonPlace& me = *world_.running();
  BatonPlace* next = nullptr;
  {
    const Spin spin(&lock_);
    kept_.store(true, std::memory_order_relaxed);
    std::erase(places_, &me);
    ++progress_;
    if (places_.empty()) holder_.store(nullptr, std::memory_order_relaxed);
  }
  while (!places_.empty() && !(next = choose(me)))
    if (!let_time_pass(false)) ask_world();
  const Spin spin(&lock_);
  left_.push_back(&me);
  if (next) give(*next);
}

bool Baton::has_left(pthread_t thread) const {
  const Spin spin(&lock_);
  return std::none_of(places_.begin(), places_.end(),
                      [&](const BatonPlace* place) { return pthread_equal(place->handle, thread) != 0; });
}

// --- the baton -------------------------------------------------------------------------------------------------------

void Baton::enter() {
  BatonPlace& me = *world_.running();
  {
    const Spin spin(&lock_);
    me.moves.fetch_add(1, std::memory_order_relaxed);
    const bool has_it = holder_.load(std::memory_order_relaxed) == &me;
    me.state.store(has_it ? State::Runs : State::Ready, std::memory_order_release);
    me.wakes = BatonPlace::kNever;  // it may have been cancelled while it waited
    if (has_it) return;
  }
  come_for_it(me);
}

void Baton::come_for_it(BatonPlace& me) {
  const NoCancellation not_here;
  do {
    if (const BatonPlace* const lost = await(me)) pass_on(me, lost);
  } while (!runs_on(me));
}

// Unless it has been taken again meanwhile.
bool Baton::runs_on(BatonPlace& me) {
  const Spin spin(&lock_);
  const bool has_it = holder_.load(std::memory_order_relaxed) == &me;
  me.state.store(has_it ? State::Runs : State::Ready, std::memory_order_release);
  me.wakes = BatonPlace::kNever;
  if (has_it) ++progress_;
  return has_it;
}

void Baton::begin_waiting(BatonPlace& me, std::int64_t time) {
  const Spin spin(&lock_);
  me.wakes = time;
  me.time_came = false;
  me.state.store(State::Waits, std::memory_order_relaxed);
}

void Baton::end_waiting(BatonPlace& me, bool is_ready) {
  if (!runs_on(me)) come_for_it(me);
  if (!is_ready) return;
  const Spin spin(&lock_);
  pauses_ = 0;
  me.short_pauses = 0;
}

void Baton::pause(std::int64_t nanoseconds) {
  enter();
  const std::int64_t end = world_.now() + std::max<std::int64_t>(nanoseconds, 0);
  BatonPlace& me = *world_.running();
  if (nanoseconds < kNoticeable && me.short_pauses < kShortPauses) {
    ++me.short_pauses;
    world_.advance(end);
    return;
  }
  until([] { return false; }, end);
}

void Baton::yield() {
  enter();
  until([] { return false; }, world_.now());
}

// If nobody else can go on, it is for this one to find out whether it can.
void Baton::step_away() {
  const NoCancellation not_here;
  enter();
  BatonPlace& me = *world_.running();
  {
    const Spin spin(&lock_);
    ++progress_;
    kept_.store(true, std::memory_order_relaxed);
  }
  BatonPlace* const next = choose(me);
  const Spin spin(&lock_);
  kept_.store(false, std::memory_order_relaxed);
  if (!next) return;
  me.state.store(State::Away, std::memory_order_relaxed);
  give(*next);
}

void Baton::pass_on(BatonPlace& me) {
  const NoCancellation not_here;
  bool has_it = true;
  {
    const Spin spin(&lock_);
    me.tried = progress_;
    has_it = holder_.load(std::memory_order_relaxed) == &me;
    if (has_it) kept_.store(true, std::memory_order_relaxed);
    else me.state.store(State::Waits, std::memory_order_release);
  }
  if (has_it) return pass_on(me, &me);
  if (const BatonPlace* const lost = await(me)) pass_on(me, lost);
}

// The baton is this thread's, and being passed on.
void Baton::pass_on(BatonPlace& me, const BatonPlace* start) {
  while (start) {
    BatonPlace* const next = choose(*start);
    if (!next) {
      if (!let_time_pass(false)) ask_world();
      continue;
    }
    if (next == &me) {
      const Spin spin(&lock_);
      me.moves.fetch_add(1, std::memory_order_relaxed);
      kept_.store(false, std::memory_order_relaxed);
      return;
    }
    {
      const Spin spin(&lock_);
      give(*next);
    }
    start = await(me);
  }
}

BatonPlace* Baton::choose(const BatonPlace& start) const {
  const auto can_try = [&](const BatonPlace* place) {
    const State state = place->state.load(std::memory_order_acquire);
    return state == State::Ready || (state == State::Waits && (place->time_came || place->tried < progress_));
  };
  for (const bool patiently : {false, true}) {
    await_those_away(patiently);
    auto circle = places_;
    std::rotate(circle.begin(),
                std::find_if(circle.begin(), circle.end(),
                             [&](const BatonPlace* place) { return place->number > start.number; }),
                circle.end());
    const auto next = std::find_if(circle.begin(), circle.end(), can_try);
    if (next != circle.end()) return *next;
  }
  return nullptr;
}

bool Baton::is_kept() const {
  const Spin spin(&lock_);
  return kept_.load(std::memory_order_relaxed) && holder_.load(std::memory_order_relaxed) == world_.running();
}

void Baton::keep(bool whether) {
  for (;;) {
    enter();
    const Spin spin(&lock_);
    if (holder_.load(std::memory_order_relaxed) != world_.running()) continue;
    kept_.store(whether, std::memory_order_relaxed);
    return;
  }
}

// Under the lock.
void Baton::give(BatonPlace& next) {
  kept_.store(false, std::memory_order_relaxed);
  holder_.store(&next, std::memory_order_release);
  next.turn.store(1, std::memory_order_release);
  wake(next.turn);
}

const BatonPlace* Baton::await(BatonPlace& me) {
  const BatonPlace* watched = nullptr;
  std::uint32_t moves = 0;
  std::int64_t since = 0;
  std::int64_t interval = kFirstLook;
  for (;;) {
    if (me.turn.load(std::memory_order_acquire) == 1) {
      const Spin spin(&lock_);
      me.turn.store(0, std::memory_order_relaxed);
      me.moves.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    BatonPlace* const holder = holder_.load(std::memory_order_acquire);
    const bool kept = kept_.load(std::memory_order_relaxed);
    sleep_on(me.turn, 0, kept ? kSeldom : interval);
    if (!holder || holder == &me || kept || kept_.load(std::memory_order_relaxed)) continue;
    const std::uint32_t now = holder->moves.load(std::memory_order_relaxed);
    const int id = holder->kernel_id.load(std::memory_order_acquire);
    if (holder != watched || now != moves) {
      watched = holder;
      moves = now;
      since = real_time();
    }
    interval = std::min(2 * interval, kLastLook);
    if (id == 0) continue;
    bool sleeps = is_asleep(task_state(id));
    if (sleeps) {
      sleep_a_moment(50 * kMicrosecond);
      sleeps = is_asleep(task_state(id));
    }
    if ((sleeps || real_time() - since > kSpins) && take_from(*holder, me, moves)) return holder;
  }
}

// Not from one that has been given it and has yet to notice.
bool Baton::take_from(BatonPlace& holder, BatonPlace& me, std::uint32_t moves) {
  const Spin spin(&lock_);
  const auto is_given = [](const BatonPlace& place) { return place.turn.load(std::memory_order_relaxed) == 1; };
  if (is_given(me) || is_given(holder) || kept_.load(std::memory_order_relaxed) ||
      holder_.load(std::memory_order_relaxed) != &holder || holder.moves.load(std::memory_order_relaxed) != moves)
    return false;
  holder.state.store(State::Away, std::memory_order_relaxed);
  holder_.store(&me, std::memory_order_relaxed);
  kept_.store(true, std::memory_order_relaxed);
  return true;
}

// --- nobody can go on ------------------------------------------------------------------------------------------------

void Baton::ask_world() {
  const bool pauses = std::any_of(places_.begin(), places_.end(),
                                  [](const BatonPlace* place) { return place->wakes != BatonPlace::kNever; });
  const bool time_passes = world_.everybody_waits(pauses);
  {
    const Spin spin(&lock_);
    ++progress_;
  }
  if (time_passes) let_time_pass(true);
}

bool Baton::let_time_pass(bool at_last) {
  const Spin spin(&lock_);
  if (!at_last && pauses_ >= kEagerPauses) return false;
  const auto first =
      std::min_element(places_.begin(), places_.end(),
                       [](const BatonPlace* one, const BatonPlace* other) { return one->wakes < other->wakes; });
  if (first == places_.end() || (*first)->wakes == BatonPlace::kNever) return false;
  ++pauses_;
  world_.advance((*first)->wakes);
  (*first)->time_came = true;
  return true;
}

// Those that are neither asleep nor have come for the baton. `patiently`: nobody else can go on, so also those who
// sleep, unless only a thread of this process could wake them.
//
// One that is on its way may wake others that have already been looked at (the last at a barrier wakes all the rest):
// so until nobody was on the way, and as many as before are asleep.
void Baton::await_those_away(bool patiently) const {
  const std::int64_t end = real_time() + kSpins;
  const auto is_away = [](const BatonPlace* place) {
    return place->state.load(std::memory_order_acquire) == State::Away;
  };
  const auto is_awaited = [&](const BatonPlace* place) {
    if (!is_away(place)) return false;
    const int id = place->kernel_id.load(std::memory_order_relaxed);
    return patiently ? !task_waits_in_futex(id) : !is_asleep(task_state(id));
  };
  std::size_t asleep = 0;
  for (std::size_t before = places_.size() + 1;; before = asleep) {
    asleep = 0;
    bool awaited = false;
    for (const BatonPlace* const place : places_) {
      for (; is_awaited(place) && real_time() < end; awaited = true) sleep_a_moment(20 * kMicrosecond);
      if (is_away(place)) ++asleep;
    }
    if (asleep == 0 || (!awaited && asleep == before) || real_time() >= end) return;
  }
}

}  // namespace reprise::engine
