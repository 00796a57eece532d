// The way of one block of bytes from the call that gave it to the call that took it: every movement that carried some of
// it, and what became of each byte.
#pragma once

#include <deque>
#include <set>
#include <span>
#include <unordered_map>

#include "flow/tracker.hpp"

namespace reprise::flow {

// Some bytes that follow each other, on both sides. Those that arrived have come the same way.
struct Stretch {
  std::uint64_t offset = 0;  // in the block, as it travels
  std::uint64_t bytes = 0;
  std::uint64_t from = 0;  // addresses
  std::uint64_t to = 0;
  bool arrived = false;  // the right bytes are there
  std::uint32_t hop = kNoHop;  // the last one that brought them
};

// Does a block at this address of a rank, from its first to its last byte, have any of these?
bool meets(const LoggedBlock& block, std::uint64_t address, const Place& place, std::uint32_t rank, std::uint64_t bytes);

// A movement as one of several that all bytes make: by the same function, in the same rank.
struct Stage {
  std::uint32_t rank = 0;
  trace::IntentionRecord kind{};
  const std::string* site = nullptr;
};
inline Stage stage_of_hop(const Hop& hop) { return {hop.rank, hop.kind, hop.site}; }
inline bool is_same(const Stage& one, const Stage& other) {
  return one.rank == other.rank && one.kind == other.kind && (one.site == other.site || *one.site == *other.site);
}

// A movement as part of the way of one byte.
struct Link {
  std::uint32_t hop = 0;
  std::uint64_t at = 0;  // of the byte, in what was moved
};

class Trail;

class Journey {
 public:
  const Delivery& delivery() const { return delivery_; }
  const TrackedOperation& giver() const { return giver_; }
  const TrackedOperation& taker() const { return taker_; }
  const LoggedBlock& given() const { return giver_.shape->gives[delivery_.given]; }
  const LoggedBlock& taken() const { return taker_.shape->takes[delivery_.taken]; }
  std::uint64_t bytes() const;
  const std::vector<Stretch>& stretches() const { return stretches_; }
  const Hop& hop(std::uint32_t number) const { return (*hops_)[number]; }
  // Up to its end.
  std::span<const Hop> hops() const { return {hops_->data(), hops_end_}; }
  // What else was watched, after it.
  std::span<const Hop> later_hops() const { return {hops_->data() + hops_end_, hops_->size() - hops_end_}; }
  // Has the call that gave the block not returned when this one came?
  bool is_given_at(std::size_t hop) const { return hop < given_until_; }
  // And in another rank of the same collective, which passes the block on to others when its giver may have returned: had that one's call not?
  bool is_passed_on_at(std::size_t hop, std::uint32_t by) const {
    const auto found = member_until_.find(by);
    return hop < (found == member_until_.end() ? given_until_ : found->second);
  }
  // The first one since it began: what was moved before, perhaps from the same buffer, is not its.
  std::uint32_t first_hop() const { return hops_begin_; }
  bool is_of_giver(std::uint32_t operation) const { return aliases_.contains(operation); }

  // The way of this byte, the first movement first: back from where it arrived.
  std::vector<Link> way(std::uint32_t last_hop, std::uint64_t source) const;
  // Where the bytes of the block begin in what is moved: before them is what the library puts there. Null: it moves none of them.
  const Labelled* first_label(const Hop& hop) const;
  // Where in what is moved the first byte of the block is that it moves: other blocks of the same call may be before it.
  std::optional<std::uint64_t> first_at(const Hop& hop) const;
  // Where in what it moves the byte from `source` is, if it came by `before`.
  std::optional<std::uint64_t> carries(const Hop& hop, std::uint64_t source, std::uint32_t before) const;

 private:
  friend class Trail;
  const Labelled* label_of(std::uint32_t hop, std::uint64_t source) const;
  void add(Stretch stretch);

  Delivery delivery_;
  bool complete_ = false;
  std::optional<std::uint32_t> giver_number_, taker_number_;
  TrackedOperation giver_, taker_;
  std::set<std::uint32_t> aliases_;  // of the giver, with itself
  std::vector<Stretch> stretches_;
  mutable std::unordered_map<std::uint32_t, std::size_t> last_labels_;  // that were asked for, of movements with many
  const std::vector<Hop>* hops_ = nullptr;
  std::uint32_t hops_begin_ = 0;
  std::size_t hops_end_ = 0;
  std::size_t given_until_ = SIZE_MAX;
  std::map<std::uint32_t, std::size_t> member_until_;  // of a collective: the same, by rank
};

// A byte that a call should not have written, and who did.
struct StrayWrite {
  std::uint32_t rank = 0;
  std::uint64_t call = 0;
  std::size_t block = 0;    // of what it takes
  std::int64_t offset = 0;  // from its start
  auto operator<=>(const StrayWrite&) const = default;
};

// Watches the movements of all these deliveries, and keeps them.
class Trail : public HopWatcher {
 public:
  explicit Trail(const std::set<Delivery>& wanted, const std::set<StrayWrite>& written = {});

  void begins(std::uint32_t operation, const TrackedOperation& what) override;
  void ends(std::uint32_t operation, const TrackedOperation& what, const Tracker& tracker) override;
  std::uint32_t moved(const Hop& hop) override;

  const Journey* find(const Delivery& delivery) const;
  std::span<const Hop> hops() const { return hops_; }
  // The last movement that wrote it while the call was under way; null if none was seen.
  const Hop* writer_of(const StrayWrite& written) const;

 private:
  struct Watched {
    std::optional<std::uint32_t> operation;
    std::uint64_t address = 0;
    std::optional<Hop> by;
  };
  void look_for_writers(const Hop& hop);

  bool matters(const Hop& hop) const;
  void arrive(Journey& journey, const TrackedOperation& taker, const Tracker& tracker);

  std::deque<Journey> journeys_;
  std::vector<Hop> hops_;
  std::map<StrayWrite, Watched> written_;
  std::map<std::uint32_t, std::set<std::uint32_t>> open_;  // by rank
};

}  // namespace reprise::flow
