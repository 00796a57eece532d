// reprise explain: the fewest decisions that make an order fail.
//
// A decision is what one receive took, what one wait reported, and so on. A set of them explains the failure if every
// order in which they are so fails in the same way; that is found out by exploring all of these. A larger set leaves
// fewer orders, so dropping one decision after the other, as long as the rest still explains it, ends at a set of which
// none can be dropped.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/text.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/commands.hpp"
#include "cli/explore_findings.hpp"
#include "cli/explore_order.hpp"
#include "cli/explore_troupe.hpp"
#include "cli/options.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "explore/search.hpp"

namespace reprise::cli {
namespace {

using explore::Choice;
using explore::Constraint;
using explore::Option;

struct Options {
  std::string order;
  std::string category;
  std::uint64_t max_orders = 5000;
  double step_seconds = 10;
  bool json = false;
};

std::string nth(std::uint32_t number) {
  const std::uint32_t last = number % 10;
  const bool teen = number % 100 / 10 == 1;
  return fmt::format("{}{}", number, teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string words_of(const Constraint& constraint, PlaceNamer& namer) {
  const std::string subject = fmt::format("rank {}'s {} {} at {}", constraint.rank, nth(constraint.iteration + 1),
                                          namer.function(constraint.function), namer.line(constraint.site));
  const std::string message = fmt::format("the {} message of rank {}", nth(constraint.number + 1), constraint.source);
  switch (constraint.kind) {
    case Option::Kind::Take: return fmt::format("{} takes {}", subject, message);
    case Option::Kind::Show: return fmt::format("{} finds {}", subject, message);
    case Option::Kind::No: return fmt::format("{} says no", subject);
    case Option::Kind::Cancelled: return fmt::format("{} is cancelled in time", subject);
    case Option::Kind::Buffered: return fmt::format("{} is buffered", subject);
    case Option::Kind::Stuck: return fmt::format("{} is not buffered", subject);
    case Option::Kind::Dead: return fmt::format("{} never returns", subject);
    case Option::Kind::Turn:
      return fmt::format("the {} turn at the window of rank {} goes to rank {}'s {} {} at {}", nth(constraint.ordinal + 1),
                         constraint.rank, constraint.source, nth(constraint.iteration + 1),
                         namer.function(constraint.function), namer.line(constraint.site));
    case Option::Kind::Report: break;
    case Option::Kind::Sleep: break;
  }
  std::string which;
  for (const std::uint32_t index : constraint.reported) which += fmt::format("{}{}", which.empty() ? "" : ", ", index);
  return fmt::format("{} reports request {}", subject, which);
}

const char* kind_name(Option::Kind kind) {
  switch (kind) {
    case Option::Kind::Take: return "take";
    case Option::Kind::Sleep: return "sleep";
    case Option::Kind::Cancelled: return "cancelled";
    case Option::Kind::Show: return "show";
    case Option::Kind::Report: return "report";
    case Option::Kind::No: return "no";
    case Option::Kind::Buffered: return "buffered";
    case Option::Kind::Stuck: return "not buffered";
    case Option::Kind::Dead: return "dead";
    case Option::Kind::Turn: return "turn";
  }
  return "";
}

class Explanation {
 public:
  Explanation(const Options& options, const OpenTrace& trace)
      : options_(options),
        order_(read_order_facts(trace)),
        troupe_(trace.manifest.command, choose_mpi(trace.manifest.command, trace.manifest.mpi),
                static_cast<int>(trace.manifest.ranks), 1) {
    const std::vector<std::string>& all = order_.categories;
    if (all.empty()) fail("explain: nothing is wrong with {}", printable(trace.path));
    category_ = options.category.empty() ? all.front() : options.category;
    if (std::find(all.begin(), all.end(), category_) == all.end())
      fail("explain: there is no {} in {}", printable(category_), printable(trace.path));
  }

  int run() {
    if (!troupe_.await_readiness(60)) fail("explain: the program calls MPI before MPI_Init");
    PlaceNamer namer(troupe_.stage(0));
    const auto result = explore::Run(troupe_.stage(0), run_options(nullptr)).play(order_.options);
    if (!result.trouble.empty()) fail("explain: {}", printable(result.trouble));
    if (!fails(result)) fail("explain: the order does not fail any more: has the program changed?");
    std::vector<Constraint> needed;
    for (const explore::Step& step : result.steps) {
      Constraint meaning = step.meaning;
      if (meaning.kind == Option::Kind::Sleep && !what_came_later(meaning, result)) continue;
      const bool is_known =
          std::any_of(needed.begin(), needed.end(), [&](const Constraint& one) { return one.is_same(meaning); });
      if (!is_known) needed.push_back(std::move(meaning));
    }
    if (!explains(needed))
      fail("explain: the same decisions do not always fail: the program does not do the same again");
    shrink(needed);
    print(needed, namer);
    return 0;
  }

 private:
  explore::RunOptions run_options(explore::Guide* guide) const {
    explore::RunOptions run = run_options_of(order_);
    run.step_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options_.step_seconds * 1000));
    run.guide = guide;
    return run;
  }

  bool fails(const explore::RunResult& result) const {
    return shows(result, category_);
  }

  // A receive that left aside what was there: what it took in the end.
  static bool what_came_later(Constraint& meaning, const explore::RunResult& result) {
    if (result.taken.empty()) return false;
    const auto& taken = result.taken[static_cast<std::size_t>(meaning.rank)];
    if (meaning.about != Choice::About::Receive || meaning.ordinal >= taken.size()) return false;
    const std::string& message = taken[meaning.ordinal];
    const std::size_t dot = message.find('.');
    if (dot == std::string::npos) return false;
    meaning.kind = Option::Kind::Take;
    meaning.source = std::atoi(message.c_str());
    meaning.number = static_cast<std::uint32_t>(std::atoi(message.c_str() + dot + 1));
    return true;
  }

  // What was not a matter of choice was not asked for either: is it so all the same?
  static bool satisfies(const explore::RunResult& result, const std::vector<Constraint>& demanded) {
    return std::all_of(demanded.begin(), demanded.end(), [&](const Constraint& wanted) {
      if (wanted.kind == Option::Kind::Take) {
        if (result.taken.empty()) return false;  // it was cut short
        const auto& taken = result.taken[static_cast<std::size_t>(wanted.rank)];
        return wanted.ordinal < taken.size() &&
               taken[wanted.ordinal] == fmt::format("{}.{}", wanted.source, wanted.number);
      }
      return std::any_of(result.steps.begin(), result.steps.end(),
                         [&](const explore::Step& step) { return step.meaning.is_same(wanted); });
    });
  }

  // Does every order of which this is true fail?
  bool explains(const std::vector<Constraint>& demanded) {
    explore::GuideOptions settings;
    settings.demanded = demanded;
    explore::Guide guide(std::move(settings));
    explore::Limits limits;
    limits.orders = options_.max_orders;
    std::uint64_t failed = 0;
    bool passed = false;
    explore::Search* all = nullptr;
    explore::Search search(limits, [&](std::uint64_t, const explore::RunResult& result) {
      ++orders_;
      if (!satisfies(result, demanded)) return;
      if (fails(result)) {
        ++failed;
      } else {
        passed = true;
        all->stop();
      }
    });
    all = &search;
    search.work([&](const std::vector<std::uint32_t>& given) {
      auto result = explore::Run(troupe_.stage(0), run_options(&guide)).play(given);
      if (const auto trouble = troupe_.trouble()) fail("explain: {}", *trouble);
      return result;
    });
    if (passed || failed == 0) return false;
    if (search.totals().stopped) proved_ = false;
    return true;
  }

  // By halves first: most decisions have nothing to do with it.
  void shrink(std::vector<Constraint>& needed) {
    for (std::size_t size = std::max<std::size_t>(needed.size(), 1); size > 0; size /= 2) {
      for (std::size_t at = 0; at < needed.size();) {
        std::vector<Constraint> fewer = needed;
        const std::size_t end = std::min(at + size, needed.size());
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at), fewer.begin() + static_cast<std::ptrdiff_t>(end));
        if (explains(fewer)) needed = std::move(fewer);
        else at = end;
      }
    }
  }

