#include "explore/one_sided.hpp"

#include <algorithm>
#include <utility>

namespace reprise::explore {

namespace {

using What = OneSidedItem::What;
using Kind = OneSidedItem::Kind;

std::uint64_t mix(std::uint64_t digest, std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
  return digest ^ digest >> 29;
}

bool overlap(const OneSidedItem::Run& one, const OneSidedItem::Run& other) {
  return one.begin < other.begin + other.size && other.begin < one.begin + one.size;
}

}  // namespace

// --- what meets ------------------------------------------------------------------------------------------------------

bool OneSided::overlap(const Item& one, const Item& other) {
  return std::any_of(one.runs.begin(), one.runs.end(), [&](const Item::Run& run) {
    return std::any_of(other.runs.begin(), other.runs.end(),
                       [&](const Item::Run& there) { return explore::overlap(run, there); });
  });
}

// Locks of a window, accesses of a place in it.
std::uint64_t OneSided::place_of(const Item& item) {
  std::uint64_t place = mix(mix(0x10ccull, item.window), static_cast<std::uint64_t>(item.target));
  if (item.what == What::Access) place = mix(place, 1 + (item.runs.empty() ? 0 : item.runs.front().begin));
  return place;
}

// Sums of the same kind, for example, come to the same in any order, as long as nobody looks in between.
bool OneSided::order_matters(const Item& one, const Item& other) {
  if (one.what != other.what || one.rank == other.rank || !same_target(one, other)) return false;
  if (one.what == What::Lock) return one.exclusive || other.exclusive;
  if (!one.is_atomic() || !other.is_atomic() || (!one.writes() && !other.writes())) return false;
  const bool alike = !one.fetches() && !other.fetches() && one.operation == other.operation && !one.replaces;
  return !alike && overlap(one, other);
}

const char* OneSided::conflict(const Item& one, const Item& other) {
  if (one.is_atomic() && other.is_atomic()) return nullptr;
  if (!one.writes() && !other.writes()) return nullptr;
  if (!overlap(one, other)) return nullptr;
  if (one.is_store || other.is_store) return "the target's own program changes the same place meanwhile";
  if (one.kind == Kind::Put && other.kind == Kind::Put) return "both write to the same place, in any order";
  if (one.kind == Kind::Get || other.kind == Kind::Get) return "one reads what the other one writes";
  return "one writes what the other one accumulates";
}

// --- what the ranks do -----------------------------------------------------------------------------------------------

int OneSided::add(Item item) {
  const int index = static_cast<int>(items_.size());
  if (numbers_.size() <= static_cast<std::size_t>(item.rank)) numbers_.resize(static_cast<std::size_t>(item.rank) + 1);
  item.number = numbers_[static_cast<std::size_t>(item.rank)]++;
  item.posted = causality.now(item.rank);
  forget_old();
  for (const int other : open_) {
    const Item& earlier = items_[static_cast<std::size_t>(other)];
    if (earlier.what != item.what || !same_target(earlier, item) || is_ordered(earlier, item)) continue;
    if (order_matters(earlier, item))
      for (const Item* const one : std::initializer_list<const Item*>{&earlier, &item})
        if (!is_delicate(*one)) decided_too_early_.insert(place_of(*one));
    if (item.what != What::Access) continue;
    if (const char* const words = conflict(earlier, item)) note({earlier, item, words});
  }
  items_.push_back(std::move(item));
  open_.push_back(index);
  return index;
}

void OneSided::note(Conflict conflict) {
  const bool known = std::any_of(conflicts_.begin(), conflicts_.end(), [&](const Conflict& other) {
    return other.first.site == conflict.first.site && other.second.site == conflict.second.site &&
           other.first.rank == conflict.first.rank && other.second.rank == conflict.second.rank;
  });
  if (!known) conflicts_.push_back(std::move(conflict));
}

std::vector<OneSided::Conflict> OneSided::take_conflicts() { return std::exchange(conflicts_, {}); }

void OneSided::close(int rank, std::uint64_t window, int target) {
  const std::uint32_t now = causality.tick(rank);
  for (const int index : open_) {
    Item& item = at(index);
    if (item.what == What::Access && item.rank == rank && item.window == window && item.closed_at == 0 &&
        (target < 0 || item.target == target))
      item.closed_at = now;
  }
}

void OneSided::unlock(int rank, std::uint64_t window, int target) {
  const std::uint32_t now = causality.tick(rank);
  for (const int index : open_) {
    Item& item = at(index);
    if (item.what == What::Lock && item.rank == rank && item.window == window && item.target == target && item.done &&
        item.closed_at == 0) {
      item.closed_at = now;
      item.closed = causality.now(rank);
    }
  }
}

// The store came after all that the rank had heard by then, and before whatever it says from now on.
void OneSided::stored(int rank, std::uint64_t window, const std::vector<Item::Run>& runs, std::uint64_t site,
                      std::uint32_t function) {
  Item store;
  store.rank = rank;
  store.window = window;
  store.target = rank;
  store.runs = runs;
  store.site = site;
  store.function = function;
  store.posted = causality.now(rank);
  store.is_store = true;
  store.done = true;
  store.closed_at = causality.tick(rank);
  for (const int index : open_) {
    const Item& access = item(index);
    if (access.what != What::Access || access.is_store || !same_target(access, store)) continue;
    if (is_ordered(access, store) || is_ordered(store, access)) continue;
    if (const char* const words = conflict(access, store)) note({access, store, words});
  }
  items_.push_back(std::move(store));
  open_.push_back(static_cast<int>(items_.size()) - 1);
}

// Who gets a lock knows what was done under it before.
void OneSided::seen(int index) {
  const Item& lock = item(index);
  if (lock.what != What::Lock) return;
  for (const int other : open_) {
    const Item& earlier = item(other);
    if (earlier.what != What::Lock || !same_target(earlier, lock) || earlier.closed_at == 0) continue;
    if (!lock.exclusive && !earlier.exclusive) continue;
    causality.hears(lock.rank, earlier.closed);
  }
}

// What everybody knows to be over can meet nothing that is to come.
void OneSided::forget_old() {
  constexpr std::size_t kMany = 256;
  if (open_.size() < kMany || open_.size() % kMany != 0) return;
  std::erase_if(open_, [&](int index) {
    const Item& old = item(index);
    if (!old.done || old.closed_at == 0) return false;
    for (std::size_t rank = 0; rank < old.posted.size(); ++rank)
      if (!Causality::knows(causality.now(static_cast<int>(rank)), old.rank, old.closed_at)) return false;
    return true;
  });
}

// --- turns -----------------------------------------------------------------------------------------------------------

bool OneSided::is_free_for(const Item& lock) const {
  return std::none_of(open_.begin(), open_.end(), [&](int index) {
    const Item& holder = item(index);
    return holder.what == What::Lock && holder.done && holder.closed_at == 0 && same_target(holder, lock) &&
           (holder.exclusive || lock.exclusive);
  });
}

std::vector<int> OneSided::holders(int index) const {
  std::vector<int> ranks;
  for (const int other : open_) {
    const Item& holder = item(other);
    if (holder.what == What::Lock && holder.done && holder.closed_at == 0 && same_target(holder, item(index)))
      ranks.push_back(holder.rank);
  }
  return ranks;
}

void OneSided::grant() {
  for (const int index : open_) {
    Item& lock = at(index);
    if (lock.what == What::Lock && !lock.done && !is_delicate(lock) && is_free_for(lock)) lock.done = true;
  }
}

int OneSided::head_of(const Item& access) const {
  for (const int index : open_) {
    const Item& other = item(index);
    if (other.what == What::Access && !other.done && other.rank == access.rank && same_target(other, access))
      return index;
  }
  return -1;
}

// Accumulates of one rank are carried out in their order (MPI 4.0, 12.7.2), and with them everything that it has asked
// of the same target before.
std::vector<int> OneSided::due(const std::vector<int>& wanted) const {
  std::set<int> found;
  for (const int last : wanted) {
    const Item& asked = item(last);
    if (asked.what != What::Access || asked.done) continue;
    for (const int index : open_) {
      if (index > last) break;
      const Item& access = item(index);
      if (access.what != What::Access || access.done || access.rank != asked.rank || !same_target(access, asked)) continue;
      if (is_delicate(access) && !access.chosen) break;
      found.insert(index);
    }
  }
  for (const int index : open_)
    if (item(index).chosen && !item(index).done && item(index).what == What::Access) found.insert(index);
  return {found.begin(), found.end()};
}

void OneSided::carried_out(const std::vector<int>& accesses) {
  for (const int index : accesses) {
    Item& access = at(index);
    access.done = true;
    for (const int other : open_)
      if (item(other).asleep && order_matters(item(other), access)) at(other).asleep = false;
  }
}

std::vector<OneSided::Turn> OneSided::turns(const std::vector<int>& wanted) const {
  std::vector<Turn> all;
  // Locks: those that can be shared decide one by one whether they wait for an exclusive one.
  std::set<std::uint64_t> seen;
  for (const int index : open_) {
    const Item& lock = item(index);
    if (lock.what != What::Lock || lock.done || lock.asleep || !is_delicate(lock) || !is_free_for(lock)) continue;
    if (!lock.exclusive) {
      const bool may_wait = std::any_of(open_.begin(), open_.end(), [&](int other) {
        const Item& one = item(other);
        return one.what == What::Lock && !one.done && !one.asleep && one.exclusive && same_target(one, lock);
      });
      all.push_back({{index}, may_wait});
      continue;
    }
    if (seen.contains(place_of(lock))) continue;
    const bool shared_ones_first = std::any_of(open_.begin(), open_.end(), [&](int other) {
      const Item& one = item(other);
      return one.what == What::Lock && !one.done && !one.asleep && !one.exclusive && same_target(one, lock);
    });
    if (shared_ones_first) continue;
    seen.insert(place_of(lock));
    Turn turn;
    for (const int other : open_) {
      const Item& one = item(other);
      if (one.what == What::Lock && !one.done && !one.asleep && one.exclusive && same_target(one, lock))
        turn.items.push_back(other);
    }
    all.push_back(std::move(turn));
  }
  // Accesses: what somebody waits for, and whatever could come before it.
  for (const int last : wanted) {
    if (item(last).what != What::Access || item(last).done) continue;
    const int head = head_of(item(last));
    if (head < 0 || !is_delicate(item(head)) || item(head).asleep || item(head).chosen) continue;
    Turn turn{{head}, false};
    for (const int other : open_) {
      const Item& one = item(other);
      if (other == head || one.what != What::Access || one.done || one.asleep || !order_matters(one, item(head))) continue;
      if (is_delicate(one) && head_of(one) == other) turn.items.push_back(other);
    }
    std::sort(turn.items.begin(), turn.items.end());
    all.push_back(std::move(turn));
  }
  return all;
}

void OneSided::choose(int index) {
  Item& item = at(index);
  item.chosen = true;
  const std::uint64_t place = place_of(item);
  const auto known = std::find_if(turns_taken_.begin(), turns_taken_.end(), [&](const auto& one) { return one.first == place; });
  if (known == turns_taken_.end()) turns_taken_.emplace_back(place, 1);
  else ++known->second;
  if (item.what != What::Lock) return;
  item.done = true;
  for (const int other : open_) {
    Item& waiting = at(other);
    // Who waits for an exclusive lock to come first has seen it; the others have seen somebody.
    if (waiting.what == What::Lock && same_target(waiting, item) && (waiting.exclusive || item.exclusive))
      waiting.asleep = false;
  }
}

void OneSided::sleep(const std::vector<int>& items) {
  for (const int index : items) at(index).asleep = true;
}

bool OneSided::anybody_asleep() const {
  return std::any_of(open_.begin(), open_.end(), [&](int index) { return item(index).asleep && !item(index).done; });
}

std::uint32_t OneSided::turns_at(std::uint64_t place) const {
  for (const auto& [known, count] : turns_taken_)
    if (known == place) return count;
  return 0;
}

}  // namespace reprise::explore
