#include "cli/sweep_run.hpp"

#include <fmt/format.h>
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "cli/trace_dir.hpp"
#include "flow/intention_log.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kMarkTag = 32767;  // share/sweep/sweep.c: a message of a rank to itself, before each case
constexpr std::size_t kMostOutput = 64u << 20;
constexpr auto kPatience = 20min;  // for the checker; the program has a limit of its own

struct Begun {
  std::int64_t number = 0;
  std::string kind, text;
};

std::string content(const std::string& path) {
  auto text = read_file_at(AT_FDCWD, path, kMostOutput, true);
  return text ? std::move(*text) : "";
}

// "WRONG case 12: MPI_Bcast on ...: rank 1: byte 4 of ..." -> what is behind the text of the case
std::string behind(const std::string& line, const std::string& text) {
  const std::size_t at = text.empty() ? std::string::npos : line.find(text), rank = line.find(": rank ");
  // Another rank may have another part of a split communicator, and name its size.
  std::string rest = at != std::string::npos     ? line.substr(at + text.size())
                     : rank != std::string::npos ? line.substr(rank)
                                                 : line;
  while (!rest.empty() && (rest.front() == ':' || rest.front() == ' ')) rest.erase(0, 1);
  return rest;
}

// What sort of mistake the sweep's own check has seen.
std::string sort_of(const std::string& words) {
  const auto says = [&](const char* part) { return words.find(part) != std::string::npos; };
  const std::size_t remark = words.find('[');
  if (remark != std::string::npos && words.find(']', remark) != std::string::npos)
    return words.substr(remark + 1, words.find(']', remark) - remark - 1);
  if (says("true lower bound")) return "wrong true bounds of a datatype";
  if (says("lower bound and extent")) return "wrong bounds of a datatype";
  if (says("MPI_Type_size is")) return "wrong size of a datatype";
  if (says(" before the ") || says(" behind the ")) return "written outside of the buffer";
  if (says("in a hole")) return "written between the elements";
  if (says(" of the ") && says(" buffer")) return "other bytes";
  if (says("element ") && says("should be")) return "wrong reduction";
  if (says("source is ") || says("tag is ") || says("MPI_Get_count") || says("MPI_Get_elements")) return "wrong status";
  if (says("us before rank")) return "does not wait for all";
  // Numbers differ from case to case.
  std::string sort = words.substr(words.starts_with("rank ") ? std::min(words.find(": ") + 2, words.size()) : 0);
  sort = sort.substr(0, sort.find(" ("));
  for (char& c : sort)
    if (c >= '0' && c <= '9') c = 'N';
  sort.erase(std::unique(sort.begin(), sort.end(), [](char a, char b) { return a == 'N' && b == 'N'; }), sort.end());
  return sort.substr(0, 80);
}

// "rank 1: MPI_Win_create: MPI_ERR_WIN: MPI_ERR_WIN: invalid window" -> "MPI_Win_create: MPI_ERR_WIN"
std::string refusal(const std::string& words) {
  const auto fields = split(words, ':');
  std::string out;
  for (const std::string& field : fields) {
    const std::size_t at = field.find("MPI_");
    if (at == std::string::npos || out.find(field.substr(at)) != std::string::npos) continue;
    out += (out.empty() ? "" : ": ") + field.substr(at);
    if (out.find("MPI_ERR") != std::string::npos) break;
  }
  return out.empty() ? "error" : out;
}

struct Said {
  std::vector<Begun> begun;
  SweepRun run;
};

