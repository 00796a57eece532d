#include "frontends/threads/staged_waits.hpp"

#include <algorithm>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/threads/deadlocks.hpp"
#include "frontends/threads/lock_facts.hpp"

namespace reprise::threads {

namespace {

using engine::BatonPlace;
using engine::ThreadStream;

bool is_stuck(const ThreadStream& stream) {
  const BatonPlace* const place = stream.place;
  if (!place || place->asks_world || place->wakes != BatonPlace::kNever) return false;
  const auto state = place->state.load(std::memory_order_relaxed);
  if (state == BatonPlace::State::Waits) return true;
  // Asleep where nobody sees it: only of barriers it is known that nobody else can help.
  return state == BatonPlace::State::Away && stream.object &&
         stream.function == frontends::id_of(Function::BarrierWait);
}

bool is_read_write(std::uint32_t function) {
  return function >= frontends::id_of(Function::RwlockRdlock) &&
         function <= frontends::id_of(Function::RwlockClockwrlock);
}

int kernel_id_of_owner(std::uint64_t lock, bool read_write) {
  if (!read_write) return mutex_owner(lock);
  int writer = 0;
  return rwlock_holder(lock, writer) == Access::Writer ? writer : 0;
}

// Of a lock: who holds it. Of a thread's end: that thread.
void find_holder(StagedWait& wait, std::uint64_t object, const std::vector<const ThreadStream*>& all) {
  const bool joins = wait.function == frontends::id_of(Function::Join);
  const bool read_write = is_read_write(wait.function);
  const bool locks = read_write || wait.function == frontends::id_of(Function::MutexLock) ||
                     wait.function == frontends::id_of(Function::CondWait);
  if (object == 0 || !(joins || locks)) return;
  const int owner = locks ? kernel_id_of_owner(object, read_write) : 0;
  const auto found = std::find_if(all.begin(), all.end(), [&](const ThreadStream* other) {
    if (!other->place) return false;
    return joins ? reinterpret_cast<std::uint64_t>(other->place->handle) == object
                 : owner != 0 && other->place->kernel_id.load(std::memory_order_relaxed) == owner;
  });
  if (found == all.end()) return;
  wait.holder = static_cast<int>((*found)->number);
  const std::uint64_t kind = read_write ? kRwlock : 0;
  for (const auto& taken : (*found)->taken.newest_first()) {
    if (!locks || taken.lock != (object | kind)) continue;
    wait.taken_at = taken.caller;
    break;
  }
}

}  // namespace

std::vector<StagedWait> staged_waits() {
  std::vector<const ThreadStream*> all;
  engine::Session::get().each_thread([&](const ThreadStream& stream) { all.push_back(&stream); });
  std::vector<StagedWait> waits;
  for (const ThreadStream* const stream : all) {
    if (!is_stuck(*stream)) continue;
    waits.push_back({stream->number, stream->function, stream->caller, -1, 0});
    find_holder(waits.back(), reinterpret_cast<std::uint64_t>(stream->object), all);
  }
  return waits;
}

}  // namespace reprise::threads
