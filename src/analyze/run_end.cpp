#include "analyze/run_end.hpp"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "base/process.hpp"
#include "base/text.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::analyze {

using trace::EndKind;

namespace {

constexpr std::size_t kMaxExits = 64u << 20;
constexpr std::string_view kLauncherMark = "launcher";

// A signal that a process brings upon itself; a launcher sends none of these.
bool self_inflicted(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS: return true;
    default: return false;
  }
}

// The most blameworthy first. Swept: by a signal that launchers use, or that several ranks got alike.
enum class Blame { Aborted, Ended, Vanished, Swept, None };

// The signal that ended a rank; 0 if it was none.
int signal_of(const RankEnd& rank) {
  return rank.wait_status && WIFSIGNALED(*rank.wait_status) ? WTERMSIG(*rank.wait_status) : 0;
}

std::size_t ended_by(const std::vector<RankEnd>& ranks, int signal) {
  return static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [&](const RankEnd& rank) { return signal_of(rank) == signal; }));
}

// `kills` is the number of ranks that SIGKILL ended.
Blame blame_of(const RankEnd& rank, std::size_t kills) {
  if (rank.end.kind == EndKind::Aborted) return Blame::Aborted;
  if (!rank.wait_status) {
    const bool exited = rank.end.kind == EndKind::Exited || rank.end.kind == EndKind::Finalized;
    if (exited) return rank.end.value != 0 ? Blame::Ended : Blame::None;
    return rank.end.kind == EndKind::Running && rank.trouble.empty() ? Blame::Vanished : Blame::None;
  }
  const int signal = signal_of(rank);
  if (signal == 0) return WEXITSTATUS(*rank.wait_status) != 0 ? Blame::Ended : Blame::None;
  if (self_inflicted(signal)) return Blame::Aborted;
  return signal == SIGKILL && kills == 1 ? Blame::Ended : Blame::Swept;
}

const RankEnd* find_cause(const std::vector<RankEnd>& ranks, std::size_t kills) {
  const auto key = [&](const RankEnd& rank) {
    return std::tuple(blame_of(rank, kills), rank.order.value_or(SIZE_MAX), rank.rank);
  };
  const auto first =
      std::min_element(ranks.begin(), ranks.end(), [&](const RankEnd& a, const RankEnd& b) { return key(a) < key(b); });
  return first == ranks.end() || blame_of(*first, kills) == Blame::None ? nullptr : &*first;
}

// Hydra sweeps with SIGKILL. The others were then mostly waiting inside a call; if just one rank was not, that is who
// was killed first.
const RankEnd* only_one_outside_mpi(const std::vector<RankEnd>& ranks) {
  const RankEnd* found = nullptr;
  for (const RankEnd& rank : ranks) {
    if (signal_of(rank) != SIGKILL || rank.end.in_call) continue;
    if (found) return nullptr;
    found = &rank;
  }
  return found;
}

// The number alone could be another process's by now.
bool is_running(const RankEnd& rank, std::string_view exe) {
  if (rank.pid <= 0 || rank.host != host_name() || !process_alive(rank.pid)) return false;
  char path[PATH_MAX];
  const ssize_t size = ::readlink(("/proc/" + std::to_string(rank.pid) + "/exe").c_str(), path, sizeof path);
  if (size < 0) return errno == EACCES;                                            // somebody else's; a zombie has none
  return std::string_view(path, static_cast<std::size_t>(size)).starts_with(exe);  // " (deleted)" may follow
}

std::string launcher_words(const Exit* launcher) {
  if (!launcher) return "end not seen";
  const int status = launcher->wait_status;
  return WIFSIGNALED(status) ? "launcher ended by " + signal_name(WTERMSIG(status)) : status_words(status);
}

// Fills in the cause, if one rank can be blamed, and the words.
void judge(RunEnd& run, const Exit* launcher) {
  const std::size_t kills = ended_by(run.ranks, SIGKILL);
  const bool success = launcher && launcher->wait_status == 0;  // then single ranks may return what they like
  const RankEnd* cause = success ? nullptr : find_cause(run.ranks, kills);
  const Blame blame = cause ? blame_of(*cause, kills) : Blame::None;
  const bool is_launcher = cause && launcher && cause->pid == launcher->pid && cause->host == launcher->host;
  const bool launcher_signalled = launcher && !is_launcher && WIFSIGNALED(launcher->wait_status);
  // Ranks that were swept away, or whose end nobody saw, are victims when the launcher itself was killed.
  if (blame == Blame::None || (launcher_signalled && blame != Blame::Aborted)) {
    run.words = launcher_words(launcher);
    return;
  }
  std::size_t alike = 1;
  if (blame == Blame::Swept) {
    alike = ended_by(run.ranks, signal_of(*cause));
    if (signal_of(*cause) == SIGKILL) {
      if (const RankEnd* first = only_one_outside_mpi(run.ranks)) {
        cause = first;
        alike = 1;
      }
    }
  } else if (blame == Blame::Vanished) {
    alike = static_cast<std::size_t>(std::count_if(run.ranks.begin(), run.ranks.end(), [&](const RankEnd& rank) {
      return blame_of(rank, kills) == Blame::Vanished;
    }));
  }
  if (alike == 1) run.cause = cause->rank;
  const std::string who = alike == 1 ? "rank " + std::to_string(cause->rank) : std::to_string(alike) + " ranks";
  if (blame == Blame::Vanished)
    run.words =
        who + (alike == 1 ? " was cut off" : " were cut off") + (launcher ? " (" + launcher_words(launcher) + ")" : "");
  else run.words = rank_end_words(*cause) + (cause->end.kind == EndKind::Aborted ? " by " : " of ") + who;
}

}  // namespace

