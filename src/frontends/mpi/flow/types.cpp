#include "frontends/mpi/flow/types.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::flow {
namespace {

using engine::FlatType;
using engine::TypeTree;
using Made = TypeTree::Made;

constexpr std::size_t kMostRuns = 1u << 20;  // of one element
constexpr int kDeepest = 60;

Made made_by(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED: return Made::Named;
    case MPI_COMBINER_DUP: return Made::Dup;
    case MPI_COMBINER_CONTIGUOUS: return Made::Contiguous;
    case MPI_COMBINER_VECTOR: return Made::Vector;
    case MPI_COMBINER_HVECTOR: return Made::Hvector;
    case MPI_COMBINER_INDEXED: return Made::Indexed;
    case MPI_COMBINER_HINDEXED: return Made::Hindexed;
    case MPI_COMBINER_INDEXED_BLOCK: return Made::IndexedBlock;
    case MPI_COMBINER_HINDEXED_BLOCK: return Made::HindexedBlock;
    case MPI_COMBINER_STRUCT: return Made::Struct;
    case MPI_COMBINER_SUBARRAY: return Made::Subarray;
    case MPI_COMBINER_DARRAY: return Made::Darray;
    case MPI_COMBINER_RESIZED: return Made::Resized;
    case MPI_COMBINER_F90_INTEGER: return Made::F90Integer;
    case MPI_COMBINER_F90_REAL: return Made::F90Real;
    case MPI_COMBINER_F90_COMPLEX: return Made::F90Complex;
    default: return Made::Unknown;
  }
}

bool is_nobodys_to_free(Made made) {
  return made == Made::Named || made == Made::F90Integer || made == Made::F90Real || made == Made::F90Complex;
}

struct Envelope {
  int integers = 0, addresses = 0, types = 0;
  Made made = Made::Unknown;
};
Envelope envelope_of(MPI_Datatype type) {
  Envelope found;
  int combiner = 0;
  using Ask = int (*)(MPI_Datatype, int*, int*, int*, int*);
  if (library_function<Ask>(Function::Type_get_envelope)(type, &found.integers, &found.addresses, &found.types,
                                                         &combiner) == MPI_SUCCESS)
    found.made = made_by(combiner);
  return found;
}

// Each MPI has constants of its own.
void translate_constants(TypeTree& tree) {
  auto& words = tree.integers;
  const auto order = [](std::int64_t word) -> std::int64_t { return word == MPI_ORDER_FORTRAN ? TypeTree::kOrderFortran : TypeTree::kOrderC; };
  if (tree.made == Made::Subarray && !words.empty()) words.back() = order(words.back());
  if (tree.made != Made::Darray || words.size() < 4) return;
  // size, rank, dims; then per dimension: sizes, distributions, arguments, processes; order
  const auto dims = static_cast<std::size_t>(words[2]);
  if (words.size() != 4 + 4 * dims) return;
  words.back() = order(words.back());
  for (std::size_t i = 0; i < dims; ++i) {
    std::int64_t& distribution = words[3 + dims + i];
    distribution = distribution == MPI_DISTRIBUTE_BLOCK    ? TypeTree::kBlock
                   : distribution == MPI_DISTRIBUTE_CYCLIC ? TypeTree::kCyclic
                                                           : TypeTree::kNone;
    std::int64_t& argument = words[3 + 2 * dims + i];
    if (argument == MPI_DISTRIBUTE_DFLT_DARG) argument = TypeTree::kDefaultArgument;
  }
}

TypeTree::Bounds bounds_of(MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  library_function<int (*)(MPI_Datatype, MPI_Count*, MPI_Count*)>(Function::Type_get_extent_x)(type, &lower, &extent);
  return {static_cast<std::int64_t>(lower), static_cast<std::int64_t>(extent)};
}

void ask_size(MPI_Datatype type, TypeTree& tree) {
  MPI_Count size = 0;
  library_function<int (*)(MPI_Datatype, MPI_Count*)>(Function::Type_size_x)(type, &size);
  tree.size = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  tree.extent = bounds_of(type).extent;
}

TypeTree tree_of(MPI_Datatype type, int depth = 0) {
  TypeTree tree;
  const Envelope envelope = envelope_of(type);
  tree.made = depth < kDeepest ? envelope.made : Made::Unknown;
  if (tree.made == Made::Named) {
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    library_function<int (*)(MPI_Datatype, char*, int*)>(Function::Type_get_name)(type, name, &length);
    tree.name = name;
  }
  if (is_nobodys_to_free(tree.made) || tree.made == Made::Unknown) ask_size(type, tree);
  if (tree.made == Made::Named || tree.made == Made::Unknown) return tree;
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers) + 1);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses) + 1);
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types) + 1);
  using Ask = int (*)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);
  if (library_function<Ask>(Function::Type_get_contents)(type, envelope.integers, envelope.addresses, envelope.types,
                                                         integers.data(), addresses.data(), types.data()) != MPI_SUCCESS) {
    tree.made = Made::Unknown;
    return tree;
  }
  tree.bounds = bounds_of(type);
  tree.integers.assign(integers.begin(), integers.end() - 1);
  tree.addresses.assign(addresses.begin(), addresses.end() - 1);
  types.pop_back();
  for (MPI_Datatype& inner : types) {
    tree.types.push_back(tree_of(inner, depth + 1));
    if (!is_nobodys_to_free(envelope_of(inner).made))
      library_function<int (*)(MPI_Datatype*)>(Function::Type_free)(&inner);
  }
  translate_constants(tree);
  return tree;
}

