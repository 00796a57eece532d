#include "frontends/mpi/flow/own_operations.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.hpp"
#include "base/spin.hpp"
#include "frontends/mpi/flow/letters.hpp"

namespace reprise::mpi::flow {
namespace {

constexpr std::size_t kLargest = 64u << 10;  // bytes of samples that are told
constexpr std::uint64_t kMostMemory = 4u << 20;  // of the contribution of one rank
constexpr std::int64_t kMostPrefixes = 64;   // of which more than one order is tried

struct Header {
  std::uint64_t communicator = 0;
  std::uint64_t number = 0;
};

// Letters come in the order in which their sender entered its reductions; on several communicators that need not be the
// order in which they are looked for.
struct Letterbox {
  std::atomic_flag lock;
  MPI_Comm comm{};
  bool is_open = false;
  Letters letters;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers;  // of reductions, per communicator
  std::map<std::tuple<int, std::uint64_t, std::uint64_t>, std::vector<std::uint8_t>> come;
  std::unordered_set<std::uint64_t> reduced_types;
  std::vector<MPI_Op> kept_operations;
  std::vector<MPI_Datatype> kept_types;

  std::vector<std::uint8_t> take(int from, const Header& wanted) {
    const std::tuple key{from, wanted.communicator, wanted.number};
    for (auto found = come.find(key);; found = come.find(key)) {
      if (found != come.end()) {
        std::vector<std::uint8_t> samples = std::move(found->second);
        come.erase(found);
        return samples;
      }
      const auto bytes = receive_letter(comm, from);
      Header header;
      if (bytes.size() < sizeof header) return {};
      std::memcpy(&header, bytes.data(), sizeof header);
      come[{from, header.communicator, header.number}].assign(bytes.begin() + sizeof header, bytes.end());
    }
  }
};
Letterbox& letterbox() {
  static auto* const one = new Letterbox();  // never destroyed: the program may call MPI while it ends
  return *one;
}

constexpr int kRootHere = -2;  // MPI_ROOT

// The member that looks, among those that this rank contributes to; among its own peers, that is.
int verifier_of(const Shape& shape) { return shape.root >= 0 ? shape.root : shape.group->peers() - 1; }
bool verifies(const Shape& shape) {
  if (shape.group->inter()) return shape.root == kRootHere || (shape.root == -1 && shape.group->me + 1 == static_cast<int>(shape.group->local.size()));
  return verifier_of(shape) == shape.group->me;
}
const std::vector<int>& peers_of(const Group& group) { return group.inter() ? group.remote : group.local; }
// Processes of another world have no rank in ours.
bool is_reachable(const Group& group) {
  const auto is_known = [](const std::vector<int>& ranks) {
    return std::none_of(ranks.begin(), ranks.end(), [](int rank) { return rank < 0; });
  };
  return is_known(group.local) && is_known(group.remote);
}

// Elements as the program's function wants them, with the holes of their type.
class Elements {
 public:
  Elements(const Type& type, std::uint64_t count, const std::vector<std::uint8_t>& samples) : region_{nullptr, count, &type} {
    const engine::FlatType& flat = type.flat;
    const std::int64_t before = (std::max<std::int64_t>(-flat.true_lower, 0) + kAlignment - 1) / kAlignment * kAlignment;
    const std::int64_t steps = static_cast<std::int64_t>(count - 1) * flat.extent;
    const auto bytes = static_cast<std::size_t>(before + std::max<std::int64_t>(flat.true_lower, 0) + steps + flat.true_extent);
    memory_.resize(bytes / sizeof(std::max_align_t) + 1);
    region_.buffer = reinterpret_cast<std::uint8_t*>(memory_.data()) + before;
    const std::uint8_t* from = samples.data();
    visit(region_, region_.bytes(), [&](std::uint8_t* to, std::size_t size) {
      std::memcpy(to, from, size);
      from += size;
    });
  }
  // Elements that lie one behind the other, and do not take too much room with their holes.
  static bool can(const engine::FlatType& flat, std::uint64_t count) {
    return flat.known && flat.size > 0 && flat.extent >= flat.true_extent && static_cast<std::uint64_t>(flat.extent) * count <= kMostMemory;
  }

  Elements(const Elements& other) : memory_(other.memory_), region_(other.region_) { move_from(other); }
  Elements& operator=(const Elements& other) {
    memory_ = other.memory_;
    region_ = other.region_;
    move_from(other);
    return *this;
  }

  // Each of them becomes (that of `left`) op (itself).
  void combine_behind(const Elements& left, MPI_Datatype type, MPI_Op op) {
    using Local = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op);
    library_function<Local>(Function::Reduce_local)(left.region_.buffer, region_.buffer, static_cast<int>(region_.count), type, op);
  }
  std::vector<std::uint8_t> samples() const {
    std::vector<std::uint8_t> bytes;
    visit(region_, region_.bytes(), [&](const std::uint8_t* from, std::size_t size) { bytes.insert(bytes.end(), from, from + size); });
    return bytes;
  }

 private:
  static constexpr std::int64_t kAlignment = sizeof(std::max_align_t);
  void move_from(const Elements& other) {
    const auto place = other.region_.buffer - reinterpret_cast<const std::uint8_t*>(other.memory_.data());
    region_.buffer = reinterpret_cast<std::uint8_t*>(memory_.data()) + place;
  }

