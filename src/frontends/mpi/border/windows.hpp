// One-sided communication at the border (MPI 4.0, chapter 12): partial record and replay, as in OPR.
//
// Recording with data: an access tells its target what it touches (engine/touches.hpp), whether or not the rank itself is
// among those whose values are recorded. What it gets is logged by the call that completes it. What others have put is seen
// at the end of whatever call synchronises: engine/seen_memory.hpp.
//
// Solo replay: the window is a real one with one member, which carries its memory, its attributes and its name. What was got,
// and what was seen, is written there again.
#pragma once

#include <memory>
#include <vector>

#include "engine/seen_memory.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/border/requests.hpp"

namespace reprise::mpi {

struct BorderWindow {
  ~BorderWindow();
  struct Peer {
    std::int64_t rank = 0;    // in MPI_COMM_WORLD
    std::int64_t number = 0;  // of the window there
    std::int64_t unit = 1;
    std::unique_ptr<engine::Touches> queue;  // none: nobody wants to know, or it is on another machine
    std::uint32_t told = 0;                  // the last access that is not complete; 0: none
    bool lost = false;                       // some of them did not fit
  };
  // What will be got.
  struct Pending {
    int target = 0;
    Operation operation;
    std::shared_ptr<BorderRequests::Request> request;  // if the program waits for it by itself
    MPI_Request handle{};
  };

  // Under the lock: access `number` of this rank touches these bytes of a peer's; all of them to this peer are complete.
  static void tell(Peer& peer, std::uint32_t number, std::uint64_t begin, std::uint64_t size);
  static void tell_completion(Peer& peer);
  // The same will be true when the next fence has ended. Its target may know that before this rank can tell.
  void tell_fence();

  std::int64_t number = 0;  // counts the windows of this rank; 0: its symmetric memory (frontends/shmem)
  bool by_address = false;
  bool is_allocated = false;  // its memory goes when it does
  bool is_over = false;
  std::uint64_t programs_size = 0;  // it is in memory of the program's own, of so many bytes
  const void* base = nullptr;
  // Access by access (border/mirrors.hpp): what the program sees, and memory that the library has in place of the program's.
  std::vector<std::unique_ptr<engine::Mirror>> mirrors;
  void* program_base = nullptr;
  void* program_memory = nullptr;  // where that memory begins: of a shared window, not where this rank's does
  struct Segment {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::int64_t unit = 1;
  };
  std::vector<Segment> segments;  // of a shared window, by rank
  void* real = nullptr;
  std::uint64_t real_size = 0;
  std::vector<Peer> peers;  // by rank in the window's group
  std::uint64_t fences = 0;  // that this rank has begun
  virtual_world::Group members;  // solo
  std::vector<Pending> pending;
  std::unique_ptr<engine::SeenMemory> seen;
  std::atomic_flag lock;
};

inline constexpr int kEveryTarget = -1;

// This rank's values are recorded, or it is replayed from them.
bool follows_values();
// This rank makes an access, to whatever window: its number while it is recorded.
std::uint32_t begin_access();
// What is new in all of this rank's windows, before and after a call: logged or, in a replay, shown.
void look_before_call();
void look_before_access();
void look_at_windows();
// Or there is nothing to look for, because the call shows nothing.
void pass_look();
// What OpenSHMEM makes accessible is one window more, whose regions are the symmetric objects. Collective.
std::shared_ptr<BorderWindow> make_symmetric_memory();
void forget_symmetric_memory();
// How much memory the shadows of all windows took, also of those that are gone.
std::uint64_t bytes_of_shadows();

class WindowAccess {
 public:
  WindowAccess(MPI_Win win, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type);
  void gives(const void* buffer, MPI_Count count, MPI_Datatype type) {
    if (target_ != MPI_PROC_NULL && follows_values_) operation_.gives(buffer, count, type);
  }
  void takes(void* buffer, MPI_Count count, MPI_Datatype type) {
    if (target_ != MPI_PROC_NULL && follows_values_) operation_.fills(buffer, count, type);
  }
  void only_reads() { writes_ = false; }

  int logged(FunctionRef<int()> call);
  int logged_later(MPI_Request* request, FunctionRef<int()> call);
  int answer();
  int answer_later(MPI_Request* request);

 private:
  void tell();
  int pend(int rc, Operation later);
  int pend_request(int rc, const MPI_Request* request);

  std::shared_ptr<BorderWindow> window_;
  int target_;
  MPI_Aint disp_;
  MPI_Count count_;
  MPI_Datatype type_;
  bool writes_ = true;
  bool follows_values_;  // this rank's are recorded, or it is replayed from them
  Operation operation_;
};

// A call that completes accesses to `target`, or none (MPI_PROC_NULL).
class WindowCompletion {
 public:
  enum class Where { Everywhere, Here };
  WindowCompletion(MPI_Win win, int target, Where where);

  int logged(FunctionRef<int()> call);
  int answer();

 private:
  int tell(int rc);
  static bool is_fence();

  std::shared_ptr<BorderWindow> window_;
  int target_;
  Where where_;
  bool follows_values_;
  Operation operation_;
  std::vector<BorderWindow::Pending> requests_;  // that it completes, too
};

// `flavor`: MPI_WIN_FLAVOR_X. The memory is this rank's own.
struct WindowMemory {
  int flavor = MPI_WIN_FLAVOR_CREATE;
  void* base = nullptr;
  MPI_Aint size = 0;
  std::int64_t unit = 1;
  void* program = nullptr;  // what the program gave, if the library has something else in its place
};
// Where the program finds its memory.
void* window_made(MPI_Win win, MPI_Comm comm, const WindowMemory& memory, bool solo);
// Access by access: where the program finds this region of a window. `origin`: see SeenMemory; `copy` and `program`: see Mirror.
void* follow_memory(BorderWindow& window, std::uint32_t region, void* real, std::uint64_t size, bool solo, std::uint64_t origin = 0,
                    engine::Mirror::Copy copy = engine::Mirror::Copy::Made, void* program = nullptr);
void forget_memory(BorderWindow& window, const void* program);
// Recording: programs give memory back before its window, although they should not. Then nobody can look at it any more.
void forget_lost_memory(BorderWindow& window);
// Whose windows of shared memory can be followed; what the program sees of them (shared_windows.cpp).
bool follows_shared_memory();
void* shared_window_made(MPI_Win win, MPI_Comm comm, const WindowMemory& memory, bool solo);
// False: it is no such window.
bool answer_shared_query(MPI_Win win, int rank, MPI_Aint* size, std::int64_t* unit, void* base);
// What MPI_WIN_BASE is for the program.
void show_window_base(MPI_Win win, int keyval, void* value, const int* flag);
// Memory for the library in place of the program's, or just that.
void* memory_for_library(void* base, MPI_Aint size, bool solo);
// Around the library's call.
void window_goes(MPI_Win win);
void memory_attached(MPI_Win win, void* base, MPI_Aint size);
void memory_detached(MPI_Win win, const void* base);
int group_of_window(MPI_Win win, MPI_Group* group);
int raise_again(MPI_Win win, int error);

}  // namespace reprise::mpi
