// Trampolines for error handlers of the program.
//
// MPI passes an error handler nothing by which it could be told apart from another, so each needs a function of its
// own: a pool of them is made by the compiler. A program with more handlers than that gets the later ones unwrapped;
// their MPI calls then pass through unseen.
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "frontends/mpi/body_callback.hpp"

namespace reprise::mpi::bodies {
namespace {

constexpr std::size_t kTrampolines = 64;

// For the data of the call in flight: libraries differ in which communicator's handler they call.
void note_error(MPI_Comm comm, int code) { t_error = {code, communicator_number(comm)}; }
template <class Object>
void note_error(Object, int code) {
  t_error = {code, engine::kNoComm};
}

template <class Handler, class Object>
class Pool {
 public:
  static Handler* wrap(Handler* handler) {
    for (std::size_t i = 0; i < std::min(used_.load(), kTrampolines); ++i)
      if (handlers_[i] == handler) return trampolines(std::make_index_sequence<kTrampolines>())[i];
    const std::size_t number = used_.fetch_add(1);
    if (number >= kTrampolines) return handler;
    handlers_[number] = handler;
    return trampolines(std::make_index_sequence<kTrampolines>())[number];
  }

 private:
  template <std::size_t kNumber>
  static void trampoline(Object* object, int* code, ...) {
    note_error(*object, *code);
    Outside outside;
    handlers_[kNumber](object, code);
  }
  template <std::size_t... kNumbers>
  static std::array<Handler*, kTrampolines> trampolines(std::index_sequence<kNumbers...>) {
    return {trampoline<kNumbers>...};
  }

  static inline std::atomic<std::size_t> used_{0};
  static inline Handler* handlers_[kTrampolines] = {};
};

}  // namespace

MPI_Comm_errhandler_function* outside_comm(MPI_Comm_errhandler_function* handler) {
  return Pool<MPI_Comm_errhandler_function, MPI_Comm>::wrap(handler);
}
MPI_Win_errhandler_function* outside_win(MPI_Win_errhandler_function* handler) {
  return Pool<MPI_Win_errhandler_function, MPI_Win>::wrap(handler);
}
MPI_File_errhandler_function* outside_file(MPI_File_errhandler_function* handler) {
  return Pool<MPI_File_errhandler_function, MPI_File>::wrap(handler);
}

}  // namespace reprise::mpi::bodies
