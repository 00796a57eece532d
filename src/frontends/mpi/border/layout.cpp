#include "frontends/mpi/border/layout.hpp"

#include <climits>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mpi/border/world.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi {
namespace {

constexpr std::size_t kLargestSpan = 256u << 20;  // of one element; larger ones are not asked about

std::atomic_flag g_lock;
using Cache = std::unordered_map<std::uint64_t, std::shared_ptr<const Layout>>;
Cache& cache() {
  static Cache* const all = new Cache();  // never destroyed: see communicators.hpp
  return *all;
}

bool is_predefined(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  using Envelope = int (*)(MPI_Datatype, int*, int*, int*, int*);
  library_function<Envelope>(Function::Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

// Byte j of the packed element comes from where[j] (from the type's true lower bound). Byte k of that number is asked
// about in pass k. False: the library packs more than the bytes.
bool ask_positions(MPI_Datatype type, std::ptrdiff_t lower, std::size_t span, std::vector<std::uint32_t>& where) {
  std::vector<std::uint8_t> element(span);
  std::vector<std::uint8_t> packed(where.size() + 64);
  for (unsigned shift = 0; (span - 1) >> shift != 0 || shift == 0; shift += 8) {
    for (std::size_t i = 0; i < span; ++i) element[i] = static_cast<std::uint8_t>(i >> shift);
    int position = 0;
    using Pack = int (*)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
    const int rc =
        library_function<Pack>(Function::Pack)(element.data() - lower, 1, type, packed.data(),
                                               static_cast<int>(packed.size()), &position, handles().comm_self);
    if (rc != MPI_SUCCESS || static_cast<std::size_t>(position) != where.size()) return false;
    for (std::size_t j = 0; j < where.size(); ++j) where[j] |= static_cast<std::uint32_t>(packed[j]) << shift;
    if (shift == 24) break;
  }
  return true;
}

std::shared_ptr<const Layout> ask_layout(MPI_Datatype type) {
  auto layout = std::make_shared<Layout>();
  using Size = int (*)(MPI_Datatype, MPI_Count*);
  using Extent = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*);
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count span = 0;
  library_function<Size>(Function::Type_size_x)(type, &size);
  library_function<Extent>(Function::Type_get_extent_x)(type, &lower, &extent);
  library_function<Extent>(Function::Type_get_true_extent_x)(type, &true_lower, &span);
  layout->size = static_cast<std::size_t>(size);
  layout->extent = static_cast<std::ptrdiff_t>(extent);
  if (size <= 0) return layout;
  if (size == extent && true_lower == 0 && is_predefined(type)) {
    layout->solid = true;
    layout->runs.push_back({0, layout->size});
    return layout;
  }
  if (span <= 0 || static_cast<std::size_t>(span) > kLargestSpan || size > INT_MAX - 64) {
    layout->known = false;
    return layout;
  }
  std::vector<std::uint32_t> where(layout->size);
  if (!ask_positions(type, static_cast<std::ptrdiff_t>(true_lower), static_cast<std::size_t>(span), where)) {
    layout->known = false;
    return layout;
  }
  for (const std::uint32_t position : where) {
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(true_lower) + position;
    if (!layout->runs.empty() &&
        layout->runs.back().offset + static_cast<std::ptrdiff_t>(layout->runs.back().size) == offset)
      ++layout->runs.back().size;
    else layout->runs.push_back({offset, 1});
  }
  layout->solid = layout->runs.size() == 1 && layout->runs[0].offset == 0 && size == extent;
  return layout;
}

}  // namespace

std::shared_ptr<const Layout> layout_of(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  {
    const Spin spin(&g_lock);
    const auto found = cache().find(key);
    if (found != cache().end()) return found->second;
  }
  auto layout = ask_layout(type);
  const Spin spin(&g_lock);
  return cache()[key] = std::move(layout);
}

void forget_layout(MPI_Datatype type) {
  const Spin spin(&g_lock);
  cache().erase(handle_key(type));
}

const void* TypesPerRank::received() { return t_state.fortran_types; }

TypesPerRank::TypesPerRank(const MPI_Datatype* given, [[maybe_unused]] bool solo, [[maybe_unused]] int n,
                           [[maybe_unused]] const void* fortran)
    : given_(given) {
#ifdef OPEN_MPI
  const auto* const handles = static_cast<const MPI_Fint*>(fortran);
  if (!(solo || g_world_is_the_library) || !t_state.through_fortran || !handles) return;
  for (int i = 0; i < n; ++i)
    converted_.push_back(library_function<MPI_Datatype (*)(MPI_Fint)>(Function::Type_f2c)(handles[i]));
#endif
}

}  // namespace reprise::mpi
