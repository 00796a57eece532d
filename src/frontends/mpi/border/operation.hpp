// One communication at the border between the wrappers and the MPI library: what it brings to this rank, and where.
//
// The same description serves both sides. Recording with data: the library's function has run, and what it wrote is
// logged. Solo replay: there is no one to talk to, and what it wrote then is written again. The generated functions
// (tools/generate_border.py) describe each call from its roles in functions.tab and end it with one of the verbs below.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/library.hpp"
#include "virtual/provider.hpp"

namespace reprise::mpi {

// While it lives: `settle` logs what is known if an error handler takes over.
template <class Settle>
class AtBorder {
 public:
  explicit AtBorder(Settle& settle) {
    t_error = {};
    t_state.at_border = &settle;
    t_state.border_settle = [](void* object) { (*static_cast<Settle*>(object))(); };
  }
  ~AtBorder() {
    t_state.border_settle = nullptr;
    t_state.at_border = nullptr;
  }
  AtBorder(const AtBorder&) = delete;
  AtBorder& operator=(const AtBorder&) = delete;
};

class Operation {
 public:
  // -- what it is --

  // It takes one message of at most so many elements from this rank; how many bytes came, its status says.
  void hears(MPI_Comm comm, int source) {
    comm_ = comm;
    hears_ = true;
    from_nobody_ = source == MPI_PROC_NULL;
  }
  // The message that a probe found.
  void takes_message() { hears_ = true; }
  void within(MPI_Comm comm) { comm_ = comm; }
  // It concerns this file. `transfers`: its status says how much was read or written.
  void at(MPI_File file, bool transfers) {
    file_ = file;
    hears_ = transfers;
  }
  // It writes so many elements to a buffer.
  void fills(void* buffer, MPI_Count count, MPI_Datatype type);
  // It writes one block for each of `n` ranks, wherever the displacements say (in elements, or bytes if types differ).
  template <class Count, class Place>
  void fills_each(void* buffer, const Count* counts, const Place* places, MPI_Datatype type, int n) {
    if (n <= 0) return;
    const auto extent = layout_of(type)->extent;
    for (int i = 0; i < n; ++i)
      if (counts[i] > 0) fills(static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(places[i]) * extent, counts[i], type);
  }
  template <class Count, class Place>
  void fills_each(void* buffer, const Count* counts, const Place* places, const MPI_Datatype* types, int n) {
    for (int i = 0; i < n; ++i)
      if (counts[i] > 0) fills(static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(places[i]), counts[i], types[i]);
  }

  // Types, one per rank. Open MPI's Fortran layer converts as many as the real communicator has members, which in a solo
  // replay is one.
  void has_types_per_rank(const char* function);

  // -- recording: the library has returned rc --

  // The call itself: `call` gets the status that the program wants to see, or ours if it ignores it. If an error handler
  // of the program is called and never returns, what is known by then is logged.
  template <class Call>
  int logged(MPI_Status* programs, Call call) {
    MPI_Status* const status = programs == MPI_STATUS_IGNORE ? &own_status_ : programs;
    return logged_call(
        status, [](void* object, MPI_Status* into) { return (*static_cast<Call*>(object))(into); }, &call);
  }
  int log(int rc, const MPI_Status* status);
  // The program's status, or our own if it ignores it.
  MPI_Status* observed(MPI_Status* programs) { return programs == MPI_STATUS_IGNORE ? &own_status_ : programs; }
  // The same for a call that makes a request.
  template <class Call>
  int logged_later(const MPI_Request* request, bool persistent, Call call) {
    auto settle = [&] { log_failed_post(t_error.code); };
    int rc;
    {
      AtBorder in_flight(settle);
      rc = call();
    }
    return log_later(rc, request, persistent);
  }

  // -- solo replay --

  int answer(MPI_Status* status);
  // Of a call that brings nothing: the error, if it failed then. The error handler is not called.
  std::optional<int> failed();
  // Calls the error handler that was called then, if one was; otherwise the communicator's or the file's, if there was an
  // error.
  int raise(const virtual_world::Outcome& outcome) const;
  int answer_later(MPI_Request* request, bool persistent);

  // -- what the request table needs --

  // Does anything come with it that must be logged?
  bool brings() const { return (hears_ && !from_nobody_) || !regions_.empty(); }
  void log_completion(std::uint64_t post, int error, const MPI_Status& status);
  void log_partition(std::uint64_t post, int partition);
  void write(const virtual_world::Outcome& outcome) const;
  bool from_nobody() const { return from_nobody_; }
  // MPI_Isendrecv: the library may not tell how much came, and to whom it listened.
  void is_combined();
  void partitions(int count) { partitions_ = count; }
  void write_partition(const virtual_world::Outcome& outcome, int partition) const;

 private:
  struct Region {
    void* buffer;
    std::uint64_t bytes;
    std::shared_ptr<const Layout> layout;
  };

  int log_later(int rc, const MPI_Request* request, bool persistent);
  static void log_failed_post(int rc);
  int logged_call(MPI_Status* status, int (*call)(void*, MPI_Status*), void* object);
  void add_entry(engine::DataKind kind, const std::int64_t* first, std::size_t count, int error,
                 const MPI_Status* status);

  MPI_Comm comm_{};
  std::optional<MPI_File> file_;
  bool hears_ = false;
  bool from_nobody_ = false;
  bool size_unknown_ = false;
  int partitions_ = 0;
  std::vector<Region> regions_;
  MPI_Status own_status_{};
};

// Where this rank stands in a collective operation.
int rank_in(MPI_Comm comm);
int blocks_in(MPI_Comm comm);      // members that send to this rank: of an intercommunicator, the remote ones
int neighbours_in(MPI_Comm comm);  // that send to this rank
bool is_root(MPI_Comm comm, int root);
// Not the root, and not one of its group that only watches (MPI_PROC_NULL).
bool is_served_by(MPI_Comm comm, int root);
// Every process that gets something, the root of an intracommunicator included.
bool takes_part(MPI_Comm comm, int root);

virtual_world::Provider& provider();
// What the program sees of an outcome's status. `status` may be MPI_STATUS_IGNORE.
void show_status(const virtual_world::Status& status, MPI_Status* out);
void show_empty_status(MPI_Status* out, int source = MPI_ANY_SOURCE);
int raise_again(MPI_Comm comm, int error);

// A question whose answer is one number. Recording: `call` asks the library.
int log_number(int rc, std::int64_t answer);
int answer_number(std::int64_t& answer);

}  // namespace reprise::mpi
