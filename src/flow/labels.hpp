// Where the bytes in a piece of memory come from (FlowChecker, section III-D): labels of data sources, which go where the
// bytes go. Bytes without a label are anybody's: control data of the library, or what nobody has seen written.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace reprise::flow {

inline constexpr std::uint32_t kNoHop = UINT32_MAX;

// The bytes from `address` on of the process that began the operation, when it began.
struct Label {
  std::uint32_t operation = 0;
  std::uint32_t hop = kNoHop;  // what has moved them here, if somebody watches
  std::uint64_t address = 0;
  bool inferred = false;  // by their values, somewhere on their way
};

// Some bytes with one label: that of the first one; those that follow have the following addresses.
struct Labelled {
  std::uint64_t at = 0;  // where they are, counted from the first byte that was asked for
  std::uint64_t bytes = 0;
  Label label;
};

class Labels {
 public:
  void set(std::uint64_t at, std::uint64_t bytes, const Label& label);
  void erase(std::uint64_t at, std::uint64_t bytes);
  // Those of these bytes that have labels, in their order. Added to `found`.
  void find(std::uint64_t at, std::uint64_t bytes, std::vector<Labelled>& found, std::uint64_t counted_from) const;
  std::size_t size() const { return pieces_.size(); }

 private:
  struct Piece {
    std::uint64_t end = 0;
    Label label;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by their first bytes; they do not overlap
  Pieces::iterator split(std::uint64_t at);

  Pieces pieces_;
};

}  // namespace reprise::flow
