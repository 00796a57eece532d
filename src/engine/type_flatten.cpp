// What a datatype describes: see type_tree.hpp.
#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <string_view>

#include "engine/type_tree.hpp"

namespace reprise::engine {
namespace {

using Made = TypeTree::Made;
using Run = FlatType::Run;

// The types for MPI_MINLOC and MPI_MAXLOC are structs of two parts.
struct Pair {
  std::string_view name;
  std::uint64_t first;
  std::uint64_t second_at;
  std::uint64_t second;
  std::uint64_t alignment;
};

template <class First, class Second>
constexpr Pair pair(std::string_view name) {
  struct Both {
    First first;
    Second second;
  };
  return {name, sizeof(First), offsetof(Both, second), sizeof(Second), alignof(Both)};
}

constexpr Pair kPairs[] = {
    pair<float, int>("MPI_FLOAT_INT"),
    pair<double, int>("MPI_DOUBLE_INT"),
    pair<long, int>("MPI_LONG_INT"),
    pair<int, int>("MPI_2INT"),
    pair<short, int>("MPI_SHORT_INT"),
    pair<long double, int>("MPI_LONG_DOUBLE_INT"),
    pair<float, float>("MPI_2REAL"),
    pair<double, double>("MPI_2DOUBLE_PRECISION"),
    pair<int, int>("MPI_2INTEGER"),
    pair<std::complex<float>, std::complex<float>>("MPI_2COMPLEX"),
    pair<std::complex<double>, std::complex<double>>("MPI_2DOUBLE_COMPLEX"),
};

// Numbers lie at multiples of their size, complex ones as their parts do.
std::uint64_t alignment_of(const TypeTree& basic) {
  const bool is_complex = basic.made == Made::F90Complex || basic.name.find("COMPLEX") != std::string::npos;
  const std::uint64_t number = is_complex ? basic.size / 2 : basic.size;
  if (!std::has_single_bit(number)) return 1;
  const bool may_be_large = basic.made != Made::Named || is_complex || basic.name == "MPI_LONG_DOUBLE" ||
                            basic.name == "MPI_REAL16" || basic.name == "MPI_INTEGER16";
  return std::min<std::uint64_t>(number, may_be_large ? alignof(long double) : 8);
}

std::int64_t share_of(std::int64_t size, std::int64_t takers) { return size / takers + (size % takers > 0 ? 1 : 0); }

// A type while it is being put together.
struct Part {
  std::vector<Run> runs;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool has_lower_mark = false;  // the bound was set explicitly
  bool has_upper_mark = false;
  std::uint64_t alignment = 1;
  void mark(std::int64_t new_lower, std::int64_t new_upper) {
    lower = new_lower;
    upper = new_upper;
    has_lower_mark = has_upper_mark = true;
  }
};

class Flattening {
 public:
  explicit Flattening(std::size_t most_runs) : most_runs_(most_runs) {}

  bool is_known() const { return is_known_; }
  Part part_of(const TypeTree& tree) {
    Part part = by_constructor(tree);
    if (tree.bounds) {
      part.lower = tree.bounds->lower;
      part.upper = sum(tree.bounds->lower, tree.bounds->extent);
    }
    return part;
  }
  // Numbers of a damaged file may be anything: what is too large for 64 bits makes the whole unknown.
  std::int64_t sum(std::int64_t one, std::int64_t other) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(one, other, &result)) is_known_ = false;
    return result;
  }
  std::int64_t difference(std::int64_t one, std::int64_t other) {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(one, other, &result)) is_known_ = false;
    return result;
  }
  std::int64_t product(std::int64_t one, std::int64_t other) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(one, other, &result)) is_known_ = false;
    return result;
  }

 private:
  // Takes parts and becomes one.
  class Assembly {
   public:
    explicit Assembly(Flattening& all) : all_(all) {}
    void add(const Part& part, std::int64_t at, std::int64_t copies, std::int64_t stride);
    Part whole();

   private:
    Flattening& all_;
    Part whole_;
    // Of all parts without an explicit bound, and those that were set: the latter hide the former.
    std::optional<std::int64_t> lower_, upper_, lower_mark_, upper_mark_;
  };

  Part by_constructor(const TypeTree& tree);
  Part basic(const TypeTree& tree);
  Part blocks(const TypeTree& tree);
  Part structure(const TypeTree& tree);
  Part subarray(const TypeTree& tree);
  Part darray(const TypeTree& tree);
  Part dealt(const Part& part, std::int64_t size, std::int64_t block, std::int64_t rank, std::int64_t ranks);
  Part repeated(const Part& part, std::int64_t at, std::int64_t copies, std::int64_t stride) {
    Assembly assembly(*this);
    assembly.add(part, at, copies, stride);
    return assembly.whole();
  }
  std::int64_t extent_of(const Part& part) { return difference(part.upper, part.lower); }
  void append(std::vector<Run>& runs, std::int64_t offset, std::int64_t size);
  void append(std::vector<Run>& runs, const std::vector<Run>& more, std::int64_t at, std::int64_t copies,
              std::int64_t stride);

  std::size_t most_runs_;
  bool is_known_ = true;
};

