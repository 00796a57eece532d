#include "frontends/mpi/idle_request.hpp"

#include "frontends/mpi/entry.hpp"

// All of it is the library's own, also in a solo replay.
namespace reprise::mpi {
namespace {

MPI_Comm g_idle_comm;
bool g_have_idle_comm = false;
MPI_Request g_progress_request;
bool g_have_progress_request = false;

// Not by MPI_Comm_dup: that would call the program's attribute functions.
bool make_idle_comm() {
  if (g_have_idle_comm) return true;
  MPI_Group group = handles().group_null;
  if (singleton_function<int (*)(MPI_Comm, MPI_Group*)>(Function::Comm_group)(handles().comm_self, &group) != MPI_SUCCESS)
    return false;
  g_have_idle_comm = singleton_function<int (*)(MPI_Comm, MPI_Group, MPI_Comm*)>(Function::Comm_create)(
                         handles().comm_self, group, &g_idle_comm) == MPI_SUCCESS;
  singleton_function<int (*)(MPI_Group*)>(Function::Group_free)(&group);
  return g_have_idle_comm;
}

}  // namespace

MPI_Comm own_communicator() { return make_idle_comm() ? g_idle_comm : handles().comm_self; }

int idle_request(MPI_Request* request) {
  if (!make_idle_comm()) return MPI_ERR_INTERN;
  using Irecv = int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  return singleton_function<Irecv>(Function::Irecv)(nullptr, 0, handles().byte, 0, 0, g_idle_comm, request);
}

namespace {

bool combined_receive_tells(int tag) {
  using Isendrecv =
      int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  MPI_Request request;
  MPI_Status status{};
  char sent = 0;
  char received = 0;
  return make_idle_comm() &&
         singleton_function<Isendrecv>(Function::Isendrecv)(&sent, 1, handles().byte, 0, tag, &received, 1,
                                                          handles().byte, MPI_ANY_SOURCE, tag, g_idle_comm,
                                                          &request) == MPI_SUCCESS &&
         singleton_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&request, &status) == MPI_SUCCESS &&
         status.MPI_TAG == tag;
}

}  // namespace

// A library that does not tell shows what it has in its memory, which may be the tag of any earlier message of the
// program: so it is asked twice, about different ones.
bool combined_receive_tells_sender() {
  static const bool tells = combined_receive_tells(27182) && combined_receive_tells(31415);
  return tells;
}

void prepare_idle_requests() { g_have_progress_request = idle_request(&g_progress_request) == MPI_SUCCESS; }

// A test, since that is what all MPIs make progress in; MPICH does not when it probes a communicator of one process.
void make_progress() {
  if (!g_mpi_is_up || !g_have_progress_request) return;
  constexpr int kPokes = 64;  // peers may have many messages to get rid of
  const bool inside = t_inside;
  t_inside = true;  // what the library calls for this is not the program's
  using Test = int (*)(MPI_Request*, int*, MPI_Status*);
  int flag = 0;
  for (int i = 0; i < kPokes; ++i)
    singleton_function<Test>(Function::Test)(&g_progress_request, &flag, MPI_STATUS_IGNORE);
  t_inside = inside;
}

void end_idle_requests() {
  if (g_have_progress_request) {
    singleton_function<int (*)(MPI_Request*)>(Function::Cancel)(&g_progress_request);
    singleton_function<int (*)(MPI_Request*)>(Function::Request_free)(&g_progress_request);
  }
  g_have_progress_request = false;
  if (g_have_idle_comm) singleton_function<int (*)(MPI_Comm*)>(Function::Comm_free)(&g_idle_comm);
  g_have_idle_comm = false;
}

}  // namespace reprise::mpi
