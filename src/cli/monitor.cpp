#include "cli/monitor.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
using engine::RankState;
using std::chrono::milliseconds;

constexpr std::size_t kLongestLine = 64 * 1024;
// A message from a rank that has come to its end is either here by now or will never come.
constexpr auto kLastMessagePatience = 3s;

std::string random_token() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    fail("no random numbers from the system: {}", error_text(errno));
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Where other nodes may find us.
std::string own_addresses() {
  std::string list;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return list;
  for (const ifaddrs* at = first; at; at = at->ifa_next) {
    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP) ||
        (at->ifa_flags & IFF_LOOPBACK))
      continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) list += fmt::format("{},", text);
  }
  ::freeifaddrs(first);
  return list;
}

double seconds_of(JobClock::Time time) { return std::chrono::duration<double>(time).count(); }

bool at_its_end(const MonitoredRank& rank) {
  return rank.gone || rank.state == RankState::Holding || rank.state == RankState::LastCall ||
         rank.state == RankState::Finalized;
}

}  // namespace

Monitor::Monitor(const std::vector<Log>& logs, bool everywhere, const Patience& patience)
    : token_(random_token()), ranks_(logs.size()), patience_(patience) {
  for (std::size_t i = 0; i < logs.size(); ++i) {
    ranks_[i].total = logs[i].total;
    ranks_[i].stopped = logs[i].stopped;
    ranks_[i].ends = logs[i].ends;
    if (!logs[i].absent) continue;
    ranks_[i].total = 0;
    ranks_[i].arrived = ranks_[i].connected = ranks_[i].gone = true;
    ranks_[i].state = RankState::Finalized;
  }
  open_places();
  listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(everywhere ? INADDR_ANY : INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!listener_ || ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.get(), 1024) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("cannot listen for the ranks on the loopback network: {}", error_text(errno));
  // The loopback address last: on another node it may well be somebody else who listens there.
  address_ = fmt::format("{}127.0.0.1:{}:{}", everywhere ? own_addresses() : "", ntohs(address.sin_port), token_);
}

Monitor::~Monitor() {
  if (places_) ::munmap(const_cast<std::atomic<std::uint64_t>*>(places_), ranks_.size() * engine::kPlaceBytes);
}

// A file without a name: nothing is left behind, however this process ends.
void Monitor::open_places() {
  const std::size_t size = ranks_.size() * engine::kPlaceBytes;
  places_file_ = UniqueFd(::memfd_create(engine::places_name(token_).c_str(), MFD_CLOEXEC));
  if (!places_file_ || ::ftruncate(places_file_.get(), static_cast<off_t>(size)) != 0) return;
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, places_file_.get(), 0);
  if (map != MAP_FAILED) places_ = static_cast<const std::atomic<std::uint64_t>*>(map);
}

std::string Monitor::places() const {
  return places_ ? fmt::format("/proc/{}/fd/{}", ::getpid(), places_file_.get()) : "";
}

void Monitor::read_last_place(std::uint32_t number) {
  constexpr std::size_t kWords = engine::kPlaceBytes / sizeof(std::uint64_t);
  const std::uint64_t place = places_ ? places_[number * kWords].load(std::memory_order_acquire) : 0;
  MonitoredRank& rank = ranks_[number];
  if (place >> 4 < rank.event || place == 0) return;  // it was on another machine
  rank.event = place >> 4;
  rank.state = static_cast<RankState>(place & 15);
}

bool Monitor::all_connected() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const MonitoredRank& rank) { return rank.connected; });
}

bool Monitor::any_connected() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const MonitoredRank& rank) { return rank.connected; });
}

bool Monitor::all_gone() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const MonitoredRank& rank) { return rank.gone || !rank.connected; });
}

std::optional<int> Monitor::end_of(std::uint32_t rank) const {
  const auto found = ended_.find(ranks_[rank].pid);
  return found == ended_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> Monitor::unfinished_rank() const {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i)
    if (!ranks_[i].connected || ranks_[i].event < ranks_[i].total) return i;
  return std::nullopt;
}

