// An explored rank: the process is a copy of one that has been through MPI_Init as a singleton, and what it sends and
// receives goes through the stage (virtual/stage.hpp), where an explorer decides who hears whom.
//
// These functions stand in place of the MPI library, below the border: wrappers, logs and the recording of values see a
// library like any other. What is local (datatypes, packing, attributes, error handlers) the singleton does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/border/world.hpp"
#include "frontends/mpi/check/buffers.hpp"
#include "frontends/mpi/check/report.hpp"
#include "frontends/mpi/check/signature.hpp"
#include "virtual/actor.hpp"

namespace reprise::mpi::live {

using virtual_world::Act;
using virtual_world::Actor;
using virtual_world::Communicator;

// In MPI_Init, after the singleton is up: from here on this process only makes copies of itself, one per rank and run.
// Returns in each copy. True: this run is to be recorded.
bool serve(int thread_level);
// MPI was called before MPI_Init, or after MPI_Finalize (MPI 4.0, 11.4.1).
[[noreturn]] void called_early(Function function, const void* caller);
[[noreturn]] void called_late(Function function, const void* caller);
// Puts everything in place, in a copy.
void enter_world();
// Its threads, from the first one that it makes.
void prepare_threads();  // threads.cpp
Actor& actor();

// Memory that is filled or read: so many elements.
struct Region {
  void* buffer = nullptr;
  std::uint64_t bytes = 0;
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const check::Signature> signature;
};
inline check::Lent::Part sent(const Region& region) {
  return {check::Lent::Use::Sent, {region.buffer, region.bytes, region.layout}};
}
inline check::Lent::Part received(const Region& region) {
  return {check::Lent::Use::Received, {region.buffer, region.bytes, region.layout}};
}
Region region(const void* buffer, MPI_Count count, MPI_Datatype type);
void pack(const Region& from, char* to);
// The first `bytes` bytes.
void unpack(const char* from, std::uint64_t bytes, const Region& to);

// As it lies where all can see it: who has laid it down, what it is made of, and the bytes.
std::vector<std::uint64_t> label_of(const Region& region);
struct Label {
  explicit Label(const char* at);
  check::Where from;  // without the rank
  check::Signature signature;
  const char* data;
};

// What a call of the program has asked the explorer for. 0: nothing, it is complete.
using OperationId = std::uint32_t;

// A report of the explorer about one operation.
struct Report {
  std::uint32_t index = 0;
  int source = -1;  // in MPI_COMM_WORLD
  int tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t data = 0;
  bool cancelled = false;
  std::vector<std::uint64_t> contributions;
};
struct Reply {
  bool yes = true;
  OperationId taken = 0;
  std::vector<Report> reports;
};

enum class Kind : std::uint64_t { All, Any, Some, Probe, Take };  // explore::Question::Kind
Reply ask(Kind kind, std::uint64_t flags, std::span<const OperationId> operations);
Reply ask_for_message(Kind kind, std::uint64_t flags, MPI_Comm comm, int source, int tag);

// The call in flight, as the explorer knows it.
std::uint64_t this_site();
std::uint64_t this_function();
// The same for what takes part in matching: with virtual_world::kInRegion.
std::uint64_t this_function_word();
// reprise_explore_begin() and _end(), one inside the other.
inline std::atomic<int> g_regions{0};

// --- requests --------------------------------------------------------------------------------------------------------

class Collective;
struct Access;

// An operation until the program has seen it complete.
struct Request {
  MPI_Comm comm{};
  OperationId operation = 0;
  OperationId second = 0;  // the send of MPI_Isendrecv, whose receive is the first
  bool hears = false;      // a status has a sender
  Region into;
  std::shared_ptr<Collective> collective;
  std::shared_ptr<Access> access;
  bool persistent = false;
  bool active = true;
  bool is_cancelled = false;  // the program has asked for it
  bool was_started = false;   // ever
  bool was_awaited = false;   // a persistent one, before it was started
  bool nobody = false;        // MPI_PROC_NULL
  check::Where posted;
  std::unique_ptr<check::Lent> lent;    // the buffers, while it is active
  std::function<void(Request&)> start;  // of a persistent one
};

std::shared_ptr<Request> find_request(MPI_Request handle);
// Gives it a handle.
int carry(std::shared_ptr<Request> request, MPI_Request* handle);
// The program has given it back while it was active: what it brings is written when it comes.
void leave_orphan(std::shared_ptr<Request> request);
// Writes what it brought. The error that the program is to see.
int deliver(Request& request, const Report& report, MPI_Status* status);
// The run ends here.
[[noreturn]] void end_run(check::Category category, int error_class, const char* words);
// `words`: what exactly is wrong, if it is known.
int raise(MPI_Comm comm, int error, const char* words = nullptr);
void await(OperationId operation);

void put_errors();          // errors.cpp
void put_point_to_point();  // point_to_point.cpp
void put_completion();      // completion.cpp
void put_probes();          // probes.cpp
void put_communicators();   // communicators.cpp
void put_collectives();     // generated by tools/generate_live.py

}  // namespace reprise::mpi::live
