// The handles that the program has made and not given back: for what it uses too late, and what it leaves behind.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/mpi/check/report.hpp"

namespace reprise::mpi::check {

enum class Handle : std::uint8_t { Communicator, Group, Datatype, Operation, Request, Window, File };
inline constexpr int kHandleKinds = 7;

// The call in flight has made it. Some libraries give the same handle for the same thing again: then it must be given
// back as often.
void made(Handle kind, std::uint64_t key, bool persistent = false);
void given_back(Handle kind, std::uint64_t key);
// Open MPI's MPI_Start makes another request if the library still needs the old one.
void replaced(std::uint64_t request, std::uint64_t by);

bool is_alive(Handle kind, std::uint64_t key);
// It has been given back, and nothing new has got the same number since.
bool was_freed(Handle kind, std::uint64_t key);

// MPI_Type_free: the handle may come back as another type's.
void forget_type(MPI_Datatype type);
void committed(std::uint64_t type);
bool is_uncommitted(std::uint64_t type);
// A type of the program's own.
bool is_derived(std::uint64_t type);
// MPI_Type_dup: it is committed if the other one is.
void committed_like(std::uint64_t type, std::uint64_t other);

// In a recorded run: what a nonblocking send or receive has of the program's memory until its request is complete.
// (Explored ranks know better when that is.)
void lends(std::uint64_t request, bool sends, const void* buffer, MPI_Count count, MPI_Datatype type);
// The same for a blocking call, which has returned.
void uses(bool sends, const void* buffer, MPI_Count count, MPI_Datatype type);
// The program knows that it is complete, and has its memory back, though the request is still there.
void is_complete(std::uint64_t request);

// In MPI_Finalize: everything that is left.
void report_leaks();

// Requests of a call that may complete or replace them: those that are null afterwards are no more. Also if an error
// handler of the program never lets the call return.
class Completing {
 public:
  Completing(MPI_Count n, const MPI_Request* requests);
  ~Completing();
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;
  void look() const;

 private:
  const MPI_Request* requests_;
  bool settles_ = false;
  static constexpr std::size_t kFew = 16;
  std::uint64_t few_[kFew];
  std::vector<std::uint64_t> many_;
  std::size_t count_;
};

}  // namespace reprise::mpi::check
