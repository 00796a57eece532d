// A search that was stopped, so that it can go on later.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/explore_reductions.hpp"
#include "explore/matcher.hpp"

namespace reprise::cli {

struct SavedSearch {
  // What was asked for.
  std::vector<std::string> command;
  int ranks = 0;
  std::string mpi;
  std::string buffering;
  std::uint32_t poll_bound = 0;
  ReductionOptions reductions;
  // What is known.
  bool regions = false;
  std::set<std::uint64_t> cancelled_sites;
  std::uint64_t orders = 0;
  // What is left.
  struct Mode {
    explore::Buffering buffering = explore::Buffering::Infinite;
    std::vector<std::vector<std::uint32_t>> left;
  };
  std::vector<Mode> modes;

  // Both throw UserError. `directory`: of the exploration.
  void write(const std::string& directory) const;
  static SavedSearch read(const std::string& directory);
};

}  // namespace reprise::cli