std::vector<Exit> parse_exits(std::string_view text) {
  std::vector<Exit> exits;
  for (const std::string& line : split(text, '\n')) {
    const auto fields = split(line, ' ');
    const bool launcher = fields.size() == 4 && fields[3] == kLauncherMark;
    if (fields.size() != 3 && !launcher) continue;
    const auto pid = parse_number(fields[1]);
    const auto status = parse_number(fields[2]);
    if (!pid || !status || *pid > INT32_MAX || *status > 0xffff) continue;
    exits.push_back({fields[0], static_cast<pid_t>(*pid), static_cast<int>(*status), launcher});
  }
  return exits;
}

std::string exit_line(const Exit& exit) {
  std::string line = exit.host + ' ' + std::to_string(exit.pid) + ' ' + std::to_string(exit.wait_status);
  if (exit.launcher) line.append(" ").append(kLauncherMark);
  return line + '\n';
}

std::string rank_end_words(const RankEnd& end) {
  if (end.end.kind == EndKind::Aborted) return "MPI_Abort(" + std::to_string(end.end.value) + ")";
  if (end.wait_status && *end.wait_status != 0) return status_words(*end.wait_status);
  switch (end.end.kind) {
    case EndKind::Finalized: return end.end.value != 0 ? "exit status " + std::to_string(end.end.value) : "finalized";
    case EndKind::Exited: return "exit status " + std::to_string(end.end.value);
    case EndKind::Stopped: return "recording stopped: " + error_text(end.end.value);
    default: break;
  }
  if (end.running) return "running";
  return end.wait_status ? status_words(*end.wait_status) : "cut off";
}

std::optional<int> rank_exit_code(const RankEnd& end) {
  if (end.wait_status) return exit_code(*end.wait_status);
  if (end.end.kind == EndKind::Finalized || end.end.kind == EndKind::Exited || end.end.kind == EndKind::Aborted)
    return end.end.value & 0xff;
  return std::nullopt;
}

RunEnd judge_run_end(std::vector<RankEnd> ranks, std::uint32_t world, const std::vector<Exit>& exits) {
  RunEnd run;
  run.world = world;
  run.ranks = std::move(ranks);
  std::sort(run.ranks.begin(), run.ranks.end(), [](const RankEnd& a, const RankEnd& b) { return a.rank < b.rank; });
  std::map<std::pair<std::string_view, pid_t>, std::size_t> by_process;
  const Exit* launcher = nullptr;
  for (std::size_t i = 0; i < exits.size(); ++i) {
    by_process.emplace(std::pair(std::string_view(exits[i].host), exits[i].pid), i);
    if (exits[i].launcher) launcher = &exits[i];
  }
  std::uint32_t expected = 0;
  for (RankEnd& rank : run.ranks) {
    for (; expected < std::min(rank.rank, world); ++expected) run.missing.push_back(expected);
    expected = rank.rank + 1;
    if (rank.end.kind == EndKind::Stopped) run.stopped.push_back(rank.rank);
    const auto found = by_process.find(std::pair(std::string_view(rank.host), rank.pid));
    if (found == by_process.end()) continue;
    rank.order = found->second;
    rank.wait_status = exits[found->second].wait_status;
  }
  for (; expected < world; ++expected) run.missing.push_back(expected);
  judge(run, launcher);
  return run;
}

RunEnd read_run_end(int dir_fd, const trace::Manifest& manifest, const std::vector<std::uint32_t>& ranks,
                    const std::optional<Exit>& launcher) {
  std::vector<RankEnd> ends;
  std::uint32_t world = 0;
  for (const std::uint32_t rank : ranks) {
    RankEnd end;
    end.rank = rank;
    if (const auto reader = trace::RankReader::open(dir_fd, rank, manifest.trace_id)) {
      end.host = reader->info("host");
      end.pid = static_cast<pid_t>(parse_number(reader->info("pid")).value_or(0) & INT32_MAX);
      end.calls = reader->total_events();
      end.end = reader->end();
      const std::uint64_t size = parse_number(reader->info("ranks")).value_or(0);
      end.running = !launcher && !manifest.complete && reader->unsealed() && is_running(end, reader->info("exe"));
      if (size <= trace::kMaxRanks) world = std::max(world, static_cast<std::uint32_t>(size));
    } else {
      end.trouble = reader.error().what;
    }
    ends.push_back(std::move(end));
  }
  const auto text = read_file_at(dir_fd, "exits", kMaxExits, false);
  std::vector<Exit> exits = parse_exits(text ? *text : manifest.exits);
  if (launcher) exits.push_back(*launcher);
  RunEnd run = judge_run_end(std::move(ends), world, exits);
  for (const RankEnd& rank : run.ranks) run.running |= rank.running;
  if (run.running) {
    run.cause.reset();
    run.words = "still running";
  }
  return run;
}

}  // namespace reprise::analyze
