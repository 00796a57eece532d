// Who answers for the processes that are not there.
//
// The virtual world (world.hpp) knows who is in which communicator; who that is, is a provider's to say. In solo replay
// that is the trace (trace_provider.hpp), which has all messages as well. In an explored rank it is an explorer that runs
// all of them and matches their messages (actor.hpp).
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

 protected:
  ~Provider() = default;
};

}  // namespace reprise::virtual_world
