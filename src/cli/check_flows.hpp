// reprise check --flows: where inside the library bytes went wrong.
#pragma once

#include <map>

#include <nlohmann/json_fwd.hpp>

#include "cli/trace_dir.hpp"
#include "flow/related.hpp"
#include "flow/verdict.hpp"

namespace reprise::cli {

// What the first reading of the logs tells about the library's movements.
struct FlowSums {
  bool any = false;  // were they followed?
  std::map<std::string, flow::FollowedBytes> followed;  // by call
  std::map<std::string, std::uint64_t> lost;            // why, and how often
  std::uint64_t movements = 0;
  flow::RelatedDeliveries related;
  flow::HeldBlocks held;

  flow::FollowedBytes all() const;
};

struct FlowFinding {
  struct Site {
    std::string function, module;
    std::uint64_t offset = 0;  // in the module
    void add_to(nlohmann::json& out) const;
  };
  std::vector<std::string> words;  // lines
  std::string verdict;             // "broken", "misdirected", "unknown"
  std::string movement;            // that is blamed
  Site site;
  std::vector<Site> or_else;       // where else it may be
  std::uint32_t rank = 0;
  std::size_t hop = 0;
  std::vector<std::string> way;
  bool changes_sent = false;  // the movement has written to the send buffer
  nlohmann::json as_json() const;
};

// By number of the violation. Reads the logs again. Where it was the library that changed a send buffer, the program is not
// blamed any more.
std::map<std::size_t, FlowFinding> find_flows(const OpenTrace& trace, flow::Verdict& verdict, const FlowSums& sums);

// Lines for the end of a run.
std::vector<std::string> summary_of(const FlowSums& sums);
nlohmann::json as_json(const FlowSums& sums);

}  // namespace reprise::cli
