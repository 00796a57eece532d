#include "frontends/mpi/check/fatal_errors.hpp"

namespace reprise::mpi::check {
namespace {

using Get = int (*)(MPI_Comm, MPI_Errhandler*);
using Set = int (*)(MPI_Comm, MPI_Errhandler);

MPI_Errhandler g_ours{};
void (*g_failed)(MPI_Comm, int) = nullptr;

void failed(MPI_Comm* comm, int* error, ...) { g_failed(*comm, *error); }

bool is_ours_or_fatal(MPI_Errhandler handler) {
  const auto key = handle_key(handler);
  return (g_failed && key == handle_key(g_ours)) || key == handle_key(handles().errors_are_fatal);
}

}  // namespace

void watch_fatal_errors(void (*failed_function)(MPI_Comm, int)) {
  using Create = int (*)(MPI_Comm_errhandler_function*, MPI_Errhandler*);
  if (singleton_function<Create>(Function::Comm_create_errhandler)(&failed, &g_ours) != MPI_SUCCESS) return;
  g_failed = failed_function;
  for (const MPI_Comm comm : {handles().comm_world, handles().comm_self})
    if (is_fatal(comm)) set_errhandler(comm, handles().errors_are_fatal);
}

bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler{};
  if (singleton_function<Get>(Function::Comm_get_errhandler)(comm, &handler) != MPI_SUCCESS) return false;
  const bool fatal = is_ours_or_fatal(handler);
  singleton_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(&handler);
  return fatal;
}

int get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  const int rc = singleton_function<Get>(Function::Comm_get_errhandler)(comm, handler);
  if (rc != MPI_SUCCESS || !g_failed || handle_key(*handler) != handle_key(g_ours)) return rc;
  singleton_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(handler);
  *handler = handles().errors_are_fatal;
  return MPI_SUCCESS;
}

int set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return singleton_function<Set>(Function::Comm_set_errhandler)(comm, g_failed && is_ours_or_fatal(handler) ? g_ours : handler);
}

void let_be_fatal(MPI_Comm comm) {
  singleton_function<Set>(Function::Comm_set_errhandler)(comm, handles().errors_are_fatal);
}

}  // namespace reprise::mpi::check
