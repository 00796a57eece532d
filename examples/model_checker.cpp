// A distributed model checker: explores all states of Peterson's mutual exclusion for N processes.
//
//   mpirun -n 3 ./model_checker [--processes N] [--depth D] [--broken] [--jitter US] [--log DIRECTORY]
//
// Built like Eddy Murphi: every state has a home, the rank that its hash names. On each rank a worker thread takes states
// from a queue and computes their successors; those that are at home elsewhere go into queues from which a communicator,
// the main thread, sends them, and it receives what others send. Which messages there are, and how large they are, is a
// race between the two. The search is over when no rank has work and no message is on the way (Safra's algorithm:
// a token with the balance of messages goes round until nothing has happened since it came by last).
//
// --broken leaves a level out of the algorithm, so that two processes can be in the critical section; which rank finds
// that first, and in which state, is different in every run. --depth leaves out what is more than so many steps away from
// the beginning. --jitter sleeps up to so many microseconds before every lock.
#define OMPI_SKIP_MPICXX 1  // the old C++ bindings, which no compiler likes any more
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

enum Tag { kStates = 1, kToken, kOver };

struct Settings {
  int processes = 3;
  int depth = 0;  // 0: everything
  bool broken = false;
  int jitter = 0;
  std::string log;
};

// --- the model ------------------------------------------------------------------------------------------------------
// Peterson's algorithm for N processes: who wants to enter passes N-1 levels; on each it waits until no other process is
// as far, or another one has come to this level after it.

constexpr int kMost = 5;

struct State {
  std::array<std::uint8_t, kMost> place{};  // of each process: 0 outside, then two places per level, then critical
  std::array<std::uint8_t, kMost> last{};   // on each level: who came last

  std::uint64_t packed() const {
    std::uint64_t bits = 0;
    for (const std::uint8_t p : place) bits = bits << 4 | p;
    for (const std::uint8_t l : last) bits = bits << 3 | l;
    return bits;
  }
  static State unpacked(std::uint64_t bits) {
    State state;
    for (int i = kMost - 1; i >= 0; --i, bits >>= 3) state.last[static_cast<std::size_t>(i)] = bits & 7;
    for (int i = kMost - 1; i >= 0; --i, bits >>= 4) state.place[static_cast<std::size_t>(i)] = bits & 15;
    return state;
  }
};

class Model {
 public:
  explicit Model(const Settings& settings)
      : processes_(settings.processes), levels_(settings.processes - (settings.broken ? 2 : 1)) {}

  int critical_place() const { return 2 * levels_ + 1; }

  bool is_bad(const State& state) const {
    int inside = 0;
    for (int i = 0; i < processes_; ++i) inside += state.place[at(i)] == critical_place();
    return inside > 1;
  }

