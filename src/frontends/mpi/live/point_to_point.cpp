// Sends and receives of an explored rank (MPI 4.0, chapter 3).
#include <cstring>

#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;
namespace {

enum class Mode : std::uint64_t { Standard, Synchronous, Buffered, Ready };  // explore::SendMode

int world_rank(MPI_Comm comm, int rank) { return known(comm)->peers().members()[static_cast<std::size_t>(rank)]; }

// An address that an MPI_Datatype may be absolute from (MPI_BOTTOM) is right as it is.
OperationId post_send(Mode mode, const Region& from, int dest, int tag, MPI_Comm comm) {
  if (dest == MPI_PROC_NULL) return 0;
  const OperationId operation = actor().new_operation();
  std::uint64_t data = 0;
  if (from.bytes > 0) {
    const std::vector<std::uint64_t> label = label_of(from);
    data = actor().allot(8 * label.size() + from.bytes, 1);
    std::memcpy(actor().bytes(data), label.data(), 8 * label.size());
    pack(from, actor().bytes(data) + 8 * label.size());
  }
  actor().act(Act::Send, {operation, communicators().uid(comm), as_word(world_rank(comm, dest)), as_word(tag),
                          static_cast<std::uint64_t>(mode), from.bytes, data, this_site(), this_function_word()});
  return operation;
}

OperationId post_receive(int source, int tag, MPI_Comm comm) {
  if (source == MPI_PROC_NULL) return 0;
  const OperationId operation = actor().new_operation();
  const int world = source == MPI_ANY_SOURCE ? -1 : world_rank(comm, source);
  actor().act(Act::Receive, {operation, communicators().uid(comm), as_word(world),
                             as_word(tag == MPI_ANY_TAG ? -1 : tag), this_site(), this_function_word()});
  return operation;
}

template <Mode kMode, class Count>
int send(const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const Region from = region(buffer, count, type);
  const check::Lent lent({sent(from)}, false);
  await(post_send(kMode, from, dest, tag, comm));
  return MPI_SUCCESS;
}

template <Mode kMode, class Count>
int isend(const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* handle) {
  auto request = std::make_shared<Request>();
  request->comm = comm;
  const Region from = region(buffer, count, type);
  request->nobody = dest == MPI_PROC_NULL;
  if (!request->nobody) request->lent = std::make_unique<check::Lent>(std::vector{sent(from)});
  request->operation = post_send(kMode, from, dest, tag, comm);
  return carry(std::move(request), handle);
}

template <Mode kMode, class Count>
int send_init(const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* handle) {
  auto request = std::make_shared<Request>();
  request->comm = comm;
  request->persistent = true;
  request->active = false;
  request->start = [=](Request& started) {
    const Region from = region(buffer, count, type);
    if (dest != MPI_PROC_NULL) started.lent = std::make_unique<check::Lent>(std::vector{sent(from)});
    started.operation = post_send(kMode, from, dest, tag, comm);
  };
  return carry(std::move(request), handle);
}

void show_nobody(MPI_Status* status) { show_empty_status(status, MPI_PROC_NULL); }

template <class Count>
int recv(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    show_nobody(status);
    return MPI_SUCCESS;
  }
  Request request;
  request.comm = comm;
  request.hears = true;
  request.into = region(buffer, count, type);
  Reply reply;
  {
    const check::Lent lent({received(request.into)}, false);  // not when an error handler jumps out of here
    const OperationId operation = post_receive(source, tag, comm);
    reply = ask(Kind::All, 0, {&operation, 1});
  }
  return raise(comm, deliver(request, reply.reports[0], status));
}

template <class Count>
std::shared_ptr<Request> receive_request(void* buffer, Count count, MPI_Datatype type, int source, MPI_Comm comm) {
  auto request = std::make_shared<Request>();
  request->comm = comm;
  request->hears = true;
  request->into = region(buffer, count, type);
  request->posted = check::here();
  request->nobody = source == MPI_PROC_NULL;
  return request;
}

template <class Count>
int irecv(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* handle) {
  auto request = receive_request(buffer, count, type, source, comm);
  if (!request->nobody) request->lent = std::make_unique<check::Lent>(std::vector{received(request->into)});
  request->operation = post_receive(source, tag, comm);
  return carry(std::move(request), handle);
}

template <class Count>
int recv_init(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* handle) {
  auto request = receive_request(buffer, count, type, source, comm);
  request->persistent = true;
  request->active = false;
  request->start = [=](Request& started) {
    started.posted = check::here();
    if (!started.nobody) started.lent = std::make_unique<check::Lent>(std::vector{received(started.into)});
    started.operation = post_receive(source, tag, comm);
  };
  return carry(std::move(request), handle);
}

int start(MPI_Request* handle) {
  const auto request = find_request(*handle);
  if (!request || !request->persistent)
    return raise(handles().comm_world, MPI_ERR_REQUEST, "the request is not persistent");
  if (request->active) end_run(check::Category::RequestMisuse, MPI_ERR_REQUEST, "started while it is active");
  request->active = true;
  request->was_started = true;
  request->start(*request);
  return MPI_SUCCESS;
}

int startall(int count, MPI_Request* all) {
  for (int i = 0; i < count; ++i)
    if (const int rc = start(&all[i])) return rc;
  return MPI_SUCCESS;
}

// --- both at once ----------------------------------------------------------------------------------------------------

Reply wait_for_both(OperationId sent, OperationId received) {
  OperationId both[2];
  std::size_t count = 0;
  if (received != 0) both[count++] = received;
  if (sent != 0) both[count++] = sent;
  return count > 0 ? ask(Kind::All, 0, {both, count}) : Reply();
}

