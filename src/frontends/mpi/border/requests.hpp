// Operations with a request, at the border: what they will bring, until they have.
//
// Recording: only those that bring something; their entry is logged by whatever call first shows them complete. Solo
// replay: all of them, because the library has none. The program's handle is a generalised request of the library (or,
// for a persistent one, a persistent receive that is never started), so it can be stored, compared and turned into a
// Fortran handle as usual.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "frontends/mpi/border/operation.hpp"

namespace reprise::mpi {

class BorderRequests {
 public:
  struct Request {
    Operation operation;
    std::uint64_t post = 0;
    bool persistent = false;
    bool active = false;
    bool seen = false;                              // recording: its entry is logged
    const void* poster = &t_state;                  // the thread
    std::optional<virtual_world::Outcome> outcome;  // solo, if the program has only asked (MPI_Request_get_status)
  };

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  std::shared_ptr<Request> find(MPI_Request handle);
  void add(MPI_Request handle, Operation operation, bool persistent);
  // Unless the library has given the handle to another one meanwhile.
  void remove(MPI_Request handle, const std::shared_ptr<Request>& request);
  // Open MPI's MPI_Start makes another request if the library still needs the old one.
  void replaced(MPI_Request before, MPI_Request after);
  // The `index`-th of the requests that one call starts.
  void started(MPI_Request handle, std::uint64_t index);

  // -- recording --
  // It is complete, with this status. With threads, `request` must have been found before the library was called: since
  // then the library may have given the handle to another thread's operation.
  void completed(MPI_Request handle, const std::shared_ptr<Request>& request, int error, const MPI_Status& status,
                 bool gone);
  // The program frees it. True: the library must not be told, we keep watching it.
  bool keep(MPI_Request handle);
  // Called whenever the program learns something.
  void look_at_kept();
  // Before MPI_Finalize: what is still kept is given back.
  void give_back_kept();

  // -- solo replay --
  int carry(Operation operation, bool persistent, MPI_Request* handle);
  // Completes it: what it brought is written, its status shown. Its outcome, without the bytes.
  virtual_world::Outcome finish(const std::shared_ptr<Request>& request, MPI_Request* handle, MPI_Status* status);
  // The same without completing it.
  void look_at(Request& request, MPI_Status* status);
  int free(const std::shared_ptr<Request>& request, MPI_Request* handle);

 private:
  void settle_namesake(MPI_Request handle);
  const virtual_world::Outcome& outcome_of(Request& request);
  static void arrived(virtual_world::Ticket ticket, const virtual_world::Outcome& outcome);

  std::atomic_flag lock_;  // several threads may come here at once
  std::atomic<std::size_t> count_{0};
  std::unordered_map<std::uint64_t, std::shared_ptr<Request>> all_;
  std::atomic<bool> any_kept_{false};
  std::vector<MPI_Request> kept_;                         // recording: freed while active
  std::unordered_map<std::uint64_t, Operation> orphans_;  // solo: freed while active, by post
};

// A real request that carries one of ours, and its end; afterwards the handle is MPI_REQUEST_NULL.
int make_carrier(bool persistent, MPI_Request* handle);
void end_carrier(bool persistent, MPI_Request* handle);

// The same for a message that a probe has found.
int make_message(MPI_Message* message);
void take_message(MPI_Message* message);

// Never destroyed: the program may call MPI from its own exit handlers.
BorderRequests& border_requests();

}  // namespace reprise::mpi
