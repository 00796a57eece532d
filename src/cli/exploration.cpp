#include "cli/exploration.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/early_reads.hpp"
#include "cli/findings_files.hpp"
#include "cli/job.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "explore/private_files.hpp"

namespace reprise::cli {
namespace {

using explore::Buffering;

std::vector<Buffering> modes_of(const std::string& name) {
  if (name == "none") return {Buffering::None};
  if (name == "infinite") return {Buffering::Infinite};
  if (name == "mixed") return {Buffering::Mixed};
  if (name == "all") return {Buffering::Infinite, Buffering::None, Buffering::Mixed};
  return {Buffering::Infinite, Buffering::None};
}

// One line of JSON per order: who took what.
std::string order_line(std::uint64_t order, Buffering buffering, const explore::RunResult& result) {
  nlohmann::json line{
      {"order", order}, {"buffering", buffering_name(buffering)}, {"taken", result.taken}, {"blocked", result.blocked}};
  if (!result.output.empty()) line["output"] = result.output;
  for (const explore::Problem& problem : result.problems)
    line["problems"].push_back(engine::category_name(problem.category));
  return line.dump();
}

}  // namespace

Exploration::Exploration(const ExplorationOptions& options, const std::vector<std::string>& command,
                         SavedSearch resumed)
    : options_(options),
      ignored_("explore", options.ignored),
      command_(command),
      mpi_(choose_mpi(command, options.mpi)),
      troupe_(command, mpi_, options.ranks, options.workers) {
  regions_ = resumed.regions;
  cancelled_sites_ = resumed.cancelled_sites;
  before_ = resumed.orders;
  resumed_ = std::move(resumed);
  if (!options.list.empty()) list_.open(options.list, std::ios::trunc);
  if (!options.list.empty() && !list_) fail("cannot write {}", printable(options.list));
}

int Exploration::run() {
  const bool ready = troupe_.await_readiness(std::max(60.0, options_.step_seconds));
  namer_.emplace(troupe_.stage(0));
  started_ = std::chrono::steady_clock::now();
  if (!ready) {
    const virtual_world::Stage& stage = *troupe_.stage(0);
    explore::RunResult result;
    result.problems.push_back({explore::Category::OutsideMpi,
                               {{0, 0, stage.early_site, stage.early_function, "", 0}},
                               0,
                               "before MPI_Init",
                               false});
    findings_.add(result, Buffering::Infinite, 0);
    return report();
  }
  for (const Buffering buffering : modes_of(options_.buffering))
    while (!interrupted_ && trouble_.empty() && !explore(buffering)) {}
  if (!trouble_.empty()) fail("{}", printable(trouble_));
  if (const auto trouble = troupe_.trouble(); trouble && !interrupted_) fail("{}", *trouble);
  look_for_early_reads();
  save();
  return report();
}

void Exploration::look_for_early_reads() {
  if (interrupted_ || results_.empty() || ignored_.contains(explore::Category::ReceiveBufferRead)) return;
  const Buffering buffering = results_.front().buffering;
  explore::RunOptions run = run_options(buffering);
  const TemporaryDirectory files;  // runs that nobody has asked for make no new files
  run.files = files.path() + "/files";
  const explore::RunResult result = find_early_reads(troupe_.stage(0), run, *namer_);
  if (!result.problems.empty()) findings_.add(result, buffering, 1);
}

bool Exploration::explore(Buffering buffering) {
  Findings found = findings_;
  std::optional<Finding> wanted;
  std::set<std::uint64_t> cancelled = cancelled_sites_;
  std::mutex mutex;
  if (list_) list_.flush();
  const auto listed = list_ ? list_.tellp() : std::streampos(0);
  explore::Limits limits;
  if (options_.max_orders > 0) limits.orders = options_.max_orders;
  if (options_.max_seconds > 0)
    limits.deadline = started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                     std::chrono::duration<double>(options_.max_seconds));
  const ReductionOptions& reductions = options_.reductions;
  const auto guide = make_guide(reductions, options_.ranks, regions_, *namer_);
  std::atomic<bool> has_regions{regions_};
  std::atomic<std::uint64_t> walks{0};
  const auto visit = [&](std::uint64_t order, explore::RunResult& result) {
    if (list_) list_ << order_line(before_ + order, buffering, result) << '\n';
    std::erase_if(result.problems,
                  [&](const explore::Problem& problem) { return ignored_.contains(problem.category); });
    found.add(result, buffering, before_ + order);
    if (before_ + order == options_.keep) wanted = Finding{{}, buffering, options_.keep, 1, options_of(result), {}};
  };
  explore::Search search(limits, visit, !reductions.near.empty());
  for (const SavedSearch::Mode& mode : resumed_.modes)
    if (mode.buffering == buffering) search.continue_with(mode.left);
  if (reductions.random > 0) search.continue_with(std::vector<std::vector<std::uint32_t>>(reductions.random));
  std::vector<std::thread> workers;
  std::atomic<std::size_t> working{troupe_.size()};
  for (std::size_t i = 0; i < troupe_.size(); ++i)
    workers.emplace_back([&, i] {
      explore::RunOptions run = run_options(buffering);
      run.guide = guide.get();
      run.wants_contents = !reductions.symmetric.empty();
      std::optional<TemporaryDirectory> kept;
      if (options_.list_output) run.output = kept.emplace().path();
      std::optional<TemporaryDirectory> files;
      if (options_.private_files) run.files = files.emplace().path() + "/files";
      search.work([&](const std::vector<std::uint32_t>& given) {
        run.walk = walks++;
        auto result = explore::Run(troupe_.stage(i), run).play(given);
        if (result.has_regions && !has_regions.exchange(true)) search.stop();
        if (!result.trouble.empty()) {
          const std::lock_guard lock(mutex);
          trouble_ = result.trouble;
          search.stop();
        }
        if (!result.decided_too_early.empty()) {
          const std::lock_guard lock(mutex);
          cancelled.insert(result.decided_too_early.begin(), result.decided_too_early.end());
          search.stop();
        }
        return result;
      });
      --working;
    });
  const bool shows = !options_.quiet && ::isatty(STDERR_FILENO) != 0;
  while (working > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(shows ? 50 : 5));
    if (Job::received_signal() != 0) {
      interrupted_ = true;
      search.stop();
    }
    if (!interrupted_ && troupe_.trouble()) search.stop();
    if (shows) show_progress(search.totals(), buffering);
  }
  for (std::thread& worker : workers) worker.join();
  if (shows) fmt::print(stderr, "\r\033[K");
  if (cancelled != cancelled_sites_ || has_regions != regions_) {
    cancelled_sites_ = std::move(cancelled);
    regions_ = has_regions;
    if (list_) {
      list_.flush();
      if (::truncate(options_.list.c_str(), listed) == 0) list_.seekp(listed);
    }
    return false;
  }
  findings_ = std::move(found);
  if (wanted) wanted_ = std::move(wanted);
  results_.push_back({buffering, search.totals(), guide ? left_out_words(reductions, *guide) : "", search.left()});
  before_ += results_.back().totals.orders;
  return true;
}

