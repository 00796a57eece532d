// Where bytes of operations may be: their buffers, memory that is shared with other processes, and where the library has
// put some. A question that is asked at each copy within MPI, so it is answered roughly: yes too often, rather than late.
#pragma once

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

// Private memory of the library that bytes were copied to. Pages, and the latest of those that share a place.
class CarriedMemory {
 public:
  void add(const void* to, std::size_t bytes) {
    const std::uintptr_t last = page(to, bytes - 1);
    std::size_t left = kMostPages;
    for (std::uintptr_t one = page(to, 0); one <= last && left > 0; ++one, --left) pages_[place(one)] = one;
  }
  bool has(const void* from, std::size_t bytes) const {
    const std::uintptr_t first = page(from, 0);
    const std::uintptr_t last = page(from, bytes - 1);
    return pages_[place(first)] == first || pages_[place(last)] == last;
  }

 private:
  static constexpr std::size_t kPages = 8192;
  static constexpr std::size_t kMostPages = 4096;
  static std::uintptr_t page(const void* address, std::size_t further) {
    return (reinterpret_cast<std::uintptr_t>(address) + further) >> 12;
  }
  static std::size_t place(std::uintptr_t page) { return (page * 0x9e3779b97f4a7c15ull >> 40) % kPages; }
  std::array<std::uintptr_t, kPages> pages_{};
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
