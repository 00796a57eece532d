// Messages of our own between the ranks of a program that is checked, on communicators that it does not know.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi::flow {

// A collective call. Whoever looks at communicators, a debugger or a test, knows it by its name.
MPI_Comm private_copy(MPI_Comm comm);

// Those that are under way. For one thread at a time.
class Letters {
 public:
  void send(MPI_Comm comm, int to, std::vector<std::uint8_t> bytes);
  // Drops those that have left; `wait`: until all have.
  void tidy(bool wait);

 private:
  struct Letter {
    MPI_Request request{};
    std::vector<std::uint8_t> bytes;
  };
  std::deque<Letter> under_way_;  // their bytes stay where they are
};

// The next one from there; waits for it.
std::vector<std::uint8_t> receive_letter(MPI_Comm comm, int from);

}  // namespace reprise::mpi::flow
