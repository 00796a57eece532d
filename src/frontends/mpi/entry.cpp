#include "frontends/mpi/entry.hpp"

#include <string>

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi {

using engine::Session;

namespace {

const engine::FunctionTable kFunctions{kFunctionNames, kFunctionFlags, static_cast<std::uint16_t>(Function::kCount)};
static_assert(kBlockingReceive == engine::kBlocking);

}  // namespace

std::int64_t ask_communicator_number(MPI_Comm comm) { return communicators().number(comm); }

void Entry::new_communicator(MPI_Comm comm, MPI_Comm parent) { communicators().made(comm, parent, name(), false); }

void Entry::new_communicator_later(const MPI_Comm* comm, MPI_Comm parent) {
  communicators().made(*comm, parent, name(), true);
}

void Entry::wake() {
  if (library_is_ours()) Session::get().wake(kFunctions);
  else
    Session::get().decline(std::string("the program uses another MPI than ") + library_name() + "; choose with --mpi");
}

void Entry::unsupported(const char* reason) {
  static bool noted[static_cast<std::size_t>(Function::kCount)];
  if (!recording() || noted[static_cast<std::size_t>(function_)]) return;
  noted[static_cast<std::size_t>(function_)] = true;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.note("unsupported", std::string(name()) + ": " + reason);
}

// Programs alternate between a few types, and asking the library takes longer than everything else we do for a call.
std::int64_t ask_type_size(MPI_Datatype type) {
  static thread_local KnownHandle known[64] __attribute__((tls_model("initial-exec")));
  const std::uint64_t key = handle_key(type);
  const std::uint32_t generation = g_handle_generation.load(std::memory_order_relaxed);
  KnownHandle& slot = known[key * 0x9e3779b97f4a7c15ull >> 58];
  if (slot.key == key && slot.generation == generation) return slot.value;
  // A handle that MPI would refuse must be refused in the call that got it, not in ours.
  if (!g_mpi_is_up || type == handles().datatype_null) return 0;
  MPI_Count size = 0;
  resolve_function<int (*)(MPI_Datatype, MPI_Count*)>(Function::Type_size_x)(type, &size);
  slot = {key, static_cast<std::int64_t>(size), generation};
  return slot.value;
}

}  // namespace reprise::mpi
