// What an exploration has found: each thing once, with the first order that shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/source_lines.hpp"
#include "cli/reported_finding.hpp"
#include "explore/addresses.hpp"
#include "explore/run.hpp"

namespace reprise::cli {

// Functions and source lines of a program that is explored.
class PlaceNamer {
 public:
  explicit PlaceNamer(const virtual_world::Stage* stage) : stage_(stage), addresses_(stage->server_pid) {}
  std::string line(std::uint64_t site);
  const analyze::SourceLine& source(std::uint64_t site);
  std::string function(std::uint32_t number) const;
  // What it waits for, and who has that.
  std::string detail(const explore::Place& place);

 private:
  const virtual_world::Stage* stage_;
  explore::Addresses addresses_;
  analyze::SourceLines lines_;
};

struct Finding {
  explore::Problem problem;
  explore::Buffering buffering = explore::Buffering::Infinite;
  std::uint64_t order = 0;             // the first
  std::uint64_t count = 1;             // in how many
  std::vector<std::uint32_t> options;  // that lead there
  std::string saved;                   // a trace
};

// The options that a run took.
std::vector<std::uint32_t> options_of(const explore::RunResult& result);

class Findings {
 public:
  void add(const explore::RunResult& result, explore::Buffering buffering, std::uint64_t order);

  bool any() const { return !all_.empty(); }
  std::vector<Finding>& all() { return all_; }
  const std::vector<Finding>& all() const { return all_; }
  void print(std::uint64_t orders, double seconds, PlaceNamer& namer) const;
  nlohmann::json json(PlaceNamer& namer) const;
  std::vector<ReportedFinding> reported(PlaceNamer& namer) const;

 private:
  std::vector<Finding> all_;
};

}  // namespace reprise::cli
