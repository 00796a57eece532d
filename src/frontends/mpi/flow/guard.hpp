// Memory that a call must leave alone: behind its receive buffers, in the holes of their types, and behind a message that
// is shorter than the buffer. Only around calls that do not return before they are complete, in programs with one thread: otherwise the
// program may write there itself. What other operations are under way for is left out.
#pragma once

#include "frontends/mpi/flow/log.hpp"

namespace reprise::mpi::flow {

class Guard {
 public:
  // Before the call. `status`: what else it writes.
  Guard(std::span<const Block> takes, std::span<const Block> gives, const void* status, std::size_t status_bytes);
  // After it: the first `bytes` bytes of the first block were to be written (UINT64_MAX: all of all blocks). Remarks
  // are written about what should not have changed.
  void look(std::uint64_t bytes) const;

 private:
  struct Kept {
    std::size_t block = 0;
    const std::uint8_t* from = nullptr;
    std::size_t size = 0;
    std::size_t at = 0;  // in the copy
    bool behind = false;
  };
  void keep(std::size_t block, const std::uint8_t* from, const std::uint8_t* to, bool behind);

  static constexpr std::size_t kMostBlocks = 8;
  static constexpr std::size_t kRoom = 8192;
  std::span<const Block> takes_;
  std::size_t kept_count_ = 0;
  std::size_t used_ = 0;
  Kept kept_[3 * kMostBlocks];
  std::uint8_t copy_[kRoom];
};

}  // namespace reprise::mpi::flow
