// The windows of this rank, for the files that serve them.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "frontends/mpi/border/windows.hpp"

namespace reprise::mpi {

struct Windows {
  std::atomic_flag lock;
  std::map<std::uint64_t, std::shared_ptr<BorderWindow>> all;  // by handle
  std::int64_t made = 0;
  std::atomic<std::uint32_t> accesses{0};  // of this rank, to whatever window
  std::uint64_t shadows = 0;               // bytes, of windows that are gone
};
Windows& windows();
std::shared_ptr<BorderWindow> find_window(MPI_Win win);

// What ranks that are replayed together count accesses with (Companions).
inline constexpr std::uint64_t kAccesses = UINT64_MAX;

}  // namespace reprise::mpi
