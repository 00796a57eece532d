#include "cli/nodes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "analyze/number_set.hpp"
#include "base/text.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"
#include "cli/trace_notes.hpp"
#include "engine/arrival_counter.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {

namespace {

std::vector<TracedNode> nodes_in(int dir_fd, const trace::Manifest& manifest) {
  std::vector<TracedNode> nodes;
  for (const TraceNote& note : read_trace_notes(dir_fd, manifest)) {
    const std::vector<std::string> words = split(note.text, ':');
    if (note.key != "node" || words.size() < 3) continue;
    const auto domain = parse_number(words[0]), node = parse_number(words[1]), thread = parse_number(words[2]);
    if (!domain || !node || !thread) continue;
    nodes.push_back({static_cast<std::uint32_t>(*domain), static_cast<std::uint32_t>(*node), note.rank, static_cast<std::uint32_t>(*thread),
                     words.size() > 3 ? words[3] : "", words.back() == "values"});
  }
  return nodes;
}

// A script that starts the nodes is no rank: the first process of theirs is rank 0 then, which the list of nodes has.
bool starter_is_rank(const OpenTrace& trace) {
  const auto list = read_file_at(trace.fd.get(), "nodes", 1u << 20, true);
  for (const std::string& line : split(list ? *list : "", '\n')) {
    const std::vector<std::string> words = split(line, '\t');
    if (words.size() > 1 && words[1] == "0") return false;
  }
  return true;
}

}  // namespace

std::vector<TracedNode> nodes_of(const OpenTrace& trace) { return nodes_in(trace.fd.get(), trace.manifest); }

NodeTotals totals_of_nodes(int dir_fd, const trace::Manifest& manifest, const std::vector<std::uint32_t>& ranks) {
  NodeTotals totals{nodes_in(dir_fd, manifest).size(), 0};
  for (const std::uint32_t rank : ranks)
    for (const std::uint32_t thread : trace::streams_of(dir_fd, rank))
      if (const auto log = trace::RankReader::open(dir_fd, rank, manifest.trace_id, thread)) totals.calls += log->total_events();
  return totals;
}

ChosenNodes::ChosenNodes(const OpenTrace& trace, const std::string& list) {
  if (trace.manifest.mpi != kMcapi) return;
  nodes_ = nodes_of(trace);
  if (list.empty()) return;
  const analyze::NumberSet wanted = value_or_fail(analyze::NumberSet::parse(list));
  for (const TracedNode& node : nodes_) chosen_.push_back(wanted.contains(node.node));
  any_ = std::find(chosen_.begin(), chosen_.end(), true) != chosen_.end();
}

bool ChosenNodes::shows(std::uint32_t rank, std::uint32_t thread) const {
  if (!any_) return true;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (chosen_[i] && nodes_[i].rank == rank && nodes_[i].thread == thread) return true;
  return false;
}

std::string ChosenNodes::name_of(std::uint32_t rank, std::uint32_t thread) const {
  std::string name;
  for (const TracedNode& node : nodes_) {
    if (node.rank != rank || node.thread != thread) continue;
    const std::string one = node.domain == 0 ? std::to_string(node.node) : fmt::format("{}:{}", node.domain, node.node);
    name += name.empty() ? one : ", " + one;
  }
  return name;
}

std::vector<std::uint32_t> ranks_for_nodes(const OpenTrace& trace, const std::string& list) {
  const std::vector<TracedNode> nodes = nodes_of(trace);
  const analyze::NumberSet wanted = value_or_fail(analyze::NumberSet::parse(list == "all" ? "0-" : list));
  std::vector<std::uint32_t> ranks;
  if (starter_is_rank(trace)) ranks.push_back(0);
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

std::size_t nodes_in_list(const OpenTrace& trace, const std::string& list) {
  if (list.empty()) return 0;
  const analyze::NumberSet wanted = value_or_fail(analyze::NumberSet::parse(list == "all" ? "0-" : list));
  const std::vector<TracedNode> nodes = nodes_of(trace);
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const TracedNode& one) { return wanted.contains(one.node); }));
}

// What a replay must know before the program can tell it.
Variables settings_for_nodes(const OpenTrace& trace) {
  const std::vector<TracedNode> nodes = nodes_of(trace);
  Variables settings{{"REPRISE_NODES", "1"}, {"REPRISE_RANKS", std::to_string(trace.manifest.ranks)}};
  if (!nodes.empty()) settings.emplace_back("REPRISE_IDENTIFY", nodes.front().messages);
  return settings;
}

void make_arrivals(int dir_fd) {
  const UniqueFd file(::openat(dir_fd, kArrivals, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file || ::ftruncate(file.get(), sizeof(engine::ArrivalCounter)) != 0) fail("cannot make the file that counts arrivals: {}", error_text(errno));
}

bool has_arrivals(const OpenTrace& trace) { return ::faccessat(trace.fd.get(), kArrivals, F_OK, 0) == 0; }

void check_debugged_node(const OpenTrace& trace, const std::string& list) {
  const std::vector<std::uint32_t> ranks = ranks_for_nodes(trace, list);
  if (!starter_is_rank(trace) || ranks != std::vector<std::uint32_t>{0})
    fail("replay: a debugger holds the program that is started, and node {} was a process that it started; let that wait (a loop at its beginning) and "
         "attach gdb to it in a replay without --gdb", list);
}

void check_mode(const OpenTrace& trace, const std::string& mode) {
  if (mode.empty()) return;
  if (trace.manifest.mpi != kMcapi) fail("replay: --mode is for MCAPI programs, and {} is a trace of {}", printable(trace.path), mpi_title(trace.manifest.mpi));
  const std::string_view recorded = has_arrivals(trace) ? "sender" : "receiver";
  if (mode == "sender" && recorded == "receiver")
    fail("{} was recorded in mode receiver, which keeps no order of all arrivals; record it with `reprise record --mode sender`", printable(trace.path));
}

}  // namespace reprise::cli