// What cannot be taken apart is as the library says.
FlatType as_the_library_says(MPI_Datatype type) {
  const auto layout = layout_of(type);
  FlatType flat;
  for (const Layout::Run& run : layout->runs) flat.runs.push_back({run.offset, run.size});
  flat.size = layout->size;
  flat.extent = layout->extent;
  flat.solid = layout->solid;
  flat.known = layout->known;
  forget_layout(type);  // its handle is not watched there
  return flat;
}

// Does the library agree on what the type is? One element of bytes that say where they are is packed, by it and by us.
bool is_packed_otherwise(MPI_Datatype type, const FlatType& flat) {
  constexpr std::int64_t kLargest = 1 << 20;
  constexpr std::int64_t kMargin = 4096;  // what it takes from elsewhere should not be somebody's
  if (flat.solid || flat.size == 0 || flat.true_extent > kLargest) return false;
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(flat.true_extent + 2 * kMargin));
  std::uint8_t* const element = memory.data() + kMargin - flat.true_lower;
  std::vector<std::uint8_t> packed(flat.size + 64);
  for (unsigned shift = 0; shift < 24; shift += 8) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i >> shift);
    int position = 0;
    using Pack = int (*)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
    if (library_function<Pack>(Function::Pack)(element, 1, type, packed.data(), static_cast<int>(packed.size()), &position,
                                               handles().comm_self) != MPI_SUCCESS)
      return false;
    if (static_cast<std::uint64_t>(position) != flat.size) return true;
    const std::uint8_t* at = packed.data();
    for (const FlatType::Run& run : flat.runs) {
      if (std::memcmp(at, element + run.offset, static_cast<std::size_t>(run.size)) != 0) return true;
      at += run.size;
    }
  }
  return false;
}

struct Book {
  std::atomic_flag lock;
  std::unordered_map<std::uint64_t, const Type*> by_handle;
  std::map<std::vector<std::uint8_t>, std::unique_ptr<Type>> all;
  std::uint32_t (*number)(const Type&) = nullptr;
};
Book& book() {
  static auto* const one = new Book();  // never destroyed: the program may call MPI while it ends
  return *one;
}

struct LastType {
  std::uint64_t key = UINT64_MAX;
  std::uint32_t generation = 0;
  const Type* type = nullptr;
};
thread_local LastType t_last __attribute__((tls_model("initial-exec")));
std::atomic<std::uint32_t> g_generation{1};

const Type& look_up_type(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  {
    const Spin spin(&book().lock);
    const auto found = book().by_handle.find(key);
    if (found != book().by_handle.end()) return *found->second;
  }
  auto made = std::make_unique<Type>();
  const TypeTree tree = tree_of(type);
  made->flat = engine::flatten(tree, kMostRuns);
  made->tree = engine::to_bytes(tree);
  if (made->flat.known && engine::may_lose_padding(tree, made->flat)) {
    made->flat.known = false;
  } else if (!made->flat.known) {
    made->flat = as_the_library_says(type);
    made->flat.known = false;  // whoever reads the log cannot know it either
    // Two of these are not the same because nobody knows what they are.
    for (unsigned shift = 0; shift < 64; shift += 8) made->tree.push_back(static_cast<std::uint8_t>(key >> shift));
  } else {
    made->packed_otherwise = is_packed_otherwise(type, made->flat);
  }
  made->begins = engine::begins_of_runs(made->flat);
  const Spin spin(&book().lock);
  auto& slot = book().all[made->tree];
  if (!slot) {
    slot = std::move(made);
    slot->number = book().number(*slot);
  }
  book().by_handle[key] = slot.get();
  return *slot;
}

}  // namespace

const Type& type_of(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (t_last.key != key || t_last.generation != generation) [[unlikely]]
    t_last = {key, generation, &look_up_type(type)};
  return *t_last.type;
}

void forget_type(MPI_Datatype type) {
  const Spin spin(&book().lock);
  book().by_handle.erase(handle_key(type));
  g_generation.fetch_add(1, std::memory_order_relaxed);
}

void number_types_with(std::uint32_t (*number)(const Type& type)) { book().number = number; }

}  // namespace reprise::mpi::flow