void Flattening::append(std::vector<Run>& runs, std::int64_t offset, std::int64_t size) {
  sum(offset, size);  // so that nobody needs to ask again whether there is an end
  if (!is_known_) return;
  if (!runs.empty() && runs.back().offset + static_cast<std::int64_t>(runs.back().size) == offset)
    runs.back().size = static_cast<std::uint64_t>(sum(static_cast<std::int64_t>(runs.back().size), size));
  else if (runs.size() < most_runs_) runs.push_back({offset, static_cast<std::uint64_t>(size)});
  else is_known_ = false;
}

void Flattening::append(std::vector<Run>& runs, const std::vector<Run>& more, std::int64_t at, std::int64_t copies,
                        std::int64_t stride) {
  if (more.empty() || copies == 0) return;
  // Each round of the loop below makes at least one new run: without this it would not, and might have much to do.
  if (more.size() == 1 && stride == static_cast<std::int64_t>(more[0].size)) {
    append(runs, sum(at, more[0].offset), product(stride, copies));
    return;
  }
  for (std::int64_t copy = 0; copy < copies && is_known_; ++copy)
    for (const Run& run : more)
      append(runs, sum(sum(at, product(copy, stride)), run.offset), static_cast<std::int64_t>(run.size));
}

void Flattening::Assembly::add(const Part& part, std::int64_t at, std::int64_t copies, std::int64_t stride) {
  if (copies == 0) return;
  const std::int64_t last = all_.sum(at, all_.product(copies - 1, stride));
  const std::int64_t lower = all_.sum(std::min(at, last), part.lower);
  const std::int64_t upper = all_.sum(std::max(at, last), part.upper);
  const bool is_something = !part.runs.empty();
  if (std::optional<std::int64_t>& bound = part.has_lower_mark ? lower_mark_ : lower_;
      part.has_lower_mark || is_something)
    bound = std::min(bound.value_or(lower), lower);
  if (std::optional<std::int64_t>& bound = part.has_upper_mark ? upper_mark_ : upper_;
      part.has_upper_mark || is_something)
    bound = std::max(bound.value_or(upper), upper);
  if (is_something) whole_.alignment = std::max(whole_.alignment, part.alignment);
  all_.append(whole_.runs, part.runs, at, copies, stride);
}

Part Flattening::Assembly::whole() {
  whole_.has_lower_mark = lower_mark_.has_value();
  whole_.has_upper_mark = upper_mark_.has_value();
  whole_.lower = lower_mark_.value_or(lower_.value_or(0));
  whole_.upper = upper_mark_.value_or(upper_.value_or(whole_.lower));
  if (upper_mark_ || !upper_) return std::move(whole_);
  const auto alignment = static_cast<std::int64_t>(whole_.alignment);
  const std::int64_t beyond = all_.extent_of(whole_) % alignment;
  if (beyond != 0) whole_.upper = all_.sum(whole_.upper, beyond < 0 ? -beyond : alignment - beyond);
  return std::move(whole_);
}

Part Flattening::basic(const TypeTree& tree) {
  Part part;
  part.upper = tree.extent;
  // Marks of MPI-1: old programs still put them into structs, and some libraries let them.
  part.has_lower_mark = tree.name == "MPI_LB";
  part.has_upper_mark = tree.name == "MPI_UB";
  part.alignment = alignment_of(tree);
  const Pair* pair = std::ranges::find(kPairs, tree.name, &Pair::name);
  if (pair != std::end(kPairs) && tree.size == pair->first + pair->second) {
    part.alignment = pair->alignment;
    append(part.runs, 0, static_cast<std::int64_t>(pair->first));
    append(part.runs, static_cast<std::int64_t>(pair->second_at), static_cast<std::int64_t>(pair->second));
  } else if (tree.size > 0) {
    append(part.runs, 0, static_cast<std::int64_t>(tree.size));
  }
  return part;
}

