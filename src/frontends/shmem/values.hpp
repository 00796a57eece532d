// What reaches a PE through a call: logged, or written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/data_log.hpp"

namespace reprise::shmem {

// Elements of this PE's memory, every `stride`-th of them.
struct Elements {
  void* address = nullptr;
  std::size_t element = 1;
  std::size_t count = 0;
  std::ptrdiff_t stride = 1;

  std::size_t bytes() const { return element * count; }
  bool is_solid() const { return stride == 1 || count <= 1; }
  // Calls visit(from, size) for each stretch of them.
  template <class Visit>
  void visit(Visit visit) const {
    auto* at = static_cast<std::uint8_t*>(address);
    if (is_solid()) return visit(at, bytes());
    for (std::size_t i = 0; i < count; ++i, at += stride * static_cast<std::ptrdiff_t>(element)) visit(at, element);
  }
};

// This process is one PE without the others.
bool is_solo();
// Its values are recorded.
bool records();

// What the call in flight has brought. Nothing is logged of nothing.
void log_brought(const Elements& elements);
void log_brought(const std::vector<Elements>& all);
void bring_again(const Elements& elements);
void bring_again(const std::vector<Elements>& all);

// What it sends, and where to.
struct Destination {
  std::uint32_t access = 0;
  int pe = 0;
  std::uint64_t place = 0;
};
void log_sent(const Elements& elements, const Destination& where);
void compare_sent(const Elements& elements);

}  // namespace reprise::shmem
