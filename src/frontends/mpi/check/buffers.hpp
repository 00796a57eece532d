// Buffers that belong to MPI until an operation is complete (MPI 4.0, 3.7.2): the program may not change what is being
// sent, nor touch what is being received, and no two operations may receive into the same memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/check/report.hpp"

namespace reprise::mpi::check {

struct Memory {
  const void* buffer = nullptr;
  std::uint64_t bytes = 0;
  std::shared_ptr<const Layout> layout;
};

// Memory that is being received into has anything in it, as far as the program knows. Where this call is (a return
// address; virtual_world::kDisturbsAll: everywhere), it gets other bytes than it had until the operation is complete: a
// program that does something else then has looked.
inline std::uint64_t g_disturbed = 0;

// What one operation has of the program's memory. From here on until end(), or until it is forgotten.
class Lent {
 public:
  enum class Use : std::uint8_t { Sent, Received };
  struct Part {
    Use use = Use::Sent;
    Memory memory;
  };

  // Made by the call in flight. Says what it shares with others. `for_long`: the program goes on meanwhile.
  explicit Lent(const std::vector<Part>& parts, bool for_long = true);
  ~Lent();
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  // The program sees the operation complete: is everything as it was?
  void end();

 private:
  struct Run {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  struct Known {
    Use use = Use::Sent;
    std::vector<Run> runs;  // sorted; one for all of it if there are too many
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t digest = 0;
    bool is_exact = true;
    bool is_disturbed = false;
  };
  static Known know(const Part& part, bool for_long);
  // Nothing: the memory is not there any more.
  static bool digest(const Known& part, std::uint64_t& result);
  // Twice is never.
  static void disturb(const Known& part);
  static bool overlap(const Known& one, const Known& other);
  // What is wrong with the two of them, or null.
  const char* conflict(const Lent& other) const;

  Where posted_;
  std::vector<Known> parts_;
  mutable bool is_shared_ = false;  // with another one: it will be changed, and that has been said
};

}  // namespace reprise::mpi::check
