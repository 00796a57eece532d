// Probes, and the receives of what they found. A message that a matched probe has taken is as old as the probe: receives
// that are posted later do not get it (MPI 4.0, 3.8.2).
#include "frontends/mpi/flow/requests.hpp"

namespace reprise::mpi::flow {
namespace {

void look(int source, int tag, MPI_Comm comm, MPI_Message message) {
  if (message == handles().message_no_proc || !is_logging()) return;
  Description description(comm);
  if (!description.follows()) return;
  description.probes(source, tag);
  found_message(message, log_begin(description.number(), nullptr, nullptr, {}, {}));
}

template <Flavor kFlavor>
struct Followed {
  static int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    using Real = int (*)(int, int, MPI_Comm, MPI_Message*, MPI_Status*);
    const int rc = library_function<Real>(Function::Mprobe, kFlavor)(source, tag, comm, message, status);
    if (rc == MPI_SUCCESS) look(source, tag, comm, *message);
    return rc;
  }
  static int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
    using Real = int (*)(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
    const int rc = library_function<Real>(Function::Improbe, kFlavor)(source, tag, comm, flag, message, status);
    if (rc == MPI_SUCCESS && *flag) look(source, tag, comm, *message);
    return rc;
  }
  template <class Count, Function kFunction>
  static int Mrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    using Real = int (*)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Status*);
    const auto real = library_function<Real>(kFunction, kFlavor);
    const auto post = take_message(*message);
    if (!post) return real(buffer, count, type, message, status);
    MPI_Status own;
    MPI_Status* const observed = status == MPI_STATUS_IGNORE ? &own : status;
    Description description(handles().comm_world);  // which one it was, the probe has said
    description.receives(MPI_ANY_SOURCE, MPI_ANY_TAG, buffer, count, type);
    begins_to_move(*post, {}, description.taken());
    const int rc = real(buffer, count, type, message, observed);
    is_moved(*post);
    Told said;
    said.error = rc;
    Digests taken;
    if (rc == MPI_SUCCESS) {
      said = told(*observed, rc, false);
      description.look_at_taken(taken, said);
    }
    log_end(*post, description.number(), said, {taken.data(), taken.size()}, {}, {}, buffer);
    return rc;
  }
  template <class Count, Function kFunction>
  static int Imrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    using Real = int (*)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Request*);
    const auto post = take_message(*message);
    Description description(handles().comm_world);
    description.receives(MPI_ANY_SOURCE, MPI_ANY_TAG, buffer, count, type);
    if (post) begins_to_move(*post, {}, description.taken());
    const int rc = library_function<Real>(kFunction, kFlavor)(buffer, count, type, message, request);
    if (rc != MPI_SUCCESS || !post) return rc;
    post_matched(std::move(description), *post, *request);
    return rc;
  }

  static void put() {
    put_at_border(Function::Mprobe, kFlavor, &Mprobe);
    put_at_border(Function::Improbe, kFlavor, &Improbe);
    put_at_border(Function::Mrecv, kFlavor, &Mrecv<int, Function::Mrecv>);
    put_at_border(Function::Imrecv, kFlavor, &Imrecv<int, Function::Imrecv>);
    put_at_border(Function::Mrecv_c, kFlavor, &Mrecv<MPI_Count, Function::Mrecv_c>);
    put_at_border(Function::Imrecv_c, kFlavor, &Imrecv<MPI_Count, Function::Imrecv_c>);
  }
};

}  // namespace

void put_probes() {
  Followed<Flavor::Mpi>::put();
  Followed<Flavor::Pmpi>::put();
}

void follow_everything() {
  open_log();
  follow_movements();
  put_completion();
  put_probes();
  put_communication();
  put_synchronisation();
  if (uses_messages()) open_letterbox();
}

}  // namespace reprise::mpi::flow
