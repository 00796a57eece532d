#include "frontends/mpi/library.hpp"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace reprise::mpi {

std::atomic<void*> g_functions[2][static_cast<std::size_t>(Function::kCount)];
std::atomic<void*> g_library[2][static_cast<std::size_t>(Function::kCount)];

namespace {

#ifdef OPEN_MPI
constexpr const char* kLibraries[] = {"libmpi.so.40", "libmpi.so", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40"};
#else
constexpr const char* kLibraries[] = {"libmpich.so.12", "libmpi.so.12",       "libmpich.so",
                                      "libmpi.so",      "libmpichfort.so.12", "libmpifort.so.12"};
#endif

// RTLD_NEXT finds nothing when the library came by dlopen(RTLD_LOCAL), as Python's modules do: ask the library itself.
void* symbol(const char* name, void* scope = RTLD_NEXT) {
  if (void* found = dlsym(scope, name)) return found;
  for (const char* library : kLibraries) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    if (void* found = dlsym(handle, name)) return found;
  }
  return nullptr;
}

// Where a variable of the library lives is decided by the first module that defines it: an executable may hold a copy
// of it (a copy relocation, the rule on x86_64), and then the library itself uses that copy.
void* variable(const char* name) { return symbol(name, RTLD_DEFAULT); }

}  // namespace

void* find_symbol(const char* name) { return symbol(name); }
void* find_variable(const char* name) { return variable(name); }

void* look_up(const char* name) {
  if (void* found = symbol(name)) return found;
  char text[256];
  const int size =
      std::snprintf(text, sizeof text, "reprise: the program calls %s, but no loaded MPI library has it\n", name);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(size)) >= 0) _exit(125);
  _exit(125);
}

void* look_up(Function function, Flavor flavor) {
  void* const found = look_up_in_library(function, flavor);
  g_functions[static_cast<std::size_t>(flavor)][static_cast<std::size_t>(function)].store(found,
                                                                                          std::memory_order_relaxed);
  return found;
}

void put_at_border(Function function, Flavor flavor, void* ours) {
  g_functions[static_cast<std::size_t>(flavor)][static_cast<std::size_t>(function)].store(ours,
                                                                                          std::memory_order_relaxed);
}

void* look_up_in_library(Function function, Flavor flavor) {
  char name[128];
  std::snprintf(name, sizeof name, "%s%s", flavor == Flavor::Pmpi ? "P" : "",
                kFunctionNames[static_cast<std::size_t>(function)]);
  void* found = look_up(name);
  g_library[static_cast<std::size_t>(flavor)][static_cast<std::size_t>(function)].store(found,
                                                                                          std::memory_order_relaxed);
  return found;
}

namespace {

void* g_singleton[static_cast<std::size_t>(Function::kCount)];  // what was put out of its place

}  // namespace

void* look_up_in_singleton(Function function) {
  if (void* const displaced = g_singleton[static_cast<std::size_t>(function)]) return displaced;
  return reinterpret_cast<void*>(library_function<void (*)()>(function));
}

void put_in_place_of_library(Function function, void* ours) {
  const auto number = static_cast<std::size_t>(function);
  char name[128];
  std::snprintf(name, sizeof name, "P%s", kFunctionNames[number]);
  if (!g_singleton[number]) g_singleton[number] = symbol(name);
  for (auto* table : {&g_library, &g_functions})
    for (std::atomic<void*>* const flavour : {(*table)[0], (*table)[1]})
      flavour[number].store(ours, std::memory_order_relaxed);
}

int* unweighted() {
#ifdef OPEN_MPI
  return MPI_UNWEIGHTED;
#else
  static int* const* const address = static_cast<int* const*>(variable("MPI_UNWEIGHTED"));
  return address ? *address : nullptr;
#endif
}

const char* library_name() {
#ifdef OPEN_MPI
  return "openmpi";
#else
  return "mpich";
#endif
}

bool library_is_ours() {
#ifdef OPEN_MPI
  return variable("ompi_mpi_comm_world") != nullptr;
#else
  return variable("ompi_mpi_comm_world") == nullptr;
#endif
}

bool is_predefined(MPI_Op op) {
#ifdef OPEN_MPI
  return library_function<MPI_Fint (*)(MPI_Op)>(Function::Op_c2f)(op) <= 14;
#else
  return (static_cast<unsigned>(op) & 0xff000000u) == 0x58000000u;
#endif
}

const Handles& handles() {
#ifdef OPEN_MPI
  static const Handles known = {
      static_cast<MPI_Comm>(variable("ompi_mpi_comm_world")),
      static_cast<MPI_Comm>(variable("ompi_mpi_comm_self")),
      static_cast<MPI_Comm>(variable("ompi_mpi_comm_null")),
      static_cast<MPI_Request>(variable("ompi_request_null")),
      static_cast<MPI_Datatype>(variable("ompi_mpi_datatype_null")),
      static_cast<MPI_Datatype>(variable("ompi_mpi_byte")),
      static_cast<MPI_Datatype>(variable("ompi_mpi_int")),
      static_cast<MPI_Datatype>(variable("ompi_mpi_packed")),
      static_cast<MPI_Group>(variable("ompi_mpi_group_null")),
      static_cast<MPI_Group>(variable("ompi_mpi_group_empty")),
      static_cast<MPI_Message>(variable("ompi_message_no_proc")),
      static_cast<MPI_Message>(variable("ompi_message_null")),
      static_cast<MPI_Errhandler>(variable("ompi_mpi_errors_are_fatal")),
      static_cast<MPI_Info>(variable("ompi_mpi_info_null")),
      static_cast<MPI_Op>(variable("ompi_mpi_op_null")),
      static_cast<MPI_Op>(variable("ompi_mpi_op_replace")),
      static_cast<MPI_Op>(variable("ompi_mpi_op_no_op")),
      static_cast<MPI_Win>(variable("ompi_mpi_win_null")),
  };
#else
  static const Handles known = {MPI_COMM_WORLD,    MPI_COMM_SELF, MPI_COMM_NULL, MPI_REQUEST_NULL,
                                MPI_DATATYPE_NULL, MPI_BYTE,      MPI_INT, MPI_PACKED,    MPI_GROUP_NULL,
                                MPI_GROUP_EMPTY,   MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL, MPI_ERRORS_ARE_FATAL, MPI_INFO_NULL, MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP, MPI_WIN_NULL};
#endif
  return known;
}

}  // namespace reprise::mpi
