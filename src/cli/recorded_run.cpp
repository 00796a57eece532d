#include "cli/recorded_run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "base/elf.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/registry.hpp"
#include "cli/speech.hpp"
#include "cli/trace_notes.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {
namespace {

using std::chrono::milliseconds;

// Is the file at this path still what was recorded?
Result<void> same_program(const std::string& path, std::string_view build_id, std::string_view hash) {
  if (!build_id.empty()) {
    const auto elf = read_elf(path);
    if (!elf) return elf.error();
    if (elf->build_id != build_id)
      return Error{fmt::format("{} has build-id {}, recorded was {}", path, elf->build_id, build_id)};
  } else if (!hash.empty()) {
    const auto now = file_hash(path);
    if (!now) return now.error();
    if (*now != hash) return Error{fmt::format("{} has changed since", path)};
  }
  return {};
}

// How long the run took. If the record command did not live to write that down, the logs were last written at its end.
double recorded_seconds(const OpenTrace& trace) {
  if (trace.manifest.complete) return trace.manifest.seconds;
  double longest = 0;
  for (const std::uint32_t rank : trace.ranks) {
    struct stat info {};
    if (::fstatat(trace.fd.get(), fmt::format("rank-{}.log", rank).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      longest = std::max(longest, static_cast<double>(info.st_mtime - trace.manifest.started));
  }
  return longest;
}

milliseconds seconds(double value) { return milliseconds(static_cast<std::int64_t>(value * 1000)); }

}  // namespace

void check_architecture(const OpenTrace& trace) {
  if (trace.manifest.architecture != machine_architecture())
    fail("recorded on {}, this machine is {}: a trace is replayed on the architecture it was recorded on",
         printable(trace.manifest.architecture), machine_architecture());
}

Recorded read_recorded(const OpenTrace& trace, const std::vector<std::uint32_t>& only, const std::string& elsewhere) {
  Recorded recorded;
  const std::uint32_t ranks =
      std::max<std::uint32_t>(trace.manifest.ranks, trace.ranks.empty() ? 0 : trace.ranks.back() + 1);
  const std::uint32_t expected = trace.manifest.complete ? trace.manifest.logs : ranks;
  if (ranks == 0 || (only.empty() && trace.ranks.size() != expected))
    fail("{} cannot be replayed: it holds {} of {}", printable(trace.path), trace.ranks.size(),
         counted(expected, "log"));
  // A rank without a log was ended before it made a call. But in a run that came to its own end nobody was: there was
  // no room for that log, and the others cannot go on without what it sent.
  if (only.empty() && trace.ranks.size() < ranks && trace.manifest.complete && trace.manifest.exit_status == 0)
    fail("{} cannot be replayed: it holds {} of {}, although the run ended well; the others could not be recorded",
         printable(trace.path), trace.ranks.size(), counted(ranks, "log"));
  recorded.logs.resize(ranks);
  std::set<std::string> checked;
  if (!only.empty())
    for (Monitor::Log& log : recorded.logs) log.absent = true;
  for (const std::uint32_t rank : trace.ranks) {
    if (!only.empty() && std::find(only.begin(), only.end(), rank) == only.end()) continue;
    const auto reader = trace::RankReader::open(trace.fd.get(), rank, trace.manifest.trace_id);
    if (!reader) fail("{}/{}", printable(trace.path), reader.error().what);
    recorded.logs[rank] = {reader->total_events(), reader->end().kind == trace::EndKind::Stopped,
                           trace.manifest.complete && trace.manifest.exit_status == 0, false};
    recorded.one_host &= reader->info("host") == host_name();
    const std::string exe = elsewhere.empty() ? std::string(reader->info("exe")) : elsewhere;
    if (!checked.insert(exe).second) continue;
    if (const auto same = same_program(exe, reader->info("build-id"), reader->info("exe-hash")); !same)
      fail("the program is not the recorded one: {}; rebuild that version, or record again",
           printable(same.error().what));
  }
  recorded.end = analyze::read_run_end(trace.fd.get(), trace.manifest, trace.ranks);
  recorded.seconds = recorded_seconds(trace);
  return recorded;
}

void refuse_what_cannot_be_replayed(const OpenTrace& trace) {
  std::set<std::string> unsupported;
  for (const TraceNote& note : read_trace_notes(trace.fd.get(), trace.manifest)) {
    if (note.key == "not-replayable")
      fail("this run cannot be replayed: {} (rank {})", printable(note.text), note.rank);
    if (note.key == "unsupported") unsupported.insert(note.text);
  }
  for (const std::string& text : unsupported)
    say("warning: the outcome of this call cannot be forced yet: {}", printable(text));
}

void confirm(const OpenTrace& trace, const std::vector<std::string>& command, const std::string& directory, bool yes) {
  if (yes || is_own(trace.manifest)) return;
  say("{} was not recorded by you on this machine. Replaying it runs this command in {}:", printable(trace.path),
      printable(directory));
  say("  {}", printable(shell_words(command)));
  fmt::print(stderr, "Run it? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  if (::isatty(STDIN_FILENO) == 0) fmt::print(stderr, "\n");
  if (answer != "y" && answer != "Y" && answer != "yes") fail("not replayed; add --yes if you trust it");
}

// How long the replay may stand still before it is given up. In the recorded run nothing took longer than the whole
// run. Replayed, the same needs as much of the job's own time (cli/job_clock.hpp), or somewhat more where the machine
// is slower. That time is not known of processes on other machines, nor how long those take to start.
Patience patience_for(const Recorded& recorded, bool known_run, bool local, double wanted) {
  double computing = local ? 3 + 3 * recorded.seconds : 10 + 5 * recorded.seconds;
  double standstill = known_run ? std::min(600.0, computing) : std::max(60.0, computing);
  if (wanted > 0) computing = standstill = wanted;
  const double start = computing + (local ? 3 : 60);
  return {seconds(standstill), seconds(std::max(computing, standstill)), seconds(start), seconds(180 + computing)};
}

std::string how_it_ended(const Recorded& recorded, const trace::Manifest& manifest) {
  for (const analyze::RankEnd& rank : recorded.end.ranks)
    if (rank.end.kind == trace::EndKind::Stopped)
      return fmt::format("rank {}: the recording ended here ({}); the run itself went on", rank.rank,
                         error_text(rank.end.value));
  const analyze::RankEnd* first = nullptr;  // that was not a good end
  for (const analyze::RankEnd& rank : recorded.end.ranks) {
    // An explored rank that waits for ever was ended by the explorer, who knows why.
    const bool left = manifest.explored && !rank.wait_status && !manifest.ended.empty();
    const std::string words = left ? printable(manifest.ended) : analyze::rank_end_words(rank);
    if (recorded.end.cause == rank.rank)
      return fmt::format("rank {}: the recorded run ended here ({})", rank.rank, words);
    const bool good = rank.end.kind == trace::EndKind::Finalized && rank.wait_status.value_or(0) == 0;
    if (!good && (!first || rank.order < first->order)) first = &rank;
  }
  if (first && first->wait_status)
    return fmt::format("the recorded run ended here ({})", analyze::rank_end_words(*first));
  return fmt::format("the recorded run ended here ({})",
                     printable(manifest.ended.empty() ? recorded.end.words : manifest.ended));
}

int recorded_status(const Recorded& recorded, const trace::Manifest& manifest) {
  if (manifest.complete) return manifest.exit_status;
  for (const analyze::RankEnd& rank : recorded.end.ranks)
    if (recorded.end.cause == rank.rank) return analyze::rank_exit_code(rank).value_or(128 + SIGKILL);
  return 128 + SIGKILL;
}

}  // namespace reprise::cli
