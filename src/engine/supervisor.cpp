#include "engine/supervisor.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/loaded_modules.hpp"
#include "base/tasks.hpp"

namespace reprise::engine {
namespace {

constexpr int kConnectMilliseconds = 3000;
constexpr int kReportMilliseconds = 50;
constexpr int kDivergedExit = 75;
constexpr int kTroubleExit = 125;

// Away from the numbers that the program's own files will get.
int moved_out_of_the_way(int fd) {
  for (const int lowest : {420, 100}) {
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    if (moved < 0) continue;
    close(fd);
    return moved;
  }
  return fd;
}

int connect_within(const addrinfo& address, int milliseconds) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (fd < 0) return -1;
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd ready{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&ready, 1, milliseconds) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error != 0) {
    close(fd);
    return -1;
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return moved_out_of_the_way(fd);
}

int connect_to(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* at = found; at && fd < 0; at = at->ai_next) fd = connect_within(*at, kConnectMilliseconds);
  freeaddrinfo(found);
  return fd;
}

int connect_to_one_of(std::string_view hosts, std::string_view port) {
  for (const auto host : split(hosts, ',')) {
    const int fd = connect_to(std::string(host), std::string(port));
    if (fd >= 0) return fd;
  }
  return -1;
}

std::int64_t monotonic_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void sleep_milliseconds(long milliseconds) {
  const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&pause, nullptr);
}

// Of this command, and not of another process that has its number on this machine.
bool is_places_file(const char* file, std::string_view token) {
  char target[PATH_MAX];
  const ssize_t size = readlink(file, target, sizeof target);
  return size > 0 && std::string_view(target, static_cast<std::size_t>(size))
                         .starts_with("/memfd:" + places_name(token) + ' ');  // "(deleted)" follows
}

}  // namespace

void Supervisor::announce(std::string_view address, std::uint32_t rank) {
  const auto parts = split(address, ':');
  const int fd = parts.size() == 3 ? connect_to_one_of(parts[0], parts[1]) : -1;
  if (fd < 0) return;
  const std::string line = "arrived " + std::string(parts[2]) + ' ' + std::to_string(rank) + '\n';
  if (send(fd, line.data(), line.size(), MSG_NOSIGNAL) < 0) {
    // The command is gone; the rank will notice when it connects.
  }
  close(fd);
}

Result<void> Supervisor::connect(std::string_view address, std::uint32_t rank, std::uint32_t ranks) {
  const auto parts = split(address, ':');
  if (parts.size() != 3) return Error{"REPRISE_MONITOR is not set as `reprise replay` sets it"};
  socket_ = connect_to_one_of(parts[0], parts[1]);
  if (socket_ < 0)
    return Error{"rank " + std::to_string(rank) + " cannot reach the replay command at " +
                 std::string(address.substr(0, address.rfind(':')))};
  const std::string hello = "hello " + std::string(parts[2]) + ' ' + std::to_string(rank) + ' ' +
                            std::to_string(ranks) + ' ' + std::to_string(getpid()) + '\n';
  send_line(hello.data(), hello.size());

  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for our thread
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, thread_main, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return Error{std::string("cannot start the supervising thread: ") + std::strerror(error)};
  return {};
}

void Supervisor::keep_place_in(const char* file, std::string_view address, std::uint32_t rank) {
  if (!is_places_file(file, address.substr(address.rfind(':') + 1))) return;
  const int fd = open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  const auto size = (static_cast<std::size_t>(rank) + 1) * kPlaceBytes;
  struct stat info {};
  void* map = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(size))
    map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return;
  auto* place = reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(map) + rank * kPlaceBytes);
  place->store(place_->load(std::memory_order_relaxed), std::memory_order_relaxed);
  place_ = place;
}

// The debugger has asked for it (src/gdb/reprise_gdb.py), so it is there to take the signal. Once.
void Supervisor::stop_for_debugger() {
  place_[1].store(0, std::memory_order_relaxed);
  raise(SIGTRAP);
}

void* Supervisor::thread_main(void* self) {
  static_cast<Supervisor*>(self)->watch();
  return nullptr;
}

// One send per line: lines of the program's thread and of ours do not mix.
void Supervisor::send_line(const char* text, std::size_t size) {
  if (socket_ >= 0 && send(socket_, text, size, MSG_NOSIGNAL) < 0 && errno == EPIPE) _exit(kTroubleExit);
}

