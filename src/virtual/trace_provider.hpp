// The trace as a provider: a rank's log says who is in a new communicator, its data what each call brought.
#pragma once

#include <unordered_map>

#include "virtual/provider.hpp"

namespace reprise::virtual_world {

// Who is in MPI_COMM_WORLD, and its attributes, as stored: rank, ranks, then per attribute whether it is set, and it.
inline constexpr std::size_t kWorldFields = 2 + 2 * static_cast<std::size_t>(Attribute::kCount);

class TraceProvider final : public Provider {
 public:
  // Reads the first entry. Does not return if there is none.
  void begin();
  // Reads all values once, for tag().
  void learn_tags();

  int rank() override { return rank_; }
  int ranks() override { return ranks_; }
  std::optional<std::int64_t> attribute(Attribute which) override {
    return attributes_[static_cast<std::size_t>(which)];
  }
  std::optional<Communicator> new_communicator() override;

  // The call that is being made brings something.
  Outcome call();
  // The call that is being made brings nothing: its outcome, if it failed. `number` tells such calls apart.
  std::optional<Outcome> failure(std::int64_t number);
  // What the call that is being made should send.
  Message sent();
  // The tag of the message that this receive will get, if that is known already.
  std::optional<int> tag(Ticket ticket);
  Outcome completion(Ticket ticket);
  Outcome partition(Ticket ticket, int partition);
  // The program has given its request back before it was complete. Its outcome, if it is there; otherwise it will come
  // through `arrived` when it is.
  std::optional<Outcome> freed(Ticket ticket);
  void (*arrived)(Ticket ticket, const Outcome& outcome) = nullptr;

 private:
  void deliver_arrived();

  int rank_ = 0;
  int ranks_ = 1;
  std::unordered_map<Ticket, int> tags_;
  std::optional<std::int64_t> attributes_[static_cast<std::size_t>(Attribute::kCount)];
};

// How an outcome's status is stored: these fields follow each other. Of a call without one, only the first.
struct StoredOutcome {
  static constexpr std::size_t kFields = 7;
  static std::size_t put(std::int64_t* fields, int error, const Status* status);
  // `first`: where they begin. What follows them becomes the outcome's numbers.
  static Outcome take(const std::vector<std::int64_t>& fields, std::size_t first, std::vector<Part> parts);
};

}  // namespace reprise::virtual_world