  void print(const std::vector<Constraint>& needed, PlaceNamer& namer) const {
    if (options_.json) {
      nlohmann::json out{{"category", category_}, {"orders", orders_}, {"proved", proved_}};
      out["constraints"] = nlohmann::json::array();
      for (const Constraint& constraint : needed)
        out["constraints"].push_back(
            {{"rank", constraint.rank},
             {"call", namer.function(constraint.function)},
             {"at", namer.line(constraint.site)},
             {"time", constraint.iteration + 1},
             {"ordinal", constraint.ordinal},
             {"kind", kind_name(constraint.kind)},
             {"message", constraint.source < 0 ? "" : fmt::format("{}.{}", constraint.source, constraint.number)},
             {"words", words_of(constraint, namer)}});
      fmt::print("{}\n", out.dump(2));
      return;
    }
    if (needed.empty()) fmt::print("{} in every order\n", category_);
    else fmt::print("{} whenever\n", category_);
    for (const Constraint& constraint : needed) fmt::print("  {}\n", words_of(constraint, namer));
    std::fflush(stdout);
    say("{} tried{}", counted(orders_, "order"),
        proved_ ? "" : "; some questions have more orders than --max-orders, and are taken for answered");
  }

  Options options_;
  OrderFacts order_;
  std::string category_;
  Troupe troupe_;
  std::uint64_t orders_ = 0;
  bool proved_ = true;
};

}  // namespace

int explain_command(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "explain",
      "Tells which decisions make an order fail that `reprise explore` has saved: the fewest of which it can\n"
      "be said that every order in which they are so fails in the same way.",
      "[OPTIONS] DIR\n\n"
      "Example: reprise explain reprise.d/app-1/order-7");
  parser.option("DIR", options.order, "The saved order", "").required();
  parser.option("--category", options.category, "What is to be explained, if several things are wrong", "CATEGORY");
  parser.option("--max-orders", options.max_orders, "For each question, try at most so many orders", "N")
      .default_shown();
  parser.option("--step-timeout", options.step_seconds, "How long a rank may compute without a call of MPI", "S")
      .default_shown();
  parser.flag("--json", options.json, "The result as JSON");
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parser.parse(line.own)) return *status;
  if (line.separated) fail("explain: the command is that of the saved order");
  const OpenTrace trace = open_trace(options.order);
  return Explanation(options, trace).run();
}

}  // namespace reprise::cli
