#include "cli/monitor.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
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
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) list += fmt::format(",{}", text);
  }
  ::freeifaddrs(first);
  return list;
}

bool at_its_end(const MonitoredRank& rank) {
  return rank.gone || rank.state == RankState::Holding || rank.state == RankState::LastCall ||
         rank.state == RankState::Finalized;
}

}  // namespace

Monitor::Monitor(const std::vector<Log>& logs, bool everywhere, std::chrono::milliseconds patience,
                 std::chrono::milliseconds patience_for_start)
    : token_(random_token()),
      ranks_(logs.size()),
      patience_(patience),
      patience_for_start_(patience_for_start),
      last_arrival_(Clock::now()) {
  for (std::size_t i = 0; i < logs.size(); ++i) {
    ranks_[i].total = logs[i].total;
    ranks_[i].stopped = logs[i].stopped;
    ranks_[i].changed = last_arrival_;
  }
  listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(everywhere ? INADDR_ANY : INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!listener_ || ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.get(), 1024) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("cannot listen for the ranks on the loopback network: {}", error_text(errno));
  address_ = fmt::format("127.0.0.1{}:{}:{}", everywhere ? own_addresses() : "", ntohs(address.sin_port), token_);
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
  if (words.size() != 5 || words[0] != "hello" || words[1] != token_ || !engine::parse_number(words[2], rank) ||
      !engine::parse_number(words[3], world))
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
  known.received = rest;
  known.changed = last_arrival_ = Clock::now();
}

void Monitor::hear(std::uint32_t number) {
  MonitoredRank& rank = ranks_[number];
  char buffer[8192];
  const ssize_t size = ::recv(rank.socket.get(), buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0 || rank.received.size() > kLongestLine) {
    rank.socket = UniqueFd();
    rank.gone = true;
    rank.changed = Clock::now();
    return;
  }
  rank.received.append(buffer, static_cast<std::size_t>(size));
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
    rank.changed = Clock::now();
  } else if (word == "warn") {
    warnings_.push_back(fmt::format("rank {}: {}", number, printable(rest)));
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
  auto verdict =
      judge_stall(Clock::now(), stopped ? std::min<milliseconds>(patience_, kLastMessagePatience) : patience_);
  return verdict && stopped ? Verdict{} : verdict;
}

std::optional<Verdict> Monitor::judge_stall(Clock::time_point now, milliseconds patience) {
  bool somebody_in_call = false;
  bool somebody_holds = false;
  bool somebody_runs = false;
  Clock::time_point last_change = last_arrival_;
  std::optional<std::uint32_t> suspect;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const MonitoredRank& rank = ranks_[i];
    if (!rank.connected) continue;
    last_change = std::max(last_change, rank.changed);
    somebody_holds |= !rank.gone && (rank.state == RankState::Holding || rank.state == RankState::LastCall);
    // A rank beyond its last recorded call may run for ever: it was killed at some time after it.
    if (!rank.gone && rank.state == RankState::Running)
      (rank.event < rank.total ? somebody_runs : somebody_holds) = true;
    if (rank.gone || rank.state != RankState::InCall) continue;
    somebody_in_call = true;
    if (!suspect || (rank.peer >= 0 && ranks_[*suspect].peer < 0)) suspect = i;
    const bool awaits_one = rank.peer >= 0 && rank.peer < static_cast<std::int64_t>(ranks_.size());
    if (!awaits_one || now - rank.changed < kLastMessagePatience) continue;
    const MonitoredRank& peer = ranks_[static_cast<std::size_t>(rank.peer)];
    if (peer.connected && at_its_end(peer) && peer.state != RankState::LastCall &&
        now - peer.changed >= kLastMessagePatience)
      return Verdict{Verdict::Kind::Stalled,
                     i,
                     {},
                     fmt::format("it waits for a message of rank {}, which has come to its end", rank.peer)};
  }
  const auto still = now - last_change;
  if (!all_connected()) {
    if (somebody_runs || still < patience_for_start_) return std::nullopt;
    const auto missing =
        std::find_if(ranks_.begin(), ranks_.end(), [](const MonitoredRank& rank) { return !rank.connected; });
    return Verdict{Verdict::Kind::Stalled,
                   static_cast<std::uint32_t>(missing - ranks_.begin()),
                   {},
                   "it has not come to MPI_Init"};
  }
  if (somebody_runs || still < patience) return std::nullopt;
  if (somebody_in_call) return Verdict{Verdict::Kind::Stalled, *suspect, {}, "every rank waits for another"};
  if (somebody_holds) return Verdict{};  // the others run on beyond what was recorded
  return std::nullopt;
}

}  // namespace reprise::cli
