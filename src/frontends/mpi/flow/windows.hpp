// One-sided communication: what was put to a window, and got from it, is looked at where the window is, when the library
// says that it is complete.
//
// The origin of an access tells the target what it did, over a communicator of our own, where both synchronise anyway: in
// MPI_Win_fence everybody tells everybody, and nobody goes on before all have looked; in MPI_Win_complete and
// MPI_Win_wait the origins tell their targets. Under an exclusive lock the origin looks itself. What is accessed under a
// shared lock others may change at any time.
#pragma once

#include "frontends/mpi/flow/operation.hpp"

namespace reprise::mpi::flow {

enum class AccessKind : std::uint8_t { Put, Get, Accumulate, Other };

class Access {
 public:
  Access(MPI_Win win, AccessKind kind, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type);
  void gives(const void* buffer, MPI_Count count, MPI_Datatype type);
  void takes(void* buffer, MPI_Count count, MPI_Datatype type);
  void combines(MPI_Op op);
  // The program may use its buffer again before the access is complete.
  void has_request() { has_request_ = true; }

  // Around the library's call.
  template <class Call>
  int follow(Call call) {
    if (!begin()) return call();
    const int rc = call();
    if (rc == MPI_SUCCESS) end();
    return rc;
  }

 private:
  bool begin();
  void end();
  friend struct Window;

  MPI_Win win_;
  AccessKind kind_;
  int target_;
  MPI_Aint disp_;
  std::uint64_t count_;
  const Type* type_ = nullptr;
  Region origin_;
  std::uint64_t operation_ = 0;
  bool has_request_ = false;
  std::vector<std::uint8_t> content_;  // digest, or contributions
  std::vector<std::uint8_t> before_;   // under an exclusive lock
  std::uint64_t number_ = 0;
};

// A window was made on this communicator.
void window_made(MPI_Win win, MPI_Comm comm, bool is_shared);
void window_freed(MPI_Win win);
void put_synchronisation();

}  // namespace reprise::mpi::flow