void Monitor::broadcast(std::string_view line) {
  for (MonitoredRank& rank : ranks_)
    if (rank.socket) (void)::send(rank.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Monitor::accept_newcomer() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) newcomers_.push_back({std::move(socket), {}});
}

// Until a newcomer has shown the token it may only say hello.
void Monitor::hear_newcomer(std::size_t index) {
  Newcomer& newcomer = newcomers_[index];
  char buffer[512];
  const ssize_t size = ::recv(newcomer.socket.get(), buffer, sizeof buffer, 0);
  if (size <= 0 || newcomer.received.size() > sizeof buffer) {
    newcomer.socket = UniqueFd();
    return;
  }
  newcomer.received.append(buffer, static_cast<std::size_t>(size));
  const auto end = newcomer.received.find('\n');
  if (end == std::string::npos) return;
  const std::string line = newcomer.received.substr(0, end);
  const std::string rest = newcomer.received.substr(end + 1);
  greet(newcomer, line, rest);
}

void Monitor::greet(Newcomer& newcomer, std::string_view line, std::string_view rest) {
  const auto words = engine::split(line, ' ');
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  UniqueFd socket = std::move(newcomer.socket);
  pid_t pid = 0;
  int status = 0;
  if (words.size() == 4 && words[0] == "ended" && words[1] == token_ && engine::parse_number(words[2], pid) &&
      engine::parse_number(words[3], status))
    ended_[pid] = status;
  if (words.size() == 3 && words[0] == "arrived" && words[1] == token_ && engine::parse_number(words[2], rank) &&
      rank < ranks_.size()) {
    ranks_[rank].arrived = true;
    last_arrival_ = clock_.now();
  }
  if (words.size() != 5 || words[0] != "hello" || words[1] != token_ || !engine::parse_number(words[2], rank) ||
      !engine::parse_number(words[3], world) || !engine::parse_number(words[4], pid))
    return;
  if (world != ranks_.size() || rank >= ranks_.size()) {
    if (!verdict_)
      verdict_ =
          Verdict{Verdict::Kind::Trouble,
                  rank,
                  {},
                  fmt::format("the recorded run had {}, but this one has {}", counted(ranks_.size(), "rank"), world)};
    return;
  }
  MonitoredRank& known = ranks_[rank];
  if (known.connected) return;  // a second job of the same command
  known.socket = std::move(socket);
  known.connected = true;
  known.pid = pid;
  known.received = rest;
  known.changed = last_arrival_ = clock_.now();
  understand_lines(rank);  // what followed its hello may be all that it ever says
}

void Monitor::hear(std::uint32_t number) {
  MonitoredRank& rank = ranks_[number];
  char buffer[8192];
  const ssize_t size = ::recv(rank.socket.get(), buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0 || rank.received.size() > kLongestLine) {
    rank.socket = UniqueFd();
    rank.gone = true;
    read_last_place(number);
    rank.changed = clock_.now();
    return;
  }
  rank.received.append(buffer, static_cast<std::size_t>(size));
  understand_lines(number);
}

void Monitor::understand_lines(std::uint32_t number) {
  MonitoredRank& rank = ranks_[number];
  for (std::size_t end; (end = rank.received.find('\n')) != std::string::npos; rank.received.erase(0, end + 1))
    understand(number, std::string_view(rank.received).substr(0, end));
}

void Monitor::understand(std::uint32_t number, std::string_view line) {
  MonitoredRank& rank = ranks_[number];
  const auto space = line.find_first_of(" \t");
  const std::string_view word = line.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  if (word == "at") {
    const auto words = engine::split(rest, ' ');
    unsigned state = 0;
    if (words.size() != 3 || !engine::parse_number(words[0], rank.event) || !engine::parse_number(words[1], state) ||
        !engine::parse_number(words[2], rank.peer))
      return;
    rank.state = static_cast<RankState>(state);
    rank.changed = clock_.now();
  } else if (word == "warn") {
    warnings_.push_back(fmt::format("rank {}: {}", number, printable(rest)));
  } else if (word == "deadlock") {
    deadlocks_.push_back({number, std::string(rest)});
  } else if (word == "trouble" && !verdict_) {
    verdict_ = Verdict{Verdict::Kind::Trouble, number, {}, std::string(rest)};
  } else if (word == "diverged" && !verdict_) {
    Verdict verdict{Verdict::Kind::Diverged, number, {}, {}};
    if (engine::parse_divergence(rest, verdict.report)) verdict_ = std::move(verdict);
  }
}

