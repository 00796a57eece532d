// Follows the bytes of all operations through the memory of all processes (FlowChecker's MF-Tracker, section III-D): each
// movement takes labels from where it reads to where it writes. Private memory, memory that is shared, and what is under way in a
// socket are all the same to it: spaces of bytes with addresses.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "flow/intention_log.hpp"
#include "flow/labels.hpp"

namespace reprise::flow {

struct TrackedOperation {
  std::uint32_t rank = 0;
  std::uint64_t call = 0;  // as in Part
  const LoggedShape* shape = nullptr;
  std::uint64_t given_from = 0;  // addresses of its first blocks
  std::uint64_t taken_to = 0;
  std::uint64_t begun = 0;  // events of all ranks
  std::uint64_t ended = UINT64_MAX;
  std::uint64_t bytes = 0;  // that came, of a receive
  std::uint32_t order = 0;  // among those of all ranks
  std::uint64_t number = 0;  // of a collective, among those of its rank on its communicator
  bool delivered = false;    // a message: all its bytes were seen to arrive somewhere
  bool received = false;     // some were

  // Are both calls of one collective?
  bool is_together_with(const TrackedOperation& other) const {
    constexpr auto kForm = trace::IntentionForm::Collective;
    return shape->form == kForm && other.shape->form == kForm && shape->group->uid == other.shape->group->uid && number == other.number;
  }
  std::uint64_t given_at(std::size_t block) const {
    return given_from + static_cast<std::uint64_t>(shape->gives[block].place - shape->gives[0].place);
  }
  std::uint64_t taken_at(std::size_t block) const {
    return taken_to + static_cast<std::uint64_t>(shape->takes[block].place - shape->takes[0].place);
  }
};

// Memory of a process, shared memory, or a stream.
struct Place {
  enum class Kind : std::uint8_t { Private, Shared, Stream } kind = Kind::Private;
  std::uint32_t number = 0;  // of the rank, of the segment, of the stream
  std::uint64_t address = 0;
};

// One movement, or a part of one where its bytes do not lie in one piece.
struct Hop {
  std::uint32_t rank = 0;
  trace::IntentionRecord kind{};
  const std::string* site = nullptr;
  Place from, to;
  std::uint64_t bytes = 0;
  std::uint64_t wrong = 0;            // Packed, Unpacked
  bool inferred = false;              // from the values, not seen
  std::optional<std::uint64_t> behind;  // Heard: the address behind the byte of the stream that was read before the first one
  std::vector<Labelled> labels;       // that it moves
  std::vector<Labelled> overwritten;  // that were where it writes
};

class Tracker;

// Who wants to see every movement.
class HopWatcher {
 public:
  virtual ~HopWatcher() = default;
  virtual void begins(std::uint32_t operation, const TrackedOperation& what) = 0;
  // `tracker` knows which bytes are where now.
  virtual void ends(std::uint32_t operation, const TrackedOperation& what, const Tracker& tracker) = 0;
  // Its number, if it is kept; otherwise labels keep those that they have.
  virtual std::uint32_t moved(const Hop& hop) = 0;
};

// Which block of which calls (Part::call).
struct Delivery {
  std::uint32_t from = 0;  // ranks
  std::uint64_t given_by = 0;
  std::size_t given = 0;  // which block
  std::uint32_t to = 0;
  std::uint64_t taken_by = 0;
  std::size_t taken = 0;
  auto operator<=>(const Delivery&) const = default;
};

struct FollowedBytes {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;     // that were to arrive
  std::uint64_t followed = 0;  // from where they were sent to where they came
  std::uint64_t inferred = 0;  // of these, somewhere by their values
};

// Memory that held a block of what an operation gives, packed by loads and stores: known only when it is given back.
struct HeldBlock {
  std::uint64_t block = 0;
  std::uint64_t address = 0;
  const std::string* site = nullptr;
};
using HeldBlocks = std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<HeldBlock>>;  // by rank and post

class Tracker {
 public:
  explicit Tracker(std::uint32_t ranks) : ranks_(ranks) {}
  void tell(HopWatcher* watcher) { watcher_ = watcher; }
  // With each block of which some bytes came from where they should: how many were to come, and did. By the shapes of both calls.
  using Delivered = std::function<void(const Delivery&, const TrackedOperation& giver, const TrackedOperation& taker, std::uint64_t bytes, std::uint64_t followed)>;
  void tell_deliveries(Delivered delivered) { delivered_ = std::move(delivered); }

  // What was found by somebody who has read the logs before.
  void know(const HeldBlocks* held) { held_ = held; }
  const HeldBlocks& found_held() const { return found_held_; }

  // Can this event be told now? No: it reads from another machine what was not written yet.
  bool is_ready(const Event& event) const;
  void add(std::uint32_t rank, const Event& event);

