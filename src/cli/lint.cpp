// reprise lint: what one ordinary run shows to be wrong.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "analyze/message_check.hpp"
#include "analyze/note_fields.hpp"
#include "analyze/timeline.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/findings_files.hpp"
#include "cli/ignored_categories.hpp"
#include "cli/launch.hpp"
#include "cli/options.hpp"
#include "cli/record.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "cli/trace_notes.hpp"

namespace reprise::cli {
namespace {

using analyze::NoteFields;
using engine::Category;
using engine::category_name;

struct Options {
  RecordOptions record;
  std::vector<std::string> ignored;
  std::string sarif;
  std::string junit;
  bool json = false;
};

constexpr const char* kAboutMessages[] = {"recv", "Recv", "Wait", "Test", "Start"};

// The same thing at the same place of several ranks is one finding.
std::vector<ReportedFinding> read_findings(const std::vector<TraceNote>& notes, std::string_view key) {
  analyze::SourceLines lines;
  std::vector<ReportedFinding> all;
  std::map<std::uint32_t, ReportedFinding> last;  // by rank: what its next note may belong to
  const auto add = [&](ReportedFinding& finding) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const ReportedFinding& known) {
      return known.category == finding.category && known.words == finding.words &&
             known.places[0].at == finding.places[0].at && known.places[0].call == finding.places[0].call;
    });
    if (same == all.end()) all.push_back(finding);
    else same->places.insert(same->places.end(), finding.places.begin(), finding.places.end());
  };
  for (const TraceNote& note : notes) {
    const auto before = last.find(note.rank);
    if (note.key == "finding-other" && before != last.end()) {
      NoteFields fields(note.text);
      const auto rank = fields.next();
      before->second.places.push_back(
          read_place(rank.starts_with('-') ? static_cast<int>(note.rank) : std::atoi(rank.c_str()), fields, lines));
    }
    if (note.key != key) continue;
    if (before != last.end()) add(before->second);
    NoteFields fields(note.text);
    ReportedFinding finding;
    const auto number = fields.number();
    if (number >= static_cast<std::uint64_t>(Category::kCount)) continue;
    finding.category = static_cast<Category>(number);
    finding.words = fields.next();
    finding.places.push_back(read_place(static_cast<int>(note.rank), fields, lines));
    last[note.rank] = std::move(finding);
  }
  for (auto& [rank, finding] : last) add(finding);
  return all;
}

// What the MPI library itself has said before it ended the program. Within a collective, messages are its own.
std::vector<ReportedFinding> library_findings(const std::vector<TraceNote>& notes) {
  auto all = read_findings(notes, "finding-library");
  for (ReportedFinding& finding : all) {
    const std::string& call = finding.places[0].call;
    const bool is_about_messages =
        std::any_of(std::begin(kAboutMessages), std::end(kAboutMessages),
                    [&](const char* part) { return call.find(part) != std::string::npos; });
    if (finding.category == Category::Truncation && !is_about_messages) finding.category = Category::CollectiveTypes;
    finding.words = "as the MPI library says: " + finding.words;
  }
  return all;
}

// Whom the receives from anybody heard, one after the other.
std::vector<engine::WildcardOutcome> heard(const OpenTrace& trace, std::uint32_t rank) {
  std::vector<engine::WildcardOutcome> all;
  auto timeline = analyze::Timeline::open(trace.fd.get(), rank, trace.manifest.trace_id);
  if (!timeline) return all;
  analyze::Call call;
  for (auto more = timeline->next(call); more && *more; more = timeline->next(call))
    all.insert(all.end(), call.wildcards.begin(), call.wildcards.end());
  return all;
}

// What shows only if all ranks are known.
void add_messages(const OpenTrace& trace, bool is_whole, std::vector<ReportedFinding>& findings) {
  std::vector<analyze::MessageLog> logs;
  for (std::uint32_t rank = 0; rank < trace.manifest.ranks; ++rank) {
    auto log = analyze::MessageLog::read(trace.fd.get(), trace.manifest.trace_id, rank, heard(trace, rank));
    is_whole = is_whole && log;
    logs.push_back(log ? std::move(*log) : analyze::MessageLog());  // ended too early, for one
  }
  analyze::SourceLines lines;
  for (const analyze::MessageFinding& found : analyze::check_messages(logs, is_whole)) {
    ReportedFinding finding;
    finding.category = found.category;
    finding.words = found.words;
    for (const auto& place : found.places) {
      NoteFields fields(*place.fields);
      finding.places.push_back(read_place(static_cast<int>(place.rank), fields, lines));
    }
    findings.push_back(std::move(finding));
  }
}