std::optional<Verdict> Monitor::step(std::chrono::milliseconds time) {
  std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
  for (const Newcomer& newcomer : newcomers_) polled.push_back({newcomer.socket.get(), POLLIN, 0});
  for (const MonitoredRank& rank : ranks_) polled.push_back({rank.socket ? rank.socket.get() : -1, POLLIN, 0});
  heard_ = ::poll(polled.data(), polled.size(), static_cast<int>(time.count())) > 0;
  clock_.tick();  // first: what is heard now has happened now, however long we have not looked
  if (heard_) {
    const std::size_t first_rank = 1 + newcomers_.size();
    for (std::uint32_t i = 0; i < ranks_.size(); ++i)
      if (polled[first_rank + i].revents) hear(i);
    for (std::size_t i = 0; i < first_rank - 1; ++i)
      if (polled[1 + i].revents) hear_newcomer(i);
    std::erase_if(newcomers_, [](const Newcomer& newcomer) { return !newcomer.socket; });
    if (polled[0].revents) accept_newcomer();
  }
  if (judged_) return std::nullopt;
  auto verdict = judge();
  judged_ = verdict.has_value();
  return verdict;
}

std::optional<Verdict> Monitor::judge() {
  if (verdict_) return verdict_;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const MonitoredRank& rank = ranks_[i];
    const bool well =
        rank.state == RankState::Holding || rank.state == RankState::LastCall || rank.state == RankState::Finalized;
    if (rank.gone && !well && rank.event < rank.total) return Verdict{Verdict::Kind::Lost, i, {}, {}};
  }
  const auto waiting = [](const MonitoredRank& rank) {
    return !rank.gone && (rank.state == RankState::Holding || rank.state == RankState::LastCall);
  };
  const bool ended = std::all_of(ranks_.begin(), ranks_.end(),
                                 [](const MonitoredRank& rank) { return rank.connected && at_its_end(rank); });
  if (ended && std::any_of(ranks_.begin(), ranks_.end(), waiting)) return Verdict{};
  // Where a recording had to stop, the others wait in vain for what that rank did afterwards: that is the end, too.
  const bool stopped = std::any_of(ranks_.begin(), ranks_.end(),
                                   [&](const MonitoredRank& rank) { return rank.stopped && waiting(rank); });
  if (!all_connected()) return judge_start();
  auto verdict =
      judge_stall(stopped ? std::min<milliseconds>(patience_.standstill, kLastMessagePatience) : patience_.standstill);
  if (verdict && stopped) return Verdict{};
  return verdict ? verdict : judge_computing();
}

// Launchers and MPI_Init may take long for reasons of their own. But where some ranks have come to MPI_Init, the others
// are under way, too.
std::optional<Verdict> Monitor::judge_start() const {
  JobClock::Time last_change = last_arrival_;
  for (const MonitoredRank& rank : ranks_)
    if (rank.connected) last_change = std::max(last_change, rank.changed);
  const auto still = clock_.now() - last_change;
  const bool some_arrived =
      std::any_of(ranks_.begin(), ranks_.end(), [](const MonitoredRank& rank) { return rank.arrived; });
  const auto find = [&](auto matches) {
    return static_cast<std::uint32_t>(std::find_if(ranks_.begin(), ranks_.end(), matches) - ranks_.begin());
  };
  const std::uint32_t absent = find([](const MonitoredRank& rank) { return !rank.arrived && !rank.connected; });
  if (some_arrived && absent < ranks_.size() && still >= patience_.start)
    return Verdict{Verdict::Kind::Stalled, absent, {}, "it has not come to MPI_Init, but others have"};
  if (still < patience_.launch) return std::nullopt;
  return Verdict{Verdict::Kind::Stalled,
                 find([](const MonitoredRank& rank) { return !rank.connected; }),
                 {},
                 any_connected() ? "it has not come through MPI_Init" : "no rank has come through MPI_Init"};
}