  std::vector<std::max_align_t> memory_;
  Region region_;
};

// The orders that are tried: an operation for which they differ is not what MPI takes for one, or rounds.
class Folds {
 public:
  Folds(std::vector<Elements> all, MPI_Datatype type, MPI_Op op) : all_(std::move(all)), type_(type), op_(op) {
    int commutes = 0;
    library_function<int (*)(MPI_Op, int*)>(Function::Op_commutative)(op, &commutes);
    commutes_ = commutes != 0;
  }

  // Of the first `count`; `from_left`: what comes of one less, then of these.
  std::vector<std::vector<std::uint8_t>> of(std::size_t count, std::optional<Elements>& from_left, bool all_orders) {
    Elements left = all_[count - 1];
    if (count > 1) left.combine_behind(*from_left, type_, op_);
    from_left = left;
    std::vector<std::vector<std::uint8_t>> ways{left.samples()};
    if (!all_orders || count < 2) return ways;
    Elements right = all_[count - 1];
    for (std::size_t i = count - 1; i-- > 0;) right.combine_behind(all_[i], type_, op_);
    add(ways, right.samples());
    if (!commutes_) return ways;
    Elements reversed = all_[0];
    for (std::size_t i = 1; i < count; ++i) reversed.combine_behind(all_[i], type_, op_);
    add(ways, reversed.samples());
    return ways;
  }

 private:
  static void add(std::vector<std::vector<std::uint8_t>>& ways, std::vector<std::uint8_t> way) {
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
  }

  std::vector<Elements> all_;
  MPI_Datatype type_;
  MPI_Op op_;
  bool commutes_ = false;
};

void write(std::vector<std::uint8_t>& out, std::uint64_t number) {
  std::uint8_t room[kMaxVarint];
  out.insert(out.end(), room, put_varint(room, number));
}

}  // namespace

void open_letterbox() {
  letterbox().comm = private_copy(handles().comm_world);
  letterbox().is_open = true;
}

void OwnReduction::contribute(const Shape& shape, std::span<const std::uint8_t> samples, MPI_Datatype type) {
  if (!letterbox().is_open || !is_reachable(*shape.group)) return;
  const Spin spin(&letterbox().lock);
  type_ = type;
  if (shape.element) letterbox().reduced_types.insert(handle_key(type));
  const Header header{shape.group->uid, letterbox().numbers[shape.group->uid]++};
  number_ = header.number;
  if (shape.gives_count == 0) return;
  if (samples.size() > kLargest) samples = {};
  const int to = peers_of(*shape.group)[static_cast<std::size_t>(verifier_of(shape))];
  const int me = shape.group->local[static_cast<std::size_t>(shape.group->me)];
  if (to == me) {
    letterbox().come[{me, header.communicator, header.number}].assign(samples.begin(), samples.end());
    return;
  }
  std::vector<std::uint8_t> bytes(sizeof header + samples.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(samples.begin(), samples.end(), bytes.begin() + sizeof header);
  letterbox().letters.send(letterbox().comm, to, std::move(bytes));
}

std::vector<std::uint8_t> OwnReduction::expected(const Shape& shape) const {
  if (!letterbox().is_open || !is_reachable(*shape.group) || !verifies(shape)) return {};
  const Header header{shape.group->uid, number_};
  const std::uint64_t count = trace::samples_of(shape.all);
  std::vector<std::vector<std::uint8_t>> samples;
  {
    const Spin spin(&letterbox().lock);
    for (const int peer : peers_of(*shape.group)) samples.push_back(letterbox().take(peer, header));
  }
  const engine::FlatType& flat = shape.element->flat;
  if (count == 0 || shape.combines <= 0 || !Elements::can(flat, count)) return {};
  std::vector<Elements> all;
  for (std::int64_t i = 0; i < shape.combines; ++i) {
    const auto& one = samples[static_cast<std::size_t>(i)];
    if (one.size() != count * flat.size) return {};
    all.emplace_back(*shape.element, count, one);
  }
  Folds folds(std::move(all), type_, op_);
  std::vector<std::uint8_t> out;
  std::optional<Elements> from_left;
  for (std::int64_t i = 1; i <= shape.combines; ++i) {
    const bool is_last = i == shape.combines;
    const auto ways = folds.of(static_cast<std::size_t>(i), from_left, is_last || (prefixes_ && shape.combines <= kMostPrefixes));
    if (!is_last && !prefixes_) continue;
    write(out, static_cast<std::uint64_t>(i));
    write(out, ways.size());
    for (const auto& way : ways) out.insert(out.end(), way.begin(), way.end());
  }
  return out;
}

bool keeps_operation(MPI_Op* op) {
  if (!letterbox().is_open || *op == handles().op_null || is_predefined(*op)) return false;
  const Spin spin(&letterbox().lock);
  letterbox().kept_operations.push_back(*op);
  *op = handles().op_null;
  return true;
}

bool keeps_type(MPI_Datatype* type) {
  const Spin spin(&letterbox().lock);
  if (letterbox().reduced_types.erase(handle_key(*type)) == 0) return false;
  letterbox().kept_types.push_back(*type);
  *type = handles().datatype_null;
  return true;
}

void close_letterbox() {
  const Spin spin(&letterbox().lock);
  for (MPI_Op& op : letterbox().kept_operations) library_function<int (*)(MPI_Op*)>(Function::Op_free)(&op);
  for (MPI_Datatype& type : letterbox().kept_types) library_function<int (*)(MPI_Datatype*)>(Function::Type_free)(&type);
  letterbox().kept_operations.clear();
  letterbox().kept_types.clear();
  letterbox().letters.tidy(false);
}

}  // namespace reprise::mpi::flow
