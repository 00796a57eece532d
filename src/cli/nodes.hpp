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

// Which nodes to show: a node is a rank where there is one of that number.
class ChosenNodes {
 public:
  // An empty list: all. Throws UserError.
  ChosenNodes(const OpenTrace& trace, const std::string& list);
  bool any() const { return any_; }
  bool shows(std::uint32_t rank, std::uint32_t thread) const;
  // "4", or "1:4" in another domain than 0, or several of them; empty: that thread was none.
  std::string name_of(std::uint32_t rank, std::uint32_t thread) const;

 private:
  std::vector<TracedNode> nodes_;
  std::vector<bool> chosen_;
  bool any_ = false;
};

// How many nodes a run had, and how many calls all its threads made.
struct NodeTotals {
  std::size_t nodes = 0;
  std::uint64_t calls = 0;
};
NodeTotals totals_of_nodes(int dir_fd, const trace::Manifest& manifest, const std::vector<std::uint32_t>& ranks);

// The ranks that must run so that just these nodes do ("all", or a list like "2,4-6"). Throws UserError: one was not recorded, or
// without its values.
std::vector<std::uint32_t> ranks_for_nodes(const OpenTrace& trace, const std::string& list);

std::size_t nodes_in_list(const OpenTrace& trace, const std::string& list);

Variables settings_for_nodes(const OpenTrace& trace);

// Sender-based record and replay: the file that counts arrivals. The one in a trace says that it was recorded so.
inline constexpr const char* kArrivals = "arrivals";
void make_arrivals(int dir_fd);
bool has_arrivals(const OpenTrace& trace);
// A debugger starts the program, and follows no child of it. Throws UserError if that is where the nodes are.
void check_debugged_node(const OpenTrace& trace, const std::string& list);
// What the user wants, and what the trace is. Throws UserError.
void check_mode(const OpenTrace& trace, const std::string& mode);

}  // namespace reprise::cli
