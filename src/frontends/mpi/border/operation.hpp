// One communication at the border between the wrappers and the MPI library: what it brings to this rank, and where.
//
// The same description serves both sides. Recording with data: the library's function has run, and what it wrote is
// logged. Solo replay: there is no one to talk to, and what it wrote then is written again. The generated functions
// (tools/generate_border.py) describe each call from its roles in functions.tab and end it with one of the verbs below.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "frontends/mpi/border/causality.hpp"
#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/border/position.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/library.hpp"
#include "virtual/trace_provider.hpp"

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
  // Not inline: hundreds of functions have one.
  Operation();
  Operation(const Operation& other);
  Operation(Operation&& other) noexcept;
  Operation& operator=(const Operation& other);
  Operation& operator=(Operation&& other) noexcept;
  ~Operation();

  // -- what it is --

  // It takes one message of at most so many elements from this rank; how many bytes came, its status says.
  void hears(MPI_Comm comm, int source, int tag) {
    comm_ = comm;
    hears_ = true;
    source_ = source;
    tag_ = tag;
  }
  // It sends so many elements to this rank.
  void sends(int dest, int tag, const void* buffer, MPI_Count count, MPI_Datatype type);
  // The same if what it sends is only known later.
  void will_send(int dest, int tag) {
    outgoing_.to = dest;
    outgoing_.tag = tag;
  }
  // It only looks at it (MPI_Probe).
  void leaves_it() { takes_ = Takes::NotYet; }
  // The message that a probe found.
  void takes_message() {
    hears_ = true;
    takes_ = Takes::Already;
  }
  void within(MPI_Comm comm) { comm_ = comm; }
  // It is a collective, and brings data from these.
  void brings_from(Sources sources, int root = 0) {
    is_collective_ = true;
    sources_ = sources;
    root_ = root;
  }
  // It brings nothing but the news that the others have come.
  void is_barrier() { is_barrier_ = true; }
  // Only from those whose count is not zero.
  template <class Count>
  void brings_from(Sources sources, const Count* counts, int n) {
    is_collective_ = true;
    sources_ = Sources::Nobody;
    for (int i = 0; companions() && i < n; ++i)
      if (counts[i] > 0) some_.push_back(i);
    if (!some_.empty()) sources_ = sources;
  }
  // It concerns this file. `transfers`: its status says how much was read or written.
  void at(MPI_File file, bool transfers) {
    file_ = file;
    hears_ = transfers;
  }
  // The same for a window.
  void at(MPI_Win window) { window_ = window; }
  // So many elements leave this rank, by themselves (MPI_Put).
  void gives(const void* buffer, MPI_Count count, MPI_Datatype type);
  // Where to; logged with what it gives.
  using Place = std::array<std::int64_t, 5>;  // call, number of the access; the target: rank, window, byte
  void goes_to(const Place& place) { outgoing_.place = place; }
  // What it writes is there only later: that, as an operation of its own.
  Operation without_results();
  // It completes that one.
  void completes(const Operation& other) { regions_.insert(regions_.end(), other.regions_.begin(), other.regions_.end()); }
  // It writes so many elements to a buffer.
  void fills(void* buffer, MPI_Count count, MPI_Datatype type);
  // It writes one block for each of `n` ranks, wherever the displacements say (in elements, or bytes if types differ).
  template <class Count, class Place>
  void fills_each(void* buffer, const Count* counts, const Place* places, MPI_Datatype type, int n) {
    if (n <= 0) return;
    const auto extent = layout_of(type)->extent;
    for (int i = 0; i < n; ++i)
      if (counts[i] > 0)
        fills(static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(places[i]) * extent, counts[i], type);
  }
  template <class Count, class Place>
  void fills_each(void* buffer, const Count* counts, const Place* places, const MPI_Datatype* types, int n) {
    for (int i = 0; i < n; ++i)
      if (counts[i] > 0)
        fills(static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(places[i]), counts[i], types[i]);
  }

  // -- recording: the library has returned rc --

  // The call itself: `call` gets the status that the program wants to see, or ours if it ignores it. If an error
  // handler of the program is called and never returns, what is known by then is logged.
  int logged(MPI_Status* programs, FunctionRef<int(MPI_Status*)> call);
  int log(int rc, const MPI_Status* status);
  // The program's status, or our own if it ignores it.
  MPI_Status* observed(MPI_Status* programs) { return programs == MPI_STATUS_IGNORE ? &own_status_ : programs; }
  // The same for a call that makes a request.
  int logged_later(const MPI_Request* request, bool persistent, FunctionRef<int()> call);

  // -- solo replay --

  int answer(MPI_Status* status);
  // Of a call that brings nothing: the error, if it failed then. The error handler is not called.
  std::optional<int> failed();
  // Calls the error handler that was called then, if one was; otherwise the communicator's or the file's, if there was
  // an error.
  int raise(const virtual_world::Outcome& outcome) const;
  int answer_later(MPI_Request* request, bool persistent);

  // -- what the request table needs --

  // It begins: what it sends is logged. A persistent one does so whenever it is started.
  void log_sent() const;
  // The same in a solo replay: what it sends is compared, and those that wait for it may go on.
  // `ticket`: of an operation with a request.
  void begins(std::optional<virtual_world::Ticket> ticket = {});
  // In a solo replay, before what it brought is shown: waits until those that are replayed, too, have sent it.
  void await_senders(const virtual_world::Outcome& outcome);
  // Does anything come with it that must be logged?
  bool brings() const { return (hears_ && !from_nobody()) || !regions_.empty(); }
  void log_completion(std::uint64_t post, int error, const MPI_Status& status);
  void log_partition(std::uint64_t post, int partition);
  void write(const virtual_world::Outcome& outcome) const;
  bool from_nobody() const { return source_ == MPI_PROC_NULL; }
  // MPI_Isendrecv: the library may not tell how much came, and to whom it listened.
  void is_combined();
  void partitions(int count) { partitions_ = count; }
  void write_partition(const virtual_world::Outcome& outcome, int partition) const;

 private:
  struct Region {
    void* buffer = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<const Layout> layout;
  };
  struct Outgoing {
    int to = MPI_PROC_NULL;
    int tag = 0;
    bool compared = false;
    Region content;  // without a layout: nothing
    std::optional<Place> place;
  };

  static std::optional<Region> region(void* buffer, MPI_Count count, MPI_Datatype type);
  std::vector<engine::DataRun> outgoing_runs() const;
  virtual_world::Message message() const;
  std::optional<virtual_world::Channel> channel_of(std::optional<int> tag) const;
  int log_later(int rc, const MPI_Request* request, bool persistent);
  static void log_failed_post(int rc);
  void add_entry(engine::DataKind kind, const std::int64_t* first, std::size_t count, int error,
                 const MPI_Status* status);

  MPI_Comm comm_{};
  std::optional<MPI_File> file_;
  std::optional<MPI_Win> window_;
  bool hears_ = false;
  int source_ = MPI_ANY_SOURCE;
  int tag_ = MPI_ANY_TAG;
  std::uint32_t number_ = 0;  // solo: of the message on its channel, or of the collective; 0: not known
  bool is_collective_ = false;
  bool is_barrier_ = false;
  Sources sources_ = Sources::Nobody;
  int root_ = 0;
  std::vector<int> some_;
  enum class Takes { Now, NotYet, Already } takes_ = Takes::Now;  // the message out of its channel
  bool size_unknown_ = false;
  int partitions_ = 0;
  std::vector<Region> regions_;
  Outgoing outgoing_;
  MPI_Status own_status_{};
};

// Who answers for the other ranks; and the trace, which does so in a solo replay.
virtual_world::Provider& provider();
void set_provider(virtual_world::Provider* provider);
virtual_world::TraceProvider& trace_provider();
// What the program sees of an outcome's status. `status` may be MPI_STATUS_IGNORE.
void show_status(const virtual_world::Status& status, MPI_Status* out);
void show_empty_status(MPI_Status* out, int source = MPI_ANY_SOURCE);
int raise_again(MPI_Comm comm, int error);

// Solo: the call that is being made sends something else than in the recorded run.
void sends_other_bytes(std::uint64_t bytes, const std::vector<engine::DataRun>& runs, const virtual_world::Message& recorded);

// A question whose answer is one number. Recording: `call` asks the library.
int log_number(int rc, std::int64_t answer);
int answer_number(std::int64_t& answer);

}  // namespace reprise::mpi
