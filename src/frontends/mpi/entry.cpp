#include "frontends/mpi/entry.hpp"

#include <string>

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi {

using engine::Session;

namespace {

const engine::FunctionTable kFunctions{kFunctionNames, kFunctionFlags, static_cast<std::uint16_t>(Function::kCount)};
static_assert(kBlockingReceive == engine::kBlocking);

struct KnownSize {
  std::uint64_t key = UINT64_MAX;
  std::int64_t size = 0;
  std::uint32_t generation = 0;
};
std::atomic<std::uint32_t> g_type_generation{1};

}  // namespace

std::int64_t communicator_number(MPI_Comm comm) { return communicators().number(comm); }

void Entry::new_communicator(MPI_Comm comm, MPI_Comm parent) { communicators().made(comm, parent, name(), false); }

void Entry::new_communicator_later(const MPI_Comm* comm, MPI_Comm parent) { communicators().made(*comm, parent, name(), true); }

void Entry::wake() {
  if (library_is_ours()) Session::get().wake(kFunctions);
  else Session::get().decline(std::string("the program uses another MPI than ") + library_name() + "; choose with --mpi");
}

void Entry::unsupported(const char* reason) {
  static bool noted[static_cast<std::size_t>(Function::kCount)];
  if (!recording() || noted[static_cast<std::size_t>(function_)]) return;
  noted[static_cast<std::size_t>(function_)] = true;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.note("unsupported", std::string(name()) + ": " + reason);
}

// Asking the library takes longer than everything else we do for a small message, so the answers are kept.
std::int64_t type_size(MPI_Datatype type) {
  static thread_local KnownSize known[64] __attribute__((tls_model("initial-exec")));
  const std::uint64_t key = handle_key(type);
  const std::uint32_t generation = g_type_generation.load(std::memory_order_relaxed);
  KnownSize& slot = known[key * 0x9e3779b97f4a7c15ull >> 58];
  if (slot.key == key && slot.generation == generation) [[likely]] return slot.size;
  // A handle that MPI would refuse must be refused in the call that got it, not in ours.
  if (!g_mpi_is_up || type == handles().datatype_null) return 0;
  MPI_Count size = 0;
  resolve_function<int (*)(MPI_Datatype, MPI_Count*)>(Function::Type_size_x)(type, &size);
  slot = {key, static_cast<std::int64_t>(size), generation};
  return slot.size;
}

void forget_type_sizes() { g_type_generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace reprise::mpi
