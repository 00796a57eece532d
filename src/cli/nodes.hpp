// The nodes of an MCAPI program: which rank and thread each was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/launch.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

struct TracedNode {
  std::uint32_t domain = 0;
  std::uint32_t node = 0;
  std::uint32_t rank = 0;
  std::uint32_t thread = 0;
  std::string messages;  // how they were known: frontends/mcapi/identity.hpp
  bool has_values = false;
};
std::vector<TracedNode> nodes_of(const OpenTrace& trace);

// The ranks that must run so that just these nodes do ("all", or a list like "2,4-6"). Throws UserError: one was not recorded, or
// without its values.
std::vector<std::uint32_t> ranks_for_nodes(const OpenTrace& trace, const std::string& list);

Variables settings_for_nodes(const OpenTrace& trace);

// Sender-based record and replay: the file that counts arrivals. The one in a trace says that it was recorded so.
inline constexpr const char* kArrivals = "arrivals";
void make_arrivals(int dir_fd);
bool has_arrivals(const OpenTrace& trace);
// What the user wants, and what the trace is. Throws UserError.
void check_mode(const OpenTrace& trace, const std::string& mode);

}  // namespace reprise::cli
