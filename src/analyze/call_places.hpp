// Where in the source some calls of a trace are: for reports that know them by their numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "analyze/source_lines.hpp"
#include "base/result.hpp"

namespace reprise::analyze {

class CallPlaces {
 public:
  void want(std::uint32_t rank, std::uint32_t thread, std::uint64_t call) { places_[{rank, thread, call}]; }
  // Reads each log that one is wanted of, once.
  Result<void> read(int dir_fd, std::uint64_t trace_id);
  // "MPI_Put at work.c:17 (main)"; empty if the log ends before.
  const std::string& text(std::uint32_t rank, std::uint32_t thread, std::uint64_t call) const { return places_.at({rank, thread, call}); }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::string> places_;
};

}  // namespace reprise::analyze
