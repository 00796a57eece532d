// What every interposed function of OpenSHMEM does first and last. The library is Open MPI's, so what is said about its MPI
// (frontends/mpi/entry.hpp) holds here: a rank is a PE, and whatever OpenSHMEM calls itself meanwhile passes by.
#pragma once

#include "frontends/function_table.hpp"
#include "frontends/mpi/entry.hpp"
#include "shmem_ids.hpp"  // generated

namespace reprise::mpi {
void look_before_call();
void look_before_access();
void look_at_windows();
void pass_look();
void* real_address(const void* program);
}

namespace reprise::shmem {

using engine::Mode;
using frontends::t_inside;

extern std::atomic<void*> g_functions[kFunctionCount + 1];
void* look_up(Function function);

class Entry {
 public:
  Entry(Function function, const void* caller) : function_(function), caller_(caller) {}
  ~Entry() {
    if (!owner_) return;
    if (mpi::g_looks) shows_ ? mpi::look_at_windows() : mpi::pass_look();
    t_inside = false;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // The library's function.
  template <class Real>
  Real real() const {
    void* known = g_functions[static_cast<std::size_t>(function_)].load(std::memory_order_relaxed);
    if (!known) [[unlikely]]
      known = look_up(function_);
    return reinterpret_cast<Real>(known);
  }

  // True: not ours, just forward it.
  bool passive() {
    if (engine::mode() == Mode::Passive || t_inside) return true;
    if (engine::mode() <= Mode::Over || engine::mode() == Mode::Explore) [[unlikely]] {
      wake();
      if (engine::mode() == Mode::Passive) return true;
    }
    t_inside = true;
    owner_ = true;
    mpi::t_state.caller = caller_;
    return false;
  }

  void begin(const mpi::Call& call) {
    if (mpi::g_looks) shows_ ? mpi::look_before_call() : mpi::look_before_access();
    engine::log_call(function(), caller_, call.values);
  }
  // It shows nothing of what others have done. Before begin().
  void shows_nothing() { shows_ = false; }
  void end() { engine::log_return(); }

  static bool recording() { return engine::mode() == Mode::Record; }
  static bool replaying() { return engine::mode() == Mode::Replay; }

  engine::FunctionId function() const {
    return static_cast<engine::FunctionId>(frontends::kFirstOfShmem + static_cast<unsigned>(function_));
  }
  const void* caller() const { return caller_; }
  const char* name() const { return kFunctionNames[static_cast<std::size_t>(function_)]; }

 private:
  void wake() const;

  Function function_;
  bool owner_ = false;
  bool shows_ = true;
  const void* caller_;
};

}  // namespace reprise::shmem