// All that is one or more blocks of the same type.
Part Flattening::blocks(const TypeTree& tree) {
  const Part part = part_of(tree.types[0]);
  const std::int64_t extent = extent_of(part);
  const std::vector<std::int64_t>& integers = tree.integers;
  const std::int64_t count = integers[0];
  if (tree.made == Made::Contiguous) return repeated(part, 0, count, extent);
  if (tree.made == Made::Vector || tree.made == Made::Hvector) {
    const Part block = repeated(part, 0, integers[1], extent);
    return repeated(block, 0, count, tree.made == Made::Vector ? product(integers[2], extent) : tree.addresses[0]);
  }
  const bool is_same_length = tree.made == Made::IndexedBlock || tree.made == Made::HindexedBlock;
  const bool is_in_bytes = tree.made == Made::Hindexed || tree.made == Made::HindexedBlock;
  const std::size_t displacements = is_same_length ? 2 : 1 + static_cast<std::size_t>(count);
  Assembly assembly(*this);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && is_known_; ++i)
    assembly.add(part, is_in_bytes ? tree.addresses[i] : product(integers[displacements + i], extent),
                 is_same_length ? integers[1] : integers[1 + i], extent);
  return assembly.whole();
}

Part Flattening::structure(const TypeTree& tree) {
  Assembly assembly(*this);
  for (std::size_t i = 0; i < tree.types.size() && is_known_; ++i) {
    if (tree.integers[1 + i] == 0) continue;
    const Part part = part_of(tree.types[i]);
    assembly.add(part, tree.addresses[i], tree.integers[1 + i], extent_of(part));
  }
  return assembly.whole();
}

// One dimension after the other, from the one whose elements are neighbours in memory: rows of elements, then planes of
// rows. Each keeps the place of the whole, which is what its bounds say.
Part Flattening::subarray(const TypeTree& tree) {
  const auto dimensions = static_cast<std::size_t>(tree.integers[0]);
  const std::int64_t* sizes = &tree.integers[1];
  const std::int64_t* subsizes = sizes + dimensions;
  const std::int64_t* starts = subsizes + dimensions;
  Part part = part_of(tree.types[0]);
  for (std::size_t i = 0; i < dimensions && is_known_; ++i) {
    const std::size_t dimension = tree.integers.back() == TypeTree::kOrderFortran ? i : dimensions - 1 - i;
    const std::int64_t extent = extent_of(part);
    part = repeated(part, product(starts[dimension], extent), subsizes[dimension], extent);
    part.mark(0, product(sizes[dimension], extent));
  }
  return part;
}

// The same, but of each dimension the blocks that are dealt to this rank of the process grid.
Part Flattening::darray(const TypeTree& tree) {
  const auto dimensions = static_cast<std::size_t>(tree.integers[2]);
  const std::int64_t* sizes = &tree.integers[3];
  const std::int64_t* distributions = sizes + dimensions;
  const std::int64_t* arguments = distributions + dimensions;
  const std::int64_t* grid = arguments + dimensions;
  std::int64_t processes = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (grid[i] <= 0) is_known_ = false;
    processes = product(processes, grid[i]);
  }
  if (processes != tree.integers[0] || tree.integers[1] >= processes) is_known_ = false;
  if (!is_known_) return {};
  // Ranks are laid out in the grid as C arrays are, whatever the order of the data.
  std::vector<std::int64_t> coordinates(dimensions);
  std::int64_t rank = tree.integers[1];
  for (std::size_t i = dimensions; i-- > 0; rank /= grid[i]) coordinates[i] = rank % grid[i];

  Part part = part_of(tree.types[0]);
  for (std::size_t i = 0; i < dimensions && is_known_; ++i) {
    const std::size_t dimension = tree.integers.back() == TypeTree::kOrderFortran ? i : dimensions - 1 - i;
    const std::int64_t size = sizes[dimension];
    std::int64_t block = arguments[dimension];
    switch (distributions[dimension]) {
      case TypeTree::kBlock:
        if (block == TypeTree::kDefaultArgument) block = share_of(size, grid[dimension]);
        // One block each: there must not be any left for a second round.
        if (block <= 0 || share_of(size, block) > grid[dimension]) is_known_ = false;
        break;
      case TypeTree::kCyclic:
        if (block == TypeTree::kDefaultArgument) block = 1;
        break;
      case TypeTree::kNone:
        block = size;
        if (grid[dimension] != 1) is_known_ = false;
        break;
      default: is_known_ = false;
    }
    if (block <= 0) is_known_ = false;
    if (!is_known_) return {};
    part = dealt(part, size, block, coordinates[dimension], grid[dimension]);
  }
  return part;
}

