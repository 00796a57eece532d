// What C++ programs do in windows: all that programs in C do, std::atomic in shared memory, objects that others put into,
// algorithms of the standard library.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "access_kinds.h"

namespace {

class Window {
 public:
  explicit Window(std::size_t bytes, bool shared) {
    const auto own = static_cast<MPI_Aint>(shared && world_rank != 0 ? 0 : bytes);
    if (shared) MPI_Win_allocate_shared(own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    else MPI_Win_allocate(own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    if (shared) MPI_Win_shared_query(window_, 0, &size, &unit, &memory_);
    if (!shared || world_rank == 0) std::memset(memory_, 0, bytes);
    MPI_Win_lock_all(0, window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Window() {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  template <class Value>
  Value* as() const {
    return static_cast<Value*>(memory_);
  }
  void put(const void* from, std::size_t bytes, int target, std::size_t at) const {
    const int count = static_cast<int>(bytes);
    MPI_Put(from, count, MPI_BYTE, target, static_cast<MPI_Aint>(at), count, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
  }

 private:
  void* memory_ = nullptr;
  MPI_Win window_{};
};

struct Particle {
  double place[3];
  int owner;
  bool alive;
  bool unused;  // no bytes that nobody sets: they are put, too
  unsigned short weight;
};

// A lock, a counter and a list of who came when.
void locks() {
  struct Shared {
    std::atomic<int> turn;
    std::atomic<int> next;
    std::atomic<std::uint64_t> visits;
    std::atomic<bool> closed;
    int visitors[512];
  };
  const Window window(sizeof(Shared), true);
  auto* const all = window.as<Shared>();
  long waits = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int ticket = all->next.fetch_add(1);
    while (all->turn.load(std::memory_order_acquire) != ticket) ++waits;
    all->visitors[ticket % 512] = world_rank * 100 + round;
    const int before = all->visitors[(ticket + 511) % 512];
    all->turn.store(ticket + 1, std::memory_order_release);
    const std::uint64_t visits = all->visits.fetch_xor(static_cast<std::uint64_t>(ticket) << world_rank);
    const bool closed = all->closed.exchange(!all->closed.load());
    fold(static_cast<std::uint64_t>(ticket));
    fold(static_cast<std::uint64_t>(before) + visits + closed);
    if (round % 10 == 0) say("ticket %d behind %d after %ld waits", ticket, before, waits);
    jitter(50);
  }
}

void particles() {
  constexpr int kCount = 40;
  const Window window(kCount * sizeof(Particle), false);
  auto* const own = window.as<Particle>();
  for (int round = 0; round < kRounds; ++round) {
    const Particle mine{{round * 1.0, world_rank * 2.0, round * 0.25}, world_rank, round % 3 != 0, false, static_cast<unsigned short>(round * 7)};
    window.put(&mine, sizeof mine, (world_rank + 1 + round) % world_size, static_cast<std::size_t>(round * 11 % kCount) * sizeof mine);
    const auto living = std::count_if(own, own + kCount, [](const Particle& one) { return one.alive; });
    const double weight = std::accumulate(own, own + kCount, 0.0, [](double sum, const Particle& one) { return sum + one.weight * one.place[2]; });
    std::vector<Particle> copy(own, own + kCount);
    std::sort(copy.begin(), copy.end(), [](const Particle& a, const Particle& b) { return a.place[0] < b.place[0]; });
    own[round % kCount].weight = static_cast<unsigned short>(own[round % kCount].weight + 1);
    fold(static_cast<std::uint64_t>(living));
    fold(static_cast<std::uint64_t>(weight * 64));
    fold(static_cast<std::uint64_t>(copy[kCount / 2].owner));
    if (round % 10 == 0) say("%ld live, %.3f", static_cast<long>(living), weight);
  }
}

constexpr kind kAllKinds[] = {ACCESS_KINDS, {"locks", locks}, {"particles", particles}};

}  // namespace

int main(int argc, char** argv) { return run_access(argc, argv, kAllKinds, std::size(kAllKinds)); }
