#include "cli/explore_save.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "analyze/run_end.hpp"
#include "base/text.hpp"
#include "cli/leftovers.hpp"
#include "cli/run_manifest.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

using explore::Category;

namespace {

// As a run with this problem would end.
int exit_status_of(const explore::Problem& problem) {
  switch (problem.category) {
    case Category::Assertion:
    case Category::Crash: return 128 + static_cast<int>(problem.number);
    case Category::Failure:
    case Category::Abort:
      return static_cast<int>(problem.number & 0xff) != 0 ? static_cast<int>(problem.number & 0xff) : 1;
    case Category::Deadlock:
    case Category::Livelock:
    case Category::Mismatch:
    case Category::MpiError:
    case Category::InvalidArgument:
    case Category::Truncation:
    case Category::Stalled:
    case Category::Unstable: return 1;
    default: return 0;  // nobody but us saw it
  }
}

// Of an order that is kept for itself, nothing is expected.
bool shows(const explore::RunResult& result, const Finding& finding) {
  const explore::Problem& problem = finding.problem;
  if (problem.places.empty()) return true;
  return std::any_of(result.problems.begin(), result.problems.end(), [&](const explore::Problem& again) {
    return again.category == problem.category && again.places.size() == problem.places.size();
  });
}

}  // namespace

void name_assertion(Finding& finding, int dir_fd) {
  if (finding.problem.category != Category::Crash || finding.problem.number != SIGABRT) return;
  const auto said = read_file_at(dir_fd, fmt::format("rank-{}.err", finding.problem.places[0].rank), 1u << 20, false);
  if (!said) return;
  for (const std::string_view line : split(*said, '\n'))
    if (line.find("ssertion") != std::string_view::npos) {
      finding.problem.category = Category::Assertion;
      finding.problem.words = printable(line);
      return;
    }
}

const std::string& OrderKeeper::home() {
  if (!home_) {
    home_ = make_trace_directory(wanted_, name_);
    set_latest(*home_);
  }
  return home_->path;
}

std::string OrderKeeper::keep(Finding& finding, int ranks, OrderFacts facts, const Play& play) {
  const NewTrace order = make_trace_directory(fmt::format("{}/order-{}", home(), finding.order), "");
  const int dir_fd = order.fd.get();
  trace::Manifest manifest = describe_run(command_, mpi_);
  manifest.explored = true;
  value_or_fail(trace::write_manifest(dir_fd, manifest));
  const auto started = std::chrono::steady_clock::now();
  const explore::RunResult result = play(order.absolute, manifest.trace_id);
  manifest.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  seal_ranks(dir_fd, manifest.trace_id, {});
  const auto logs = ranks_with_logs(dir_fd);
  if (!shows(result, finding) || logs.empty()) {
    say("order {} did not show the same again, and is not kept", finding.order);
    return "";
  }
  if (!finding.problem.places.empty()) name_assertion(finding, dir_fd);
  manifest.ranks = static_cast<std::uint32_t>(ranks);
  manifest.logs = static_cast<std::uint32_t>(logs.size());
  manifest.mpi_library = mpi_library_of(dir_fd, manifest.trace_id, logs.front());
  manifest.complete = true;
  const bool fails = !finding.problem.places.empty();
  manifest.exit_status = fails ? exit_status_of(finding.problem) : 0;
  manifest.ended = fails ? engine::category_name(finding.problem.category) : "exit status 0";
  facts.options = finding.options;
  facts.buffering = finding.buffering;
  // An assertion was a crash until now.
  if (fails && !facts.categories.empty()) facts.categories[0] = engine::category_name(finding.problem.category);
  facts.has_windows = result.has_windows;
  write_order_facts(dir_fd, facts);
  if (!finding.problem.words.empty()) manifest.ended += ": " + finding.problem.words;
  if (const auto notes = read_file_at(dir_fd, "notes", 8u << 20, false)) manifest.notes = *notes;
  value_or_fail(trace::write_manifest(dir_fd, manifest));
  ::unlinkat(dir_fd, "notes", 0);
  remember(manifest);
  return order.path;
}

}  // namespace reprise::cli
