// What every interposed MPI function does first and last. The generated wrappers and the hand-written bodies use this.
#pragma once

#include <utility>

#include "engine/mode.hpp"
#include "frontends/inside.hpp"
#include "frontends/mpi/library.hpp"
#include "frontends/mpi/posts.hpp"

#define REPRISE_INTERPOSED __attribute__((visibility("default")))
#define REPRISE_SERVES __attribute__((noinline))  // both flavours of a function
// Where the program called us: the call site.
#define REPRISE_CALLER __builtin_return_address(0)

namespace reprise::mpi {

using engine::Mode;

using frontends::t_inside;  // what MPI calls itself: its Fortran layer calls PMPI_X, MPI-IO calls point-to-point

// Per thread, about the call of the program that we are inside of.
//
// `settle` is what must be logged about the call in flight if it never returns to us: an error handler of the program
// may leave it by an exception or longjmp, a fatal error by exit().
//
// `opaque`: what the call in flight decides is known only when it returns, and must be logged before anything that the
// program's own functions do meanwhile. So these cannot be followed there.
//
// `border_settle` is the same for the data of the call (border/border.hpp); it comes first.
//
// `through_fortran`: the call in flight came through the Fortran layer. `fortran_caller` is where the program has
// called the Fortran layer that is about to call us (fortran.hpp), `fortran_types` the types that it gave for what it
// receives, and `fortran_sent_types` those for what it sends, if there is one per rank.
struct ThreadState {
  bool opaque = false;
  bool through_fortran = false;
  void (*settle)(void*) = nullptr;
  void* in_flight = nullptr;
  void (*border_settle)(void*) = nullptr;
  void* at_border = nullptr;
  bool own_look = false;  // Reprise itself asks the library something
  bool called_back = false;  // in a function of the program that the library has called
  // The call in flight, for those below who want to know what they serve.
  Function function{};
  Flavor flavor{};
  const void* caller = nullptr;
  const void* fortran_caller = nullptr;
  const void* fortran_types = nullptr;
  const void* fortran_sent_types = nullptr;
};
inline thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

// While it lives, what this thread asks the library is asked by Reprise itself.
class OwnLook {
 public:
  OwnLook() { t_state.own_look = true; }
  ~OwnLook() { t_state.own_look = false; }
  OwnLook(const OwnLook&) = delete;
  OwnLook& operator=(const OwnLook&) = delete;
};

// With what an error handler of the program was called last.
struct RaisedError {
  int code = 0;
  std::int64_t comm = engine::kNoComm;
};
inline thread_local RaisedError t_error __attribute__((tls_model("initial-exec")));

// Between MPI_Init and MPI_Finalize: handles mean something.
inline bool g_mpi_is_up = false;

// What a handle stands for, as asked last by this thread: most calls use the same handles as the call before. Handles
// are used again after they were freed, so all answers are forgotten when one comes or goes.
struct KnownHandle {
  std::uint64_t key = UINT64_MAX;
  std::int64_t value = 0;
  std::uint32_t generation = 0;
};
inline thread_local KnownHandle t_comm __attribute__((tls_model("initial-exec")));
inline thread_local KnownHandle t_type __attribute__((tls_model("initial-exec")));
inline std::atomic<std::uint32_t> g_handle_generation{1};
std::int64_t ask_communicator_number(MPI_Comm comm);
std::int64_t ask_type_size(MPI_Datatype type);

template <class Handle>
inline std::int64_t known_or_ask(KnownHandle& known, Handle handle, std::int64_t (*ask)(Handle)) {
  const std::uint64_t key = handle_key(handle);
  const std::uint32_t generation = g_handle_generation.load(std::memory_order_relaxed);
  if (known.key != key || known.generation != generation) [[unlikely]]
    known = {key, ask(handle), generation};
  return known.value;
}
inline std::int64_t communicator_number(MPI_Comm comm) { return known_or_ask(t_comm, comm, ask_communicator_number); }
inline std::int64_t type_size(MPI_Datatype type) { return known_or_ask(t_type, type, ask_type_size); }
inline void forget_handles() { g_handle_generation.fetch_add(1, std::memory_order_relaxed); }

inline bool is_any_source(int source) { return source == MPI_ANY_SOURCE; }

inline std::int64_t canonical_peer(int rank) {
  if (rank >= 0) [[likely]]
    return rank;
  if (rank == MPI_ANY_SOURCE) return engine::kAnySource;
  if (rank == MPI_PROC_NULL) return engine::kProcNull;
  if (rank == MPI_ROOT) return engine::kRootItself;
  return rank;
}

inline std::int64_t canonical_tag(int tag) { return tag == MPI_ANY_TAG ? engine::kAnyTag : tag; }

// The arguments of a call in the form that is the same in every run.
struct Call {
  engine::Arguments values{};

