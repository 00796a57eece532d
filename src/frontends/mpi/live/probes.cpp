// Probes of an explored rank, and the messages that they find.
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {

namespace {

// A message that a probe has taken out of its channel is an operation that is complete.
struct Found {
  OperationId operation = 0;
  MPI_Comm comm{};
};
std::unordered_map<std::uint64_t, Found>& found_messages() {
  static auto* const all = new std::unordered_map<std::uint64_t, Found>();
  return *all;
}

void show(const Report& report, MPI_Comm comm, MPI_Status* status) {
  const Communicator* const members = known(comm);
  const int source = members ? members->peers().rank_of(report.source).value_or(0) : 0;
  show_status({source, report.tag, static_cast<std::int64_t>(report.bytes), false, MPI_SUCCESS}, status);
}

int look(std::uint64_t flags, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    show_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  const Reply reply = ask_for_message(Kind::Probe, flags, comm, source, tag);
  *flag = reply.yes ? 1 : 0;
  if (reply.yes) show(reply.reports[0], comm, status);
  return MPI_SUCCESS;
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  int flag = 0;
  return look(0, source, tag, comm, &flag, status);
}
int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return look(virtual_world::kMaySayNo, source, tag, comm, flag, status);
}

int take(std::uint64_t flags, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    *message = handles().message_no_proc;
    show_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  const Reply reply = ask_for_message(Kind::Take, flags, comm, source, tag);
  *flag = reply.yes ? 1 : 0;
  if (!reply.yes) return MPI_SUCCESS;
  show(reply.reports[0], comm, status);
  const int rc = make_message(message);
  if (rc == MPI_SUCCESS) found_messages()[handle_key(*message)] = {reply.taken, comm};
  return rc;
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  int flag = 0;
  return take(0, source, tag, comm, &flag, message, status);
}
int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  return take(virtual_world::kMaySayNo, source, tag, comm, flag, message, status);
}

template <class Count>
std::shared_ptr<Request> take_out(void* buffer, Count count, MPI_Datatype type, MPI_Message* message) {
  auto request = std::make_shared<Request>();
  request->hears = true;
  if (*message == handles().message_no_proc) {
    request->nobody = true;
    request->comm = handles().comm_self;
  } else {
    const Found found = found_messages()[handle_key(*message)];
    found_messages().erase(handle_key(*message));
    take_message(message);
    request->comm = found.comm;
    request->operation = found.operation;
  }
  request->into = region(buffer, count, type);
  *message = handles().message_null;
  return request;
}

template <class Count>
int mrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const auto request = take_out(buffer, count, type, message);
  if (request->nobody) {
    show_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  const Reply reply = ask(Kind::All, 0, {&request->operation, 1});
  return raise(request->comm, deliver(*request, reply.reports[0], status));
}

template <class Count>
int imrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* handle) {
  return carry(take_out(buffer, count, type, message), handle);
}

}  // namespace

void put_probes() {
  put_in_place_of_library(Function::Probe, &probe);
  put_in_place_of_library(Function::Iprobe, &iprobe);
  put_in_place_of_library(Function::Mprobe, &mprobe);
  put_in_place_of_library(Function::Improbe, &improbe);
  put_in_place_of_library(Function::Mrecv, &mrecv<int>);
  put_in_place_of_library(Function::Mrecv_c, &mrecv<MPI_Count>);
  put_in_place_of_library(Function::Imrecv, &imrecv<int>);
  put_in_place_of_library(Function::Imrecv_c, &imrecv<MPI_Count>);
}

}  // namespace reprise::mpi::live
