#include "cli/sweep_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kAloneLimit = 60;  // seconds: a slow case is no hang

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// "MPI_Bcast_init_c on a duplicate of 3, ..." -> "MPI_Bcast_init": large counts are the same code
std::string call_of(const std::string& text) {
  std::string call = text.substr(0, text.find_first_of(" ,"));
  if (call.ends_with("_c")) call.resize(call.size() - 2);
  return call;
}

// "a graph of 3 processes and 5 edges", "a Cartesian grid of 2x1 periodic", "a subset of 3"
bool has_one_process(const std::string& comm) {
  if (comm.ends_with("one process")) return true;
  const std::size_t of = comm.rfind(" of ");
  if (of == std::string::npos || has(comm, "an intercommunicator")) return false;
  std::uint64_t size = 1, number = 0;
  bool is_number = false;
  for (const char c : comm.substr(of + 4) + ' ') {
    if (c >= '0' && c <= '9') {
      number = 10 * number + static_cast<std::uint64_t>(c - '0');
      is_number = true;
      continue;
    }
    if (is_number) size *= number;
    is_number = false;
    number = 0;
    if (c == ' ' && has(comm, "graph")) break;  // the edges
  }
  return size == 1;
}

bool is_completion(const std::string& call) {
  return call.starts_with("MPI_Wait") || call.starts_with("MPI_Test") || call.starts_with("MPI_Start");
}

std::string place_of(const std::string& text) {
  const std::string comm = text.substr(0, text.find(','));
  std::string place;
  if (has(comm, "an intercommunicator")) place = "intercommunicator";
  else if (has(comm, "eighbor") && has(comm, "Cartesian")) place = "grid";  // others do not care
  else if (has(comm, "eighbor") && has(comm, "graph")) place = "graph";
  if (has_one_process(comm)) place += place.empty() ? "one process" : ", one process";
  if (has(text, "IN_PLACE")) place += place.empty() ? "in place" : ", in place";
  return place;
}

// A setting in front, for whoever reads the file, and a path that works wherever the directory goes.
std::string script(const std::string& title, const std::vector<std::string>& words, const std::string& program) {
  std::string command;
  for (const std::string& word : words)
    command += (command.empty() ? "" : " ") + (word == program ? "./sweep" : shell_words({word}));
  return fmt::format("#!/bin/sh\n# {}\ncd \"$(dirname \"$0\")\" || exit 2\nexec {} \"$@\"\n", title, command);
}

std::string short_settings(const std::vector<std::string>& settings) {
  std::string first = settings.front();
  if (const std::size_t space = first.find(' '); space != std::string::npos) first.resize(space);  // the others go with it
  if (settings.size() == 1) return first;
  return fmt::format("{} and {} more", first, settings.size() - 1);
}

std::string joined(const std::set<int>& sizes) {
  std::vector<std::uint32_t> numbers(sizes.begin(), sizes.end());
  return number_ranges(numbers);
}

}  // namespace

SweepFindings::Key SweepFindings::key_of(const Incident& incident) {
  std::string call = call_of(incident.text), place = place_of(incident.text), mistake = incident.mistake;
  // What is wrong with a datatype, or refused by another function, does not depend on the call that was to be made.
  if (mistake.starts_with("error MPI_")) {
    const std::size_t colon = mistake.find(": ");
    call = call_of(mistake.substr(6, colon == std::string::npos ? colon : colon - 6));
    mistake = colon == std::string::npos ? "error" : mistake.substr(colon + 2);
    if (is_completion(call)) place = "";
  } else if (const std::size_t says = mistake.find(" says "); says != std::string::npos && is_completion(mistake)) {
    call = mistake.substr(0, says);
    mistake = mistake.substr(says + 1);
    place = "";
  } else if (has(mistake, "of a datatype") || has(mistake, "bounds of a struct")) {
    call = has(mistake, "true bounds") ? "MPI_Type_get_true_extent"
           : has(mistake, "size")      ? "MPI_Type_size"
                                       : "MPI_Type_get_extent";
    const std::size_t begin = incident.words.find(": ");  // "rank 0: vector of struct: lower bound ..."
    const std::string type = begin == std::string::npos ? "" : incident.words.substr(begin + 2);
    place = type.substr(0, type.find_first_of(" :"));
  }
  return {call, place, mistake};
}

bool SweepFindings::is_new(const Incident& incident) const { return !numbers_.contains(key_of(incident)); }

