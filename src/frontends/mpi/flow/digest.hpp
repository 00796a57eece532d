// Digests of what a call gives and takes (trace/intention_log.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontends/mpi/flow/types.hpp"
#include "trace/intention_log.hpp"

namespace reprise::mpi::flow {

// An array of so many elements.
struct Region {
  std::uint8_t* buffer = nullptr;
  std::uint64_t count = 0;
  const Type* type = nullptr;

  std::uint64_t bytes() const { return type ? count * type->flat.size : 0; }
  // Can its bytes be told?
  bool known() const { return type && type->flat.known; }
};

// The first `bytes` bytes of a region, as pieces of memory in the order in which they travel.
template <class Visit>
void visit(const Region& region, std::uint64_t bytes, Visit visit) {
  const engine::FlatType& flat = region.type->flat;
  if (bytes == 0 || flat.size == 0) return;
  if (flat.solid) return visit(region.buffer, static_cast<std::size_t>(bytes));
  for (std::uint8_t* base = region.buffer; bytes > 0; base += flat.extent) {
    for (const auto& run : flat.runs) {
      const std::uint64_t now = run.size < bytes ? run.size : bytes;
      visit(base + run.offset, static_cast<std::size_t>(now));
      bytes -= now;
      if (bytes == 0) return;
    }
  }
}

// Room for the digests of one side of a call: on the stack as long as they are few.
class Digests {
 public:
  // Appends that of the first `bytes` bytes of the region; nothing if there are none.
  void add(const Region& region, std::uint64_t bytes, std::uint64_t most_pieces);
  const std::uint8_t* data() const { return many_.empty() ? few_ : many_.data(); }
  std::size_t size() const { return size_; }
  // Of the whole of the first one.
  bool operator==(const Digests& other) const;

 private:
  std::uint8_t* room(std::size_t bytes);
  std::size_t size_ = 0;
  std::uint8_t few_[96];
  std::vector<std::uint8_t> many_;
};

}  // namespace reprise::mpi::flow
