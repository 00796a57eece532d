#include "frontends/mpi/persistent.hpp"

#include "engine/mode.hpp"

namespace reprise::mpi {
namespace {

bool replaying() { return engine::mode() == engine::Mode::Replay; }

void free_request(MPI_Request& request) { resolve_function<int (*)(MPI_Request*)>(Function::Request_free)(&request); }

// Not MPI_Type_dup: that would call the program's attribute functions.
MPI_Datatype own_copy(MPI_Datatype type) {
  MPI_Datatype copy = type;
  resolve_function<int (*)(int, MPI_Datatype, MPI_Datatype*)>(Function::Type_contiguous)(1, type, &copy);
  resolve_function<int (*)(MPI_Datatype*)>(Function::Type_commit)(&copy);
  return copy;
}

}  // namespace

PersistentReceives& persistent_receives() {
  static PersistentReceives* const all = new PersistentReceives();
  return *all;
}

void PersistentReceives::made(MPI_Request handle, const PersistentReceive& receive) {
  PersistentReceive& kept = all_[handle_key(handle)] = receive;
  if (replaying()) kept.type = own_copy(receive.type);
}

void PersistentReceives::freed(MPI_Request handle) {
  const auto found = all_.find(handle_key(handle));
  if (found == all_.end()) return;
  PersistentReceive& receive = found->second;
  if (receive.stands_in) {
    free_request(receive.stand_in);
    --g_stand_ins;
  }
  if (replaying() && receive.receive) resolve_function<int (*)(MPI_Datatype*)>(Function::Type_free)(&receive.type);
  all_.erase(found);
}

void PersistentReceives::stand_in(MPI_Request handle, MPI_Request request) {
  PersistentReceive& receive = all_[handle_key(handle)];
  receive.stand_in = request;
  receive.stands_in = true;
  ++g_stand_ins;
}

void Substituted::substitute(std::size_t count) {
  PersistentReceives& all = persistent_receives();
  copies_.assign(requests_, requests_ + count);
  for (MPI_Request& request : copies_)
    if (const PersistentReceive* receive = all.find(request); receive && receive->stands_in)
      request = receive->stand_in;
}

void Substituted::restore() {
  PersistentReceives& all = persistent_receives();
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    PersistentReceive* receive = all.find(requests_[i]);
    if (!receive || !receive->stands_in) requests_[i] = copies_[i];
    else if (copies_[i] == handles().request_null) all.stand_in_completed(*receive);
  }
  copies_.clear();
}

}  // namespace reprise::mpi
