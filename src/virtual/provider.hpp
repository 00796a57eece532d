// Who answers for the processes that are not there.
//
// The virtual world (world.hpp) knows who is in which communicator; what the others do is a provider's to say. In solo
// replay that is the trace (trace_provider.hpp). An explorer that runs all ranks and matches their messages can stand
// in the same place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "virtual/world.hpp"

namespace reprise::virtual_world {

// What MPI_Comm_get_attr says about MPI_COMM_WORLD, and differs from run to run.
enum class Attribute : std::uint8_t { TagUb, Host, Io, WtimeIsGlobal, UniverseSize, Appnum, kCount };

using Part = std::shared_ptr<const std::vector<std::uint8_t>>;

struct Status {
  int source = 0;
  int tag = 0;
  std::int64_t bytes = 0;
  bool cancelled = false;
  int error = 0;
};

// What a call, or an operation with a request, brought.
struct Outcome {
  int error = 0;  // in the MPI library's own words
  std::optional<Status> status;
  std::vector<Part> parts;            // the bytes of each buffer that it wrote
  std::vector<std::int64_t> numbers;  // what else it said
};

// What leaves this rank, as far as it can be compared.
struct Message {
  std::int64_t bytes = 0;
  std::uint32_t digest = 0;
  bool operator==(const Message&) const = default;
};

// Operations with a request are known by this number; it counts those that were made active.
using Ticket = std::uint64_t;

class Provider {
 public:
  virtual int rank() = 0;
  virtual int ranks() = 0;
  virtual std::optional<std::int64_t> attribute(Attribute which) = 0;
  // The call that is being made creates a communicator. nullopt: this rank is not in it.
  virtual std::optional<Communicator> new_communicator() = 0;
  // The call that is being made brings something.
  virtual Outcome call() = 0;
  // The call that is being made brings nothing: its outcome, if it failed. `number` tells such calls apart.
  virtual std::optional<Outcome> failure(std::int64_t number) = 0;
  // What the call that is being made should send.
  virtual Message sent() = 0;
  // The tag of the message that this receive will get, if that is known already.
  virtual std::optional<int> tag(Ticket ticket) = 0;
  virtual Outcome completion(Ticket ticket) = 0;
  virtual Outcome partition(Ticket ticket, int partition) = 0;
  // The program has given its request back before it was complete. Its outcome, if it is there; otherwise it will come
  // through `arrived` when it is.
  virtual std::optional<Outcome> freed(Ticket ticket) = 0;
  void (*arrived)(Ticket ticket, const Outcome& outcome) = nullptr;

 protected:
  ~Provider() = default;
};

}  // namespace reprise::virtual_world