void Supervisor::report_place(bool moved) {
  while (sending_.test_and_set(std::memory_order_acquire)) sleep_milliseconds(1);
  const std::uint64_t place = place_->load(std::memory_order_acquire);
  const std::int64_t peer = peer_.load(std::memory_order_relaxed);
  if (place != sent_ || peer != sent_peer_ || moved) {
    char line[96];
    const int size = std::snprintf(line, sizeof line, "at %llu %u %lld\n", static_cast<unsigned long long>(place >> 4),
                                   static_cast<unsigned>(place & 15), static_cast<long long>(peer));
    send_line(line, static_cast<std::size_t>(size));
    sent_ = place;
    sent_peer_ = peer;
  }
  sending_.clear(std::memory_order_release);
}

void Supervisor::watch() {
  std::string received;
  std::uint64_t moves = 0;
  unsigned looks = 0;
  for (;;) {
    pollfd readable{socket_, POLLIN, 0};
    const int ready = poll(&readable, 1, kReportMilliseconds);
    const auto count_moves = count_moves_.load(std::memory_order_acquire);
    const std::uint64_t now = (count_moves ? count_moves() : 0) + small_moves_.load(std::memory_order_relaxed);
    report_place(now != moves);
    moves = now;
    if (++looks % 20 == 0 && is_last_task()) return;
    if (ready <= 0) continue;
    char buffer[256];
    const ssize_t size = recv(socket_, buffer, sizeof buffer, 0);
    if (size <= 0) _exit(kTroubleExit);  // the replay command is gone: nobody must be left behind
    received.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end; (end = received.find('\n')) != std::string::npos; received.erase(0, end + 1)) {
      const std::string_view line = std::string_view(received).substr(0, end);
      if (line == "abort") _exit(kDivergedExit);
      if (line == "release") released_.store(true, std::memory_order_release);
    }
  }
}

void Supervisor::send_text(const char* word, const std::string& text) {
  std::string line = word;
  append_field(line, text);
  line += '\n';
  send_line(line.data(), line.size());
}

void Supervisor::warn(const std::string& text) { send_text("warn", text); }

void Supervisor::deadlock(const std::string& line) { send_text("deadlock", line); }

void Supervisor::wait_to_be_ended() {
  for (int i = 0; i < 100; ++i) sleep_milliseconds(100);  // the command ends us long before
  _exit(kDivergedExit);
}

void Supervisor::trouble(const std::string& text) {
  send_text("trouble", text);
  wait_to_be_ended();
}

void Supervisor::diverged(const DivergenceReport& report) {
  const std::string line = to_line(report);
  send_line(line.data(), line.size());
  wait_to_be_ended();
}

namespace {

// The name that people know it by; strsignal() is not for signal handlers.
const char* signal_word(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
  }
}

}  // namespace

// No strings here: the heap may be what broke.
void Supervisor::crashed(int signal, const void* address, std::uint64_t event) {
  static char line[2 * PATH_MAX];
  static LoadedModule module;
  const bool known = find_module_of(address, module);
  // Offsets of calls are return addresses, one beyond what they stand for.
  const std::uintptr_t offset = known ? reinterpret_cast<std::uintptr_t>(address) + 1 - module.base : 0;
  const char* word = signal_word(signal);
  const int size =
      std::snprintf(line, sizeof line,
                    "diverged %llu\tthe program crashed with %s, but the recorded run went on\t\t\t\t0\t0\t0\t0\t0"
                    "\t%s\t%s\t%s\t%llu\t0\t0\t0\t0\n",
                    static_cast<unsigned long long>(event), word, word, known ? module.path : "",
                    known ? module.build_id : "", static_cast<unsigned long long>(offset));
  if (size > 0 && static_cast<std::size_t>(size) < sizeof line) send_line(line, static_cast<std::size_t>(size));
}

bool Supervisor::hold(void (*progress)(), int milliseconds) {
  const std::uint64_t before = place_->load(std::memory_order_relaxed);
  if (milliseconds < 0)
    place_->store((before >> 4) << 4 | static_cast<unsigned>(RankState::Holding), std::memory_order_release);
  // By the clock: where others want the processors, making progress may take any time, since the library gives way.
  const std::int64_t until = milliseconds < 0 ? INT64_MAX : monotonic_milliseconds() + milliseconds;
  while (!released_.load(std::memory_order_acquire)) {
    if (monotonic_milliseconds() >= until) return false;
    if (progress) progress();
    sleep_milliseconds(1);
  }
  return true;
}

void Supervisor::disown() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

}  // namespace reprise::engine
