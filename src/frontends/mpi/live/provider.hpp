// Who answers for the other ranks while they are explored: the stage they act on.
#pragma once

#include <optional>
#include <utility>

#include "virtual/actor.hpp"
#include "virtual/provider.hpp"

namespace reprise::mpi::live {

class LiveProvider final : public virtual_world::Provider {
 public:
  virtual_world::Actor actor;
  // What the call that is being made has worked out.
  std::optional<virtual_world::Communicator> next;

  int rank() override { return actor.rank(); }
  int ranks() override { return actor.ranks(); }
  std::optional<std::int64_t> attribute(virtual_world::Attribute which) override;
  std::optional<virtual_world::Communicator> new_communicator() override { return std::exchange(next, std::nullopt); }
};

LiveProvider& live_provider();

}  // namespace reprise::mpi::live
