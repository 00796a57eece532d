// What the generated stubs for the Fortran entry points of MPI do (tools/generate_fortran.py).
//
// A Fortran program calls mpi_recv_ in the MPI's Fortran layer, which calls MPI_Recv or PMPI_Recv. The wrapper of that
// would take a place in the layer for the call site, the same for all receives of the program. So a stub in front of
// the layer remembers who called it, and Entry takes that for the call site (entry.hpp).
#pragma once

#include "frontends/mpi/entry.hpp"

namespace reprise::mpi {

// An argument: an address, or the length of a character argument. Both fill one word in the calling conventions of
// x86_64 and aarch64, whatever they are, so a stub can pass on what it does not understand.
using Word = void*;

// The next definition of a Fortran entry point.
template <class Result>
class FortranFunction {
 public:
  constexpr explicit FortranFunction(const char* name) : name_(name) {}

  template <class... Words>
  Result operator()(Words... words) {
    void* known = function_.load(std::memory_order_relaxed);
    if (!known) [[unlikely]]
      function_.store(known = look_up(name_), std::memory_order_relaxed);
    return reinterpret_cast<Result (*)(Words...)>(known)(words...);
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

// While a stub is at work. Entry takes the caller away while an MPI function runs and gives it back afterwards, so it
// is neither seen by what MPI calls back, nor left behind by a callback that never returns.
class FortranCall {
 public:
  explicit FortranCall(const void* caller) : outer_(t_state.fortran_caller) {
    if (!outer_) t_state.fortran_caller = caller;  // otherwise one part of the layer calls another
  }
  ~FortranCall() {
    t_state.fortran_caller = outer_;
    t_state.fortran_types = nullptr;
    t_state.fortran_sent_types = nullptr;
  }
  void has_types(Word sent, Word received) {
    t_state.fortran_sent_types = sent;
    t_state.fortran_types = received;
  }
  FortranCall(const FortranCall&) = delete;
  FortranCall& operator=(const FortranCall&) = delete;

 private:
  const void* outer_;
};

}  // namespace reprise::mpi
