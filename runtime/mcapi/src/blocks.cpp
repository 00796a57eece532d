#include "blocks.hpp"

namespace mcapi {
namespace {

constexpr std::size_t kUniverse = (sizeof(Universe) + 4095) / 4096 * 4096;

constexpr std::size_t stride(unsigned size_class) { return sizeof(Block) + kSizeClasses[size_class].bytes; }

struct Places {
  std::size_t at[kClasses + 1];
  std::uint32_t first[kClasses + 1];  // number of the first block
};

constexpr Places places() {
  Places all{};
  all.at[0] = kUniverse;
  all.first[0] = 1;
  for (unsigned i = 0; i < kClasses; ++i) {
    all.at[i + 1] = all.at[i] + stride(i) * kSizeClasses[i].count;
    all.first[i + 1] = all.first[i] + kSizeClasses[i].count;
  }
  return all;
}

constexpr Places kPlaces = places();

unsigned class_of(std::uint32_t number) {
  unsigned found = 0;
  while (number >= kPlaces.first[found + 1]) ++found;
  return found;
}

Block& block_in(unsigned size_class, std::uint32_t number) {
  char* const base = reinterpret_cast<char*>(&universe()) + kPlaces.at[size_class];
  return *reinterpret_cast<Block*>(base + stride(size_class) * (number - kPlaces.first[size_class]));
}

std::uint32_t pop_free(unsigned size_class) {
  std::atomic<std::uint64_t>& head = universe().free[size_class];
  std::uint64_t seen = head.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(seen) != kNoBlock) {
    const std::uint32_t next = block_in(size_class, static_cast<std::uint32_t>(seen)).next.load(std::memory_order_relaxed);
    const std::uint64_t after = ((seen >> 32) + 1) << 32 | next;
    if (head.compare_exchange_weak(seen, after, std::memory_order_acq_rel, std::memory_order_acquire))
      return static_cast<std::uint32_t>(seen);
  }
  return kNoBlock;
}

std::uint32_t take_fresh(unsigned size_class) {
  std::atomic<std::uint32_t>& fresh = universe().fresh[size_class];
  std::uint32_t used = fresh.load(std::memory_order_relaxed);
  while (used < kSizeClasses[size_class].count)
    if (fresh.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) return kPlaces.first[size_class] + used;
  return kNoBlock;
}

}  // namespace

std::size_t universe_size() { return kPlaces.at[kClasses]; }

Block& block(std::uint32_t number) { return block_in(class_of(number), number); }

std::uint32_t take_block(std::size_t size) {
  for (unsigned i = 0; i < kClasses; ++i) {
    if (kSizeClasses[i].bytes < size) continue;
    std::uint32_t number = pop_free(i);
    if (number == kNoBlock) number = take_fresh(i);
    if (number == kNoBlock) continue;
    Block& taken = block_in(i, number);
    taken.holder.store(own_process() + 1, std::memory_order_relaxed);
    taken.size_class = static_cast<std::uint8_t>(i);
    return number;
  }
  return kNoBlock;
}

void give_block(std::uint32_t number) {
  Block& given = block(number);
  given.holder.store(0, std::memory_order_relaxed);
  std::atomic<std::uint64_t>& head = universe().free[given.size_class];
  std::uint64_t seen = head.load(std::memory_order_relaxed);
  do given.next.store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  while (!head.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | number, std::memory_order_acq_rel, std::memory_order_relaxed));
  made_room();
}

// What it took from a list and had not marked yet is lost until the universe ends; that is one block at most.
void give_blocks_of(std::uint32_t process) {
  for (unsigned i = 0; i < kClasses; ++i) {
    const std::uint32_t used = universe().fresh[i].load(std::memory_order_acquire);
    for (std::uint32_t n = 0; n < used; ++n)
      if (block_in(i, kPlaces.first[i] + n).holder.load(std::memory_order_acquire) == process + 1) give_block(kPlaces.first[i] + n);
  }
}

std::uint32_t block_with(const void* bytes) {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(bytes) - reinterpret_cast<char*>(&universe()));
  if (offset < kUniverse || offset >= universe_size()) return kNoBlock;
  unsigned i = 0;
  while (offset >= kPlaces.at[i + 1]) ++i;
  const std::size_t within = offset - kPlaces.at[i];
  return within % stride(i) == sizeof(Block) ? kPlaces.first[i] + static_cast<std::uint32_t>(within / stride(i)) : kNoBlock;
}

}  // namespace mcapi
