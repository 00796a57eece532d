#include "base/address_remains.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace reprise {
namespace {

constexpr unsigned kFirstBit = 24;  // below it, one area spans too many values to tell anything
constexpr std::uint32_t kMask = 0xffffff;
constexpr std::uint64_t kStep = std::uint64_t{1} << kFirstBit;
constexpr std::size_t kMostPerArea = 4096;  // 64 GiB

std::uint32_t middle(std::uint64_t word) { return static_cast<std::uint32_t>(word >> kFirstBit) & kMask; }

bool among(const std::vector<std::uint32_t>& values, std::uint32_t value) {
  return std::binary_search(values.begin(), values.end(), value);
}

void settle(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

void AddressRemains::add(std::uint64_t first, std::uint64_t last) {
  if (middle(last) == 0) return;  // a program at a fixed place is at the same one each time
  std::size_t count = 0;
  for (std::uint64_t at = first & ~(kStep - 1); at <= last && count < kMostPerArea; at += kStep, ++count) {
    middles_.push_back(middle(at));
    middles_.push_back(middle(at >> 12));      // glibc's malloc masks a link with the page number of its place:
    masked_.push_back(middle(at ^ at >> 12));  // the end of a list, and a link to the same area
  }
}

AddressRemains::AddressRemains() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return;
  char line[512];
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long long first = 0;
    unsigned long long end = 0;
    if (std::sscanf(line, "%llx-%llx", &first, &end) == 2 && end > first && first >> 63 == 0) add(first, end - 1);
  }
  std::fclose(maps);
  std::erase(middles_, 0U);  // a small number is not an address
  std::erase(masked_, 0U);
  settle(middles_);
  settle(masked_);
}

AddressRemains::AddressRemains(const std::vector<std::uint64_t>& areas) {
  for (const std::uint64_t area : areas) add(area, area);
  settle(middles_);
  settle(masked_);
}

bool AddressRemains::in(const void* from, std::size_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t aligned = (begin + 7) & ~std::uintptr_t{7};
  for (std::uintptr_t at = aligned; at + 8 <= begin + size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
    if (among(middles_, middle(word)) || among(masked_, middle(word))) return true;
  }
  return false;
}

}  // namespace reprise
