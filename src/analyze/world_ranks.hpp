// Ranks of a communicator as world ranks, by the definitions in a rank's log.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/call_stream.hpp"

namespace reprise::analyze {

class WorldRanks {
 public:
  // `communicators` are those of the log, and may have grown since the last call.
  //
  // Whom `rank` means as a peer on communicator `number` (of the remote group, for an intercommunicator). nullopt when
  // the log does not say it: an unknown communicator, a wildcard, a member outside of MPI_COMM_WORLD.
  std::optional<std::uint32_t> peer(const std::vector<engine::CommunicatorRecord>& communicators, std::int64_t number,
                                    std::int64_t rank);

  // All members of both groups; empty when the log does not say them all.
  static std::vector<std::uint32_t> members(const engine::CommunicatorRecord& communicator);

 private:
  // Members may be thousands of ranges, and a peer is asked for with every message: where each range begins.
  std::vector<std::vector<std::uint64_t>> starts_;
};

}  // namespace reprise::analyze
