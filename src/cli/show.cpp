// reprise show: what a recorded run did, call by call.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "report/trace_view.hpp"

namespace reprise::cli {

namespace {

constexpr std::uint64_t kTableLimit = 100;  // calls per rank that a person reads at once

struct Options {
  std::string trace;
  std::vector<std::uint32_t> ranks;  // empty: all
  std::optional<std::uint64_t> limit;
  bool json = false;

  std::uint64_t calls_per_rank() const {
    const std::uint64_t wanted = limit.value_or(json ? 0 : kTableLimit);
    return wanted == 0 ? UINT64_MAX : wanted;
  }
};

// Shows one rank; false when its log cannot be read to the end.
bool show_rank(const OpenTrace& trace, const analyze::RankEnd& rank, std::uint64_t limit, analyze::SourceLines& lines,
               report::TraceView& view) {
  view.begin_rank(rank);
  auto timeline = analyze::Timeline::open(trace.fd.get(), rank.rank, trace.manifest.trace_id);
  if (!timeline) {
    view.end_rank(0, timeline.error().what);
    return false;
  }
  std::size_t communicators = 0;
  std::size_t notes = 0;
  const auto show_definitions = [&] {
    for (; communicators < timeline->communicators().size(); ++communicators)
      view.communicator(communicators, timeline->communicators()[communicators]);
    for (; notes < timeline->notes().size(); ++notes) view.note(timeline->notes()[notes]);
  };
  for (std::uint64_t shown = 0;; ++shown) {
    if (shown == limit) {
      view.end_rank(rank.calls > shown ? rank.calls - shown : 0, "");
      return true;
    }
    const auto call = timeline->next();
    show_definitions();
    if (!call || !*call) {
      view.end_rank(0, call ? "" : call.error().what);
      return static_cast<bool>(call);
    }
    const engine::ModuleDefinition& module = timeline->module_of(**call);
    view.call(**call, timeline->function_of(**call).name,
              lines.find(module.path, module.build_id, timeline->site_of(**call).offset));
  }
}

int show(const Options& options) {
  const OpenTrace trace = open_trace(options.trace);
  for (const std::uint32_t rank : options.ranks)
    if (!std::binary_search(trace.ranks.begin(), trace.ranks.end(), rank))
      fail("{} has no log of rank {} (it has {})", printable(trace.path), rank,
           trace.ranks.empty() ? "none" : number_ranges(trace.ranks));
  const analyze::RunEnd end = analyze::read_run_end(trace.fd.get(), trace.manifest, trace.ranks);
  const auto view = options.json ? report::json_view() : report::table_view(report::Paint(STDOUT_FILENO));
  analyze::SourceLines lines;
  bool readable = true;
  view->begin(trace.path, trace.manifest, end);
  for (const analyze::RankEnd& rank : end.ranks) {
    const bool wanted = options.ranks.empty() ||
                        std::find(options.ranks.begin(), options.ranks.end(), rank.rank) != options.ranks.end();
    if (wanted && !show_rank(trace, rank, options.calls_per_rank(), lines, *view)) readable = false;
  }
  view->end();
  if (std::fflush(stdout) != 0) fail("cannot write to stdout: {}", error_text(errno));
  return readable ? 0 : kTrouble;
}

}  // namespace

int show_command(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Shows what a recorded run did: how it ended, and every call of every rank with its outcome and source line.",
      "show");
  set_manners(app, "[DIR] [OPTIONS]");
  app.add_option("DIR", options.trace, "The trace (default: the latest in ./reprise.d)")->type_name("");
  app.add_option("-r,--rank", options.ranks, "Only these ranks")
      ->type_name("R")
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("-n,--limit", options.limit, "At most N calls per rank; 0: all (default: 100, with --json all)")
      ->type_name("N");
  app.add_flag("--json", options.json, "One JSON object in place of tables");
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parse(app, line.own)) return *status;
  if (!line.command.empty()) fail("show: nothing goes after \"--\" (see reprise show -h)");
  return show(options);
}

}  // namespace reprise::cli