// What one of so many gets if an array is dealt out in blocks, of which the last may be shorter.
Part Flattening::dealt(const Part& part, std::int64_t size, std::int64_t block, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t extent = extent_of(part);
  const std::int64_t whole_blocks = size / block;
  const std::int64_t mine = whole_blocks / ranks + (rank < whole_blocks % ranks ? 1 : 0);
  const std::int64_t block_bytes = product(block, extent);
  Assembly assembly(*this);
  if (mine > 0)
    assembly.add(repeated(part, 0, block, extent), product(rank, block_bytes), mine, product(ranks, block_bytes));
  if (whole_blocks % ranks == rank) assembly.add(part, product(whole_blocks, block_bytes), size % block, extent);
  Part result = assembly.whole();
  result.mark(0, product(size, extent));
  return result;
}

Part Flattening::by_constructor(const TypeTree& tree) {
  switch (tree.made) {
    case Made::Named:
    case Made::F90Integer:
    case Made::F90Real:
    case Made::F90Complex: return basic(tree);
    case Made::Dup: return part_of(tree.types[0]);
    case Made::Contiguous:
    case Made::Vector:
    case Made::Hvector:
    case Made::Indexed:
    case Made::Hindexed:
    case Made::IndexedBlock:
    case Made::HindexedBlock: return blocks(tree);
    case Made::Struct: return structure(tree);
    case Made::Subarray: return subarray(tree);
    case Made::Darray: return darray(tree);
    case Made::Resized: {
      Part part = part_of(tree.types[0]);
      part.mark(tree.addresses[0], sum(tree.addresses[0], tree.addresses[1]));
      return part;
    }
    case Made::Unknown: break;
  }
  is_known_ = false;
  return {};
}

}  // namespace

FlatType flatten(const TypeTree& tree, std::size_t most_runs) {
  FlatType unknown;
  unknown.known = false;
  if (!is_sound(tree)) return unknown;
  Flattening flattening(most_runs);
  Part part = flattening.part_of(tree);
  FlatType flat;
  flat.runs = std::move(part.runs);
  flat.lower = part.lower;
  flat.extent = flattening.difference(part.upper, part.lower);
  std::int64_t size = 0;
  std::int64_t true_upper = 0;
  for (const Run& run : flat.runs) {
    const bool is_first = size == 0;
    const std::int64_t end = run.offset + static_cast<std::int64_t>(run.size);
    flat.true_lower = is_first ? run.offset : std::min(flat.true_lower, run.offset);
    true_upper = is_first ? end : std::max(true_upper, end);
    size = flattening.sum(size, static_cast<std::int64_t>(run.size));
  }
  flat.size = static_cast<std::uint64_t>(size);
  flat.true_extent = flattening.difference(true_upper, flat.true_lower);
  flat.solid = flat.runs.empty() || (flat.runs.size() == 1 && flat.runs[0].offset == 0 && size == flat.extent);
  return flattening.is_known() ? flat : unknown;
}

Bounds bounds_of(const FlatType& flat, std::uint64_t count) {
  if (count == 0 || flat.size == 0) return {};
  if (flat.solid) return {0, static_cast<std::int64_t>(count * flat.size)};
  const std::int64_t steps = static_cast<std::int64_t>(count - 1) * flat.extent;  // an extent may be negative
  return {flat.true_lower + std::min<std::int64_t>(steps, 0), flat.true_lower + flat.true_extent + std::max<std::int64_t>(steps, 0)};
}

std::vector<std::uint64_t> begins_of_runs(const FlatType& flat) {
  std::vector<std::uint64_t> begins;
  begins.reserve(flat.runs.size());
  std::uint64_t begin = 0;
  for (const Run& run : flat.runs) {
    begins.push_back(begin);
    begin += run.size;
  }
  return begins;
}

std::size_t run_of(const std::vector<std::uint64_t>& begins, std::uint64_t byte) {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), byte) - begins.begin()) - 1;
}

}  // namespace reprise::engine