// The program's own lines, on both of its streams.
Said read_lines(const std::string& out, const std::string& err) {
  Said said;
  std::set<std::int64_t> told;
  const auto add = [&](const std::string& line, std::size_t word, bool fatal) {
    const std::size_t colon = line.find(':');
    const auto number = parse_number(std::string_view(line).substr(word, colon == std::string::npos ? 0 : colon - word));
    if (!number || !told.insert(static_cast<std::int64_t>(*number)).second) return;
    Incident one;
    one.number = static_cast<std::int64_t>(*number);
    for (const Begun& begun : said.begun)
      if (begun.number == *one.number) one.kind = begun.kind, one.text = begun.text;
    one.words = behind(line.substr(colon + 1), one.text);
    if (one.text.empty()) one.text = one.kind;
    one.fatal = fatal;
    if (line.starts_with("WRONG")) one.mistake = sort_of(one.words);
    else if (line.starts_with("REFUSED")) one.mistake = "error " + refusal(one.words);
    else one.mistake = line.starts_with("HANGS") ? "hang" : "crash";
    said.run.incidents.push_back(std::move(one));
  };
  for (const std::string* const stream : {&out, &err}) {
    for (const std::string& line : split(*stream, '\n')) {
      if (line.starts_with("case ")) {
        const std::size_t space = line.find(' ', 5), colon = line.find(": ");
        const auto number = parse_number(std::string_view(line).substr(5, space == std::string::npos ? 0 : space - 5));
        if (!number || colon == std::string::npos || colon < space) continue;
        said.begun.push_back(
            {static_cast<std::int64_t>(*number), line.substr(space + 1, colon - space - 1), line.substr(colon + 2)});
      }
      if (line.starts_with("WRONG case ")) add(line, 11, false);
      if (line.starts_with("REFUSED case ")) add(line, 13, false);
      if (line.starts_with("HANGS case ")) add(line, 11, true);
      if (line.starts_with("CRASHES case ")) add(line, 13, true);
      if (line.find(" cases, ") != std::string::npos && line.ends_with(" wrong")) said.run.complete = true;
    }
  }
  said.run.cases = said.begun.size();
  if (said.begun.empty() || said.run.complete) return said;
  // Whoever did not come to say anything.
  said.run.last = said.begun.back().number;
  if (told.contains(said.run.last)) {
    for (Incident& one : said.run.incidents)
      if (one.number == said.run.last) one.fatal = true;
  } else {
    add(fmt::format("CRASHES case {}: ", said.run.last), 13, true);
  }
  return said;
}

// For each rank, the numbers of the calls that mark cases.
std::map<std::uint32_t, std::vector<std::uint64_t>> read_marks(const OpenTrace& trace) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> marks;
  for (std::uint32_t rank = 0; rank < trace.manifest.ranks; ++rank) {
    auto log = flow::IntentionLog::open(trace.fd.get(), trace.manifest.trace_id, rank);
    if (!log) continue;
    std::uint64_t calls = 0;
    for (auto event = log->next(); event && *event; event = log->next()) {
      const flow::Event& one = **event;
      using trace::IntentionRecord;
      if (one.kind != IntentionRecord::Begin && one.kind != IntentionRecord::Whole && one.kind != IntentionRecord::Access) continue;
      ++calls;  // as the checker counts them
      if (one.shape && one.shape->form == trace::IntentionForm::SendReceive && one.shape->send_tag == kMarkTag)
        marks[rank].push_back(calls);
    }
  }
  return marks;
}

const Begun* case_of(const nlohmann::json& violation, const std::map<std::uint32_t, std::vector<std::uint64_t>>& marks,
                     const std::vector<Begun>& begun) {
  if (!violation.contains("calls") || violation["calls"].empty()) return nullptr;
  const nlohmann::json& last = violation["calls"].back();
  const auto found = marks.find(last["rank"].get<std::uint32_t>());
  if (found == marks.end()) return nullptr;
  const auto behind = std::upper_bound(found->second.begin(), found->second.end(), last["number"].get<std::uint64_t>());
  const auto ordinal = static_cast<std::size_t>(behind - found->second.begin());
  return ordinal == 0 || ordinal > begun.size() ? nullptr : &begun[ordinal - 1];
}

// What the checker says outweighs what the sweep says about the same case: it knows which bytes of which call.
void add_violations(const nlohmann::json& verdict, const std::string& trace, const std::vector<Begun>& begun, SweepRun& run) {
  run.intentions = verdict.value("intentions", std::uint64_t{0});
  for (const nlohmann::json& trouble : verdict["troubles"]) run.why = trouble.get<std::string>();
  if (verdict["violations"].empty()) return;
  const auto marks = read_marks(open_trace(trace));
  for (const nlohmann::json& violation : verdict["violations"]) {
    const Begun* const where = case_of(violation, marks, begun);
    const bool by_program = violation.value("by program", false);
    Incident* one = nullptr;
    for (Incident& known : run.incidents)
      if (where && known.number == where->number) one = &known;
    // The program's rules are ours: only where the library has not gone wrong before does that mean anything.
    if (one && by_program) continue;
    if (!one) {
      run.incidents.emplace_back();
      one = &run.incidents.back();
      if (where) one->number = where->number, one->kind = where->kind, one->text = where->text;
      one->by_program = by_program;
    }
    if (!one->by_checker && !one->fatal) {
      one->mistake = by_program ? violation.value("rule", "") : violation["kind"].get<std::string>();
      one->words = violation["what"].get<std::string>();
      one->by_checker = true;
    }
    if (violation.contains("reproducer") && violation["reproducer"].value("shows it", false) && one->source.empty())
      one->source = violation["reproducer"]["file"].get<std::string>();
    if (one->text.empty())
      one->text = violation.contains("calls") ? violation["calls"].back()["call"].get<std::string>() : "datatypes";
  }
}

