#include "engine/sites.hpp"

#include <sys/mman.h>

namespace reprise::engine {

std::uint32_t SiteIndex::find(FunctionId function, const void* address) const {
  if (!slots_) return kNoSite;
  for (std::uint64_t at = hash(function, address) >> shift_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (!slot.address) return kNoSite;
    if (slot.address == address && slot.function == function) return slot.site;
  }
}

void SiteIndex::place(const Slot& slot) {
  std::uint64_t at = hash(slot.function, slot.address) >> shift_;
  while (slots_[at].address) at = (at + 1) & mask_;
  slots_[at] = slot;
}

void SiteIndex::clear() {
  if (slots_) munmap(slots_, (mask_ + 1) * sizeof(Slot));
  *this = {};
}

bool SiteIndex::grow() {
  const std::uint64_t capacity = slots_ ? 2 * (mask_ + 1) : 1024;
  void* memory = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Slot* const old = slots_;
  const std::uint64_t old_capacity = old ? mask_ + 1 : 0;
  slots_ = static_cast<Slot*>(memory);
  mask_ = capacity - 1;
  shift_ = 64 - static_cast<unsigned>(__builtin_ctzll(capacity));
  for (std::uint64_t i = 0; i < old_capacity; ++i)
    if (old[i].address) place(old[i]);
  if (old) munmap(old, old_capacity * sizeof(Slot));
  return true;
}

bool SiteIndex::insert(FunctionId function, const void* address, std::uint32_t site) {
  if (2 * (used_ + 1) > (slots_ ? mask_ + 1 : 0) && !grow()) return false;
  place({address, site, function});
  ++used_;
  return true;
}

}  // namespace reprise::engine
