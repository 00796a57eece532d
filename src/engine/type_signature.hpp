// What a datatype is made of, in the order in which it travels: both sides of a message must agree on that
// (MPI 4.0, 3.3.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::engine {

struct TypeSignature {
  // Types that are written alike are taken for the same, whatever the language calls them: signed integers of four bytes.
  enum class Kind : std::uint8_t {
    Signed,
    Unsigned,
    Floating,
    Complex,
    Character,
    Wide,  // characters
    Logical,
    Byte,
    Packed,   // fits everything
    Unknown,  // the same
  };
  struct Run {
    Kind kind = Kind::Unknown;
    std::uint32_t size = 0;  // of one
    std::uint64_t count = 0;
    bool is_same_kind(const Run& other) const { return kind == other.kind && size == other.size; }
  };
  std::vector<Run> runs;  // of one element of the datatype
  bool fits_everything = false;
};

// As it travels beside the data: so many words.
std::vector<std::uint64_t> to_words(const TypeSignature& signature);
TypeSignature from_words(const std::uint64_t* words);
// How many words from there on it is.
inline std::uint64_t words_of_signature(const std::uint64_t* words) { return 1 + 2 * (*words >> 1); }

// The first `bytes` bytes of an array of the one against an array of the other. Where they differ, in words; otherwise
// nothing.
std::string difference(const TypeSignature& sent, const TypeSignature& expected, std::uint64_t bytes);

}  // namespace reprise::engine
