// Windows of an explored rank (MPI 4.0, chapter 12).
//
// What is done to the window of another rank lies on the stage until its origin asks for completion; then the explorer
// has the target carry it out, wherever that waits (Actor::serve_by). So no rank ever looks into the memory of another
// one, and each step is the same in every run.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "frontends/mpi/live/live.hpp"
#include "virtual/access.hpp"

namespace reprise::mpi::live {

using virtual_world::AccessBlock;

// An access until its origin may use its buffers again.
struct Access {
  OperationId operation = 0;
  int target = 0;  // in MPI_COMM_WORLD
  std::uint64_t data = 0;
  Region into;
  std::unique_ptr<check::Lent> lent;
  bool has_request = false;  // the program waits for it by itself
  bool is_over = false;

  // It has been carried out: what was asked for is written.
  void finish();
};

struct Window {
  std::uint64_t uid = 0;
  MPI_Win handle{};
  MPI_Comm comm{};  // where it was made
  int flavor = MPI_WIN_FLAVOR_CREATE;
  virtual_world::Group members;
  int me = 0;
  // By member.
  std::vector<MPI_Aint> sizes;
  std::vector<int> units;
  // This rank's.
  char* base = nullptr;
  std::map<char*, MPI_Aint> attached;  // of a dynamic one
  void* allocated = nullptr;           // given by us
  char* shared = nullptr;              // of all members
  std::size_t shared_size = 0;
  std::vector<std::size_t> shared_at;  // by member
  std::vector<std::shared_ptr<Access>> pending;
  std::vector<int> started;  // MPI_Win_start: world ranks
  std::vector<OperationId> awaited;  // MPI_Win_post: that those who may access it have finished
  // Where attributes of the program's own find them.
  MPI_Aint own_size = 0;
  int own_unit = 1;
  int model = MPI_WIN_UNIFIED;

  bool is_dynamic() const { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
  int world_rank(int member) const { return members.members()[static_cast<std::size_t>(member)]; }
};

Window* find_window(MPI_Win handle);
std::vector<Window*> all_windows();
// Waits until they have been carried out: of one target in MPI_COMM_WORLD, or of all (-1). `closes`: there, too, and not
// only as far as the origin is concerned.
void complete_accesses(Window& window, int target, bool closes);

// --- the target's side (served_windows.cpp) --------------------------------------------------------------------------

// From now on what the program itself changes in it is noticed.
void watch_memory(Window& window, char* memory, std::size_t size);
void forget_memory(const Window& window, const char* memory);
// Tells the explorer what has changed since the last time. In every call, before it is heard of.
void notice_stores();
inline bool g_watches_memory = false;

void put_windows();          // windows.cpp
void put_synchronisation();  // window_synchronisation.cpp
void put_accesses();         // accesses.cpp
void begin_serving();        // served_windows.cpp

}  // namespace reprise::mpi::live