void Exploration::show_progress(const explore::Totals& totals, Buffering buffering) const {
  const double time = seconds();
  fmt::print(stderr, "\r\033[K[{} orders, {} open, {:.0f}/s, sends {}]", before_ + totals.orders, totals.open,
             time > 0 ? static_cast<double>(before_ + totals.orders) / time : 0.0,
             buffering == Buffering::None       ? "not buffered"
             : buffering == Buffering::Infinite ? "buffered"
                                                : "either way");
}

void Exploration::save_rest(OrderKeeper& keeper) {
  SavedSearch rest{command_,
                   options_.ranks,
                   options_.mpi,
                   options_.buffering,
                   options_.poll_bound,
                   options_.reductions,
                   regions_,
                   cancelled_sites_,
                   before_,
                   {}};
  for (const ModeResult& result : results_) rest.modes.push_back({result.buffering, result.left});
  if (std::all_of(rest.modes.begin(), rest.modes.end(), [](const auto& mode) { return mode.left.empty(); })) return;
  rest.write(keeper.home());
  rest_ = keeper.home();
}

void Exploration::save() {
  constexpr std::size_t kMostSaved = 16;
  OrderKeeper keeper(command_, mpi_.found.mpi, trace_name(command_, mpi_.found), options_.directory);
  if (!options_.no_save && options_.reductions.random == 0) save_rest(keeper);
  std::size_t saved = 0;
  const auto again = [&](Finding& finding) {
    OrderFacts facts;
    facts.poll_bound = options_.poll_bound;
    facts.cancelled_sites = cancelled_sites_;
    for (const Finding& other : findings_.all())
      if (other.order == finding.order) facts.categories.emplace_back(engine::category_name(other.problem.category));
    return keeper.keep(finding, options_.ranks, facts, [&](const std::string& directory, std::uint64_t trace_id) {
      explore::RunOptions run = run_options(finding.buffering);
      run.trace = directory;
      run.trace_id = trace_id;
      run.output = directory;
      if (options_.private_files) run.files = directory + "/files";
      auto result = explore::Run(troupe_.stage(0), run).play(finding.options);
      if (options_.private_files) explore::keep_written_files(run.files);
      return result;
    });
  };
  // Of one order the worst comes first: it is what its trace is about.
  std::stable_sort(findings_.all().begin(), findings_.all().end(), [](const Finding& one, const Finding& other) {
    return std::pair(one.order, one.problem.category) < std::pair(other.order, other.problem.category);
  });
  for (Finding& finding : findings_.all()) {
    const bool repeats = finding.problem.category != explore::Category::Unstable &&
                         finding.problem.category != explore::Category::Stalled &&
                         finding.problem.category != explore::Category::OutsideMpi;
    if (options_.no_save || !repeats || saved++ >= kMostSaved) continue;
    // What one order shows twice is kept once.
    const auto same = std::find_if(findings_.all().begin(), findings_.all().end(), [&](const Finding& other) {
      return other.order == finding.order && !other.saved.empty();
    });
    if (same != findings_.all().end()) {
      finding.saved = same->saved;
      continue;
    }
    finding.saved = again(finding);
  }
  // Whoever ended itself has said why.
  for (Finding& finding : findings_.all()) {
    if (!finding.saved.empty() || finding.problem.category != explore::Category::Crash) continue;
    const TemporaryDirectory said;
    explore::RunOptions run = run_options(finding.buffering);
    run.output = said.path();
    explore::Run(troupe_.stage(0), run).play(finding.options);
    const UniqueFd fd(::open(said.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) name_assertion(finding, fd.get());
  }
  const bool kept = std::any_of(findings_.all().begin(), findings_.all().end(), [&](const Finding& finding) {
    return finding.order == options_.keep && !finding.saved.empty();
  });
  if (wanted_ && !kept) wanted_->saved = again(*wanted_);
}

explore::RunOptions Exploration::run_options(Buffering buffering) const {
  explore::RunOptions run;
  run.buffering = buffering;
  run.poll_bound = options_.poll_bound;
  run.step_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options_.step_seconds * 1000));
  run.cancelled_sites = cancelled_sites_;
  return run;
}

