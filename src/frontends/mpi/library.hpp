// The MPI library behind us: its header, its constants and its functions.
//
// Nothing here may be linked against an MPI library: the preload library is loaded into processes that have none, or
// that load one late (Python). Functions are looked up when first called; so are Open MPI's predefined handles, which
// are addresses of variables in the library (MPICH's are plain integers).
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "function_ids.hpp"  // generated

namespace reprise::mpi {

// Each name is forwarded to the next definition of the same name, so that other PMPI tools stay in the chain.
enum class Flavor : std::uint8_t { Mpi = 0, Pmpi = 1 };

// Null if no loaded library has it.
void* find_symbol(const char* name);
void* find_variable(const char* name);
// Look a function up; end the process with a clear sentence if there is none (the program could not go on either).
void* look_up(const char* name);
void* look_up(Function function, Flavor flavor);
void* look_up_in_library(Function function, Flavor flavor);

// What a call is forwarded to: the library's function or, at the border (border/border.hpp), one of ours before it.
extern std::atomic<void*> g_functions[2][static_cast<std::size_t>(Function::kCount)];
// The library's own.
extern std::atomic<void*> g_library[2][static_cast<std::size_t>(Function::kCount)];

template <class Real>
inline Real resolve(Function function, Flavor flavor) {
  void* known =
      g_functions[static_cast<std::size_t>(flavor)][static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
  if (!known) [[unlikely]]
    known = look_up(function, flavor);
  return reinterpret_cast<Real>(known);
}

// For calls of our own: always the PMPI flavour, which no other tool counts.
template <class Real>
inline Real resolve_function(Function function) {
  return resolve<Real>(function, Flavor::Pmpi);
}

// The library's own function, whatever stands at the border.
template <class Real>
inline Real library_function(Function function, Flavor flavor = Flavor::Pmpi) {
  void* known =
      g_library[static_cast<std::size_t>(flavor)][static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
  if (!known) [[unlikely]]
    known = look_up_in_library(function, flavor);
  return reinterpret_cast<Real>(known);
}
// The same if a virtual rank stands in the library's place (live/live.hpp): the singleton below it, which does local
// work.
void* look_up_in_singleton(Function function);
template <class Real>
inline Real singleton_function(Function function) {
  return reinterpret_cast<Real>(look_up_in_singleton(function));
}
// While such a function calls others by their names, as those for files do, it must not meet the virtual rank.
inline thread_local bool t_in_singleton = false;
class InSingleton {
 public:
  InSingleton() { t_in_singleton = true; }
  ~InSingleton() { t_in_singleton = false; }
  InSingleton(const InSingleton&) = delete;
  InSingleton& operator=(const InSingleton&) = delete;
};
template <class Real, class... Arguments>
inline int call_singleton(Function function, Arguments... arguments) {
  const InSingleton within;
  return singleton_function<Real>(function)(arguments...);
}
// From now on `ours` is the library's function, in both flavours.
void put_in_place_of_library(Function function, void* ours);
template <class Ours>
requires std::is_function_v<Ours>
void put_in_place_of_library(Function function, Ours* ours) {
  put_in_place_of_library(function, reinterpret_cast<void*>(ours));
}

// From now on calls of this function are forwarded to `ours`.
void put_at_border(Function function, Flavor flavor, void* ours);
template <class Ours>
requires std::is_function_v<Ours>
void put_at_border(Function function, Flavor flavor, Ours* ours) {
  put_at_border(function, flavor, reinterpret_cast<void*>(ours));
}

// Predefined handles, valid between MPI_Init and MPI_Finalize.
struct Handles {
  MPI_Comm comm_world;
  MPI_Comm comm_self;
  MPI_Comm comm_null;
  MPI_Request request_null;
  MPI_Datatype datatype_null;
  MPI_Datatype byte;
  MPI_Datatype integer;  // MPI_INT
  MPI_Datatype packed;
  MPI_Group group_null;
  MPI_Group group_empty;
  MPI_Message message_no_proc;
  MPI_Message message_null;
  MPI_Errhandler errors_are_fatal;
  MPI_Info info_null;
  MPI_Op op_null;
  MPI_Op replace;
  MPI_Op no_op;
  MPI_Win win_null;
};
const Handles& handles();

// Operations of MPI have the same number in all ranks; those of the program need not.
bool is_predefined(MPI_Op op);

// MPI_UNWEIGHTED (a variable in MPICH).
int* unweighted();

// "openmpi" or "mpich".
const char* library_name();
// Is the MPI of this process the one that this library was built for? A script may hide which one it starts.
bool library_is_ours();

// Handles are pointers or integers; this is a key for tables of this process.
template <class Handle>
inline std::uint64_t handle_key(Handle handle) {
  if constexpr (sizeof(Handle) == sizeof(std::uint32_t)) return std::bit_cast<std::uint32_t>(handle);
  else return std::bit_cast<std::uint64_t>(handle);
}

}  // namespace reprise::mpi
