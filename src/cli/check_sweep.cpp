#include "cli/check_sweep.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analyze/number_set.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/check_reproducers.hpp"
#include "cli/options.hpp"
#include "cli/speech.hpp"
#include "cli/sweep_findings.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kMostRanks = 64;
constexpr std::uint64_t kMostFatal = 3;  // crashes or hangs of one kind of call with one setting; then it is left out
constexpr std::uint64_t kLeastCases = 10;
constexpr std::uint64_t kShare = 10;  // of the cases, for one algorithm
constexpr auto kCompilation = 10min;

struct Options {
  bool sweep = false;
  std::string mpicc, mpirun, sizes = "1-8", settings = "all", directory, only;
  std::uint64_t seed = 1, cases = 200;
  int limit = 20;
  bool json = false;
  bool quiet = false;
};

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words = split(command, ' ');
  std::erase(words, "");
  return words;
}

// "mpirun.mpich" -> "mpicc.mpich", and the other way round; both where mpicc or mpirun is found first.
std::string counterpart(const std::string& command, const char* from, const char* to) {
  const auto words = words_of(command);
  if (words.empty()) return to;
  const std::size_t slash = words[0].rfind('/') == std::string::npos ? 0 : words[0].rfind('/') + 1;
  const std::string name = words[0].substr(slash);
  const std::string other = name.starts_with(from) ? words[0].substr(0, slash) + to + name.substr(std::string(from).size()) : to;
  return find_program(other).empty() ? to : other;
}

std::string find_sources() {
  const std::string directory = executable_directory() + "/../share/reprise/sweep";
  if (!is_regular_file(directory + "/sweep.c")) fail("check --sweep: its program is not installed ({} is missing)", directory);
  return directory;
}

// The program, compiled with the user's MPI, in the directory that stays, with its sources.
void compile(const Options& options, const std::string& directory) {
  std::error_code error;
  fs::copy(find_sources(), directory + "/source", fs::copy_options::recursive, error);
  if (error) fail("cannot copy the sources of the sweep to {}: {}", directory, error.message());
  std::vector<std::string> words = words_of(options.mpicc);
  if (words.empty() || find_program(words[0]).empty())
    fail("check --sweep: there is no {}; name the compiler with --mpicc", options.mpicc);
  words.insert(words.begin(), {"sh", "-c", "\"$@\" 2>&1 || { echo; echo compiler failed; }", "sh"});
  words.insert(words.end(), {"-O1", "-g", "-std=gnu11", "-o", directory + "/sweep"});
  for (const auto& entry : fs::directory_iterator(directory + "/source"))
    if (entry.path().extension() == ".c") words.push_back(entry.path());
  words.push_back("-lm");
  const auto said = capture(words, {}, kCompilation);
  if (!said || said->find("compiler failed") != std::string::npos)
    fail("check --sweep: {} does not compile the sweep: {}", options.mpicc,
         printable(said ? said->substr(0, 500) : "it does not end"));
}

std::vector<int> sizes_of(const std::string& text) {
  const auto set = analyze::NumberSet::parse(text);
  std::vector<int> sizes;
  for (int i = 1; set && i <= kMostRanks; ++i)
    if (set->contains(static_cast<std::uint64_t>(i))) sizes.push_back(i);
  return sizes;
}

std::string run_words(const SweepSetting& setting, int ranks) {
  return fmt::format("{}, {}", setting.name(), counted(static_cast<std::uint64_t>(ranks), "rank"));
}

class Sweep {
 public:
  Sweep(const Options& options, SweepPlan plan) : options_(options), plan_(std::move(plan)), findings_(plan_) {}

  int run();

 private:
  void run_setting(const SweepSetting& setting, int ranks, std::uint64_t cases, std::map<std::string, std::uint64_t>& fatal);
  void progress(const SweepSetting& setting, int ranks, std::size_t done, std::size_t all) const;
  void report();
  std::uint64_t cases_of(const SweepSetting& setting) const {
    if (setting.environment.empty()) return options_.cases;
    return std::max(kLeastCases, options_.cases / (setting.is_broad ? 2 : kShare));
  }

  const Options& options_;
  SweepPlan plan_;
  SweepFindings findings_;
  std::uint64_t runs_ = 0, cases_ = 0, intentions_ = 0;
  std::vector<std::string> unusable_, left_out_, slow_, troubles_;
  std::set<std::string> restricted_;  // settings that refuse some calls
};