  template <class Visit>
  void successors(const State& state, Visit visit) const {
    for (int i = 0; i < processes_; ++i) {
      State next = state;
      const int place = state.place[at(i)];
      if (place == critical_place()) {
        next.place[at(i)] = 0;
      } else if (place % 2 == 0) {  // comes to the next level
        next.place[at(i)] = static_cast<std::uint8_t>(place + 1);
        if (place + 1 < critical_place()) next.last[at(place / 2)] = static_cast<std::uint8_t>(i);
      } else if (may_pass(state, i, (place - 1) / 2)) {
        next.place[at(i)] = static_cast<std::uint8_t>(place + 1 == 2 * levels_ ? critical_place() : place + 1);
      } else {
        continue;
      }
      visit(next);
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool may_pass(const State& state, int process, int level) const {
    if (state.last[at(level)] != process) return true;
    for (int other = 0; other < processes_; ++other)
      if (other != process && state.place[at(other)] > 2 * level) return false;
    return true;
  }

  int processes_;
  int levels_;
};

std::uint64_t hash(std::uint64_t bits) { return (bits ^ bits >> 29) * 0x9e3779b97f4a7c15ull >> 17; }

// A state on its way, and in how many steps it was reached.
constexpr int kDepthShift = 48;
std::uint64_t with_depth(std::uint64_t bits, int depth) {
  return bits | static_cast<std::uint64_t>(depth) << kDepthShift;
}

// --- what worker and communicator share -----------------------------------------------------------------------------

class Shared {
 public:
  Shared(int ranks, int jitter) : outbound_(static_cast<std::size_t>(ranks)), jitter_(jitter) {}

  void add(const std::vector<std::uint64_t>& states) {
    const auto lock = locked();
    inbound_.insert(inbound_.end(), states.begin(), states.end());
    arrived_.notify_one();
  }
  void send(int home, std::uint64_t state) {
    const auto lock = locked();
    outbound_[static_cast<std::size_t>(home)].push_back(state);
  }
  // Waits for work. False: the search is over.
  bool take(std::uint64_t& state) {
    auto lock = locked();
    idle_ = inbound_.empty();
    arrived_.wait(lock, [&] { return over_ || !inbound_.empty(); });
    idle_ = false;
    if (over_) return false;
    state = inbound_.front();
    inbound_.pop_front();
    return true;
  }
  void end() {
    const auto lock = locked();
    over_ = true;
    arrived_.notify_all();
  }
  // What is to be sent now: full batches, and everything when the worker has nothing to do.
  std::vector<std::uint64_t> batch_for(int home) {
    constexpr std::size_t kBatch = 16;
    const auto lock = locked();
    std::vector<std::uint64_t> batch;
    auto& waiting = outbound_[static_cast<std::size_t>(home)];
    if (waiting.size() >= kBatch || idle_) batch.swap(waiting);
    return batch;
  }
  bool is_idle() {
    const auto lock = locked();
    for (const auto& waiting : outbound_)
      if (!waiting.empty()) return false;
    return idle_ && inbound_.empty();
  }

 private:
  std::unique_lock<std::mutex> locked() {
    if (jitter_ > 0) {
      thread_local std::minstd_rand chance{std::random_device{}()};
      ::usleep(static_cast<useconds_t>(chance() % static_cast<unsigned>(jitter_)));
    }
    return std::unique_lock(mutex_);
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::uint64_t> inbound_;
  std::vector<std::vector<std::uint64_t>> outbound_;
  bool idle_ = false;
  bool over_ = false;
  int jitter_;
};

// --- the worker -----------------------------------------------------------------------------------------------------

struct Found {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  std::uint64_t order = 0;  // a digest of the order in which the states came
  std::uint64_t bad = 0;
  std::uint64_t first_bad = 0;
};

// With a limit, a state that is reached again in fewer steps is looked at again: more may be within reach of it.
Found explore(const Model& model, Shared& shared, int limit, int rank, int ranks) {
  Found found;
  std::unordered_map<std::uint64_t, int> known;
  for (std::uint64_t word; shared.take(word);) {
    const int depth = static_cast<int>(word >> kDepthShift);
    const std::uint64_t bits = word & ((1ull << kDepthShift) - 1);
    const auto [entry, is_new] = known.try_emplace(bits, depth);
    if (!is_new && (limit == 0 || entry->second <= depth)) continue;
    entry->second = depth;
    found.states += is_new ? 1 : 0;
    found.order = (found.order ^ bits) * 1099511628211u;
    const State state = State::unpacked(bits);
    if (is_new && model.is_bad(state) && found.bad++ == 0) found.first_bad = bits;
    if (limit > 0 && depth >= limit) continue;
    model.successors(state, [&](const State& next) {
      ++found.steps;
      const std::uint64_t packed = next.packed();
      const std::uint64_t found_at = with_depth(packed, limit > 0 ? depth + 1 : 0);
      const int home = static_cast<int>(hash(packed) % static_cast<std::uint64_t>(ranks));
      if (home == rank) shared.add({found_at});
      else shared.send(home, found_at);
    });
  }
  return found;
}

// --- the communicator -----------------------------------------------------------------------------------------------

class Communicator {
 public:
  Communicator(Shared& shared, int rank, int ranks) : shared_(shared), rank_(rank), ranks_(ranks) {}

  void run() {
    has_token_ = rank_ == 0;
    token_ = {0, 1};  // the first round proves nothing
    while (!over_) {
      send_states();
      const bool received = receive();
      if (!received && has_token_ && shared_.is_idle()) pass_token();
      if (!received) ::usleep(50);
    }
    for (Sending& sending : sendings_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    shared_.end();
  }
  std::uint64_t messages() const { return messages_; }

 private:
  struct Sending {
    std::vector<std::uint64_t> states;
    MPI_Request request;
  };

  void send_states() {
    for (int home = 0; home < ranks_; ++home) {
      auto states = shared_.batch_for(home);
      if (states.empty()) continue;
      Sending& sending = sendings_.emplace_back(Sending{std::move(states), MPI_REQUEST_NULL});
      MPI_Isend(sending.states.data(), static_cast<int>(sending.states.size()), MPI_UINT64_T, home, kStates,
                MPI_COMM_WORLD, &sending.request);
      ++balance_;
      ++messages_;
    }
    sendings_.remove_if([](Sending& sending) {
      int done = 0;
      MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  bool receive() {
    int flag = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    if (!flag) return false;
    int count = 0;
    MPI_Get_count(&status, MPI_UINT64_T, &count);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(count));
    MPI_Recv(words.data(), count, MPI_UINT64_T, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kStates) {
      --balance_;
      black_ = true;
      shared_.add(words);
    } else if (status.MPI_TAG == kToken) {
      has_token_ = true;
      token_ = {words[0], words[1]};
    } else {
      over_ = true;
    }
    return true;
  }

  void pass_token() {
    if (rank_ == 0) {
      const bool quiet = token_[1] == 0 && !black_ && token_[0] + balance_ == 0;
      if (quiet || ranks_ == 1) return end();
      token_ = {0, 0};
    } else {
      token_[0] += balance_;
      token_[1] |= black_ ? 1 : 0;
    }
    black_ = false;
    has_token_ = false;
    MPI_Send(token_.data(), 2, MPI_UINT64_T, (rank_ + 1) % ranks_, kToken, MPI_COMM_WORLD);
  }

  void end() {
    for (int other = 1; other < ranks_; ++other) MPI_Send(nullptr, 0, MPI_UINT64_T, other, kOver, MPI_COMM_WORLD);
    over_ = true;
  }

  Shared& shared_;
  int rank_;
  int ranks_;
  std::list<Sending> sendings_;
  std::array<std::uint64_t, 2> token_{};  // balance of messages, and whether somebody has received one
  std::uint64_t balance_ = 0;             // sent less received; it may be negative, and wraps
  std::uint64_t messages_ = 0;
  bool has_token_ = false;
  bool black_ = false;
  bool over_ = false;
};

Settings read_arguments(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--processes" && more) settings.processes = std::stoi(argv[++i]);
    else if (word == "--depth" && more) settings.depth = std::stoi(argv[++i]);
    else if (word == "--jitter" && more) settings.jitter = std::stoi(argv[++i]);
    else if (word == "--log" && more) settings.log = argv[++i];
    else if (word == "--broken") settings.broken = true;
    else std::fprintf(stderr, "model_checker: unknown argument %s\n", argv[i]);
  }
  if (settings.processes < 2 || settings.processes > kMost) settings.processes = 3;
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  int rank = 0;
  int ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Settings settings = read_arguments(argc, argv);
  const Model model(settings);
  Shared shared(ranks, settings.jitter);
  const std::uint64_t start = State{}.packed();
  if (static_cast<int>(hash(start) % static_cast<std::uint64_t>(ranks)) == rank) shared.add({start});

  Found found;
  std::thread worker([&] { found = explore(model, shared, settings.depth, rank, ranks); });
  Communicator communicator(shared, rank, ranks);
  communicator.run();
  worker.join();

  if (!settings.log.empty()) {
    std::FILE* const log = std::fopen((settings.log + "/out-" + std::to_string(rank) + ".txt").c_str(), "w");
    if (log) {
      std::fprintf(log, "states %llu steps %llu order %016llx messages %llu bad %llu first %010llx\n",
                   static_cast<unsigned long long>(found.states), static_cast<unsigned long long>(found.steps),
                   static_cast<unsigned long long>(found.order),
                   static_cast<unsigned long long>(communicator.messages()), static_cast<unsigned long long>(found.bad),
                   static_cast<unsigned long long>(found.first_bad));
      std::fclose(log);
    }
  }
  std::array<std::uint64_t, 4> mine{found.states, found.steps, communicator.messages(), found.bad};
  std::array<std::uint64_t, 4> all{};
  MPI_Reduce(mine.data(), all.data(), 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%d processes: %llu states, %llu steps, %llu messages: %s\n", settings.processes,
                static_cast<unsigned long long>(all[0]), static_cast<unsigned long long>(all[1]),
                static_cast<unsigned long long>(all[2]),
                all[3] == 0 ? "mutual exclusion holds" : "MUTUAL EXCLUSION IS VIOLATED");
  MPI_Finalize();
  return 0;
}
