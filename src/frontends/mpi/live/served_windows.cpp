// The target's side of one-sided communication: what others want of this rank's windows is carried out here, while it
// waits for something else; and what the program itself writes there is noticed.
//
// For the latter a copy of the memory is kept, and compared in every call. What others have written is in both.
#include <algorithm>
#include <cstring>

#include "frontends/mpi/live/windows.hpp"

namespace reprise::mpi::live {
namespace {

constexpr std::size_t kMostWatched = std::size_t{4} << 20;  // bytes of all windows: comparing takes time

struct Watched {
  std::uint64_t window = 0;
  bool is_dynamic = false;
  char* memory = nullptr;
  std::vector<char> copy;
};
std::vector<Watched>& watched() {
  static auto* const all = new std::vector<Watched>();
  return *all;
}

// What has been written there is no surprise.
void was_written(const char* at, std::size_t size) {
  for (Watched& one : watched()) {
    const char* const begin = std::max(at, static_cast<const char*>(one.memory));
    const char* const end = std::min(at + size, static_cast<const char*>(one.memory) + one.copy.size());
    if (begin < end) std::memcpy(one.copy.data() + (begin - one.memory), begin, static_cast<std::size_t>(end - begin));
  }
}

const Window* window_of(std::uint64_t uid) {
  for (const Window* const window : all_windows())
    if (window->uid == uid) return window;
  return nullptr;
}

// Null: there is no such memory.
char* memory_of(const Window& window, const AccessBlock::Run& run) {
  if (!window.is_dynamic()) return window.base + run.begin;
  auto* const at = reinterpret_cast<char*>(run.begin);
  auto found = window.attached.upper_bound(at);
  if (found == window.attached.begin()) return nullptr;
  --found;
  return at + run.size <= found->first + found->second ? at : nullptr;
}

// Between the window's memory and bytes without holes.
void read(const Window& window, const AccessBlock& block, char* to) {
  for (std::uint64_t i = 0; i < block.runs; ++i) {
    const AccessBlock::Run& run = block.run_list()[i];
    std::memcpy(to, memory_of(window, run), run.size);
    to += run.size;
  }
}
void write(const Window& window, const AccessBlock& block, const char* from) {
  for (std::uint64_t i = 0; i < block.runs; ++i) {
    const AccessBlock::Run& run = block.run_list()[i];
    char* const to = memory_of(window, run);
    std::memcpy(to, from, run.size);
    was_written(to, run.size);
    from += run.size;
  }
}

template <class Handle>
Handle handle_of(std::uint64_t key) {
  if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<Handle>(key);
  else return static_cast<Handle>(key);
}

// MPI_Reduce_local wants its elements as they lie in memory, perhaps with holes.
void combine(const AccessBlock& block, const char* given, std::vector<char>& there) {
  const auto type = handle_of<MPI_Datatype>(block.type);
  const auto layout = layout_of(type);
  const std::uint64_t bytes = block.elements * layout->size;
  const std::size_t room = block.elements * static_cast<std::size_t>(layout->extent) + 64;
  std::vector<char> left(room);
  std::vector<char> right(room);
  unpack(given, bytes, {left.data(), bytes, layout, nullptr});
  unpack(there.data(), bytes, {right.data(), bytes, layout, nullptr});
  using Reduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op);
  singleton_function<Reduce>(Function::Reduce_local)(left.data(), right.data(), static_cast<int>(block.elements), type,
                                                     handle_of<MPI_Op>(block.operation));
  pack({right.data(), bytes, layout, nullptr}, there.data());
}

void carry_out(AccessBlock& block) {
  const Window* const window = window_of(block.window);
  if (!window) return;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < block.runs; ++i) {
    bytes += block.run_list()[i].size;
    if (memory_of(*window, block.run_list()[i])) continue;
    check::report(check::Category::OutsideWindow, check::here(), "an access to memory that is not attached");
    return;
  }
  std::vector<char> there(bytes);
  if (block.kind != AccessBlock::Kind::Put) read(*window, block, there.data());
  if (block.wanted > 0) std::memcpy(block.result(), there.data(), std::min(block.wanted, bytes));
  if (block.reads || block.kind == AccessBlock::Kind::Get) return;
  const bool overwrites = block.kind == AccessBlock::Kind::Put || block.replaces;
  if (overwrites) return write(*window, block, block.data());
  if (block.kind == AccessBlock::Kind::Swap) {
    if (std::memcmp(there.data(), block.data() + bytes, bytes) == 0) write(*window, block, block.data());
    return;
  }
  combine(block, block.data(), there);
  write(*window, block, there.data());
}

void serve(std::span<const std::uint64_t> accesses) {
  for (const std::uint64_t data : accesses) carry_out(*reinterpret_cast<AccessBlock*>(actor().bytes(data)));
}

}  // namespace

void begin_serving() { actor().serve_by(&serve); }

void watch_memory(Window& window, char* memory, std::size_t size) {
  std::size_t all = size;
  for (const Watched& one : watched()) all += one.copy.size();
  if (size == 0 || all > kMostWatched) return;
  watched().push_back({window.uid, window.is_dynamic(), memory, std::vector<char>(memory, memory + size)});
  g_watches_memory = true;
}

void forget_memory(const Window& window, const char* memory) {
  std::erase_if(watched(), [&](const Watched& one) {
    return one.window == window.uid && (!memory || one.memory == memory);
  });
}

void notice_stores() {
  constexpr std::size_t kBlock = 64;
  constexpr std::size_t kMostRuns = 64;
  for (Watched& one : watched()) {
    const std::size_t size = one.copy.size();
    if (std::memcmp(one.memory, one.copy.data(), size) == 0) continue;
    std::vector<std::uint64_t> runs;
    const std::uint64_t first = one.is_dynamic ? reinterpret_cast<std::uint64_t>(one.memory) : 0;
    for (std::size_t at = 0; at < size && runs.size() < 2 * kMostRuns;) {
      if (at % kBlock == 0 && at + kBlock <= size && std::memcmp(one.memory + at, one.copy.data() + at, kBlock) == 0) {
        at += kBlock;
        continue;
      }
      if (one.memory[at] == one.copy[at]) {
        ++at;
        continue;
      }
      const std::size_t begin = at;
      while (at < size && one.memory[at] != one.copy[at]) ++at;
      runs.push_back(first + begin);
      runs.push_back(at - begin);
    }
    std::memcpy(one.copy.data(), one.memory, size);
    actor().act(Act::Stored, {one.window, reinterpret_cast<std::uint64_t>(t_state.caller), this_function()}, runs);
  }
}

}  // namespace reprise::mpi::live
