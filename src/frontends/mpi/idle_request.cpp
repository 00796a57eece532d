#include "frontends/mpi/idle_request.hpp"

#include "frontends/mpi/entry.hpp"

namespace reprise::mpi {
namespace {

MPI_Comm g_idle_comm;
bool g_have_idle_comm = false;

bool make_idle_comm() {
  if (!g_have_idle_comm)
    g_have_idle_comm = resolve_function<int (*)(MPI_Comm, MPI_Comm*)>(Function::Comm_dup)(handles().comm_self, &g_idle_comm) == MPI_SUCCESS;
  return g_have_idle_comm;
}

}  // namespace

int idle_request(MPI_Request* request) {
  if (!make_idle_comm()) return MPI_ERR_INTERN;
  using Irecv = int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  return resolve_function<Irecv>(Function::Irecv)(nullptr, 0, handles().byte, 0, 0, g_idle_comm, request);
}

void make_progress() {
  if (!g_mpi_is_up) return;
  const bool inside = t_state.inside;
  t_state.inside = true;  // what the library calls for this is not the program's
  int flag = 0;
  using Iprobe = int (*)(int, int, MPI_Comm, int*, MPI_Status*);
  if (make_idle_comm()) resolve_function<Iprobe>(Function::Iprobe)(0, 0, g_idle_comm, &flag, MPI_STATUS_IGNORE);
  t_state.inside = inside;
}

void end_idle_requests() {
  if (g_have_idle_comm) resolve_function<int (*)(MPI_Comm*)>(Function::Comm_free)(&g_idle_comm);
  g_have_idle_comm = false;
}

}  // namespace reprise::mpi
