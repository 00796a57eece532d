#include "cli/leftovers.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "trace/blocks.hpp"
#include "trace/format.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kGrace = 5s;
constexpr auto kQuiet = 1s;  // so long without a record, and a rank of another node is taken for dead
constexpr auto kPoll = 20ms;

std::string open_file(std::uint32_t rank) { return fmt::format("rank-{}.open", rank); }

// Ranks whose logs are open, and that may still write to them.
class OpenLogs {
 public:
  OpenLogs(int dir_fd, std::uint64_t trace_id) : dir_fd_(dir_fd), trace_id_(trace_id) {}

  std::vector<std::uint32_t> living() {
    std::vector<std::uint32_t> living;
    for (const std::uint32_t rank : ranks_with_logs(dir_fd_)) {
      if (::faccessat(dir_fd_, open_file(rank).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const auto reader = trace::RankReader::open(dir_fd_, rank, trace_id_);
      if (reader && (reader->info("host") == host_name() ? runs(*reader) : writes(rank))) living.push_back(rank);
    }
    return living;
  }

 private:
  struct Trail {
    std::array<char, sizeof(trace::LiveWords)> words{};
    off_t log_size = -1;
    bool operator==(const Trail&) const = default;
  };
  struct Seen {
    Trail trail;
    Clock::time_point changed;
  };

  static bool runs(const trace::RankReader& reader) {
    const auto pid = parse_number(reader.info("pid"));
    return pid && *pid <= INT32_MAX && process_alive(static_cast<pid_t>(*pid));
  }

  // A process of another node cannot be looked at, but what it writes can. The files are opened anew each time: that is
  // when network file systems look for news.
  bool writes(std::uint32_t rank) {
    Trail trail;
    const UniqueFd open(::openat(dir_fd_, open_file(rank).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!open || ::pread(open.get(), trail.words.data(), trail.words.size(), trace::kLiveOffset) < 0) return false;
    struct stat info {};
    if (::fstatat(dir_fd_, fmt::format("rank-{}.log", rank).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      trail.log_size = info.st_size;
    const auto now = Clock::now();
    const auto [at, is_new] = seen_.try_emplace(rank, Seen{trail, now});
    if (!is_new && at->second.trail != trail) at->second = {trail, now};
    return now - at->second.changed < kQuiet;
  }

  int dir_fd_;
  std::uint64_t trace_id_;
  std::map<std::uint32_t, Seen> seen_;
};

// Of a process that was killed while the log was made: the thread had done nothing yet, or come out of MPI_Init only.
void remove_log(int dir_fd, std::uint32_t rank, std::uint32_t stream) {
  for (const std::uint32_t part : {0U, trace::kDataStream, trace::kMessageStream})
    for (const trace::FileKind kind : {trace::FileKind::Log, trace::FileKind::Open})
      ::unlinkat(dir_fd, trace::file_name(kind, {0, rank, stream | part}).data(), 0);
}

}  // namespace

// What a launcher that ended well leaves behind is meant to live on (a daemon, a connection kept open); after any
// other end, what is left are ranks that nobody looks after any more.
std::vector<std::uint32_t> collect_leftovers(Job& job, int launcher_status, int dir_fd, std::uint64_t trace_id) {
  if (launcher_status != 0 && !job.await_descendants(kGrace)) job.terminate();
  OpenLogs logs(dir_fd, trace_id);
  const auto until = Clock::now() + kGrace;
  std::vector<std::uint32_t> living;
  while (!(living = logs.living()).empty() && Clock::now() < until) {
    job.poll();
    std::this_thread::sleep_for(kPoll);
  }
  return living;
}

void seal_ranks(int dir_fd, std::uint64_t trace_id, const std::vector<std::uint32_t>& living) {
  if (living.size() == 1) say("rank {} still runs; its log stays open", living.front());
  if (living.size() > 1) say("ranks {} still run; their logs stay open", number_ranges(living));
  for (const std::uint32_t rank : ranks_with_logs(dir_fd)) {
    if (std::binary_search(living.begin(), living.end(), rank)) continue;
    for (const std::uint32_t stream : trace::streams_of(dir_fd, rank)) {
      auto sealed = trace::seal(dir_fd, rank, trace_id, stream);
      if (!sealed && trace::never_begun(dir_fd, rank, stream)) {
        remove_log(dir_fd, rank, stream);
        if (stream == 0)  // without the main thread's, those of the others say nothing
          for (const std::uint32_t other : trace::streams_of(dir_fd, rank)) remove_log(dir_fd, rank, other);
        if (stream == 0) break;
        continue;
      }
      for (const std::uint32_t part : trace::kBesideLog)
        if (sealed && trace::has_log(dir_fd, rank, stream | part)) sealed = trace::seal(dir_fd, rank, trace_id, stream | part);
      if (!sealed) say("the log of rank {} could not be closed: {}", rank, sealed.error().what);
    }
  }
}

}  // namespace reprise::cli