std::string listed(const std::map<std::string, std::uint64_t>& fatal) {
  std::string list;
  for (const auto& [kind, times] : fatal)
    if (times >= kMostFatal) list += (list.empty() ? "" : ",") + kind;
  return list;
}

// Whoever forces an algorithm that is made for two processes, say, is told so by the library.
bool is_restriction(const Incident& incident, const SweepSetting& setting) {
  return !setting.environment.empty() && incident.mistake.ends_with("MPI_ERR_UNSUPPORTED_OPERATION");
}

// Goes on behind what crashes or hangs.
void Sweep::run_setting(const SweepSetting& setting, int ranks, std::uint64_t cases, std::map<std::string, std::uint64_t>& fatal) {
  std::int64_t from = 0;
  std::uint64_t done = 0;
  while (done < cases) {
    const SweepRun run = run_sweep(plan_, setting, ranks, from, cases - done, listed(fatal),
                                   [&](const Incident& one) { return findings_.is_new(one); });
    ++runs_;
    if (run.cases == 0) {
      if (done == 0 && !run.complete) unusable_.push_back(run_words(setting, ranks) + ": " + printable(run.why));
      return;
    }
    done += run.cases;
    cases_ += run.cases;
    intentions_ += run.intentions;
    if (run.complete && !run.why.empty()) troubles_.push_back(run_words(setting, ranks) + ": " + printable(run.why));
    for (const Incident& one : run.incidents) {
      if (one.by_program) troubles_.push_back(fmt::format("the sweep itself seems to break a rule: {}: {}", one.text, one.mistake));
      else if (is_restriction(one, setting)) restricted_.insert(run_words(setting, ranks));
      else findings_.add(one, setting, ranks, from);
      if (one.fatal && ++fatal[one.kind] == kMostFatal) left_out_.push_back(fmt::format("{} ({})", one.kind, setting.name()));
    }
    if (run.complete) return;
    from = run.last + 1;
  }
}

void Sweep::progress(const SweepSetting& setting, int ranks, std::size_t done, std::size_t all) const {
  if (options_.quiet) return;
  const std::string line = fmt::format("reprise: [{}/{}] {}; so far {}, {}", done, all, run_words(setting, ranks),
                                       counted(cases_, "case"), counted(findings_.count(), "mistake"));
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", line);
  else fmt::print(stderr, "{}\n", line);
}

void Sweep::report() {
  if (::isatty(STDERR_FILENO) && !options_.quiet) fmt::print(stderr, "\r\033[K");
  if (options_.json) {
    nlohmann::json out{{"output", plan_.shown},
                       {"runs", runs_},
                       {"cases", cases_},
                       {"intentions", intentions_},
                       {"findings", findings_.as_json()},
                       {"left out", left_out_},
                       {"not usable", unusable_},
                       {"restricted", restricted_},
                       {"slow", slow_},
                       {"troubles", troubles_}};
    fmt::print("{}\n", out.dump(2));
  } else if (!findings_.empty()) {
    findings_.print();
  }
  if (options_.quiet) return;
  for (const std::string& one : left_out_) say("left out after {} crashes or hangs: {}", kMostFatal, one);
  for (const std::string& one : unusable_) say("cannot be used here: {}", one);
  for (const std::string& one : restricted_) say("refuses some calls as unsupported: {}", one);
  for (const std::string& one : slow_) say("took more than {} seconds, but does not hang alone: {}", plan_.limit, one);
  for (const std::string& one : troubles_) say("{}", one);
  say("{} in {} runs, {} checked: {}", counted(cases_, "case"), runs_, counted(intentions_, "intention"),
      findings_.empty() ? "nothing wrong" : counted(findings_.count(), "mistake"));
  if (!findings_.empty()) say("what repeats them is in {}", printable(plan_.shown));
}