  std::uint64_t movements() const { return movements_; }
  // By the call that they came with.
  const std::map<std::string, FollowedBytes>& followed() const { return followed_; }
  // What could not be followed, and how often.
  const std::map<std::string, std::uint64_t>& troubles() const { return troubles_; }

  // What is in memory of this rank.
  std::vector<Labelled> labels_at(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes) const;
  // Were both under way at the same time, in the same rank? Then bytes that both send are the same.
  bool are_aliases(std::uint32_t one, std::uint32_t other) const;

 private:
  struct Mapping {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
  };
  struct Rank {
    Labels memory;
    std::vector<Mapping> mappings;  // by address
    std::uint64_t calls = 0;
    std::int64_t process = 0;
    std::uint64_t machine = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> open;  // by post
    std::vector<std::uint32_t> recent;                      // operations that send
    std::unordered_map<std::uint64_t, std::uint64_t> collectives;  // by communicator
  };
  struct StreamState {
    Labels labels;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t read_to = 0;  // the address behind the last byte that was read
  };
  // Pieces of a span of memory that lie in one space each: mostly one.
  struct Piece {
    Place place;
    std::uint64_t bytes = 0;
  };
  class Pieces {
   public:
    Pieces() = default;
    explicit Pieces(const Piece& one) { push_back(one); }
    void push_back(const Piece& piece) {
      if (size_++ == 0) first_ = piece;
      else more_.push_back(piece);
    }
    std::size_t size() const { return size_; }
    const Piece& operator[](std::size_t index) const { return index == 0 ? first_ : more_[index - 1]; }

   private:
    std::size_t size_ = 0;
    Piece first_;
    std::vector<Piece> more_;
  };

  bool is_known(std::uint32_t number) const { return number >= forgotten_; }
  const TrackedOperation& operation(std::uint32_t number) const { return operations_[number - forgotten_]; }
  TrackedOperation& operation(std::uint32_t number) { return operations_[number - forgotten_]; }
  void begin(std::uint32_t rank, const Event& event);
  void end(std::uint32_t rank, const Event& event);
  void mapped(std::uint32_t rank, const Movement& moved);
  void unmapped(std::uint32_t rank, const Movement& moved);
  void move(std::uint32_t rank, const Event& event);
  void hear(Hop& hop, std::uint32_t stream, const Movement& moved);
  void transfer(Hop& hop, const Pieces& from, const Pieces& to);
  void transfer_piece(Hop& hop);
  bool is_seen_moved(std::uint32_t rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const;
  bool is_partly_moved(std::uint32_t rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const;
  bool has_labels_since(std::uint32_t rank, std::uint64_t at, std::uint64_t bytes, std::uint64_t since) const;
  bool has_some_of(std::uint32_t which, const LoggedBlock& block, std::uint64_t address) const;
  void by_callback(std::uint32_t rank, const Event& event);
  void by_value(std::uint32_t rank, const Event& event);
  void keep_own(std::uint32_t which, std::size_t number);
  void was_packed(std::uint32_t rank, const TrackedOperation& giver, const HeldBlock& held);
  void look_at_taken(const TrackedOperation& taker, std::size_t block);
  Hop& new_hop(std::uint32_t rank, trace::IntentionRecord kind, const std::string* site);
  std::optional<std::uint32_t> giver_of(const TrackedOperation& taker, std::size_t block, std::uint32_t labelled) const;
  Pieces pieces(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes) const;
  void find_labels(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes, std::vector<Labelled>& found) const;
  Labels& labels(const Place& place);
  const Labels& labels(const Place& place) const;
  std::uint32_t stream(const std::string& name, bool reads);
  std::optional<std::uint32_t> rank_of(std::uint32_t asking, std::int64_t process) const;

  std::vector<Rank> ranks_;
  HopWatcher* watcher_ = nullptr;
  Delivered delivered_;
  std::deque<TrackedOperation> operations_;  // the last ones; labels of others mean nothing any more
  std::uint32_t forgotten_ = 0;              // that were before
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint32_t> segment_numbers_;
  std::vector<Labels> segments_;
  std::unordered_map<std::string, std::uint32_t> stream_numbers_;
  std::vector<StreamState> streams_;
  const HeldBlocks* held_ = nullptr;
  HeldBlocks found_held_;
  std::map<std::string, FollowedBytes> followed_;
  std::map<std::string, std::uint64_t> troubles_;
  std::uint64_t movements_ = 0;
  std::uint64_t events_ = 0;
  std::set<std::pair<std::uint32_t, std::size_t>> kept_own_;  // operations and blocks
  Hop hop_;                                                  // its vectors are used again
  mutable std::vector<Labelled> source_, target_;            // the same
};

// Which of the blocks that `giver` gives is block `number` of what `taker` takes.
std::optional<std::size_t> given_block(const LoggedShape& giver, const LoggedShape& taker, std::size_t number);

}  // namespace reprise::flow
