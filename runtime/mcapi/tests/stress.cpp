// Eight nodes send each other a million messages, while some are killed and begin again. What arrives must be whole, and in the order in
// which each sender sent it. `stress threads` has nodes that are threads, and none is killed.
#include <mcapi.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kNodes = 8;

struct Message {
  std::uint32_t node;
  std::uint32_t life;
  std::uint64_t number;  // to this receiver
  std::uint32_t size;    // of the filling
  std::uint32_t filling_begins_with;
};

// Shared with the nodes.
struct Board {
  std::atomic<std::uint64_t> received;
  std::atomic<std::uint64_t> wrong;
  std::atomic<std::uint64_t> lost_peers;  // errors that told of a death
  std::uint64_t goal;
};
Board* board;

void complain(const char* what, mcapi_status_t status) {
  char text[MCAPI_MAX_STATUS_SIZE];
  std::fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, text, sizeof text));
  ++board->wrong;
}

unsigned char filling(std::uint32_t begin, std::uint32_t at) { return static_cast<unsigned char>(begin + at * 31); }

// Sends to all others in turn, and receives whatever there is.
class Worker {
 public:
  Worker(unsigned number, unsigned life, unsigned seed) : number_(number), life_(life), random_(seed) {
    mcapi_initialize(0, number, nullptr, nullptr, nullptr, &status_);
    if (status_ != MCAPI_SUCCESS) {
      complain("initialize", status_);
      return;
    }
    own_ = mcapi_endpoint_create(1, &status_);
    if (status_ != MCAPI_SUCCESS) {
      complain("endpoint_create", status_);
      return;
    }
    const mcapi_uint_t buffers = 64, timeout = 20;
    mcapi_endpoint_set_attribute(own_, MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS, &buffers, sizeof buffers, &status_);
    mcapi_endpoint_set_attribute(own_, MCAPI_ENDP_ATTR_TIMEOUT, &timeout, sizeof timeout, &status_);
    is_up_ = true;
  }
  ~Worker() {
    mcapi_finalize(&status_);
    if (status_ != MCAPI_SUCCESS) complain("finalize", status_);
  }
  void work() {
    while (is_up_ && board->received.load() < board->goal && board->wrong.load() == 0) {
      for (unsigned peer = 1; peer <= kNodes; ++peer)
        if (peer != number_) send_to(peer);
      for (unsigned i = 0; i < 2 * kNodes && mcapi_msg_available(own_, &status_) > 0; ++i) receive();
    }
  }

 private:
  void send_to(unsigned peer) {
    mcapi_endpoint_t& to = peers_[peer];
    if (to == 0) {
      to = mcapi_endpoint_get(0, peer, 1, MCAPI_TIMEOUT_IMMEDIATE, &status_);
      if (status_ != MCAPI_SUCCESS) {
        to = 0;
        if (status_ != MCAPI_TIMEOUT) complain("endpoint_get", status_);
        return;
      }
    }
    unsigned char bytes[2048];
    const auto size = static_cast<std::uint32_t>(random_() % (random_() % 16 == 0 ? sizeof bytes - sizeof(Message) : 40));
    const Message message{number_, life_, ++sent_[peer], size, static_cast<std::uint32_t>(random_() % 256)};
    std::memcpy(bytes, &message, sizeof message);
    for (std::uint32_t i = 0; i < size; ++i) bytes[sizeof message + i] = filling(message.filling_begins_with, i);
    mcapi_msg_send(own_, to, bytes, sizeof message + size, static_cast<mcapi_priority_t>(peer % 3), &status_);
    if (status_ == MCAPI_SUCCESS) return;
    --sent_[peer];
    if (status_ == MCAPI_ERR_ENDP_DELETED) {
      to = 0;
      ++board->lost_peers;
    } else if (status_ != MCAPI_TIMEOUT) {  // its queue is full: it comes another time
      complain("msg_send", status_);
    }
  }

  void receive() {
    unsigned char bytes[2048];
    size_t size = 0;
    mcapi_msg_recv(own_, bytes, sizeof bytes, &size, &status_);
    if (status_ != MCAPI_SUCCESS) return complain("msg_recv", status_);
    Message message;
    std::memcpy(&message, bytes, sizeof message);
    bool is_whole = size == sizeof message + message.size && message.node >= 1 && message.node <= kNodes;
    for (std::uint32_t i = 0; is_whole && i < message.size; ++i) is_whole = bytes[sizeof message + i] == filling(message.filling_begins_with, i);
    if (!is_whole) return complain("a message that is not whole", status_);
    auto& [life, number] = got_[message.node];
    if (life != message.life) number = 0;
    life = message.life;
    // A new receiver does not know how many its predecessor got.
    if (number != 0 && message.number != number + 1) return complain("a message out of order", status_);
    number = message.number;
    ++board->received;
  }

  unsigned number_, life_;
  std::mt19937 random_;
  mcapi_status_t status_ = MCAPI_SUCCESS;
  mcapi_endpoint_t own_ = 0;
  bool is_up_ = false;
  mcapi_endpoint_t peers_[kNodes + 1] = {};
  std::uint64_t sent_[kNodes + 1] = {};
  struct Last {
    std::uint32_t life = 0;
    std::uint64_t number = 0;
  };
  Last got_[kNodes + 1];
};

pid_t start(unsigned number, unsigned life, unsigned seed) {
  const pid_t child = fork();
  if (child != 0) return child;
  Worker(number, life, seed).work();
  _exit(0);
}

void with_processes(unsigned seed) {
  std::mt19937 random(seed);
  pid_t children[kNodes + 1] = {};
  unsigned lives = 0, killed = 0;
  for (unsigned i = 1; i <= kNodes; ++i) children[i] = start(i, ++lives, static_cast<unsigned>(random()));
  while (board->received.load() < board->goal && board->wrong.load() == 0) {
    const timespec pause{0, static_cast<long>(random() % 40000000)};
    nanosleep(&pause, nullptr);
    const unsigned victim = 1 + static_cast<unsigned>(random() % kNodes);
    kill(children[victim], SIGKILL);
    waitpid(children[victim], nullptr, 0);
    ++killed;
    children[victim] = start(victim, ++lives, static_cast<unsigned>(random()));
  }
  for (unsigned i = 1; i <= kNodes; ++i) waitpid(children[i], nullptr, 0);
  std::printf("%u nodes were killed, ", killed);
}

void with_threads(unsigned seed) {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= kNodes; ++i) threads.emplace_back([=] { Worker(i, 1, seed + i).work(); });
  for (auto& thread : threads) thread.join();
}

bool is_left(const std::string& name) {
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "threads") == 0;
  const std::uint64_t goal = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000000;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : static_cast<unsigned>(time(nullptr));
  const std::string name = "stress-" + std::to_string(getpid());
  setenv("MCAPI_UNIVERSE", name.c_str(), 1);
  board = new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board{};
  board->goal = goal;
  threads ? with_threads(seed) : with_processes(seed);
  const bool left = is_left("@mcapi-" + std::to_string(getuid()) + "-" + name);
  std::printf("%llu messages arrived, %llu sends found their receiver gone, %llu errors%s\n", static_cast<unsigned long long>(board->received.load()),
              static_cast<unsigned long long>(board->lost_peers.load()), static_cast<unsigned long long>(board->wrong.load()),
              left ? ", and the universe is still there" : "");
  if (board->wrong.load() == 0 && !left) return 0;
  std::printf("repeat: %s %s %llu %u\n", argv[0], threads ? "threads" : "processes", static_cast<unsigned long long>(goal), seed);
  return 1;
}
