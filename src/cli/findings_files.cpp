#include "cli/findings_files.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

#include "base/text.hpp"
#include "cli/speech.hpp"
#include "cli/version.hpp"

namespace reprise::cli {
namespace {

using nlohmann::json;

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.flush();
  if (!file) fail("cannot write {}", printable(path));
}

// "rank 1 at sum.c:41 MPI_Recv from 2"
std::string place_words(const ReportedPlace& place) {
  std::string words = fmt::format("rank {}", place.rank);
  if (!place.at.empty()) words += fmt::format(" at {} {}", place.at, place.call);
  return place.detail.empty() ? words : words + " " + place.detail;
}

std::string finding_words(const ReportedFinding& finding) {
  std::string words = engine::category_name(finding.category);
  if (!finding.words.empty()) words += ": " + finding.words;
  for (const ReportedPlace& place : finding.places) words += "; " + place_words(place);
  if (!finding.saved.empty()) words += fmt::format("; reprise replay {}", finding.saved);
  return words;
}

json location(const ReportedPlace& place) {
  json where{{"message", {{"text", place_words(place)}}}};
  if (!place.file.empty())
    where["physicalLocation"] = {{"artifactLocation", {{"uri", place.file}}}, {"region", {{"startLine", place.line}}}};
  return where;
}

std::string identifier(engine::Category category) {
  std::string name = engine::category_name(category);
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

}  // namespace

void write_sarif(const std::string& path, const std::vector<ReportedFinding>& findings) {
  json results = json::array();
  std::set<std::string> rules;
  for (const ReportedFinding& finding : findings) {
    rules.insert(identifier(finding.category));
    json result{{"ruleId", identifier(finding.category)},
                {"level", "error"},
                {"message", {{"text", finding_words(finding)}}},
                {"locations", json::array()}};
    for (const ReportedPlace& place : finding.places) {
      json& list = result["locations"].empty() ? result["locations"] : result["relatedLocations"];
      list.push_back(location(place));
    }
    results.push_back(std::move(result));
  }
  json listed = json::array();
  for (const std::string& rule : rules) listed.push_back({{"id", rule}});
  const json document{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs",
                       {{{"tool", {{"driver", {{"name", "reprise"}, {"version", kVersion}, {"rules", listed}}}}},
                         {"results", results}}}}};
  write_text(path, document.dump(2) + "\n");
}

void write_junit(const std::string& path, const std::vector<ReportedFinding>& findings, const std::string& command,
                 const std::string& name, double seconds) {
  std::string cases;
  for (const ReportedFinding& finding : findings) {
    const std::string category = escaped(engine::category_name(finding.category));
    const std::string where = finding.order > 0 ? fmt::format(" in order {}", finding.order) : "";
    cases += fmt::format(
        "  <testcase classname=\"{}\" name=\"{}{}\">\n    <failure type=\"{}\" message=\"{}\"/>\n  </testcase>\n",
        escaped(name), category, where, category, escaped(finding_words(finding)));
  }
  if (findings.empty()) cases = fmt::format("  <testcase classname=\"{}\" name=\"{}\"/>\n", escaped(name), command);
  write_text(path, fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"reprise {} {}\" "
                               "tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
                               command, escaped(name), std::max<std::size_t>(findings.size(), 1), findings.size(),
                               seconds, cases));
}

}  // namespace reprise::cli