// A rank waits for one that waits for another, and so on: the one at the end is the one to look at.
std::uint32_t Monitor::everybody_waits_for(std::uint32_t rank) const {
  for (std::size_t steps = 0; steps < ranks_.size(); ++steps) {
    const std::int64_t peer = ranks_[rank].peer;
    if (peer < 0 || peer >= static_cast<std::int64_t>(ranks_.size()) ||
        ranks_[static_cast<std::size_t>(peer)].state != RankState::InCall)
      break;
    rank = static_cast<std::uint32_t>(peer);
  }
  return rank;
}

std::optional<Verdict> Monitor::judge_stall(milliseconds patience) const {
  const JobClock::Time now = clock_.now();
  bool somebody_holds = false;
  bool somebody_runs = false;
  JobClock::Time last_change = last_arrival_;
  std::optional<std::uint32_t> suspect;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const MonitoredRank& rank = ranks_[i];
    last_change = std::max(last_change, rank.changed);
    somebody_holds |= !rank.gone && (rank.state == RankState::Holding || rank.state == RankState::LastCall);
    // A rank beyond its last recorded call may run for ever, if it was killed at some time after it.
    if (!rank.gone && rank.state == RankState::Running)
      (rank.event < rank.total || rank.ends ? somebody_runs : somebody_holds) = true;
    if (rank.gone || rank.state != RankState::InCall) continue;
    if (!suspect || (rank.peer >= 0 && ranks_[*suspect].peer < 0)) suspect = i;
    const bool awaits_one = rank.peer >= 0 && rank.peer < static_cast<std::int64_t>(ranks_.size());
    if (!awaits_one || now - rank.changed < kLastMessagePatience) continue;
    const MonitoredRank& peer = ranks_[static_cast<std::size_t>(rank.peer)];
    if (at_its_end(peer) && peer.state != RankState::LastCall && now - peer.changed >= kLastMessagePatience)
      return Verdict{Verdict::Kind::Stalled,
                     i,
                     {},
                     fmt::format("it waits for a message of rank {}, which has come to its end", rank.peer)};
  }
  if (somebody_runs || now - last_change < patience) return std::nullopt;
  if (suspect)
    return Verdict{Verdict::Kind::Stalled, everybody_waits_for(*suspect), {}, "every rank waits for another"};
  if (somebody_holds) return Verdict{};  // the others run on beyond what was recorded
  return std::nullopt;
}

// No rank of the recorded run was between two calls for longer than that run took.
std::optional<Verdict> Monitor::judge_computing() const {
  const JobClock::Time now = clock_.now();
  JobClock::Time last_change{0};
  for (const MonitoredRank& rank : ranks_) last_change = std::max(last_change, rank.changed);
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const MonitoredRank& rank = ranks_[i];
    const bool threaded = rank.state == RankState::Threaded;  // it may wait for one that still moves
    const bool computes = threaded || rank.state == RankState::Running || rank.state == RankState::Finalized;
    if (rank.gone || !computes || now - (threaded ? last_change : rank.changed) < patience_.computing) continue;
    if (rank.event >= rank.total && !rank.ends) return Verdict{};  // the recorded run was ended meanwhile
    return Verdict{Verdict::Kind::Computes, i, {}, fmt::format("{:.1f} s", seconds_of(now - rank.changed))};
  }
  const bool ended = std::all_of(ranks_.begin(), ranks_.end(), [](const MonitoredRank& rank) { return rank.gone; });
  const auto last = std::max_element(ranks_.begin(), ranks_.end(), [](const MonitoredRank& a, const MonitoredRank& b) {
    return a.changed < b.changed;
  });
  if (ended && now - last->changed >= patience_.computing) return Verdict{Verdict::Kind::Lingers, 0, {}, {}};
  return std::nullopt;
}

}  // namespace reprise::cli
