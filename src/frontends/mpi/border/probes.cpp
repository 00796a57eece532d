// Probes at the border, the messages that they find, and questions whose answers another run would not give again.
#include <cstring>

#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/idle_request.hpp"

namespace reprise::mpi {
namespace {

using ProbeFunction = int (*)(int, int, MPI_Comm, MPI_Status*);
using MprobeFunction = int (*)(int, int, MPI_Comm, MPI_Message*, MPI_Status*);

Operation message_from(MPI_Comm comm, int source, int tag) {
  Operation op;
  op.hears(comm, source, tag);
  return op;
}

template <Flavor kFlavor>
struct Recording {
  static int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    return message_from(comm, source, tag).logged(status, [&](MPI_Status* into) {
      return library_function<ProbeFunction>(Function::Probe, kFlavor)(source, tag, comm, into);
    });
  }
  static int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    Operation op = message_from(comm, source, tag);
    MPI_Status* const observed = op.observed(status);
    using Real = int (*)(int, int, MPI_Comm, int*, MPI_Status*);
    const int rc = library_function<Real>(Function::Iprobe, kFlavor)(source, tag, comm, flag, observed);
    return rc != MPI_SUCCESS || *flag ? op.log(rc, observed) : rc;
  }
  static int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    return message_from(comm, source, tag).logged(status, [&](MPI_Status* into) {
      return library_function<MprobeFunction>(Function::Mprobe, kFlavor)(source, tag, comm, message, into);
    });
  }
  static int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
    Operation op = message_from(comm, source, tag);
    MPI_Status* const observed = op.observed(status);
    using Real = int (*)(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
    const int rc = library_function<Real>(Function::Improbe, kFlavor)(source, tag, comm, flag, message, observed);
    return rc != MPI_SUCCESS || *flag ? op.log(rc, observed) : rc;
  }
  template <class Count, Function kFunction>
  static int Mrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    using Real = int (*)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Status*);
    const auto real = library_function<Real>(kFunction, kFlavor);
    if (!is_message(*message)) return real(buffer, count, type, message, status);
    Operation op;
    op.takes_message();
    op.fills(buffer, count, type);
    return op.logged(status, [&](MPI_Status* into) { return real(buffer, count, type, message, into); });
  }
  template <class Count, Function kFunction>
  static int Imrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    using Real = int (*)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Request*);
    const auto real = library_function<Real>(kFunction, kFlavor);
    if (!is_message(*message)) return real(buffer, count, type, message, request);
    Operation op;
    op.takes_message();
    op.fills(buffer, count, type);
    return op.logged_later(request, false, [&] { return real(buffer, count, type, message, request); });
  }
  static int Get_processor_name(char* name, int* length) {
    const int rc = library_function<int (*)(char*, int*)>(Function::Get_processor_name, kFlavor)(name, length);
    const std::int64_t fields[] = {rc, 0};
    const auto size = static_cast<std::uint64_t>(rc == MPI_SUCCESS ? *length : 0);
    const engine::DataRun run{name, static_cast<std::size_t>(size)};
    engine::Session::get().data().add(engine::DataKind::Call, fields, {&size, 1}, {&run, size > 0 ? 1u : 0u});
    return rc;
  }

  static bool is_message(MPI_Message message) { return message != handles().message_no_proc; }
};

}  // namespace

