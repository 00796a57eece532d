// Does this memory hold addresses, or what is left of them?
//
// A message whose buffer was never wholly written to (a benchmark's, a structure's padding) carries what the memory
// held before. Most of that is the same in every run of the same computation; addresses are not, because the system
// loads the program elsewhere each time. So a message in which one is found cannot be compared byte by byte with
// another run's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise {

class AddressRemains {
 public:
  // What is mapped into this process now.
  AddressRemains();
  // For tests: the first addresses of mapped areas.
  explicit AddressRemains(const std::vector<std::uint64_t>& areas);

  // True if some aligned word of these bytes is an address: its middle is, for the ends may have been written over.
  bool in(const void* from, std::size_t size) const;

 private:
  void add(std::uint64_t first, std::uint64_t last);
  std::vector<std::uint32_t> middles_;  // bits 24 to 47, ascending
  std::vector<std::uint32_t> masked_;   // the same of an entry in malloc's lists, which is masked with its own place
};

}  // namespace reprise
