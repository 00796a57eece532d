#include "flow/leaves.hpp"

#include <limits>

namespace reprise::flow {
namespace {

using engine::TypeTree;

constexpr std::size_t kMostLeaves = 4096;  // of one element

class Leaves {
 public:
  explicit Leaves(const TypeTree& tree) : ok_(visit(tree)) {}
  std::optional<std::vector<Leaf>> get() && { return ok_ ? std::optional(std::move(all_)) : std::nullopt; }

 private:
  static std::uint64_t size_of(const TypeTree& tree) { return engine::flatten(tree, std::numeric_limits<std::size_t>::max()).size; }

  bool visit(const TypeTree& tree) {
    switch (tree.made) {
      case TypeTree::Made::Named: return named(tree);
      case TypeTree::Made::F90Integer: return add(tree.size, false);
      case TypeTree::Made::F90Real: return add(tree.size, true);
      case TypeTree::Made::F90Complex: return add(tree.size / 2, true) && add(tree.size / 2, true);
      case TypeTree::Made::Unknown: return false;
      case TypeTree::Made::Struct:
        for (std::size_t i = 0; i < tree.types.size(); ++i)
          if (!copies(tree.types[i], static_cast<std::uint64_t>(tree.integers[i + 1]))) return false;
        return true;
      default: break;
    }
    // All others repeat one type, wherever they put it.
    const std::uint64_t size = size_of(tree.types[0]);
    return size == 0 || copies(tree.types[0], size_of(tree) / size);
  }
  bool copies(const TypeTree& tree, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (!visit(tree)) return false;
    return true;
  }
  bool named(const TypeTree& tree) {
    const std::string& name = tree.name;
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("COMPLEX")) return add(tree.size / 2, true) && add(tree.size / 2, true);
    if (name == "MPI_2REAL" || name == "MPI_2DOUBLE_PRECISION") return add(tree.size / 2, true) && add(tree.size / 2, true);
    const bool real = has("FLOAT") || has("DOUBLE") || has("REAL");
    if (real && name.ends_with("_INT")) return add(tree.size - sizeof(int), true) && add(sizeof(int), false);
    return add(tree.size, real);
  }
  bool add(std::uint64_t size, bool is_real) {
    if (all_.size() >= kMostLeaves) return false;
    all_.push_back({bytes_, static_cast<std::size_t>(size), is_real});
    bytes_ += static_cast<std::size_t>(size);
    return true;
  }

  std::vector<Leaf> all_;
  std::size_t bytes_ = 0;
  bool ok_;
};

bool is_raw(const TypeTree& tree) { return tree.made == TypeTree::Made::Named && (tree.name == "MPI_PACKED" || tree.name == "MPI_BYTE"); }

}  // namespace

std::optional<std::vector<Leaf>> leaves_of(const TypeTree& tree) { return Leaves(tree).get(); }

bool disagree(const LoggedBlock& from, const LoggedBlock& to, std::uint64_t bytes) {
  if (is_raw(from.type->tree) || is_raw(to.type->tree)) return false;
  const auto one = leaves_of(from.type->tree);
  const auto other = leaves_of(to.type->tree);
  if (!one || !other || one->empty() || other->empty()) return false;
  std::size_t i = 0;
  std::size_t j = 0;
  for (std::uint64_t seen = 0; seen < bytes; seen += (*one)[i].size, i = (i + 1) % one->size(), j = (j + 1) % other->size()) {
    const Leaf& a = (*one)[i];
    const Leaf& b = (*other)[j];
    if (a.size != b.size || a.is_real != b.is_real) return true;
    if (a.size == 0) return false;
  }
  return false;
}

}  // namespace reprise::flow