void arrange(std::vector<ReportedFinding>& findings, const IgnoredCategories& ignored) {
  std::erase_if(findings, [&](const ReportedFinding& finding) { return ignored.contains(finding.category); });
  std::stable_sort(findings.begin(), findings.end(), [](const ReportedFinding& one, const ReportedFinding& other) {
    return one.category < other.category;
  });
}

void print(const std::vector<ReportedFinding>& findings) {
  for (const ReportedFinding& finding : findings) {
    std::string title = category_name(finding.category);
    std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
    fmt::print("{}{}\n", title, finding.words.empty() ? "" : ": " + printable(finding.words));
    std::map<std::string, std::vector<std::uint32_t>> ranks;  // by place
    for (const ReportedPlace& place : finding.places)
      ranks[fmt::format("{}  {}", place.at, place.call)].push_back(static_cast<std::uint32_t>(place.rank));
    for (auto& [where, all] : ranks) {
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      fmt::print("  {:<10} {}\n", (all.size() == 1 ? "rank " : "ranks ") + number_ranges(all), where);
    }
  }
  std::fflush(stdout);
}

void print_json(const std::vector<ReportedFinding>& findings, const RecordedTrace& run) {
  nlohmann::json out{{"trace", run.path}, {"exit status", run.exit_status}, {"errors", nlohmann::json::array()}};
  for (const ReportedFinding& finding : findings) {
    nlohmann::json entry{{"category", category_name(finding.category)}, {"what", finding.words}};
    for (const ReportedPlace& place : finding.places)
      entry["calls"].push_back({{"rank", place.rank}, {"call", place.call}, {"at", place.at}});
    out["errors"].push_back(std::move(entry));
  }
  fmt::print("{}\n", out.dump(2));
}

int lint(const std::vector<std::string>& command, const Options& options) {
  const IgnoredCategories ignored("lint", options.ignored);
  RecordOptions quietly = options.record;
  quietly.checks = true;
  quietly.quiet = true;
  const RecordedTrace run = record(command, quietly);
  if (run.path.empty()) return run.exit_status;
  const OpenTrace trace = open_trace(run.path);
  const auto notes = read_trace_notes(trace.fd.get(), trace.manifest);
  auto findings = read_findings(notes, "finding");
  add_messages(trace, run.exit_status == 0, findings);
  if (findings.empty()) findings = library_findings(notes);  // otherwise it is known better why
  arrange(findings, ignored);
  if (!options.sarif.empty()) write_sarif(options.sarif, findings);
  if (!options.junit.empty()) write_junit(options.junit, findings, "lint", command.front(), trace.manifest.seconds);
  if (options.json) print_json(findings, run);
  else print(findings);
  if (!options.record.quiet) {
    say("{} in this run of {}; recorded in {}",
        findings.empty() ? "nothing found" : counted(findings.size(), "finding"), counted(trace.manifest.ranks, "rank"),
        printable(run.path));
    if (run.exit_status != 0) say("the program ended with {}", printable(trace.manifest.ended));
  }
  if (!findings.empty()) return 1;
  return run.exit_status;
}

}  // namespace

int lint_command(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "lint",
      "Runs a command once, records it, and reports what is wrong with its calls of MPI, as far as one run shows\n"
      "that. Exit status: 1 if something was found, otherwise the command's own.",
      "[OPTIONS] -- COMMAND...\n\n"
      "Example: reprise lint -- mpirun -n 4 ./app input.txt");
  parser.option("-o,--output", options.record.directory, "Directory for the trace (default: ./reprise.d/NAME-K)",
                "DIR");
  parser.mpi_option(options.record.mpi);
  parser.option("--ignore", options.ignored, "Do not report these categories: 'datatype leak'", "CATEGORY")
      .comma_separated();
  parser.option("--sarif", options.sarif, "Write what was found as SARIF", "FILE");
  parser.option("--junit", options.junit, "Write what was found as JUnit XML", "FILE");
  parser.flag("--json", options.json, "The result as JSON");
  parser.flag("-q,--quiet", options.record.quiet, "No closing summary");
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parser.parse(line.own)) return *status;
  if (line.command.empty()) fail("lint: which command? For example: reprise lint -- mpirun -n 4 ./app");
  return lint(line.command, options);
}

}  // namespace reprise::cli
