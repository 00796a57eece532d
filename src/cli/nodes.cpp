#include "cli/nodes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "analyze/number_set.hpp"
#include "base/text.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"
#include "cli/trace_notes.hpp"

namespace reprise::cli {

std::vector<TracedNode> nodes_of(const OpenTrace& trace) {
  std::vector<TracedNode> nodes;
  for (const TraceNote& note : read_trace_notes(trace.fd.get(), trace.manifest)) {
    const std::vector<std::string> words = split(note.text, ':');
    if (note.key != "node" || words.size() < 3) continue;
    const auto domain = parse_number(words[0]), node = parse_number(words[1]), thread = parse_number(words[2]);
    if (!domain || !node || !thread) continue;
    nodes.push_back({static_cast<std::uint32_t>(*domain), static_cast<std::uint32_t>(*node), note.rank, static_cast<std::uint32_t>(*thread),
                     words.size() > 3 ? words[3] : "", words.back() == "values"});
  }
  return nodes;
}

std::vector<std::uint32_t> ranks_for_nodes(const OpenTrace& trace, const std::string& list) {
  const std::vector<TracedNode> nodes = nodes_of(trace);
  const analyze::NumberSet wanted = value_or_fail(analyze::NumberSet::parse(list == "all" ? "0-" : list));
  std::vector<std::uint32_t> ranks{0};  // starts the others
  constexpr std::uint64_t kLongest = 4096;  // longer lists, and those without an end, mean whatever is there
  for (const auto& [first, last] : wanted.ranges())
    for (std::uint64_t number = first; last - first < kLongest && number <= last; ++number) {
      const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const TracedNode& one) { return one.node == number; });
      if (found == nodes.end()) fail("there was no node {} in the recorded run", number);
    }
  for (const TracedNode& one : nodes)
    if (wanted.contains(one.node) && !one.has_values)
      fail("node {} cannot be replayed alone: its values were not recorded; record it with `reprise record --data {}`", one.node, one.node);
  for (const TracedNode& one : nodes)
    if (wanted.contains(one.node) && std::find(ranks.begin(), ranks.end(), one.rank) == ranks.end()) ranks.push_back(one.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// What a replay must know before the program can tell it.
Variables settings_for_nodes(const OpenTrace& trace) {
  const std::vector<TracedNode> nodes = nodes_of(trace);
  Variables settings{{"REPRISE_NODES", "1"}, {"REPRISE_RANKS", std::to_string(trace.manifest.ranks)}};
  if (!nodes.empty()) settings.emplace_back("REPRISE_IDENTIFY", nodes.front().messages);
  return settings;
}

void make_arrivals(int dir_fd) {
  constexpr off_t kSize = 16;  // frontends/mcapi/arrivals.cpp
  const UniqueFd file(::openat(dir_fd, kArrivals, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file || ::ftruncate(file.get(), kSize) != 0) fail("cannot make the file that counts arrivals: {}", error_text(errno));
}

bool has_arrivals(const OpenTrace& trace) { return ::faccessat(trace.fd.get(), kArrivals, F_OK, 0) == 0; }

void check_mode(const OpenTrace& trace, const std::string& mode) {
  if (mode.empty()) return;
  if (trace.manifest.mpi != kMcapi) fail("replay: --mode is for MCAPI programs, and {} is a trace of {}", printable(trace.path), mpi_title(trace.manifest.mpi));
  const std::string_view recorded = has_arrivals(trace) ? "sender" : "receiver";
  if (mode == "sender" && recorded == "receiver")
    fail("{} was recorded in mode receiver, which keeps no order of all arrivals; record it with `reprise record --mode sender`", printable(trace.path));
}

}  // namespace reprise::cli