// A message of our own to ourselves carries the one that is not there.
int make_message(MPI_Message* message) {
  using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  MPI_Request request = handles().request_null;
  int rc = singleton_function<Isend>(Function::Isend)(nullptr, 0, handles().byte, 0, 1, own_communicator(), &request);
  // MPICH makes no progress while it probes a communicator of one process.
  using Improbe = int (*)(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
  for (int flag = 0; rc == MPI_SUCCESS && !flag; make_progress())
    rc = singleton_function<Improbe>(Function::Improbe)(0, 1, own_communicator(), &flag, message, MPI_STATUS_IGNORE);
  // It may not be complete before the message is received.
  if (rc == MPI_SUCCESS) singleton_function<int (*)(MPI_Request*)>(Function::Request_free)(&request);
  return rc;
}

void take_message(MPI_Message* message) {
  using Mrecv = int (*)(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*);
  singleton_function<Mrecv>(Function::Mrecv)(nullptr, 0, handles().byte, message, MPI_STATUS_IGNORE);
}

namespace {

struct Solo {
  static int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    Operation op = message_from(comm, source, tag);
    op.leaves_it();
    return op.answer(status);
  }
  static int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    *flag = 1;
    return Probe(source, tag, comm, status);
  }
  static int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    if (source == MPI_PROC_NULL)
      return library_function<MprobeFunction>(Function::Mprobe)(source, tag, own_communicator(), message, status);
    const int rc = message_from(comm, source, tag).answer(status);
    return rc == MPI_SUCCESS ? make_message(message) : rc;
  }
  static int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
    *flag = 1;
    return Mprobe(source, tag, comm, message, status);
  }
  template <class Count>
  static int Mrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    if (*message == handles().message_no_proc) {
      using Real = int (*)(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*);
      return library_function<Real>(Function::Mrecv)(nullptr, 0, handles().byte, message, status);
    }
    Operation op;
    op.within(handles().comm_self);
    op.takes_message();
    op.fills(buffer, count, type);
    take_message(message);
    return op.answer(status);
  }
  template <class Count>
  static int Imrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    if (*message == handles().message_no_proc) {
      using Real = int (*)(void*, int, MPI_Datatype, MPI_Message*, MPI_Request*);
      return library_function<Real>(Function::Imrecv)(nullptr, 0, handles().byte, message, request);
    }
    Operation op;
    op.within(handles().comm_self);
    op.takes_message();
    op.fills(buffer, count, type);
    take_message(message);
    return op.answer_later(request, false);
  }
  static int Get_processor_name(char* name, int* length) {
    const virtual_world::Outcome outcome = trace_provider().call();
    *length = 0;
    if (!outcome.parts.empty() && outcome.parts[0]->size() < MPI_MAX_PROCESSOR_NAME) {
      *length = static_cast<int>(outcome.parts[0]->size());
      std::memcpy(name, outcome.parts[0]->data(), outcome.parts[0]->size());
    }
    name[*length] = '\0';
    return outcome.error;
  }
};

template <class Side>
void put_common(Flavor flavor) {
  put_at_border(Function::Probe, flavor, &Side::Probe);
  put_at_border(Function::Iprobe, flavor, &Side::Iprobe);
  put_at_border(Function::Mprobe, flavor, &Side::Mprobe);
  put_at_border(Function::Improbe, flavor, &Side::Improbe);
  put_at_border(Function::Get_processor_name, flavor, &Side::Get_processor_name);
}

template <Flavor kFlavor>
void put_recording() {
  put_common<Recording<kFlavor>>(kFlavor);
  put_at_border(Function::Mrecv, kFlavor, &Recording<kFlavor>::template Mrecv<int, Function::Mrecv>);
  put_at_border(Function::Mrecv_c, kFlavor, &Recording<kFlavor>::template Mrecv<MPI_Count, Function::Mrecv_c>);
  put_at_border(Function::Imrecv, kFlavor, &Recording<kFlavor>::template Imrecv<int, Function::Imrecv>);
  put_at_border(Function::Imrecv_c, kFlavor, &Recording<kFlavor>::template Imrecv<MPI_Count, Function::Imrecv_c>);
}

}  // namespace

void put_probes_at_border(bool solo) {
  if (!solo) {
    put_recording<Flavor::Mpi>();
    put_recording<Flavor::Pmpi>();
    return;
  }
  for (const Flavor flavor : {Flavor::Mpi, Flavor::Pmpi}) {
    put_common<Solo>(flavor);
    put_at_border(Function::Mrecv, flavor, &Solo::Mrecv<int>);
    put_at_border(Function::Mrecv_c, flavor, &Solo::Mrecv<MPI_Count>);
    put_at_border(Function::Imrecv, flavor, &Solo::Imrecv<int>);
    put_at_border(Function::Imrecv_c, flavor, &Solo::Imrecv<MPI_Count>);
  }
}

}  // namespace reprise::mpi