template <class Count>
int sendrecv(const void* sbuf, Count scount, MPI_Datatype stype, int dest, int stag, void* rbuf, Count rcount,
             MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Status* status) {
  Request request;
  request.comm = comm;
  request.hears = true;
  request.into = region(rbuf, rcount, rtype);
  const Region from = region(sbuf, scount, stype);
  Reply reply;
  {
    const check::Lent lent({sent(from), received(request.into)}, false);
    const OperationId receive = post_receive(source, rtag, comm);
    const OperationId send = post_send(Mode::Standard, from, dest, stag, comm);
    reply = wait_for_both(send, receive);
  }
  if (source == MPI_PROC_NULL) {
    show_nobody(status);
    return MPI_SUCCESS;
  }
  return raise(comm, deliver(request, reply.reports[0], status));
}

// What is sent is copied when it is posted, so the same buffer may serve.
template <class Count>
int sendrecv_replace(void* buffer, Count count, MPI_Datatype type, int dest, int stag, int source, int rtag,
                     MPI_Comm comm, MPI_Status* status) {
  return sendrecv<Count>(buffer, count, type, dest, stag, buffer, count, type, source, rtag, comm, status);
}

template <class Count>
int isendrecv(const void* sbuf, Count scount, MPI_Datatype stype, int dest, int stag, void* rbuf, Count rcount,
              MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Request* handle) {
  auto request = receive_request(rbuf, rcount, rtype, source, comm);
  const Region from = region(sbuf, scount, stype);
  request->operation = post_receive(source, rtag, comm);
  request->second = post_send(Mode::Standard, from, dest, stag, comm);
  request->lent = std::make_unique<check::Lent>(std::vector{sent(from), received(request->into)});
  return carry(std::move(request), handle);
}

template <class Count>
int isendrecv_replace(void* buffer, Count count, MPI_Datatype type, int dest, int stag, int source, int rtag,
                      MPI_Comm comm, MPI_Request* handle) {
  return isendrecv<Count>(buffer, count, type, dest, stag, buffer, count, type, source, rtag, comm, handle);
}

// Buffered sends need no buffer here.
void* g_attached = nullptr;
MPI_Count g_attached_size = 0;
template <class Count>
int attach(void* buffer, Count size) {
  g_attached = buffer;
  g_attached_size = size;
  return MPI_SUCCESS;
}
template <class Count>
int detach(void* buffer, Count* size) {
  *static_cast<void**>(buffer) = g_attached;
  *size = static_cast<Count>(g_attached_size);
  g_attached = nullptr;
  g_attached_size = 0;
  return MPI_SUCCESS;
}

template <Mode kMode>
void put_sends(Function blocking, Function blocking_c, Function nonblocking, Function nonblocking_c,
               Function persistent, Function persistent_c) {
  put_in_place_of_library(blocking, &send<kMode, int>);
  put_in_place_of_library(blocking_c, &send<kMode, MPI_Count>);
  put_in_place_of_library(nonblocking, &isend<kMode, int>);
  put_in_place_of_library(nonblocking_c, &isend<kMode, MPI_Count>);
  put_in_place_of_library(persistent, &send_init<kMode, int>);
  put_in_place_of_library(persistent_c, &send_init<kMode, MPI_Count>);
}

}  // namespace

void put_point_to_point() {
  put_sends<Mode::Standard>(Function::Send, Function::Send_c, Function::Isend, Function::Isend_c, Function::Send_init,
                            Function::Send_init_c);
  put_sends<Mode::Synchronous>(Function::Ssend, Function::Ssend_c, Function::Issend, Function::Issend_c,
                               Function::Ssend_init, Function::Ssend_init_c);
  put_sends<Mode::Buffered>(Function::Bsend, Function::Bsend_c, Function::Ibsend, Function::Ibsend_c,
                            Function::Bsend_init, Function::Bsend_init_c);
  put_sends<Mode::Ready>(Function::Rsend, Function::Rsend_c, Function::Irsend, Function::Irsend_c, Function::Rsend_init,
                         Function::Rsend_init_c);
  put_in_place_of_library(Function::Recv, &recv<int>);
  put_in_place_of_library(Function::Recv_c, &recv<MPI_Count>);
  put_in_place_of_library(Function::Irecv, &irecv<int>);
  put_in_place_of_library(Function::Irecv_c, &irecv<MPI_Count>);
  put_in_place_of_library(Function::Recv_init, &recv_init<int>);
  put_in_place_of_library(Function::Recv_init_c, &recv_init<MPI_Count>);
  put_in_place_of_library(Function::Start, &start);
  put_in_place_of_library(Function::Startall, &startall);
  put_in_place_of_library(Function::Sendrecv, &sendrecv<int>);
  put_in_place_of_library(Function::Sendrecv_c, &sendrecv<MPI_Count>);
  put_in_place_of_library(Function::Sendrecv_replace, &sendrecv_replace<int>);
  put_in_place_of_library(Function::Sendrecv_replace_c, &sendrecv_replace<MPI_Count>);
  put_in_place_of_library(Function::Isendrecv, &isendrecv<int>);
  put_in_place_of_library(Function::Isendrecv_c, &isendrecv<MPI_Count>);
  put_in_place_of_library(Function::Isendrecv_replace, &isendrecv_replace<int>);
  put_in_place_of_library(Function::Isendrecv_replace_c, &isendrecv_replace<MPI_Count>);
  put_in_place_of_library(Function::Buffer_attach, &attach<int>);
  put_in_place_of_library(Function::Buffer_attach_c, &attach<MPI_Count>);
  put_in_place_of_library(Function::Buffer_detach, &detach<int>);
  put_in_place_of_library(Function::Buffer_detach_c, &detach<MPI_Count>);
}

}  // namespace reprise::mpi::live