  void comm(MPI_Comm comm) { values[engine::kComm] = communicator_number(comm); }
  void peer(int rank) { values[engine::kPeer] = canonical_peer(rank); }
  void tag(int tag) { values[engine::kTag] = canonical_tag(tag); }
  template <class Count>
  void bytes(Count count, MPI_Datatype type) {
    values[engine::kBytes] = static_cast<std::int64_t>(count) * type_size(type);
  }
  template <class Count>
  void count(Count count) {
    values[engine::kBytes] = static_cast<std::int64_t>(count);
  }
};

void unsupported(Function function, const char* reason);
// What the program's own functions do meanwhile may wait for other threads (Session::posted).
void let_others_post();

// There are windows whose memory this rank sees changed by others (border/windows.hpp): what is new, before and after each
// call.
inline bool g_looks = false;
void look_before_call(Function function);
void look_at_windows(Function function);

// How many threads are inside a call: for the library that tells what the MPI library moves (flow/movements.hpp). Null
// if nobody wants to know.
inline std::atomic<std::uint32_t>* g_active_calls = nullptr;

class Entry {
 public:
  Entry(Function function, Flavor flavor, const void* caller) : function_(function), flavor_(flavor), caller_(caller) {}
  ~Entry() {
    if (!owner_) return;
    if (g_looks) [[unlikely]]
      look_at_windows(function_);
    t_inside = false;
    if (g_active_calls) [[unlikely]]
      g_active_calls->fetch_sub(1, std::memory_order_relaxed);
    if (through_fortran_) t_state.fortran_caller = caller_;  // the layer may make another call for the same one
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  template <class Real>
  Real real() const {
    return resolve<Real>(function_, flavor_);
  }
  // For calls that are not the program's: past whatever stands at the border.
  template <class Real>
  Real library() const {
    return t_in_singleton ? singleton_function<Real>(function_) : library_function<Real>(function_, flavor_);
  }
  // Another function in the same flavour, for outcomes that are forced by a different call.
  template <class Real>
  Real other(Function function) const {
    return resolve<Real>(function, flavor_);
  }

  // True: not ours, just forward it. Otherwise this call is the outermost of its thread until the Entry ends.
  bool passive() {
    if (engine::mode() == Mode::Passive || t_inside) return true;
    if (engine::mode() <= Mode::Over) [[unlikely]] {
      wake(function_, caller_);
      if (engine::mode() == Mode::Passive) return true;
    }
    t_inside = true;
    owner_ = true;
    if (g_active_calls) [[unlikely]]
      g_active_calls->fetch_add(1, std::memory_order_relaxed);
    if (g_looks) [[unlikely]]
      look_before_call(function_);
    if (t_state.fortran_caller) {
      caller_ = std::exchange(t_state.fortran_caller, nullptr);
      through_fortran_ = true;
    }
    t_state.through_fortran = through_fortran_;
    t_state.function = function_;
    t_state.flavor = flavor_;
    t_state.caller = caller_;
    return false;
  }

  void begin(const Call& call) { engine::log_call(function(), caller_, call.values); }
  void end() { engine::log_return(); }

  static bool recording() { return engine::mode() == Mode::Record; }
  static bool replaying() { return engine::mode() == Mode::Replay; }

  engine::FunctionId function() const { return static_cast<engine::FunctionId>(function_); }
  const void* caller() const { return caller_; }
  // A Fortran program, through the Fortran layer of its MPI.
  bool through_fortran() const { return through_fortran_; }
  const char* name() const { return kFunctionNames[static_cast<std::size_t>(function_)]; }

  // An operation with a request of its own: is it one that was cancelled in the recorded run? Then an idle request
  // stands for it (false while recording). Afterwards it counts as posted.
  bool post_is_cancelled() { return replaying() && look_up_cancelled(); }
  void posted(int rc, const MPI_Request* request, Posts::Kind kind = Posts::Kind::Ordinary);

  // Replay cannot force what this call decides: say so in the trace, once per function.
  void unsupported(const char* reason) { mpi::unsupported(function_, reason); }
  void new_communicator(MPI_Comm comm, MPI_Comm parent);
  // MPI_Comm_idup: the handle is there, but may not be asked anything yet.
  void new_communicator_later(const MPI_Comm* comm, MPI_Comm parent);

 private:
  static void wake(Function function, const void* caller);
  static bool look_up_cancelled();

  Function function_;
  Flavor flavor_;
  bool owner_ = false;
  bool through_fortran_ = false;
  const void* caller_;
};

// Around a call of the program's own code by MPI (an error handler): what it calls is the program's again. If it never
// comes back, the state is already right.
class Outside {
 public:
  Outside() : inside_(std::exchange(t_inside, false)), saved_(t_state) {
    t_state = {};
    t_state.called_back = true;
    let_others_post();
    if (saved_.border_settle) saved_.border_settle(saved_.at_border);
    if (saved_.settle) saved_.settle(saved_.in_flight);
  }
  ~Outside() {
    t_inside = inside_;
    t_state = {saved_.opaque, saved_.through_fortran};
    t_state.function = saved_.function;
    t_state.flavor = saved_.flavor;
    t_state.caller = saved_.caller;
    t_state.called_back = saved_.called_back;
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  bool inside_;
  ThreadState saved_;
};

// Marks the call in flight as opaque while the library is at work.
class Opaque {
 public:
  Opaque() { t_state.opaque = true; }
  ~Opaque() { t_state.opaque = false; }
  Opaque(const Opaque&) = delete;
  Opaque& operator=(const Opaque&) = delete;
};

// Registers what must be logged if the call in flight does not return.
template <class Settle>
class InFlight {
 public:
  explicit InFlight(Settle& settle) {
    t_state.in_flight = &settle;
    t_state.settle = [](void* object) { (*static_cast<Settle*>(object))(); };
  }
  ~InFlight() {
    t_state.settle = nullptr;
    t_state.in_flight = nullptr;
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
};

}  // namespace reprise::mpi
