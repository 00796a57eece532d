#include "engine/shadow_memory.hpp"

namespace reprise::engine {

const ShadowMemory::Block* ShadowMemory::Region::find(std::uint64_t at) const {
  const auto some = all.find(at / (kBlock * kTogether));
  return some == all.end() ? nullptr : some->second[at / kBlock % kTogether].get();
}

void ShadowMemory::learn(std::uint32_t region, std::uint64_t begin, std::uint64_t end, const std::uint8_t* bytes) {
  each_block(regions_[region], begin, end, [&](Block& shadow, std::uint64_t at, std::uint64_t next) {
    std::memcpy(shadow.bytes.data() + at % kBlock, bytes + (at - begin), next - at);
    shadow.known |= mask(at, next);
  });
}

void ShadowMemory::forget(std::uint32_t region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  blocks_ -= found->second.blocks;
  tables_ -= found->second.all.size();
  regions_.erase(found);
}

}  // namespace reprise::engine
