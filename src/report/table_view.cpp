// The trace as a table for people, on stdout.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/trace_view.hpp"

namespace reprise::report {

namespace {

std::string when(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (!::localtime_r(&time, &parts) || parts.tm_year > 8000 || parts.tm_year < 70) return "at an unknown time";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

class TableView : public TraceView {
 public:
  explicit TableView(Paint paint) : paint_(paint) {}

  void begin(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) override {
    std::string library = manifest.mpi_library.empty() ? manifest.mpi : manifest.mpi_library;
    std::replace(library.begin(), library.end(), '\t', ' ');  // MPICH's version has tabs in it
    fmt::print("{}\n", paint_.bold(printable(path)));
    fmt::print("  command   {}\n", printable(shell_words(manifest.command)));
    fmt::print("  where     {} on {} ({})\n", printable(manifest.working_directory), printable(manifest.host),
               printable(manifest.architecture));
    fmt::print("  when      {}, {:.3f} s\n", when(manifest.started), manifest.seconds);
    fmt::print("  MPI       {}\n", printable(library.substr(0, library.find(','))));
    fmt::print("  ranks     {}\n", ranks_words(manifest, end));
    fmt::print("  ended     {}\n", ended_words(manifest, end));
  }

  void begin_rank(const analyze::RankEnd& rank) override {
    const std::string end = rank.trouble.empty() ? rank_end_words(rank) : "not readable";
    fmt::print("\n{}  {}, pid {} on {}, {}\n", paint_.bold(fmt::format("rank {}", rank.rank)),
               counted(rank.calls, "call"), rank.pid, printable(rank.host), end);
    titled_ = false;
  }

  void communicator(std::size_t number, const engine::CommunicatorRecord& communicator) override {
    if (number > 1) aside(communicator_definition_words(number, communicator));  // world and self need no words
  }

  void note(const engine::NoteRecord& note) override {
    aside(paint_.careful(printable(note.key)) + ": " + printable(note.text));
  }

  void call(const analyze::Call& call, const std::string& function, const analyze::SourceLine& at) override {
    if (!titled_) row("#", "call", "comm", "peer", "tag", "bytes", "outcome", "at", true);
    titled_ = true;
    const ShownArguments shown = shown_arguments(function, call.arguments);
    const auto& values = call.arguments;
    row(std::to_string(call.number), printable(function),
        shown.communicator ? communicator_words(values[engine::kComm]) : "",
        shown.peer ? peer_words(values[engine::kPeer]) : "", shown.tag ? tag_words(values[engine::kTag]) : "",
        shown.bytes ? std::to_string(values[engine::kBytes]) : "", outcome_words(call), at.text(), false);
  }

  void end_rank(std::uint64_t left_out, const std::string& trouble) override {
    if (left_out > 0) aside(counted(left_out, "more call") + " (--limit 0 shows all)");
    if (!trouble.empty()) aside(paint_.bad("the log is not readable further: ") + printable(trouble));
  }

  void end() override {}

 private:
  static std::string ranks_words(const trace::Manifest& manifest, const analyze::RunEnd& end) {
    std::string words = std::to_string(manifest.ranks > 0 ? manifest.ranks : end.world);
    if (!end.missing.empty()) words += "; not recorded: " + number_ranges(end.missing);
    if (!end.stopped.empty()) words += "; recording stopped early: " + number_ranges(end.stopped);
    return words;
  }

  static std::string ended_words(const trace::Manifest& manifest, const analyze::RunEnd& end) {
    if (!manifest.complete) return "recording itself was cut off; ranks: " + end.words;
    return printable(manifest.ended);
  }

  static void aside(const std::string& text) { fmt::print("{:>8}  {}\n", "", text); }

  void row(const std::string& number, const std::string& call, const std::string& comm, const std::string& peer,
           const std::string& tag, const std::string& bytes, const std::string& outcome, const std::string& at,
           bool title) {
    const std::string left =
        fmt::format("{}  {} {} {} {} {}  {}", padded(number, 8, true), padded(call, 18), padded(comm, 7),
                    padded(peer, 5, true), padded(tag, 6, true), padded(bytes, 9, true), padded(outcome, 26));
    if (title) fmt::print("{}\n", paint_.dim(left + "  " + at));
    else fmt::print("{}  {}\n", left, paint_.dim(at));
  }

  Paint paint_;
  bool titled_ = false;
};

}  // namespace

std::unique_ptr<TraceView> table_view(Paint paint) { return std::make_unique<TableView>(paint); }

}  // namespace reprise::report
