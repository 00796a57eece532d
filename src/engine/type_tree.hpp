// How a datatype was made, and which bytes it therefore describes by the rules of the MPI standard (MPI 4.0, 5.1).
// Nothing here asks an MPI library: its own way to find the bytes may be what is to be checked.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reprise::engine {

struct TypeTree {
  enum class Made : std::uint8_t {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
    F90Integer,
    F90Real,
    F90Complex,
    Unknown,
  };
  // The constants among the integers of subarrays and darrays have other values in each MPI library: whoever fills the
  // tree translates them into these.
  enum Order : std::int64_t { kOrderC = 0, kOrderFortran = 1 };
  enum Distribution : std::int64_t { kBlock = 0, kCyclic = 1, kNone = 2 };
  static constexpr std::int64_t kDefaultArgument = std::numeric_limits<std::int64_t>::min();

  struct Bounds {
    std::int64_t lower = 0;
    std::int64_t extent = 0;
    bool operator==(const Bounds&) const = default;
  };

  Made made = Made::Unknown;
  std::string name;         // Named: "MPI_INT"
  std::uint64_t size = 0;   // Named and F90*: as the library says (MPI_Type_size)
  std::int64_t extent = 0;  // the same
  // As MPI_Type_get_contents returns them (MPI 4.0, 5.1.13), each widened. Large counts of a type that was made with a
  // function for them (..._c) are put where the ordinary function has its integers and addresses.
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<TypeTree> types;
  // As the library says (MPI_Type_get_extent), if it was asked. Libraries do not agree on the bounds of everything that
  // is made of structs and resized types, and a program relies on those of its library: where these are known, they
  // are used to place one copy behind the other.
  std::optional<Bounds> bounds;

  bool operator==(const TypeTree&) const = default;
};

// Types that are made of types that are made of types, so many times: nobody does, but a damaged file might say so.
inline constexpr std::size_t kDeepestTypeTree = 64;

// Whether all of it is known, and each part has the arguments that its constructor takes.
bool is_sound(const TypeTree& tree);

struct FlatType {
  struct Run {
    std::int64_t offset = 0;
    std::uint64_t size = 0;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs;    // of one element, in the order of its type map; neighbours in that order that touch are one
  std::uint64_t size = 0;   // bytes of one element without holes
  std::int64_t lower = 0;   // MPI_Type_get_extent
  std::int64_t extent = 0;  // the same
  std::int64_t true_lower = 0;  // MPI_Type_get_true_extent; both zero if there are no bytes
  std::int64_t true_extent = 0;
  bool solid = false;  // an array of these elements is one piece of memory from offset 0 on (also: of no bytes)
  bool known = true;   // false: the tree is not sound, or more runs than allowed; then nothing else is said
};

// The bounds are those of the standard: an explicit bound anywhere inside (resized, subarray, darray) hides those of
// all that have none, and the extent is padded to the strictest alignment only if there is none. Where a part has such
// padding, it counts as part of it, as in C; the standard's words would have it only at the end of the whole.
FlatType flatten(const TypeTree& tree, std::size_t most_runs);

// From the first to behind the last byte of so many elements, as distances from where the first one begins.
struct Bounds {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Bounds bounds_of(const FlatType& flat, std::uint64_t count);

// Where in an element, as it travels, each of its runs begins; and which run a byte is in.
std::vector<std::uint64_t> begins_of_runs(const FlatType& flat);
std::size_t run_of(const std::vector<std::uint64_t>& begins, std::uint64_t byte);

// Some of its bytes mean nothing, and need not travel: of the 16 of a long double, some libraries carry only those that
// mean something, unless they can copy all at once.
bool may_lose_padding(const TypeTree& tree, const FlatType& flat);

std::vector<std::uint8_t> to_bytes(const TypeTree& tree);
// Nothing if the bytes are damaged. What is read need not be sound.
std::optional<TypeTree> type_tree_from(std::span<const std::uint8_t> bytes);

}  // namespace reprise::engine
