// Making and freeing windows, and what can be asked of them.
#include "frontends/mpi/live/windows.hpp"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/refusal.hpp"

namespace reprise::mpi::live {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<Window>>& windows() {
  static auto* const all = new std::unordered_map<std::uint64_t, std::unique_ptr<Window>>();
  return *all;
}

// A handle: a window of the singleton's own, which also keeps attributes, the name and the error handler.
int make_handle(MPI_Win* out) {
  void* nothing = nullptr;
  using Allocate = int (*)(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
  return singleton_function<Allocate>(Function::Win_allocate)(0, 1, handles().info_null, own_communicator(), &nothing,
                                                              out);
}

struct Part {
  std::int64_t size;
  std::int64_t unit;
};

// What every member brings.
std::vector<Part> tell_sizes(Function function, const Window& window, MPI_Comm comm, Part mine) {
  const auto all = exchange(function, communicators().uid(comm), window.members.members(),
                            {reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine});
  std::vector<Part> parts(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&parts[i], all[i].data(), sizeof mine);
  return parts;
}

int give_window(std::unique_ptr<Window> window, MPI_Win* out) {
  if (const int rc = make_handle(out)) return raise(window->comm, rc);
  window->handle = *out;
  windows()[handle_key(*out)] = std::move(window);
  return MPI_SUCCESS;
}

std::unique_ptr<Window> new_window(Function function, MPI_Comm comm, int flavor, MPI_Aint size, int unit) {
  static bool first = true;
  if (std::exchange(first, false)) {
    begin_serving();
    actor().act(Act::Window, {});
  }
  auto window = std::make_unique<Window>();
  const Communicator* const found = known(comm);
  window->uid = next_uid(comm);
  window->comm = comm;
  window->flavor = flavor;
  window->members = found->local;
  window->me = found->rank;
  window->own_size = size;
  window->own_unit = unit;
  for (const Part& part : tell_sizes(function, *window, comm, {size, unit})) {
    window->sizes.push_back(static_cast<MPI_Aint>(part.size));
    window->units.push_back(static_cast<int>(part.unit));
  }
  return window;
}

template <class Unit>
int create(void* base, MPI_Aint size, Unit unit, MPI_Info, MPI_Comm comm, MPI_Win* out) {
  if (size < 0) return raise(comm, MPI_ERR_SIZE, "the window's size is negative");
  if (unit <= 0) return raise(comm, MPI_ERR_DISP, "the unit of displacements must be positive");
  auto window = new_window(Function::Win_create, comm, MPI_WIN_FLAVOR_CREATE, size, static_cast<int>(unit));
  window->base = static_cast<char*>(base);
  watch_memory(*window, window->base, static_cast<std::size_t>(size));
  return give_window(std::move(window), out);
}

template <class Unit>
int allocate(MPI_Aint size, Unit unit, MPI_Info, MPI_Comm comm, void* base, MPI_Win* out) {
  if (size < 0) return raise(comm, MPI_ERR_SIZE, "the window's size is negative");
  if (unit <= 0) return raise(comm, MPI_ERR_DISP, "the unit of displacements must be positive");
  auto window = new_window(Function::Win_allocate, comm, MPI_WIN_FLAVOR_ALLOCATE, size, static_cast<int>(unit));
  constexpr std::size_t kAlignment = 64;
  const auto room = (static_cast<std::size_t>(size) + kAlignment) & ~(kAlignment - 1);
  window->allocated = std::aligned_alloc(kAlignment, room);
  if (!window->allocated) return raise(comm, MPI_ERR_NO_MEM);
  std::memset(window->allocated, 0, room);
  window->base = static_cast<char*>(window->allocated);
  std::memcpy(base, &window->allocated, sizeof window->allocated);
  watch_memory(*window, window->base, static_cast<std::size_t>(size));
  return give_window(std::move(window), out);
}

// --- memory that several ranks have --------------------------------------------------------------------------------

// By a file without a name, of the first member; the others open it while that has it open.
char* map_shared(const Window& window, MPI_Comm comm, std::size_t size) {
  int fd = -1;
  std::string path;
  if (window.me == 0) {
    fd = memfd_create("reprise-window", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0)
      path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
  }
  const std::uint64_t uid = communicators().uid(comm);
  const auto& members = window.members.members();
  const auto all = exchange(Function::Win_allocate_shared, uid, members,
                            {reinterpret_cast<const std::uint8_t*>(path.data()), path.size()});
  if (window.me != 0) fd = open(std::string(all[0].begin(), all[0].end()).c_str(), O_RDWR | O_CLOEXEC);
  void* const map = fd < 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  exchange(Function::Win_allocate_shared, uid, members, {});
  if (fd >= 0) close(fd);
  if (map == MAP_FAILED) refuse("MPI_Win_allocate_shared", "memory that is shared by processes which cannot map it");
  return static_cast<char*>(map);
}

template <class Unit>
int allocate_shared(MPI_Aint size, Unit unit, MPI_Info, MPI_Comm comm, void* base, MPI_Win* out) {
  if (size < 0) return raise(comm, MPI_ERR_SIZE, "the window's size is negative");
  auto window = new_window(Function::Win_allocate_shared, comm, MPI_WIN_FLAVOR_SHARED, size, static_cast<int>(unit));
  // One behind the other, as MPI 4.0, 12.2.3 has it where nothing else is asked for.
  std::size_t all = 0;
  for (const MPI_Aint part : window->sizes) {
    window->shared_at.push_back(all);
    all += static_cast<std::size_t>(part);
  }
  window->shared_size = all + 64;
  window->shared = map_shared(*window, comm, window->shared_size);
  window->base = window->shared + window->shared_at[static_cast<std::size_t>(window->me)];
  std::memcpy(base, &window->base, sizeof window->base);
  return give_window(std::move(window), out);
}

template <class Unit>
int shared_query(MPI_Win win, int rank, MPI_Aint* size, Unit* unit, void* base) {
  const Window* const window = find_window(win);
  if (!window || !window->shared) return raise(handles().comm_world, MPI_ERR_RMA_FLAVOR);
  std::size_t member = static_cast<std::size_t>(rank);
  if (rank == MPI_PROC_NULL)
    for (member = 0; member + 1 < window->sizes.size() && window->sizes[member] == 0;) ++member;
  *size = window->sizes[member];
  *unit = static_cast<Unit>(window->units[member]);
  char* const at = window->shared + window->shared_at[member];
  std::memcpy(base, &at, sizeof at);
  return MPI_SUCCESS;
}

int create_dynamic(MPI_Info, MPI_Comm comm, MPI_Win* out) {
  return give_window(new_window(Function::Win_create_dynamic, comm, MPI_WIN_FLAVOR_DYNAMIC, 0, 1), out);
}

int attach(MPI_Win win, void* base, MPI_Aint size) {
  Window* const window = find_window(win);
  if (!window->is_dynamic()) return raise(window->comm, MPI_ERR_RMA_FLAVOR, "the window is not dynamic");
  window->attached[static_cast<char*>(base)] = size;
  watch_memory(*window, static_cast<char*>(base), static_cast<std::size_t>(size));
  return MPI_SUCCESS;
}

int detach(MPI_Win win, const void* base) {
  Window* const window = find_window(win);
  auto* const memory = static_cast<char*>(const_cast<void*>(base));
  if (window->attached.erase(memory) == 0) return raise(window->comm, MPI_ERR_BASE, "this memory is not attached");
  forget_memory(*window, memory);
  return MPI_SUCCESS;
}

// Everybody waits for everybody (MPI 4.0, 12.2.5).
int free_window(MPI_Win* win) {
  Window* const window = find_window(*win);
  complete_accesses(*window, -1, true);
  exchange(Function::Win_free, window->uid, window->members.members(), {});
  forget_memory(*window, nullptr);
  std::free(window->allocated);
  if (window->shared) munmap(window->shared, window->shared_size);
  const std::uint64_t key = handle_key(*win);
  const int rc = singleton_function<int (*)(MPI_Win*)>(Function::Win_free)(win);
  windows().erase(key);
  return rc;
}

int get_group(MPI_Win win, MPI_Group* out) { return give_group(find_window(win)->members, out); }

// Those that the standard names are the window's; the others are kept by its handle.
int get_attribute(MPI_Win win, int key, void* value, int* flag) {
  Window* const window = find_window(win);
  void* found = nullptr;
  switch (key) {
    case MPI_WIN_BASE: found = window->base; break;
    case MPI_WIN_SIZE: found = &window->own_size; break;
    case MPI_WIN_DISP_UNIT: found = &window->own_unit; break;
    case MPI_WIN_CREATE_FLAVOR: found = &window->flavor; break;
    case MPI_WIN_MODEL: found = &window->model; break;
    default: return singleton_function<int (*)(MPI_Win, int, void*, int*)>(Function::Win_get_attr)(win, key, value, flag);
  }
  std::memcpy(value, &found, sizeof found);
  *flag = 1;
  return MPI_SUCCESS;
}

}  // namespace

Window* find_window(MPI_Win handle) {
  const auto found = windows().find(handle_key(handle));
  return found == windows().end() ? nullptr : found->second.get();
}

std::vector<Window*> all_windows() {
  std::vector<Window*> all;
  for (auto& [key, window] : windows()) all.push_back(window.get());
  return all;
}

void put_windows() {
  put_in_place_of_library(Function::Win_create, &create<int>);
  put_in_place_of_library(Function::Win_allocate, &allocate<int>);
  put_in_place_of_library(Function::Win_allocate_shared, &allocate_shared<int>);
  put_in_place_of_library(Function::Win_shared_query, &shared_query<int>);
  put_in_place_of_library(Function::Win_create_c, &create<MPI_Aint>);
  put_in_place_of_library(Function::Win_allocate_c, &allocate<MPI_Aint>);
  put_in_place_of_library(Function::Win_allocate_shared_c, &allocate_shared<MPI_Aint>);
  put_in_place_of_library(Function::Win_shared_query_c, &shared_query<MPI_Aint>);
  put_in_place_of_library(Function::Win_create_dynamic, &create_dynamic);
  put_in_place_of_library(Function::Win_attach, &attach);
  put_in_place_of_library(Function::Win_detach, &detach);
  put_in_place_of_library(Function::Win_free, &free_window);
  put_in_place_of_library(Function::Win_get_group, &get_group);
  put_in_place_of_library(Function::Win_get_attr, &get_attribute);
  put_synchronisation();
  put_accesses();
}

}  // namespace reprise::mpi::live
