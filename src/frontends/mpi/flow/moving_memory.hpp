// Where bytes of operations may be: their buffers, memory that is shared with other processes, and where the library has
// put some. A question that is asked at each copy within MPI, so it is answered roughly: yes too often, rather than late.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "frontends/mpi/flow/log.hpp"

namespace reprise::mpi::flow {

struct Span {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  bool meets(std::uintptr_t address, std::size_t bytes) const { return address < to && from < address + bytes; }
};

class OperationMemory {
 public:
  struct Operation {
    std::uint64_t post = 0;
    Blocks gives;
    Blocks takes;
    Span given, taken;  // everything between the first and the last byte
  };

  void add(std::uint64_t post, std::span<const Block> gives, std::span<const Block> takes);
  void remove(std::uint64_t post);
  bool has(const void* address, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (!all_.meets(at, bytes)) return false;
    if (operations_.size() > kFew) return true;
    for (const Operation& one : operations_)
      if (one.given.meets(at, bytes) || one.taken.meets(at, bytes)) return true;
    return false;
  }
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  static constexpr std::size_t kFew = 64;
  static constexpr std::size_t kMost = 4096;  // requests that were freed are never complete
  std::vector<Operation> operations_;
  Span all_;
};

// Private memory of the library that bytes were copied to. Pages; of those that share a set, the latest few.
class CarriedMemory {
 public:
  void add(const void* to, std::size_t bytes) {
    const std::uintptr_t last = page(to, bytes - 1);
    std::size_t left = kMostPages;
    for (std::uintptr_t one = page(to, 0); one <= last && left > 0; ++one, --left) {
      Set& set = sets_[place(one)];
      if (set[0] == one) continue;
      const auto old = std::find(set.begin(), set.end() - 1, one);
      std::move_backward(set.begin(), old, old + 1);
      set[0] = one;
    }
  }
  bool has(const void* from, std::size_t bytes) const {
    const std::uintptr_t last = page(from, bytes - 1);
    std::size_t left = kMostPages;
    for (std::uintptr_t one = page(from, 0); one <= last && left > 0; ++one, --left) {
      const Set& set = sets_[place(one)];
      if (std::find(set.begin(), set.end(), one) != set.end()) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kSets = 8192;
  static constexpr std::size_t kMostPages = 4096;
  using Set = std::array<std::uintptr_t, 4>;  // the latest first
  static std::uintptr_t page(const void* address, std::size_t further) {
    return (reinterpret_cast<std::uintptr_t>(address) + further) >> 12;
  }
  static std::size_t place(std::uintptr_t page) { return (page * 0x9e3779b97f4a7c15ull >> 40) % kSets; }
  std::array<Set, kSets> sets_{};
};

// Memory that other processes have mapped, too.
class SharedMemory {
 public:
  struct Segment {
    Span span;
    std::uint64_t device = 0;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    bool operator==(const Segment& other) const {
      return span.from == other.span.from && span.to == other.span.to && device == other.device && file == other.file &&
             offset == other.offset;
    }
  };
  bool has(const void* address, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (!all_.meets(at, bytes)) return false;
    for (const Segment& one : segments_)
      if (one.span.meets(at, bytes)) return true;
    return false;
  }
  // Asks the kernel; what has come and what has gone since it was asked last.
  void look(std::vector<Segment>& come, std::vector<Segment>& gone);

 private:
  std::vector<Segment> segments_;
  Span all_;
};

}  // namespace reprise::mpi::flow