int Exploration::report() {
  std::uint64_t orders = 0;
  std::uint64_t discarded = 0;
  bool complete = true;
  bool stopped = false;
  bool reduced = false;
  for (const ModeResult& result : results_) {
    reduced |= !result.left_out.empty();
    orders += result.totals.orders;
    discarded += result.totals.discarded;
    complete = complete && !result.totals.stopped && !result.totals.cut_off;
    stopped |= result.totals.stopped;
  }
  const bool asked_for_is_done = complete;
  complete = complete && !reduced;
  if (!options_.sarif.empty()) write_sarif(options_.sarif, findings_.reported(*namer_));
  if (!options_.junit.empty())
    write_junit(options_.junit, findings_.reported(*namer_), "explore", command_.front(), seconds());
  if (options_.json) {
    nlohmann::json out{{"orders", orders}, {"discarded", discarded}, {"complete", complete}, {"seconds", seconds()}};
    if (regions_) out["regions"] = true;
    for (const ModeResult& result : results_) {
      out["buffering"].push_back(buffering_name(result.buffering));
      out["modes"].push_back(
          {{"buffering", buffering_name(result.buffering)},
           {"orders", result.totals.orders},
           {"discarded", result.totals.discarded},
           {"complete", !result.totals.stopped && !result.totals.cut_off && result.left_out.empty()}});
      if (!result.left_out.empty()) out["modes"].back()["left out"] = result.left_out;
    }
    out["errors"] = findings_.json(*namer_);
    fmt::print("{}\n", out.dump(2));
  } else {
    findings_.print(orders, seconds(), *namer_);
    std::string covered;
    for (const ModeResult& result : results_)
      covered +=
          fmt::format("{}sends {}: {}{}", covered.empty() ? "" : "; ",
                      result.buffering == Buffering::None       ? "not buffered"
                      : result.buffering == Buffering::Infinite ? "buffered"
                                                                : "buffered or not",
                      counted(result.totals.orders, "order"),
                      result.totals.discarded > 0 ? fmt::format(" ({} discarded)", result.totals.discarded) : "");
    say("{}{} in {:.1f} s ({})", complete ? "all " : "", counted(orders, "order") + (complete ? " explored" : ""),
        seconds(), covered);
    if (wanted_ && !wanted_->saved.empty())
      say("saved {0}; next: reprise replay {0}", printable(shell_words({wanted_->saved})));
    for (const ModeResult& result : results_)
      if (!result.left_out.empty())
        say("sends {}: {}", result.buffering == Buffering::None ? "not buffered" : "buffered", result.left_out);
    if (!rest_.empty()) say("the search can go on: reprise explore --resume {}", printable(shell_words({rest_})));
    if (!asked_for_is_done)
      say("not all was covered: {}", interrupted_ ? "interrupted"
                                     : stopped    ? "stopped by a limit"
                                                  : "polls were answered \"no\" only so often in a row (--poll-bound)");
  }
  if (findings_.any()) return 1;
  return asked_for_is_done ? 0 : 3;
}

}  // namespace reprise::cli
