// One-sided communication: accesses to windows and their locks (MPI 4.0, chapter 12).
//
// An access is carried out when its origin asks for its completion; it could have been at any moment since it was made,
// but no correct program can tell, with two exceptions. Who gets a lock first is a choice. And accumulates may meet: who
// is first there is one, too, if it makes a difference. Both are *turns* at a place. The options of a turn are those
// who are there; or somebody else, who has not come yet: then they sleep until he has had his turn (matcher.hpp).
//
// Most locks and most accumulates never meet others. So nothing is offered until two have met that no message orders;
// then the search begins anew and knows the place (decided_too_early).
//
// Accesses that meet and may not are conflicts, whatever their order (MPI 4.0, 12.7).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "explore/causality.hpp"
#include "virtual/access.hpp"

namespace reprise::explore {

struct OneSidedItem {
  enum class What : std::uint8_t { Access, Lock };
  using Run = virtual_world::AccessBlock::Run;
  using Kind = virtual_world::AccessBlock::Kind;

  What what = What::Access;
  int rank = 0;
  std::uint64_t window = 0;
  int target = 0;
  std::uint64_t site = 0;
  std::uint32_t function = 0;
  bool in_region = false;
  std::uint32_t iteration = 0;
  std::uint32_t number = 0;  // which of its rank's items

  // An access.
  Kind kind = Kind::Put;
  bool replaces = false;
  bool reads = false;
  std::uint64_t operation = 0;
  std::vector<Run> runs;
  std::uint64_t data = 0;
  // A lock.
  bool exclusive = false;

  bool done = false;            // carried out, granted
  bool chosen = false;          // it is its turn
  bool asleep = false;          // it waits for somebody else's turn
  Stamp posted;                 // what its rank knew
  std::uint32_t closed_at = 0;  // of its rank (Causality::tick); 0: it goes on
  Stamp closed;                 // of a lock: what its rank knew then
  bool is_store = false;        // no access at all: the rank itself has changed its window

  bool is_atomic() const { return kind == Kind::Accumulate || kind == Kind::Fetch || kind == Kind::Swap; }
  bool writes() const { return kind != Kind::Get && !reads; }
  bool fetches() const { return kind == Kind::Fetch || kind == Kind::Swap; }
};

class OneSided {
 public:
  using Item = OneSidedItem;

  // `delicate`: places where turns are to be chosen.
  explicit OneSided(std::set<std::uint64_t> delicate) : delicate_(std::move(delicate)) {}

  Causality causality;

  int add(Item item);
  const Item& item(int index) const { return items_[static_cast<std::size_t>(index)]; }
  bool used() const { return !items_.empty(); }
  // A rank has waited for everything that it has asked of a target (-1: of all).
  void close(int rank, std::uint64_t window, int target);
  // It gives a lock back.
  void unlock(int rank, std::uint64_t window, int target);
  // It has changed its own window by itself, since it was last heard of.
  void stored(int rank, std::uint64_t window, const std::vector<Item::Run>& runs, std::uint64_t site,
              std::uint32_t function);
  // It has learnt that an item is done.
  void seen(int index);

  // Locks that nobody else could want, or that were chosen.
  void grant();
  // Accesses that are to be carried out now; `wanted`: those that somebody waits for.
  std::vector<int> due(const std::vector<int>& wanted) const;
  void carried_out(const std::vector<int>& accesses);

  // Whose turn could it be? Empty: there is nothing to choose. The first is the one that the choice is about.
  struct Turn {
    std::vector<int> items;
    bool may_wait = false;  // somebody else is there who could come first
  };
  std::vector<Turn> turns(const std::vector<int>& wanted) const;
  void choose(int index);
  void sleep(const std::vector<int>& items);
  bool anybody_asleep() const;
  // By which a place is known; and how many turns it has seen.
  std::uint64_t place_of(int index) const { return place_of(item(index)); }
  std::uint32_t turns_at(std::uint64_t place) const;

  const std::set<std::uint64_t>& decided_too_early() const { return decided_too_early_; }

  // What may not meet and does.
  struct Conflict {
    Item first;
    Item second;
    std::string words;
  };
  std::vector<Conflict> take_conflicts();

  // Of a lock that is not granted: who has it.
  std::vector<int> holders(int index) const;

 private:
  Item& at(int index) { return items_[static_cast<std::size_t>(index)]; }
  static std::uint64_t place_of(const Item& item);
  static bool same_target(const Item& one, const Item& other) {
    return one.window == other.window && one.target == other.target;
  }
  static bool overlap(const Item& one, const Item& other);
  static bool order_matters(const Item& one, const Item& other);
  static const char* conflict(const Item& one, const Item& other);
  // Has `later` heard that `earlier` is over?
  static bool is_ordered(const Item& earlier, const Item& later) {
    return Causality::knows(later.posted, earlier.rank, earlier.closed_at);
  }
  bool is_delicate(const Item& item) const { return delicate_.contains(place_of(item)); }
  bool is_free_for(const Item& lock) const;
  // The first of its rank at that target that is not carried out.
  int head_of(const Item& access) const;
  void note(Conflict conflict);
  void forget_old();

  std::set<std::uint64_t> delicate_;
  std::set<std::uint64_t> decided_too_early_;
  std::vector<Item> items_;
  std::vector<int> open_;  // those that may still meet others
  std::vector<std::uint32_t> numbers_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> turns_taken_;  // by place
  std::vector<Conflict> conflicts_;
};

}  // namespace reprise::explore
