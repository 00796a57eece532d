// One message there and one back, and as many as can be in one direction: MCAPI, POSIX message queues and Unix sockets, between two
// processes, in turns. The size of a message is the argument; prints the median of some rounds.
#include <fcntl.h>
#include <mcapi.h>
#include <mqueue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr unsigned kThereAndBack = 20000;
constexpr unsigned kOneWay = 100000;
constexpr unsigned kRounds = 7;
constexpr unsigned kMaxSize = 65536;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

// One end of a way to send messages.
struct Way {
  virtual ~Way() = default;
  virtual void send(const char* bytes, unsigned size) = 0;
  virtual void receive(char* bytes) = 0;
};

struct Mcapi : Way {
  mcapi_endpoint_t own = 0, other = 0;
  mcapi_status_t status = MCAPI_SUCCESS;
  explicit Mcapi(unsigned node) {
    mcapi_initialize(0, node, nullptr, nullptr, nullptr, &status);
    own = mcapi_endpoint_create(1, &status);
    other = mcapi_endpoint_get(0, 3 - node, 1, MCAPI_TIMEOUT_INFINITE, &status);
    if (status != MCAPI_SUCCESS) std::exit(1);
  }
  ~Mcapi() override { mcapi_finalize(&status); }
  void send(const char* bytes, unsigned size) override {
    mcapi_msg_send(own, other, bytes, size, 0, &status);
    if (status != MCAPI_SUCCESS) std::exit(1);
  }
  void receive(char* bytes) override {
    mcapi_msg_recv(own, bytes, kMaxSize, nullptr, &status);
    if (status != MCAPI_SUCCESS) std::exit(1);
  }
};

struct Queues : Way {
  mqd_t out, in;
  explicit Queues(mqd_t out, mqd_t in) : out(out), in(in) {}
  void send(const char* bytes, unsigned size) override {
    if (mq_send(out, bytes, size, 0) != 0) die("mq_send");
  }
  void receive(char* bytes) override {
    if (mq_receive(in, bytes, kMaxSize, nullptr) < 0) die("mq_receive");
  }
};

struct Socket : Way {
  int file;
  explicit Socket(int file) : file(file) {}
  void send(const char* bytes, unsigned size) override {
    if (::send(file, bytes, size, 0) < 0) die("send");
  }
  void receive(char* bytes) override {
    if (recv(file, bytes, kMaxSize, 0) < 0) die("recv");
  }
};

// The other process: says back, then only listens.
void answer(Way& way, unsigned size) {
  std::vector<char> bytes(kMaxSize);
  for (unsigned i = 0; i < kThereAndBack; ++i) {
    way.receive(bytes.data());
    way.send(bytes.data(), size);
  }
  for (unsigned i = 0; i < kOneWay; ++i) way.receive(bytes.data());
  way.send(bytes.data(), size);
}

struct Figures {
  double latency = 0;  // seconds, one way
  double rate = 0;     // messages per second
};

Figures ask(Way& way, unsigned size) {
  std::vector<char> bytes(kMaxSize);
  const double begin = now();
  for (unsigned i = 0; i < kThereAndBack; ++i) {
    way.send(bytes.data(), size);
    way.receive(bytes.data());
  }
  const double middle = now();
  for (unsigned i = 0; i < kOneWay; ++i) way.send(bytes.data(), size);
  way.receive(bytes.data());
  return {(middle - begin) / kThereAndBack / 2, kOneWay / (now() - middle)};
}

template <class MakeFirst, class MakeSecond>
Figures between(MakeFirst first, MakeSecond second, unsigned size) {
  const pid_t child = fork();
  if (child == 0) {
    {
      auto way = second();
      answer(way, size);
    }
    _exit(0);
  }
  Figures found;
  {
    auto way = first();
    found = ask(way, size);
  }
  waitpid(child, nullptr, 0);
  return found;
}

mqd_t queue(const std::string& name, unsigned size) {
  mq_attr attributes = {};
  attributes.mq_maxmsg = 10;  // what a user may have without being root
  attributes.mq_msgsize = size;
  const mqd_t made = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes);
  if (made < 0) die("mq_open");
  mq_unlink(name.c_str());
  return made;
}

Figures with_mcapi(unsigned size) { return between([] { return Mcapi(1); }, [] { return Mcapi(2); }, size); }

Figures with_queues(unsigned size) {
  const std::string name = "/mcapi-bench-" + std::to_string(getpid());
  const mqd_t there = queue(name + "-a", std::max(size, 1u)), back = queue(name + "-b", std::max(size, 1u));
  const Figures found = between([=] { return Queues(there, back); }, [=] { return Queues(back, there); }, size);
  mq_close(there);
  mq_close(back);
  return found;
}

Figures with_sockets(unsigned size) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) die("socketpair");
  const Figures found = between([&] { return Socket(ends[0]); }, [&] { return Socket(ends[1]); }, size);
  close(ends[0]);
  close(ends[1]);
  return found;
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned size = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 64;
  setenv("MCAPI_UNIVERSE", ("bench-" + std::to_string(getpid())).c_str(), 1);
  struct {
    const char* name;
    Figures (*run)(unsigned);
    std::vector<double> latencies, rates;
  } ways[] = {{"MCAPI", with_mcapi, {}, {}}, {"POSIX message queues", with_queues, {}, {}}, {"Unix sockets", with_sockets, {}, {}}};
  const bool queues_take_it = size <= 8192;  // what a user may have without being root
  for (unsigned round = 0; round < kRounds; ++round)
    for (auto& way : ways) {
      if (way.run == with_queues && !queues_take_it) continue;
      const Figures found = way.run(size);
      way.latencies.push_back(found.latency);
      way.rates.push_back(found.rate);
    }
  std::printf("%u bytes, median of %u rounds\n", size, kRounds);
  for (const auto& way : ways)
    if (!way.latencies.empty()) std::printf("  %-22s %8.2f us there   %10.0f messages/s\n", way.name, median(way.latencies) * 1e6, median(way.rates));
}
