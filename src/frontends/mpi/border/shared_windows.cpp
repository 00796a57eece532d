// Windows of shared memory (MPI_Win_allocate_shared), which ranks load from and store to. They can be followed access by access only.
//
// The segments of all ranks lie in one stretch of memory, often one behind the other, and a program may go from one to the next. So
// the copy that the program sees is one stretch, too, with everything where it was.
#include <algorithm>
#include <vector>

#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/window_table.hpp"

namespace reprise::mpi {
namespace {

using Segment = BorderWindow::Segment;

// What is logged of such a window: the size of it all, then offset, size and unit of each segment.
// `memory`: where it begins.
std::vector<std::int64_t> ask_library(MPI_Win win, int ranks, std::uint8_t*& memory) {
  using Query = int (*)(MPI_Win, int, MPI_Aint*, int*, void*);
  const auto query = library_function<Query>(Function::Win_shared_query);
  std::vector<std::uintptr_t> bases(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> facts(1 + 3 * bases.size());
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    MPI_Aint size = 0;
    int unit = 1;
    void* base = nullptr;
    if (query(win, static_cast<int>(i), &size, &unit, &base) != MPI_SUCCESS) return {};
    bases[i] = reinterpret_cast<std::uintptr_t>(base);
    facts[2 + 3 * i] = size;
    facts[3 + 3 * i] = unit;
    if (size <= 0) continue;
    begin = std::min(begin, bases[i]);
    end = std::max(end, bases[i] + static_cast<std::uintptr_t>(size));
  }
  memory = reinterpret_cast<std::uint8_t*>(begin);
  facts[0] = end > begin ? static_cast<std::int64_t>(end - begin) : 0;
  for (std::size_t i = 0; i < bases.size(); ++i)
    facts[1 + 3 * i] = facts[2 + 3 * i] > 0 ? static_cast<std::int64_t>(bases[i] - begin) : 0;
  return facts;
}

}  // namespace

// Whoever tells others what it does, does so together with them.
bool follows_shared_memory() { return engine::Session::get().configuration().access; }

void* shared_window_made(MPI_Win win, MPI_Comm comm, const WindowMemory& memory, bool solo) {
  if (!follows_accesses()) {
    window_made(win, comm, {MPI_WIN_FLAVOR_SHARED, nullptr, 0, memory.unit}, solo);
    return memory.base;
  }
  const int ranks = blocks_in(comm);
  const int own_rank = rank_in(comm);
  std::vector<std::int64_t> facts(1 + 3 * static_cast<std::size_t>(ranks));
  const std::size_t room = facts.size();
  Operation description;
  std::uint8_t* all = nullptr;
  if (!solo) facts = ask_library(win, ranks, all);
  if (facts.empty()) {
    not_solo("a window of shared memory whose segments the library does not tell");
    window_made(win, comm, {MPI_WIN_FLAVOR_SHARED, nullptr, 0, memory.unit}, solo);  // the others wait for it
    return memory.base;
  }
  description.fills(facts.data(), static_cast<MPI_Count>(room * sizeof(std::int64_t)), handles().byte);
  if (solo) description.answer(MPI_STATUS_IGNORE);
  else description.logged(MPI_STATUS_IGNORE, [](MPI_Status*) { return MPI_SUCCESS; });

  const auto size = static_cast<std::uint64_t>(facts[0]);
  const std::int64_t origin = facts[1 + 3 * static_cast<std::size_t>(own_rank)];
  if (solo) all = static_cast<std::uint8_t*>(make_real_memory(std::max<std::uint64_t>(size, 1)));
  // As any other window first, but without its memory.
  window_made(win, comm, {MPI_WIN_FLAVOR_SHARED, nullptr, 0, memory.unit}, solo);
  const auto window = find_window(win);
  if (!window || !window->seen) return memory.base;
  window->is_allocated = true;
  window->base = all;
  window->seen->add_region(all, size);
  window->seen->has_untold_stores();
  if (solo) {
    window->real = all;
    window->real_size = std::max<std::uint64_t>(size, 1);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i)
    window->segments.push_back({facts[1 + 3 * i], facts[2 + 3 * i], facts[3 + 3 * i]});
  if (size == 0) return memory.base;
  window->program_memory = follow_memory(*window, 0, all, size, solo, static_cast<std::uint64_t>(origin));
  window->program_base = static_cast<std::uint8_t*>(window->program_memory) + origin;
  return window->program_base;
}

bool answer_shared_query(MPI_Win win, int rank, MPI_Aint* size, std::int64_t* unit, void* base) {
  const auto window = find_window(win);
  if (!window || window->segments.empty()) return false;
  const auto& all = window->segments;
  auto found = all.begin() + std::max(rank, 0);
  if (rank < 0) found = std::find_if(all.begin(), all.end(), [](const Segment& one) { return one.size > 0; });
  if (rank >= static_cast<int>(all.size()) || found == all.end()) return false;
  *size = static_cast<MPI_Aint>(found->size);
  *unit = found->unit;
  *static_cast<void**>(base) = static_cast<std::uint8_t*>(window->program_memory) + found->offset;
  return true;
}

void show_window_base(MPI_Win win, int keyval, void* value, const int* flag) {
  if (keyval != MPI_WIN_BASE || !*flag) return;
  if (const auto window = find_window(win); window && window->program_base) *static_cast<void**>(value) = window->program_base;
}

void* memory_for_library(void* base, MPI_Aint size, bool solo) {
  if (solo || size <= 0 || !follows_accesses()) return base;
  void* const memory = make_real_memory(static_cast<std::uint64_t>(size));
  if (!memory) not_solo("there was no memory for a copy of a window");
  return memory ? memory : base;
}

}  // namespace reprise::mpi