int Sweep::run() {
  const std::vector<int> sizes = sizes_of(options_.sizes);
  const auto parameters = options_.settings == "none" ? std::optional<std::string>("")
                                                      : capture({plan_.directory + "/sweep", "--parameters"}, {}, 5min);
  if (!parameters) say("the library does not tell its parameters (MPI_T): it is swept as it is");
  std::vector<SweepSetting> settings = sweep_settings(parameters.value_or(""));
  if (options_.settings != "all")
    std::erase_if(settings, [&](const SweepSetting& one) {
      return !one.environment.empty() && one.name().find(options_.settings) == std::string::npos;
    });
  const auto wanted = split(options_.only, ',');
  if (!options_.only.empty())
    std::erase_if(settings, [&](const SweepSetting& one) {
      return !one.is_broad && std::find(wanted.begin(), wanted.end(), one.families) == wanted.end();
    });
  const std::size_t all = sizes.size() + settings.size() - 1;
  std::size_t done = 0;
  std::map<std::string, std::uint64_t> fatal;
  for (const int ranks : sizes) {
    progress(settings.front(), ranks, ++done, all);
    run_setting(settings.front(), ranks, cases_of(settings.front()), fatal);
  }
  if (cases_ == 0) {
    report();
    return 2;
  }
  // Communicators of all smaller sizes are in the largest run, too.
  for (std::size_t i = 1; i < settings.size(); ++i) {
    progress(settings[i], sizes.back(), ++done, all);
    std::map<std::string, std::uint64_t> own;
    run_setting(settings[i], sizes.back(), cases_of(settings[i]), own);
  }
  if (!options_.quiet && !findings_.empty()) say("{}: each is run alone", counted(findings_.count(), "mistake"));
  slow_ = findings_.write_reproducers();
  report();
  if (!findings_.empty()) return 1;
  return troubles_.empty() ? 0 : 2;
}

}  // namespace

int sweep_command(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "check",
      "Makes legal calls of MPI of all kinds, and checks them: for somebody who has just built an MPI library. All\n"
      "collectives, messages and one-sided calls, datatypes, topologies, numbers of ranks, and the algorithms that\n"
      "the library lets one choose. Exit status: 0 if all is well, 1 if something is wrong, 2 if it could not be\n"
      "looked at.",
      "--sweep [OPTIONS]\n\nExample: reprise check --sweep --mpicc /opt/mpi/bin/mpicc");
  parser.flag("--sweep", options.sweep, "This");
  parser.option("--mpicc", options.mpicc, "The compiler of the MPI (default: the one beside mpirun, or mpicc)", "CMD");
  parser.option("--mpirun", options.mpirun, "Its launcher, perhaps with options (default: the one beside mpicc, or mpirun)", "CMD");
  parser.option("--sizes", options.sizes, "Numbers of ranks", "RANKS").default_shown().checked([](const std::string& text) {
    return sizes_of(text).empty() ? fmt::format("numbers between 1 and {} are needed, like 1-8", kMostRanks) : std::string();
  });
  parser.option("--seed", options.seed, "Another seed, other cases", "S").default_shown();
  parser.option("--cases", options.cases, "For each number of ranks; for one algorithm, a tenth", "K").default_shown().positive();
  parser.option("--settings", options.settings, "Parameters of the library: all, none, or those whose name has this part", "WHICH")
      .default_shown();
  parser.option("--only", options.only,
                "Only these families of calls (as the sweep program calls them), or collectives, messages, packing, windows",
                "FAMILY,...");
  parser.option("--limit", options.limit, "Seconds for one case; what takes longer hangs", "S").default_shown().positive();
  parser.option("-o,--output", options.directory, "Directory for what repeats the mistakes (default: ./reprise.d/sweep-K)", "DIR");
  parser.flag("--json", options.json, "The result as JSON");
  parser.flag("-q,--quiet", options.quiet, "No progress, no closing summary");
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parser.parse(line.own)) return *status;
  if (!line.command.empty()) fail("check --sweep has a program of its own: no command is needed");
  if (options.mpicc.empty()) options.mpicc = counterpart(options.mpirun, "mpirun", "mpicc");
  if (options.mpirun.empty()) options.mpirun = counterpart(options.mpicc, "mpicc", "mpirun");
  SweepPlan plan;
  plan.launcher = words_of(options.mpirun);
  if (plan.launcher.empty() || find_program(plan.launcher[0]).empty())
    fail("check --sweep: there is no {}; name the launcher with --mpirun", printable(options.mpirun));
  const NewTrace room = make_trace_directory(options.directory, "sweep");
  plan.directory = room.absolute;
  plan.shown = room.path;
  plan.seed = options.seed;
  plan.only = options.only;
  plan.limit = options.limit;
  compile(options, plan.directory);
  return Sweep(options, std::move(plan)).run();
}

}  // namespace reprise::cli
