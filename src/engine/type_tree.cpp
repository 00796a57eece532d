#include "engine/type_tree.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace reprise::engine {
namespace {

using Made = TypeTree::Made;

bool are_counts(std::span<const std::int64_t> values) {
  return std::ranges::all_of(values, [](std::int64_t value) { return value >= 0; });
}

bool has_its_arguments(const TypeTree& tree) {
  const std::size_t integers = tree.integers.size();
  const std::size_t addresses = tree.addresses.size();
  const std::size_t types = tree.types.size();
  const auto are = [&](std::size_t wanted_integers, std::size_t wanted_addresses, std::size_t wanted_types) {
    return integers == wanted_integers && addresses == wanted_addresses && types == wanted_types;
  };
  // Of most lists there are as many entries as the first integer says.
  const std::size_t counted_at = tree.made == Made::Darray ? 2 : 0;
  const std::int64_t counted = counted_at < integers ? tree.integers[counted_at] : 0;
  const auto list = static_cast<std::size_t>(counted);
  const bool is_list = list <= std::max(integers, addresses);  // so that no sum below overflows
  const auto has_order = [&] {
    return tree.integers.back() == TypeTree::kOrderC || tree.integers.back() == TypeTree::kOrderFortran;
  };
  const auto first_are_counts = [&](std::size_t many) { return are_counts(std::span(tree.integers).first(many)); };
  if (tree.size > std::numeric_limits<std::int64_t>::max()) return false;
  switch (tree.made) {
    case Made::Named: return are(0, 0, 0);
    case Made::Dup: return are(0, 0, 1);
    case Made::Contiguous: return are(1, 0, 1) && first_are_counts(1);
    case Made::Vector: return are(3, 0, 1) && first_are_counts(2);
    case Made::Hvector: return are(2, 1, 1) && first_are_counts(2);
    case Made::Indexed: return is_list && are(1 + 2 * list, 0, 1) && first_are_counts(1 + list);
    case Made::Hindexed: return is_list && are(1 + list, list, 1) && first_are_counts(1 + list);
    case Made::IndexedBlock: return is_list && are(2 + list, 0, 1) && first_are_counts(2);
    case Made::HindexedBlock: return are(2, list, 1) && first_are_counts(2);
    case Made::Struct: return is_list && are(1 + list, list, list) && first_are_counts(1 + list);
    case Made::Subarray:
      return is_list && list > 0 && are(2 + 3 * list, 0, 1) && first_are_counts(1 + 3 * list) && has_order();
    case Made::Darray:
      return is_list && list > 0 && are(4 + 4 * list, 0, 1) && first_are_counts(3 + 2 * list) && has_order();
    case Made::Resized: return are(0, 2, 1);
    case Made::F90Integer: return are(1, 0, 0);
    case Made::F90Real:
    case Made::F90Complex: return are(2, 0, 0);
    case Made::Unknown: break;
  }
  return false;
}

bool is_sound_from(const TypeTree& tree, std::size_t depth) {
  return depth < kDeepestTypeTree && has_its_arguments(tree) &&
         std::ranges::all_of(tree.types, [&](const TypeTree& type) { return is_sound_from(type, depth + 1); });
}

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  std::uint8_t varint[kMaxVarint];
  bytes.insert(bytes.end(), varint, put_varint(varint, value));
}

void put(std::vector<std::uint8_t>& bytes, const std::vector<std::int64_t>& values) {
  put(bytes, values.size());
  for (const std::int64_t value : values) put(bytes, zigzag(value));
}

void put(std::vector<std::uint8_t>& bytes, const TypeTree& tree) {
  bytes.push_back(static_cast<std::uint8_t>(tree.made));
  put(bytes, tree.name.size());
  bytes.insert(bytes.end(), tree.name.begin(), tree.name.end());
  put(bytes, tree.size);
  put(bytes, zigzag(tree.extent));
  put(bytes, tree.integers);
  put(bytes, tree.addresses);
  put(bytes, tree.bounds.has_value());
  if (tree.bounds) {
    put(bytes, zigzag(tree.bounds->lower));
    put(bytes, zigzag(tree.bounds->extent));
  }
  put(bytes, tree.types.size());
  for (const TypeTree& type : tree.types) put(bytes, type);
}

// How many there are to come, each of which takes at least a byte.
std::size_t count_from(ByteReader& reader) {
  const std::uint64_t count = reader.varint();
  if (count > reader.left()) reader.fail();
  return reader.ok() ? static_cast<std::size_t>(count) : 0;
}

std::vector<std::int64_t> integers_from(ByteReader& reader) {
  std::vector<std::int64_t> values(count_from(reader));
  for (std::int64_t& value : values) value = reader.signed_varint();
  return values;
}

TypeTree tree_from(ByteReader& reader, std::size_t depth) {
  TypeTree tree;
  const auto made = reader.fixed<std::uint8_t>();
  if (made > static_cast<std::uint8_t>(Made::Unknown) || depth >= kDeepestTypeTree) reader.fail();
  if (!reader.ok()) return tree;
  tree.made = static_cast<Made>(made);
  tree.name = reader.string(reader.left());
  tree.size = reader.varint();
  tree.extent = reader.signed_varint();
  tree.integers = integers_from(reader);
  tree.addresses = integers_from(reader);
  if (reader.varint() != 0) {
    const std::int64_t lower = reader.signed_varint();
    tree.bounds = TypeTree::Bounds{lower, reader.signed_varint()};
  }
  // One by one: that many trees would take far more memory than the bytes that announce them.
  for (std::size_t left = count_from(reader); left > 0 && reader.ok(); --left)
    tree.types.push_back(tree_from(reader, depth + 1));
  return tree;
}

}  // namespace

bool is_sound(const TypeTree& tree) { return is_sound_from(tree, 0); }

std::vector<std::uint8_t> to_bytes(const TypeTree& tree) {
  std::vector<std::uint8_t> bytes;
  put(bytes, tree);
  return bytes;
}

std::optional<TypeTree> type_tree_from(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  TypeTree tree = tree_from(reader, 0);
  if (!reader.ok() || !reader.at_end()) return std::nullopt;
  return tree;
}

namespace {

bool has_long_double(const TypeTree& tree) {
  return tree.name.find("LONG_DOUBLE") != std::string::npos ||
         std::any_of(tree.types.begin(), tree.types.end(), has_long_double);
}

}  // namespace

bool may_lose_padding(const TypeTree& tree, const FlatType& flat) { return !flat.solid && has_long_double(tree); }

}  // namespace reprise::engine
