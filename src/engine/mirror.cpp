#include "engine/mirror.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace reprise::engine {
namespace {

constexpr std::uint64_t kBlock = 64;
constexpr std::uint64_t kPiece = 4096;

std::uint8_t* map(std::uint64_t size) {
  void* const memory = ::mmap(nullptr, size > 0 ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

// Calls visit(begin, end) for each piece in which the two differ.
template <class Visit>
void each_difference(const std::uint8_t* a, const std::uint8_t* b, std::uint64_t begin, std::uint64_t end, std::uint64_t piece, Visit visit) {
  for (std::uint64_t next; begin < end; begin = next) {
    next = std::min(end, (begin / piece + 1) * piece);
    if (std::memcmp(a + begin, b + begin, next - begin) != 0) visit(begin, next);
  }
}

// One that a processor does as one is done as one here. In order with the ones before and behind it: the program's own barriers are
// around the access to the copy, and not around this.
template <class Value>
bool same(const std::uint8_t* real, const std::uint8_t* program) {
  Value mine;
  std::memcpy(&mine, program, sizeof mine);
  return __atomic_load_n(reinterpret_cast<const Value*>(real), __ATOMIC_ACQUIRE) == mine;
}

template <class Value>
void put(std::uint8_t* real, const std::uint8_t* program) {
  Value mine;
  std::memcpy(&mine, program, sizeof mine);
  __atomic_store_n(reinterpret_cast<Value*>(real), mine, __ATOMIC_RELEASE);
}

bool is_aligned(const std::uint8_t* at, std::uint64_t size) { return reinterpret_cast<std::uintptr_t>(at) % size == 0; }

}  // namespace

Mirror::Mirror(void* real, std::uint64_t size, Copy kind, void* program)
    : real_(static_cast<std::uint8_t*>(real)),
      program_(kind == Copy::Made ? map(size) : static_cast<std::uint8_t*>(program)),
      agreed_(map(size)),
      size_(size),
      owns_program_(kind == Copy::Made) {
  if (!is_made() || kind != Copy::TheProgramHas) return;
  std::memcpy(real_, program_, size);
  std::memcpy(agreed_, program_, size);
}

Mirror::~Mirror() {
  if (owns_program_ && program_) ::munmap(program_, size_ > 0 ? size_ : 1);
  if (agreed_) ::munmap(agreed_, size_ > 0 ? size_ : 1);
}

bool Mirror::is_current(std::uint64_t at, std::uint64_t size) const {
  const std::uint8_t* const real = real_ + at;
  const std::uint8_t* const program = program_ + at;
  if (!is_aligned(real, size & (~size + 1))) return std::memcmp(real, program, size) == 0;
  switch (size) {
    case 1: return same<std::uint8_t>(real, program);
    case 2: return same<std::uint16_t>(real, program);
    case 4: return same<std::uint32_t>(real, program);
    case 8: return same<std::uint64_t>(real, program);
    case 16: return same<std::uint64_t>(real, program) && same<std::uint64_t>(real + 8, program + 8);
    default: return std::memcmp(real, program, size) == 0;
  }
}

bool Mirror::load_whole(std::uint64_t at, std::uint64_t size, std::uint8_t* out) const {
  const std::uint8_t* const real = real_ + at;
  const auto load = [&](auto value) {
    if (!is_aligned(real, sizeof value)) return false;
    value = __atomic_load_n(reinterpret_cast<const decltype(value)*>(real), __ATOMIC_ACQUIRE);
    std::memcpy(out, &value, sizeof value);
    return true;
  };
  switch (size) {
    case 1: return load(std::uint8_t{});
    case 2: return load(std::uint16_t{});
    case 4: return load(std::uint32_t{});
    case 8: return load(std::uint64_t{});
    default: return false;
  }
}

void Mirror::publish(std::uint64_t at, std::uint64_t size) {
  std::uint8_t* const real = real_ + at;
  const std::uint8_t* const program = program_ + at;
  const bool aligned = is_aligned(real, size & (~size + 1));
  if (aligned && size == 8) put<std::uint64_t>(real, program);
  else if (aligned && size == 4) put<std::uint32_t>(real, program);
  else if (aligned && size == 2) put<std::uint16_t>(real, program);
  else if (size == 1) put<std::uint8_t>(real, program);
  else {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    std::memcpy(real, program, size);
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  std::memcpy(agreed_ + at, program, size);
}

// Byte by byte: the others beside them may be somebody else's.
void Mirror::publish_unhooked(std::uint64_t at, std::uint64_t size) {
  each_difference(program_, agreed_, at, at + size, kPiece, [&](std::uint64_t begin, std::uint64_t end) {
    each_difference(program_, agreed_, begin, end, sizeof(std::uint64_t), [&](std::uint64_t word, std::uint64_t word_end) {
      for (std::uint64_t i = word; i < word_end; ++i) {
        if (program_[i] == agreed_[i]) continue;
        // A whole number that differs in all its bytes would be seen in halves; those behind it differ, too.
        std::uint64_t last = i + 1;
        while (last < word_end && program_[last] != agreed_[last]) ++last;
        publish(i, last - i);
        i = last;
      }
    });
  });
}

// Beside what is new, MPI may be writing something for the program at this moment.
void Mirror::show(std::uint64_t at, const std::uint8_t* bytes, std::uint64_t size) {
  if (std::memcmp(agreed_ + at, program_ + at, size) == 0) {
    std::memcpy(program_ + at, bytes, size);
  } else {
    for (std::uint64_t i = 0; i < size; ++i)
      if (agreed_[at + i] != bytes[i]) program_[at + i] = bytes[i];
  }
  std::memcpy(agreed_ + at, bytes, size);
}

void Mirror::agree(std::uint64_t at, std::uint64_t size) { std::memcpy(agreed_ + at, program_ + at, size); }

std::vector<Mirror::Range> Mirror::changed_by_others() const {
  std::vector<Range> all;
  each_difference(real_, agreed_, 0, size_, kPiece, [&](std::uint64_t begin, std::uint64_t end) {
    each_difference(real_, agreed_, begin, end, kBlock, [&](std::uint64_t from, std::uint64_t to) { all.push_back({from, to}); });
  });
  return all;
}

}  // namespace reprise::engine
