// reprise doctor: is everything in place, and if a command is given, are the calls of all its ranks seen?
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/options.hpp"
#include "cli/speech.hpp"
#include "report/terminal.hpp"

namespace reprise::cli {

namespace {

using Level = CheckResult::Level;

const char* level_name(Level level) {
  switch (level) {
    case Level::Good: return "good";
    case Level::Note: return "note";
    case Level::Problem: return "problem";
  }
  return "";
}

void print_table(const CheckResults& findings) {
  const report::Paint paint(STDOUT_FILENO);
  for (const CheckResult& finding : findings) {
    const std::string mark = finding.level == Level::Good   ? paint.good("ok     ")
                             : finding.level == Level::Note ? paint.careful("note   ")
                                                            : paint.bad("problem");
    fmt::print("{}  {} {}\n", mark, report::padded(finding.topic, 15), finding.text);
    if (!finding.advice.empty()) fmt::print("{:>9}{:16}{}\n", "", "", finding.advice);
  }
}

void print_json(const CheckResults& findings, std::size_t problems) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CheckResult& finding : findings)
    list.push_back({{"level", level_name(finding.level)},
                    {"topic", finding.topic},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  const nlohmann::ordered_json report = {{"problems", problems}, {"findings", list}};
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int doctor_command(int argc, char** argv) {
  bool json = false;
  std::string mpi;
  OptionParser parser(
      "doctor",
      "Checks that everything is in place. With a command, runs it once (without recording) and tells which of its\n"
      "ranks were seen. Exit status: 0 all well, 1 problems were found.",
      "[OPTIONS] [-- COMMAND...]\n\nExample: reprise doctor -- mpirun -n 4 ./app");
  parser.flag("--json", json, "One JSON object in place of the list");
  parser.mpi_option(mpi);
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parser.parse(line.own)) return *status;
  if (line.separated && line.command.empty()) fail("doctor: there is no command after \"--\"");

  CheckResults findings = check_installation();
  if (!line.command.empty()) {
    try {
      for (CheckResult& finding : check_command(line.command, mpi)) findings.push_back(std::move(finding));
    } catch (const UserError& error) {
      findings.push_back({Level::Problem, "command", error.what(), ""});
    }
  }
  const auto problems = static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [](const CheckResult& finding) { return finding.level == Level::Problem; }));
  if (json) print_json(findings, problems);
  else print_table(findings);
  std::fflush(stdout);
  if (problems > 0) say("{} found", counted(problems, "problem"));
  else if (line.command.empty()) say("all well; next: reprise doctor -- mpirun -n 4 ./app");
  else say("all well; next: reprise record -- {}", printable(shell_words(line.command)));
  return problems > 0 ? 1 : 0;
}

}  // namespace reprise::cli