void SweepFindings::add(const Incident& incident, const SweepSetting& setting, int ranks, std::int64_t from) {
  const Key key = key_of(incident);
  const auto [at, is_first] = numbers_.emplace(key, findings_.size());
  if (is_first) {
    findings_.emplace_back();
    Finding& one = findings_.back();
    one.key = key;
    one.first = incident;
    one.setting = setting;
    one.ranks = ranks;
    one.from = from;
  }
  Finding& one = findings_[at->second];
  ++one.times;
  one.sizes.insert(ranks);
  if (std::find(one.settings.begin(), one.settings.end(), setting.name()) == one.settings.end())
    one.settings.push_back(setting.name());
  if (one.first.source.empty()) one.first.source = incident.source;
}

void SweepFindings::write_reproducer(Finding& finding, std::size_t number) const {
  const std::string program = plan_.directory + "/sweep", name = fmt::format("finding-{}", number);
  const Incident& first = finding.first;
  const auto& [call, place, mistake] = finding.key;
  bool alone = false;
  std::vector<std::string> arguments = {"--limit", std::to_string(kAloneLimit)};
  if (first.number) {
    arguments.insert(arguments.begin(), {"--case", std::to_string(*first.number)});
    std::vector<std::string> command = {
        "sh", "-c", "\"$@\" 2>&1; true", "sh", "timeout", "-k", "5", std::to_string(kAloneLimit + 30)};
    const auto inner = sweep_command_line(plan_, finding.setting, finding.ranks, arguments);
    command.insert(command.end(), inner.begin(), inner.end());
    const auto said = capture(command, {}, std::chrono::seconds(kAloneLimit + 60));
    const bool ended_well = said && has(*said, "1 cases, 0 wrong") && !has(*said, "REFUSED");
    alone = !ended_well;
    if (!alone && first.by_checker) finding.remark = "seen by the checker only";
    else if (!alone) finding.remark = "not alone: after the cases before it";
    finding.is_slow = !alone && mistake == "hang";
  }
  if (!alone && !(first.by_checker && first.number)) {
    // As it was: all cases of the run, up to this one.
    arguments = sweep_choice(plan_, finding.setting);
    arguments.insert(arguments.end(),
                     {"--from", std::to_string(finding.from), "--limit", std::to_string(kAloneLimit), "--verbose"});
    if (first.number) arguments.insert(arguments.end(), {"--to", std::to_string(*first.number)});
  }
  auto words = sweep_command_line(plan_, finding.setting, finding.ranks, arguments);
  if (!alone && first.by_checker) words.insert(words.begin(), {"reprise", "check", "--"});
  finding.reproducer = name + ".sh";
  std::ofstream out(plan_.directory + "/" + finding.reproducer);
  out << script(printable(first.text + ": " + first.words), words, program);
  out.close();
  if (!out) fail("cannot write {}/{}", plan_.directory, finding.reproducer);
  fs::permissions(plan_.directory + "/" + finding.reproducer,
                  fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  if (first.source.empty()) return;
  finding.reproducer = name + ".c";
  static const std::regex kNameThere("reproducer-[0-9]+");  // in the line that tells how it is compiled
  std::ofstream(plan_.directory + "/" + finding.reproducer) << std::regex_replace(first.source, kNameThere, name);
}

std::vector<std::string> SweepFindings::write_reproducers() {
  std::vector<std::string> slow;
  for (std::size_t i = 0; i < findings_.size(); ++i) write_reproducer(findings_[i], i + 1);
  for (const Finding& one : findings_)
    if (one.is_slow) slow.push_back(fmt::format("{} (see {})", one.first.text, one.reproducer));
  std::erase_if(findings_, [](const Finding& one) { return one.is_slow; });
  return slow;
}

void SweepFindings::print() const {
  using Row = std::array<std::string, 7>;
  std::vector<Row> rows = {{"call", "on", "mistake", "times", "ranks", "reproducer", "setting"}};
  for (const Finding& one : findings_) {
    const auto& [call, place, mistake] = one.key;
    rows.push_back({call, place.empty() ? "-" : place, mistake, std::to_string(one.times), joined(one.sizes), one.reproducer,
                    short_settings(one.settings)});
  }
  std::array<std::size_t, 7> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", printable(row[i]), widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

nlohmann::json SweepFindings::as_json() const {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& one : findings_) {
    const auto& [call, place, mistake] = one.key;
    nlohmann::json finding{{"call", call},
                           {"on", place},
                           {"mistake", mistake},
                           {"times", one.times},
                           {"sizes", one.sizes},
                           {"settings", one.settings},
                           {"reproducer", one.reproducer},
                           {"case", one.first.text},
                           {"what", one.first.words}};
    if (!one.remark.empty()) finding["remark"] = one.remark;
    all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace reprise::cli