nlohmann::json read_verdict(const std::string& out) {
  const std::size_t begin = out.starts_with("{\n") ? 0 : out.rfind("\n{\n");
  if (begin == std::string::npos) return {};
  return nlohmann::json::parse(out.substr(begin), nullptr, false);
}

// With both streams in files, which a launcher that stays behind cannot keep open for us.
void run_into(const std::vector<std::string>& command, const std::string& out, const std::string& err) {
  std::vector<std::string> words = {"sh", "-c", "out=$1 err=$2; shift 2; \"$@\" >\"$out\" 2>\"$err\" </dev/null; true",
                                    "sh", out,  err};
  words.insert(words.end(), command.begin(), command.end());
  capture(words, {}, kPatience);
}

}  // namespace

std::vector<std::string> sweep_command_line(const SweepPlan& plan, const SweepSetting& setting, int ranks,
                                            const std::vector<std::string>& arguments) {
  // There may be more ranks than processors.
  std::vector<std::string> words = {"env", "OMPI_MCA_rmaps_base_oversubscribe=1"};
  for (const auto& [name, value] : setting.environment) words.push_back(name + '=' + value);
  words.insert(words.end(), plan.launcher.begin(), plan.launcher.end());
  words.insert(words.end(), {"-n", std::to_string(ranks), plan.directory + "/sweep", "--seed", std::to_string(plan.seed)});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::vector<std::string> sweep_choice(const SweepPlan& plan, const SweepSetting& setting) {
  std::vector<std::string> words;
  const std::string& families = plan.only.empty() || !setting.is_broad ? setting.families : plan.only;
  for (const auto& [option, value] : {std::pair("--only", families), {"--variants", setting.variants}, {"--comms", setting.comms}})
    if (!value.empty()) words.insert(words.end(), {option, value});
  return words;
}

SweepRun run_sweep(const SweepPlan& plan, const SweepSetting& setting, int ranks, std::int64_t from, std::uint64_t cases,
                   const std::string& without, const std::function<bool(const Incident&)>& wants) {
  const TemporaryDirectory room;
  const std::string self = fs::read_symlink("/proc/self/exe"), trace = room.path() + "/trace", out = room.path() + "/out",
                    err = room.path() + "/err";
  std::vector<std::string> arguments = sweep_choice(plan, setting);
  arguments.insert(arguments.end(), {"--from", std::to_string(from), "--cases", std::to_string(cases), "--limit",
                                     std::to_string(plan.limit), "--verbose"});
  if (!without.empty()) arguments.insert(arguments.end(), {"--without", without});
  // The sweep ends itself when a case hangs; that is for a library that hangs between cases, or at its end.
  const auto patience = static_cast<std::uint64_t>(plan.limit) * 3 + 60 + 2 * cases;
  std::vector<std::string> command = {
      "timeout", "-k", "10", std::to_string(patience), self, "check", "--json", "--quiet", "--no-reproducers", "-o", trace, "--"};
  const std::vector<std::string> inner = sweep_command_line(plan, setting, ranks, arguments);
  command.insert(command.end(), inner.begin(), inner.end());
  run_into(command, out, err);
  const std::string text = content(out);
  Said said = read_lines(text, content(err));
  const nlohmann::json verdict = read_verdict(text);
  if (!verdict.is_object()) {
    said.run.why = "the run could not be checked: " + content(err).substr(0, 300);
  } else {
    add_violations(verdict, trace, said.begun, said.run);
    const auto is_wanted = [&](const Incident& one) { return one.by_checker && !one.by_program && wants(one); };
    if (std::any_of(said.run.incidents.begin(), said.run.incidents.end(), is_wanted)) {
      run_into({self, "check", "--json", "--quiet", trace}, out, err);
      if (const nlohmann::json again = read_verdict(content(out)); again.is_object())
        add_violations(again, trace, said.begun, said.run);
      for (Incident& one : said.run.incidents) {
        if (one.source.empty()) continue;
        one.source = content(one.source);  // the directory goes
      }
    }
  }
  if (said.begun.empty() && said.run.why.empty()) said.run.why = content(err).substr(0, 300);
  return std::move(said.run);
}

}  // namespace reprise::cli
